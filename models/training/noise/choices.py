"""Choices that are drawn by weight."""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Mapping
from itertools import accumulate

Weighted = tuple[tuple[str, ...], tuple[float, ...]]
"""Choices and their cumulative weights."""


def weighted(counts: Mapping[str, float]) -> Weighted:
    """Return the words with their cumulative counts, to draw from."""
    return tuple(counts), tuple(accumulate(counts.values()))


def draw(choices: Weighted, rng: random.Random) -> str:
    """Draw one of the choices by weight."""
    words, totals = choices
    return words[min(bisect(totals, rng.random() * totals[-1]), len(words) - 1)]
