"""How a process of ours keeps its memory; a library leaves that to the program it is part of."""

from __future__ import annotations

import sys
from functools import cache


@cache
def reuse_memory() -> None:
    """Keep freed blocks of the C library's heap instead of returning them to the system.

    glibc gives every block above 128 KiB back when it is freed. Activations of a batch are larger,
    so each operation would fault in its pages anew, which costs more than the operation itself.
    The command line, the server, the workers of ``gec batch`` and the benchmark call this;
    :func:`gec.load` does not: it would retune the whole of somebody else's process.
    """
    trim_threshold, mmap_threshold, gibibyte = -1, -3, 1 << 30  # <malloc.h>
    if sys.platform != "linux":
        return
    import ctypes

    if hasattr(library := ctypes.CDLL(None), "mallopt"):
        library.mallopt(trim_threshold, gibibyte)
        library.mallopt(mmap_threshold, gibibyte)


def release_memory() -> None:
    """Return what is free in the C library's heap to the system, after work that comes seldom."""
    if sys.platform != "linux":
        return
    import ctypes

    if hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)
