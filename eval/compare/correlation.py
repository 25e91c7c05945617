"""Three correlations of two lists of numbers, ties included; None where one is not defined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from gec.errors import ConfigError


def pearson(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return Pearson's r; None if either side is constant.

    >>> round(pearson([1, 2, 3, 4], [1, 4, 9, 16]), 4)
    0.9844
    """
    _check(a, b)
    if len(set(a)) == 1 or len(set(b)) == 1:
        return None
    middle_a, middle_b = math.fsum(a) / len(a), math.fsum(b) / len(b)
    x, y = [v - middle_a for v in a], [v - middle_b for v in b]
    # each side is scaled to length 1 first, so that no product overflows
    length_x, length_y = math.hypot(*x), math.hypot(*y)
    r = math.fsum((v / length_x) * (w / length_y) for v, w in zip(x, y, strict=True))
    return max(-1.0, min(1.0, r))


def spearman(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return Spearman's rho: Pearson's r of the ranks, where equal values share their mean rank.

    >>> round(spearman([1, 2, 3, 4], [1, 4, 16, 9]), 4)
    0.8
    """
    _check(a, b)
    return pearson(ranks(a), ranks(b))


def kendall(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return Kendall's tau-b, which allows for ties; None if either side is constant.

    >>> round(kendall([1, 2, 3, 4], [1, 2, 4, 3]), 4)
    0.6667
    """
    _check(a, b)
    balance = differ_a = differ_b = 0
    for i, j in combinations(range(len(a)), 2):
        x, y = _sign(a[i] - a[j]), _sign(b[i] - b[j])
        balance += x * y
        differ_a += x != 0
        differ_b += y != 0
    if not differ_a or not differ_b:
        return None
    return balance / math.sqrt(differ_a * differ_b)


def ranks(values: Sequence[float]) -> list[float]:
    """Return every value's rank from 1 up, equal ones the mean of theirs.

    >>> ranks([10, 30, 20, 20])
    [1.0, 4.0, 2.5, 2.5]
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    found = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for i in order[start:end]:
            found[i] = (start + 1 + end) / 2
        start = end
    return found


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _check(a: Sequence[float], b: Sequence[float]) -> None:
    if len(a) != len(b):
        raise ConfigError(f"cannot correlate {len(a)} numbers with {len(b)}")
    if len(a) < 2:
        raise ConfigError(f"a correlation needs at least 2 pairs of numbers, not {len(a)}")
