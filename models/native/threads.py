"""How many threads compute without torch."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

_SIBLINGS = Path("/sys/devices/system/cpu/smt/active")
_given: list[int] = []


def count() -> int:
    """Return how many threads a pass may use: the number that was set, or one a core."""
    return _given[-1] if _given else _default()


def use(number: int) -> None:
    """Let passes use so many threads from now on, torch's too."""
    _given[:] = [number]
    tell_torch()


def tell_torch() -> None:
    """Let torch, if it has been imported, use as many threads as were asked for."""
    if _given and (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(_given[-1])


@cache
def _default() -> int:
    """Return $OMP_NUM_THREADS, which torch reads too, or the cores this process may run on."""
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if asked.isdecimal() and int(asked):
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        processors = len(os.sched_getaffinity(0))
    else:
        processors = os.cpu_count() or 1
    return max(1, processors // 2 if _two_a_core() else processors)


def _two_a_core() -> bool:
    """Whether two processors share a core, and one multiplies no faster than both."""
    try:
        return _SIBLINGS.read_text().strip() == "1"
    except OSError:
        return False
