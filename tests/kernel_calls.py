"""Calls of the C library with numpy arrays, for the tests of its kernels."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gec.models.native.library import BatchAttention, Library

Floats = NDArray[np.float32]


def address(x: NDArray[Any] | None) -> int | None:
    """Return where an array lies; None stays."""
    if x is None:
        return None
    assert x.flags.c_contiguous
    return x.ctypes.data


def as_bits(x: NDArray[Any]) -> NDArray[Any]:
    """Return floats as integers: -0 and 0 differ, every NaN is the same."""
    if x.dtype != np.float32:
        return x
    return np.where(np.isnan(x), np.float32("nan"), x).view(np.int32)


class Kernels:
    """One table's functions, each of which makes its result."""

    def __init__(self, library: Library, threads: int = 1) -> None:
        self.library, self.threads = library, threads

    def _call(self, name: str, *arguments: Any) -> None:
        assert self.library.function(name)(*arguments) in (None, 1)

    def pack(self, weight: NDArray[Any]) -> NDArray[np.uint8]:
        kind = "int8" if weight.dtype == np.int8 else "float"
        size = getattr(self.library.handle, f"gec_size_{kind}")(*weight.shape)
        panels = np.full(size, 99, np.uint8)
        self._call(f"pack_{kind}", address(weight), *weight.shape, address(panels))
        return panels

    def unpack(self, panels: NDArray[np.uint8], weight: NDArray[Any], first: int) -> None:
        kind = "int8" if weight.dtype == np.int8 else "float"
        count, inputs = weight.shape
        self._call(f"unpack_{kind}", address(panels), inputs, first, count, address(weight))

    def linear(
        self,
        x: Floats,
        weight: NDArray[Any],
        scale: Floats | None,
        bias: Floats | None,
        relu: bool = False,
    ) -> Floats:
        rows, inputs = x.shape
        y = np.full((rows, len(weight)), 99, np.float32)
        panels = self.pack(weight)
        scales = () if scale is None else (address(scale),)
        self._call(
            "linear_float" if scale is None else "linear_int8",
            *(address(x), rows, inputs, address(panels), len(weight), *scales, address(bias)),
            *(relu, address(y), self.threads),
        )
        return y

    def best(
        self,
        x: Floats,
        weight: NDArray[Any],
        scale: Floats | None,
        bias: Floats | None,
        wanted: NDArray[np.int32] | None,
        log_sum: bool = True,
    ) -> tuple[NDArray[np.int32], Floats, Floats, Floats]:
        """Return best ids, their logits, the logarithms of the sums and the wanted ids' logits."""
        rows, inputs = x.shape
        panels = self.pack(weight)
        ids = np.full(rows, -9, np.int32)
        largest, sums, logit = (np.full(rows, 99, np.float32) for _ in range(3))
        scales = () if scale is None else (address(scale),)
        self._call(
            "best_float" if scale is None else "best_int8",
            *(address(x), rows, inputs, address(panels), len(weight), *scales, address(bias)),
            *(address(wanted), address(logit), address(ids), address(largest)),
            *(address(sums) if log_sum else None, self.threads),
        )
        return ids, largest, sums, logit

    def layer_norm(self, x: Floats, weight: Floats, bias: Floats | None) -> Floats:
        y = np.full_like(x, 99)
        self._call(
            "layer_norm",
            *(address(x), *x.shape, address(weight), address(bias), address(y), 1e-5),
            self.threads,
        )
        return y

    def rms_norm(self, x: Floats, weight: Floats) -> Floats:
        y = np.full_like(x, 99)
        self._call(
            "rms_norm", address(x), *x.shape, address(weight), address(y), 1e-6, self.threads
        )
        return y

    def rotate(self, x: Floats, heads: int, cosines: Floats, sines: Floats) -> Floats:
        """x [rows, all heads, width]; the first ``heads`` of them are turned."""
        y = x.copy()
        rows, present, width = x.shape
        self._call(
            "rotate",
            *(address(y), rows, present * width, heads, width // 2),
            *(address(cosines), address(sines), self.threads),
        )
        return y

    def gate(self, x: Floats) -> Floats:
        rows, width = x.shape[0], x.shape[1] // 2
        y = np.full((rows, width), 99, np.float32)
        self._call("gate", address(x), rows, width, address(y), self.threads)
        return y

    def activate(self, x: Floats, which: int) -> Floats:
        y = x.copy()
        self._call("activate", address(y), x.size, which)
        return y

    def attention(
        self,
        q: Floats,
        k: Floats,
        v: Floats,
        mask: NDArray[np.bool_] | None = None,
        causal: bool = False,
        scale: float = 0.2,
    ) -> Floats:
        """q [B, T, H, d], k and v [B, S, H, d], mask [B, T, S]."""
        batch, queries, heads, width = q.shape
        keys = k.shape[1]
        y = np.full_like(q, 99)
        strides = (keys * heads * width, heads * width)
        call = BatchAttention(
            *(batch, queries, keys, heads, width),
            *(address(q), queries * heads * width, heads * width),
            *(address(k), *strides, address(v), *strides),
            *(address(mask), queries * keys, keys, causal, address(y), scale),
        )
        self._call("attention", ctypes.byref(call), self.threads)
        return y
