"""Intervals and p-values, against full enumeration where that is possible."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gec.errors import ConfigError
from gec.eval.significance import _resamples, bootstrap, compare, precision_recall_f

A = np.array([[1, 0, 0], [0, 1, 1], [2, 1, 0], [0, 0, 2], [1, 1, 1], [0, 2, 0]])
B = np.array([[1, 0, 0], [1, 0, 0], [2, 0, 0], [1, 1, 1], [1, 1, 1], [0, 0, 0]])


def f(counts: np.ndarray) -> float:
    return float(precision_recall_f(counts.sum(axis=0))[2])


def test_precision_recall_f_follow_errants_conventions() -> None:
    p, r, score = precision_recall_f(np.array([[3, 1, 2], [0, 0, 4], [0, 5, 0], [0, 0, 0]]))
    assert p.tolist() == [0.75, 1.0, 0.0, 1.0]
    assert r.tolist() == [0.6, 0.0, 1.0, 1.0]
    assert score[0] == pytest.approx(1.25 * 0.75 * 0.6 / (0.25 * 0.75 + 0.6))
    assert score[1:].tolist() == [0.0, 0.0, 1.0]


def test_bootstrap_is_seeded_and_agrees_with_all_resamples() -> None:
    small = A[:4]
    interval = bootstrap(small, samples=20_000, level=0.8)[2]
    every = [f(small[list(rows)]) for rows in itertools.product(range(4), repeat=4)]
    assert interval.value == pytest.approx(f(small))
    assert (interval.low, interval.high) == pytest.approx(np.quantile(every, [0.1, 0.9]), abs=0.03)
    assert bootstrap(A, seed=7) == bootstrap(A, seed=7) != bootstrap(A, seed=8)


def test_p_value_agrees_with_all_exchanges() -> None:
    observed = abs(f(B) - f(A))
    extreme = 0
    for swap in itertools.product((False, True), repeat=len(A)):
        chosen = np.array(swap)[:, None]
        left, right = np.where(chosen, B, A), np.where(chosen, A, B)
        extreme += abs(f(right) - f(left)) >= observed - 1e-12
    found = compare(A, B, samples=20_000)
    assert found.p == pytest.approx(extreme / 2 ** len(A), abs=0.02)
    assert found.difference.value == pytest.approx(f(B) - f(A))
    assert found.better > 0.9


def test_a_system_is_not_better_than_itself() -> None:
    found = compare(A, A)
    assert (found.p, found.better, found.difference.value) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("block", [7, 18, 40])  # rows of 18: one, one and two at a time
def test_blocks_of_any_size_draw_the_same_samples(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = np.repeat(A, 3, axis=0), np.repeat(B, 3, axis=0)
    whole = bootstrap(a, samples=11), compare(a, b, samples=11)
    monkeypatch.setattr("gec.eval.significance._BLOCK", block)
    assert [len(rows) for rows in _resamples(np.random.default_rng(0), 18, 11)] == (
        [2, 2, 2, 2, 2, 1] if block == 40 else [1] * 11
    )
    assert (bootstrap(a, samples=11), compare(a, b, samples=11)) == whole


def test_refuses_nothing_and_unequal_numbers() -> None:
    with pytest.raises(ConfigError, match="no sentence"):
        bootstrap(A[:0])
    with pytest.raises(ConfigError, match="6 sentences with 5"):
        compare(A, B[:5])
    with pytest.raises(ConfigError, match="at least 1"):
        bootstrap(A, samples=0)
