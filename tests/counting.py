"""How much work a call is, counted and not timed: other programs on the machine change nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(call: Callable[[], object]) -> int:
    """Return how many lines of Python a call runs through, those of generators included."""
    count = 0

    def trace(frame: FrameType, event: str, value: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def growth(call: Callable[[int], object], size: int) -> float:
    """Return how many times more work twice the size is: 2 where it is linear, 4 if quadratic.

    What is loaded and remembered once does not count.
    """
    call(2 * size)
    return steps(lambda: call(2 * size)) / steps(lambda: call(size))
