"""No kernel reads behind weights, rows, scales or biases: an unreadable page follows them.

The address sanitizer does not see what tile loads touch, so this is the test of theirs.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Any

import numpy as np
import pytest
from kernel_calls import Kernels
from numpy.typing import NDArray

from gec.models.native.library import describe, library, load

if library() is None or sys.platform != "linux":
    pytest.skip(f"kernels: {describe()}", allow_module_level=True)

SHAPES = [
    *((1, 64, 64), (3, 33, 17), (6, 256, 70), (8, 64, 64), (15, 64, 65), (16, 128, 129)),
    *((17, 64, 64), (31, 192, 100), (33, 64, 128), (50, 256, 64)),
]
"""Rows, inputs, channels."""


class Guarded(Kernels):
    """Keeps weights at the end of memory that may be read."""

    def pack(self, weight: NDArray[Any]) -> NDArray[np.uint8]:
        packed: NDArray[np.uint8] = guarded(super().pack(weight))
        return packed


def guarded(x: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that ends where a page begins that nobody may read."""
    page = mmap.PAGESIZE
    size = (x.nbytes + page - 1) // page * page
    room = np.frombuffer(mmap.mmap(-1, size + page), np.uint8)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    assert protect(ctypes.c_void_p(room.ctypes.data + size), ctypes.c_size_t(page), 0) == 0
    copy = room[size - x.nbytes : size].view(x.dtype).reshape(x.shape)
    copy[...] = x
    return copy


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", load().usable)
def test_nothing_behind_the_arrays_is_read(name: str, shape: tuple[int, int, int]) -> None:
    rows, inputs, channels = shape
    random = np.random.default_rng(shape)
    x = guarded(random.standard_normal((rows, inputs), np.float32))
    weight = random.integers(-127, 128, (channels, inputs), dtype=np.int8)
    scale, bias = (guarded(random.random(channels, np.float32)) for _ in range(2))
    wanted = guarded(np.zeros(rows, np.int32))
    kernels, plain = Guarded(load(name)), Kernels(load("plain"))
    for values, scales in ((weight, scale), (weight.astype(np.float32), None)):
        found = kernels.linear(x, values, scales, bias)
        assert np.array_equal(found, plain.linear(x, values, scales, bias))
        best = kernels.best(x, values, scales, bias, wanted)
        assert np.array_equal(best[0], plain.best(x, values, scales, bias, wanted)[0])
