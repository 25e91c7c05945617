"""The tensors of a safetensors file as numpy arrays, mapped into memory and not yet read."""

from __future__ import annotations

import json
import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from gec.errors import ModelError
from gec.untrusted import guarded, size_of

Array = NDArray[Any]

_TYPES = {"I8": np.int8, "F16": np.float16, "BF16": np.uint16, "F32": np.float32, "F64": np.float64}
"""What weights are stored in; numpy has no bfloat16."""


def read(path: Path) -> dict[str, Array]:
    """Return the tensors of a file; bfloat16 comes as float32, all else as it is stored.

    Raises:
        ModelError: it is no such file, or holds other types.
    """
    size_of(path, "load")  # a pipe would be waited for
    with guarded(f"cannot load {path}"):
        with safe_open(path, framework="np"):  # checks the header: names, types, shapes, places
            pass
        data = np.memmap(path, np.uint8, "r")
        begin = 8 + int.from_bytes(data[:8].tobytes(), "little")
        header: dict[str, Any] = json.loads(data[8:begin].tobytes())
    header.pop("__metadata__", None)
    tensors = {}
    for name, about in header.items():
        if about["dtype"] not in _TYPES:
            raise ModelError(f"cannot load {path}: {name} holds no weights but {about['dtype']}")
        first, last = about["data_offsets"]
        found = data[begin + first : begin + last].view(_TYPES[about["dtype"]])
        found = found.reshape(about["shape"])
        tensors[name] = _widened(found) if about["dtype"] == "BF16" else found
    return tensors


def let_go(x: Array) -> None:
    """Say that an array's pages are not needed soon, if a file is mapped there.

    They no longer count as the process's memory; read again, they come from the file.
    """
    owner: Any = x
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if not isinstance(owner, mmap.mmap) or not hasattr(owner, "madvise"):  # Windows has none
        return
    first = x.ctypes.data - np.frombuffer(owner, np.uint8).ctypes.data
    begin = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE
    end = (first + x.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE  # whole pages of its own
    if begin < end:
        owner.madvise(mmap.MADV_DONTNEED, begin, end - begin)


def _widened(bits: Array) -> Array:
    """Return the float32 numbers whose upper halves ``bits`` are."""
    return (bits.astype(np.uint32) << 16).view(np.float32)
