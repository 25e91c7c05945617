"""Numbers that people write, in options and specifications, read and checked.

Every function raises ValueError with what is wrong about the text.
"""

from __future__ import annotations

import math


def number(text: str) -> float:
    """Read a finite number."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"not a number: {text!r}") from None
    if not math.isfinite(value):
        raise ValueError(f"not a finite number: {text!r}")
    return value


def not_negative(text: str) -> float:
    """Read a number of at least 0."""
    if (value := number(text)) < 0:
        raise ValueError(f"must be 0 or more, not {text}")
    return value


def fraction(text: str) -> float:
    """Read a number from 0 to 1."""
    if not 0 <= (value := number(text)) <= 1:
        raise ValueError(f"must be from 0 to 1, not {text}")
    return value


def natural(text: str) -> int:
    """Read a whole number of at least 0."""
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"not a whole number: {text!r}") from None
    if value < 0:
        raise ValueError(f"must be 0 or more, not {text}")
    return value


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    if (value := natural(text)) == 0:
        raise ValueError("must be 1 or more, not 0")
    return value
