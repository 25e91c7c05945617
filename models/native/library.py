"""Finds and loads the C library, and says why it cannot.

The library lies beside this file and is no extension of Python: one file serves every version. It
holds kernels for several kinds of processor, of which the best that this one can use is taken. The
environment variable GEC_NATIVE names another one, or says "off". All of them give the same bits.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from ctypes import c_char_p, c_float, c_int, c_int64, c_void_p
from functools import cache, partial
from pathlib import Path
from typing import Any

from gec.errors import ConfigError

ABI = 1
"""What is called, and the order of packed weights; the library must say the same number."""

NAMES = (
    *("plain", "avx2", "avx2-vnni", "avx512", "avx512-vnni", "avx512-vnni-amx"),
    *("neon", "neon-dot"),
)
"""Every kind of kernels there is, for any machine."""

VARIABLE = "GEC_NATIVE"
SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
PATH = Path(__file__).with_name("_gec_native" + SUFFIX)

_P, _N, _I = c_void_p, c_int64, c_int
_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "pack_int8": (None, (_P, _N, _N, _P)),
    "unpack_int8": (None, (_P, _N, _N, _N, _P)),
    "pack_float": (None, (_P, _N, _N, _P)),
    "unpack_float": (None, (_P, _N, _N, _N, _P)),
    "linear_int8": (_I, (_P, _N, _N, _P, _N, _P, _P, _I, _P, _I)),
    "linear_float": (None, (_P, _N, _N, _P, _N, _P, _I, _P, _I)),
    "best_int8": (_I, (_P, _N, _N, _P, _N, _P, _P, _P, _P, _P, _P, _P, _I)),
    "best_float": (_I, (_P, _N, _N, _P, _N, _P, _P, _P, _P, _P, _P, _I)),
    "layer_norm": (None, (_P, _N, _N, _P, _P, _P, c_float, _I)),
    "rms_norm": (None, (_P, _N, _N, _P, _P, c_float, _I)),
    "rotate": (None, (_P, _N, _N, _N, _N, _P, _P, _I)),
    "gate": (None, (_P, _N, _N, _P, _I)),
    "activate": (None, (_P, _N, _I)),
    "attention": (_I, (_P, _I)),
}
"""What library.h declares, without the table that comes first: result and arguments."""


class BatchAttention(ctypes.Structure):
    """``GecBatchAttention`` of library.h."""

    _fields_ = [
        *((name, _N) for name in ("batch", "queries", "keys", "heads", "width")),
        *(("q", _P), ("q_row", _N), ("q_place", _N)),
        *(("k", _P), ("k_row", _N), ("k_place", _N)),
        *(("v", _P), ("v_row", _N), ("v_place", _N)),
        *(("mask", _P), ("mask_row", _N), ("mask_query", _N)),
        *(("causal", _N), ("y", _P), ("scale", c_float)),
    ]


class Library:
    """The library and one table of kernels.

    Attributes:
        name: that of the kernels.
        usable: the names of all kernels that this processor can use, best first.
        kernels: the table's address, the first argument of what computes.
    """

    def __init__(self, handle: ctypes.CDLL, name: str) -> None:
        self.handle, self.name = handle, name
        self.usable = tuple(handle.gec_kernel_names().decode().split())
        self.kernels: int = handle.gec_kernels(name.encode())
        self._functions = {
            each: partial(getattr(handle, f"gec_{each}"), self.kernels) for each in _SIGNATURES
        }

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function of library.h, its first argument given."""
        return self._functions[name]


class _NotLoadable(Exception):
    """Why there is no library, in one line."""


@cache
def load(name: str = "") -> Library:
    """Return the library with these kernels, "" for the best ones.

    Raises:
        ConfigError: this machine has no such kernels; the message says which it has.
    """
    try:
        handle = _handle()
    except _NotLoadable as error:
        raise ConfigError(f"no kernels {name}: {error}") from None
    usable = handle.gec_kernel_names().decode()
    if name not in ("", *usable.split()):
        where = " for this processor" if name in NAMES else ""
        choice = usable.replace(" ", ", ")
        raise ConfigError(f"there are no kernels {name!r}{where}: name one of {choice}")
    return Library(handle, name or usable.split()[0])


def library() -> Library | None:
    """Return the library that this process computes with, None if it has none.

    Raises:
        ConfigError: GEC_NATIVE names kernels that this machine does not have.
    """
    return _chosen(os.environ.get(VARIABLE, ""))


@cache
def _chosen(name: str) -> Library | None:
    if name == "off":
        return None
    try:
        _handle()
    except _NotLoadable as error:
        if name:
            raise ConfigError(f"{VARIABLE}={name}: {error}") from None
        return None
    try:
        return load(name)
    except ConfigError as error:
        raise ConfigError(f"{VARIABLE}={name}: {error} or off") from None


def describe() -> str:
    """Return which kernels a network on a CPU computes with, or why there are none."""
    if os.environ.get(VARIABLE) == "off":
        return f"none: {VARIABLE}=off"
    try:
        _handle()
    except _NotLoadable as error:
        return f"none: {error}"
    found = library()
    assert found is not None
    others = [name for name in found.usable if name != found.name]
    return f"{found.name} (also here: {', '.join(others)})" if others else found.name


@cache
def _handle() -> ctypes.CDLL:
    """Load the library and declare its functions."""
    if not PATH.exists():
        raise _NotLoadable("the C library was not compiled when gec was installed")
    try:
        handle = ctypes.CDLL(str(PATH))
        number = int(handle.gec_abi())
        if number == ABI:
            _declare(handle)
    except (OSError, AttributeError) as error:
        raise _NotLoadable(
            f"the C library is not loadable ({' '.join(str(error).split())})"
        ) from None
    if number != ABI:
        raise _NotLoadable(f"the C library is of version {number}, not {ABI}: install gec again")
    return handle


def _declare(handle: ctypes.CDLL) -> None:
    handle.gec_kernels.restype, handle.gec_kernels.argtypes = c_void_p, (c_char_p,)
    handle.gec_kernel_names.restype = c_char_p
    for name in ("size_int8", "size_float"):
        function = getattr(handle, f"gec_{name}")
        function.restype, function.argtypes = c_int64, (_N, _N)
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(handle, f"gec_{name}")
        function.restype, function.argtypes = result, (_P, *arguments)
