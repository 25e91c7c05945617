"""Intervals and p-values, against full enumeration where that is possible."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gec.errors import ConfigError
from gec.eval.metrics.significance import (
    Comparison,
    Interval,
    _resamples,
    assess,
    clusters,
    compare_all,
    holm,
    samples_needed,
)
from gec.eval.metrics.significance import bootstrap as bootstrap_scores
from gec.eval.metrics.significance import compare as compare_scores
from gec.eval.metrics.statistics import Statistics, edit_statistics, precision_recall_f

A = np.array([[1, 0, 0], [0, 1, 1], [2, 1, 0], [0, 0, 2], [1, 1, 1], [0, 2, 0]])
B = np.array([[1, 0, 0], [1, 0, 0], [2, 0, 0], [1, 1, 1], [1, 1, 1], [0, 0, 0]])


def f(counts: np.ndarray) -> float:
    return float(precision_recall_f(counts.sum(axis=0))[2])


def bootstrap(counts: np.ndarray, **options: float) -> list[Interval]:
    return list(bootstrap_scores(edit_statistics(counts), **options).values())  # type: ignore[arg-type]


def compare(a: np.ndarray, b: np.ndarray, **options: int) -> Comparison:
    return compare_scores(edit_statistics(a), edit_statistics(b), **options)["f"]


def means(rows: np.ndarray, values: tuple[float, ...] | None = None) -> Statistics:
    """A mean over sentences, whose statistics have closed forms."""
    pairs = np.stack([rows, np.ones(len(rows))], axis=1)
    return Statistics(pairs, lambda s: s[..., :1] / s[..., 1:], ("mean",), "mean", "x", values)


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
    monkeypatch.setattr("gec.eval.metrics.significance._BLOCK", block)
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


def test_the_bootstrap_of_a_mean_has_its_standard_error() -> None:
    rows = np.random.default_rng(5).normal(size=400)
    found = bootstrap_scores(means(rows), samples=8000)["mean"]
    error = rows.std() / np.sqrt(len(rows))
    assert found.value == pytest.approx(rows.mean())
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * error, rel=0.05)


def test_p_values_of_a_mean_are_those_of_the_normal_distribution() -> None:
    """Both tests against the closed form of the mean of differences, here about 0.06."""
    from statistics import NormalDist

    rng = np.random.default_rng(3)
    a = rng.normal(size=500)
    b = a + 0.05 + rng.normal(size=500) * 0.6
    found = compare_scores(means(a), means(b), samples=20_000)["mean"]
    z = abs((b - a).mean()) / np.sqrt(((b - a) ** 2).mean() / len(a))
    assert found.p == pytest.approx(2 * (1 - NormalDist().cdf(z)), abs=0.01)
    z = abs((b - a).mean()) / ((b - a).std() / np.sqrt(len(a)))
    assert found.p_bootstrap == pytest.approx(2 * (1 - NormalDist().cdf(z)), abs=0.01)


def test_the_paired_bootstrap_agrees_with_all_resamples() -> None:
    a, b = A[:4], B[:4]
    observed = f(b) - f(a)
    every = np.array(
        [f(b[list(rows)]) - f(a[list(rows)]) for rows in itertools.product(range(4), repeat=4)]
    )
    found = compare(a, b, samples=20_000)
    far = (np.abs(every - every.mean()) >= abs(observed) - 1e-12).mean()
    assert found.p_bootstrap == pytest.approx(far, abs=0.02)
    assert found.better == pytest.approx((every > 1e-12).mean(), abs=0.02)


def test_identical_systems_never_differ_and_quite_different_ones_always() -> None:
    rng = np.random.default_rng(0)
    for seed in range(20):
        counts = rng.integers(3, size=(50, 3))
        same = compare(counts, counts.copy(), samples=200, seed=seed)
        assert (same.p, same.p_bootstrap, same.difference.low) == (1.0, 1.0, 0.0)
        worse, better = counts * [0, 1, 1] + [0, 1, 1], np.add(counts, [1, 0, 0])
        other = compare(worse, better, samples=200, seed=seed)
        assert other.p == other.p_bootstrap == pytest.approx(1 / 201)
        assert other.better == 1.0


def test_p_values_are_uniform_when_there_is_no_difference() -> None:
    """About 5 % of true null hypotheses are rejected at .05."""
    rng = np.random.default_rng(11)
    rejected = 0
    for seed in range(400):
        a, b = rng.integers(3, size=(2, 60, 3))
        rejected += compare(a, b, samples=199, seed=seed).p <= 0.05
    assert 8 <= rejected <= 34  # 20 expected, standard deviation 4.4


def test_values_as_printed_shift_intervals_and_differences() -> None:
    rows = np.arange(10.0)
    plain, shifted = means(rows), means(rows, values=(5.0,))
    here, there = (bootstrap_scores(s, samples=99)["mean"] for s in (plain, shifted))
    assert (there.value, there.low, there.high) == (5.0, here.low + 0.5, here.high + 0.5)
    assert compare_scores(plain, shifted, samples=99)["mean"].difference.value == 0.5
    assert shifted["mean"] == 5.0


def test_many_systems_get_what_each_pair_gets_alone() -> None:
    third = A[::-1].copy()
    systems = [edit_statistics(counts) for counts in (A, B, third)]
    found = compare_all(systems, samples=300, seed=4)
    assert list(found.comparisons) == [(0, 1), (0, 2), (1, 2)]
    for (i, j), scores in found.comparisons.items():
        assert scores == compare_scores(systems[i], systems[j], samples=300, seed=4)
    for system, intervals in zip(systems, found.intervals, strict=True):
        assert intervals == bootstrap_scores(system, samples=300, seed=4)


def test_refuses_other_metrics_and_shapes() -> None:
    with pytest.raises(ConfigError, match="different metrics"):
        compare_scores(edit_statistics(A), means(np.arange(6.0)))
    with pytest.raises(ConfigError, match=r"\[sentences, numbers\], not \[3\]"):
        Statistics(np.arange(3), lambda s: s, ("a",), "a")
    with pytest.raises(ConfigError, match="'b' is none of the scores a"):
        Statistics(A, lambda s: s, ("a",), "b")


@pytest.mark.parametrize(
    ("given", "adjusted"),
    [
        ([], []),
        ([0.2], [0.2]),
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.04, 0.01], [0.04, 0.02]),
        ([0.6, 0.5, 0.4], [1.0, 1.0, 1.0]),
        ([0.01, 0.01], [0.02, 0.02]),
    ],
)
def test_holm(given: list[float], adjusted: list[float]) -> None:
    assert holm(given) == pytest.approx(adjusted)


@pytest.mark.parametrize(("systems", "alpha"), [(2, 0.05), (3, 0.05), (20, 0.05), (5, 0.01)])
def test_samples_needed_is_the_least_number(systems: int, alpha: float) -> None:
    pairs = systems * (systems - 1) // 2
    least = samples_needed(systems, alpha)
    assert pairs / (least + 1) <= alpha < pairs / least


def test_clusters_part_where_all_above_differ_from_all_below() -> None:
    same = {(0, 1), (1, 2), (3, 4)}

    def different(i: int, j: int) -> bool:
        return (min(i, j), max(i, j)) not in same

    assert clusters(range(6), different) == [[0, 1, 2], [3, 4], [5]]
    assert clusters(range(3), lambda i, j: False) == [[0, 1, 2]]
    assert clusters([2, 0, 1], lambda i, j: True) == [[2], [0], [1]]


def test_what_is_printed() -> None:
    alone = assess(means(np.arange(4.0)), samples=10)
    assert str(alone).splitlines()[0] == "95 % intervals from 10 resamples of the sentences:"
    assert alone.settings == {"samples": 10, "seed": 0}
    found = assess(means(np.arange(4.0)), means(np.zeros(4)), name="zero", samples=10, seed=2)
    assert found.settings == {"samples": 10, "seed": 2, "paired": "zero"}
    assert found.comparisons is not None
    assert found.comparisons["mean"].difference.value == 1.5  # this system less the other
    assert "mean  1.5000 [" in str(found)
