"""Pearson, Spearman and Kendall: closed forms, and what scipy 1.17.1 gives."""

from __future__ import annotations

import doctest
import math
import random

import pytest

from gec.errors import ConfigError
from gec.eval.compare import correlation
from gec.eval.compare.correlation import kendall, pearson, ranks, spearman

ALL = (pearson, spearman, kendall)


@pytest.mark.parametrize("n", [2, 3, 10])
def test_lines_up_and_down(n: int) -> None:
    a = [3.0 * i - 7 for i in range(n)]
    for correlate in ALL:
        assert correlate(a, a) == pytest.approx(1, abs=1e-15)
        assert correlate(a, a[::-1]) == pytest.approx(-1, abs=1e-15)


def test_pearson_of_a_parabola() -> None:
    """The deviations of 0..4 and of their squares: squares sum to 10 and 174, products to 40."""
    a = [0, 1, 2, 3, 4]
    assert pearson(a, [v * v for v in a]) == pytest.approx(40 / math.sqrt(10 * 174), abs=1e-15)


@pytest.mark.parametrize("n", [3, 7, 20])
def test_one_element_moved_to_the_front(n: int) -> None:
    """Spearman is 1 - 6 sum(d²) / (n (n² - 1)), Kendall 1 - 4 (inversions) / (n (n - 1))."""
    a, b = list(range(n)), [n - 1, *range(n - 1)]
    squares = sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
    assert spearman(a, b) == pytest.approx(1 - 6 * squares / (n * (n * n - 1)), abs=1e-14)
    assert kendall(a, b) == pytest.approx(1 - 4 * (n - 1) / (n * (n - 1)), abs=1e-14)


def test_with_ties_as_scipy() -> None:
    a, b = [1, 2, 2, 3, 5, 5, 5], [2, 1, 4, 4, 3, 6, 6]
    found = [correlate(a, b) for correlate in ALL]
    wanted = [0.7022602074068441, 0.6764666413954515, 0.5564148840746572]
    assert found == pytest.approx(wanted, abs=1e-14)


def test_tau_b_of_two_by_two() -> None:
    """Of a 2 x 2 table with counts a b c d, tau-b is (ad - bc) / sqrt of the margins' product."""
    a, b, c, d = 4, 2, 1, 5
    x = [0] * (a + b) + [1] * (c + d)
    y = [0] * a + [1] * b + [0] * c + [1] * d
    phi = (a * d - b * c) / math.sqrt((a + b) * (c + d) * (a + c) * (b + d))
    for correlate in ALL:
        assert correlate(x, y) == pytest.approx(phi, abs=1e-15)


def test_order_preserving_changes_keep_ranks_only() -> None:
    draw = random.Random(1)
    a, b = [[draw.gauss(0, 1) for _ in range(12)] for _ in range(2)]
    grown = [math.exp(v) for v in a]
    assert spearman(grown, b) == spearman(a, b)
    assert kendall(grown, b) == kendall(a, b)
    assert pearson(grown, b) != pearson(a, b)
    assert pearson([1e200 * v for v in a], b) == pytest.approx(pearson(a, b), abs=1e-12)


def test_constants_have_no_correlation() -> None:
    for correlate in ALL:
        assert correlate([0.1, 0.1, 0.1], [1, 2, 3]) is None
        assert correlate([1, 2, 3], [5, 5, 5]) is None


def test_too_few_or_unequal_numbers() -> None:
    for correlate in ALL:
        with pytest.raises(ConfigError, match="at least 2 pairs of numbers, not 1"):
            correlate([1], [1])
        with pytest.raises(ConfigError, match="2 numbers with 3"):
            correlate([1, 2], [1, 2, 3])


def test_ranks_sum_to_those_without_ties() -> None:
    draw = random.Random(2)
    values = [draw.randrange(5) for _ in range(30)]
    assert sum(ranks(values)) == 30 * 31 / 2


def test_examples() -> None:
    assert doctest.testmod(correlation).failed == 0
