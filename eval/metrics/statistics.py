"""Quotients for the scores of all metrics, over any number of sums at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def ratio(part: Numbers, whole: Numbers, *, empty: float = 0.0) -> Numbers:
    """Return quotients, ``empty`` if there is nothing to divide by.

    >>> ratio(np.array([1.0, 0.0]), np.array([4.0, 0.0]), empty=1.0).tolist()
    [0.25, 1.0]
    """
    some = whole > 0
    return np.where(some, part / np.where(some, whole, 1.0), empty)
