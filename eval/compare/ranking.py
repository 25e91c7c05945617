"""Systems ranked by metrics, in clusters that differ significantly.

All pairs of systems are compared on the same resamples of the sentences; p-values are adjusted for
the number of pairs (Holm 1979). Between two clusters of a ranking every system above the line
differs significantly from every system below it, as in the rankings of the WMT shared tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from gec.errors import ConfigError
from gec.eval.compare.board_metrics import METRICS, ON_EDITS, TestSet
from gec.eval.metrics.score import extended
from gec.eval.metrics.significance import (
    SAMPLES,
    Comparison,
    Interval,
    clusters,
    compare_all,
    holm,
    samples_needed,
)
from gec.eval.metrics.statistics import Statistics

TESTS = ("randomization", "bootstrap")
SMALL = 5000
"""Outputs, of all systems together, for which more processes take longer to start than to work."""


@dataclass(frozen=True, slots=True)
class Row:
    """A system in a ranking.

    Attributes:
        cluster: the number of its cluster, from 1.
        ranks: the best and the worst place that the tests leave it.
        scores: by name, with intervals.
    """

    system: str
    cluster: int
    ranks: tuple[int, int]
    scores: Mapping[str, Interval]


@dataclass(frozen=True, slots=True)
class Pair:
    """A system against one ranked below it; ``difference`` is its main score less the other's.

    Attributes:
        p: of the test that was chosen.
        p_adjusted: for the number of all pairs.
        significant: the adjusted one is at most alpha.
    """

    system: str
    other: str
    difference: Interval
    p: float
    p_adjusted: float
    significant: bool


@dataclass(frozen=True, slots=True)
class Ranking:
    """All systems by one metric, the best first; pairs in the same order."""

    metric: str
    title: str
    main: str
    signature: str
    rows: tuple[Row, ...]
    pairs: tuple[Pair, ...]


def rank(
    name: str,
    title: str,
    systems: Mapping[str, Statistics],
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    alpha: float = 0.05,
    test: str = "randomization",
) -> Ranking:
    """Rank systems by a metric's main score; equal ones stay in the given order.

    Args:
        systems: by name.
        alpha: the level at which adjusted p-values are significant.
        test: one of :data:`TESTS`.

    Raises:
        ConfigError: systems that cannot be compared, no such test, or samples below 1.
    """
    if test not in TESTS:
        raise ConfigError(f"test must be one of {', '.join(TESTS)}, not {test!r}")
    best_first = sorted(systems, key=lambda key: -systems[key][systems[key].main])
    main = systems[best_first[0]].main
    # worst first: then a comparison is what the better system has over the worse
    ordered = best_first[::-1]
    found = compare_all([systems[key] for key in ordered], samples=samples, seed=seed)
    tested = {
        (ordered[j], ordered[i]): scores[main] for (i, j), scores in found.comparisons.items()
    }
    pairs = _pairs(best_first, tested, alpha, test)
    different = {frozenset((pair.system, pair.other)) for pair in pairs if pair.significant}
    groups = clusters(
        range(len(ordered)), lambda i, j: frozenset((best_first[i], best_first[j])) in different
    )
    intervals = dict(zip(ordered, found.intervals, strict=True))
    rows = []
    for number, group in enumerate(groups, 1):
        for place in group:
            key = best_first[place]
            above, below = best_first[:place], best_first[place + 1 :]
            beaten_by = sum(frozenset((key, other)) in different for other in above)
            beats = sum(frozenset((key, other)) in different for other in below)
            ranks = (1 + beaten_by, len(ordered) - beats)
            rows.append(Row(key, number, ranks, intervals[key]))
    made = extended(
        systems[best_first[0]].signature,
        {"samples": samples, "seed": seed, "test": test, "adjusted": "holm", "alpha": alpha},
    )
    return Ranking(name, title, main, made, tuple(rows), tuple(pairs))


@dataclass(frozen=True, slots=True)
class Tests:
    """How systems are compared, see :func:`rank`."""

    __test__ = False

    samples: int
    seed: int
    alpha: float
    test: str


def rank_all(
    test: TestSet, names: Sequence[str], metrics: Sequence[str], how: Tests, *, jobs: int = 1
) -> list[Ranking]:
    """Rank the systems by every metric, in as many processes as ``jobs`` says.

    Metrics that need ERRANT's edits share a process. Little work is done in this one.

    Args:
        names: of the systems, in the order of their outputs.
    """
    shared = [name for name in metrics if name in ON_EDITS]
    groups = [[name] for name in metrics if name not in shared]
    groups[:0] = [shared] if shared else []
    if jobs == 1 or len(groups) < 2 or len(test.outputs) * len(test.blocks) < SMALL:
        found = [_ranked(test, names, metrics, how)]
    else:
        # not forked: numerical libraries have threads
        with ProcessPoolExecutor(min(jobs, len(groups)), get_context("spawn")) as pool:
            found = list(pool.map(partial(_ranked, test, names, how=how), groups))
    by_name = {ranking.metric: ranking for rankings in found for ranking in rankings}
    return [by_name[name] for name in metrics]


def _ranked(
    test: TestSet, names: Sequence[str], metrics: Sequence[str], how: Tests
) -> list[Ranking]:
    rankings = []
    for name in metrics:
        metric = METRICS[name]
        measured = [metric.measure(test, lines) for lines in test.outputs]
        systems = dict(zip(names, measured, strict=True))
        rankings.append(
            rank(
                name,
                metric.title,
                systems,
                samples=how.samples,
                seed=how.seed,
                alpha=how.alpha,
                test=how.test,
            )
        )
    return rankings


def _pairs(
    best_first: Sequence[str],
    tested: Mapping[tuple[str, str], Comparison],
    alpha: float,
    test: str,
) -> list[Pair]:
    keys = [
        (system, other)
        for place, system in enumerate(best_first)
        for other in best_first[place + 1 :]
    ]
    chosen = [tested[key].p if test == "randomization" else tested[key].p_bootstrap for key in keys]
    return [
        Pair(*key, tested[key].difference, p, adjusted, adjusted <= alpha)
        for key, p, adjusted in zip(keys, chosen, holm(chosen), strict=True)
    ]


def default_samples(systems: int, alpha: float) -> int:
    """Return how many resamples leave Holm's adjustment room: four times what it needs."""
    return max(SAMPLES, 4 * samples_needed(systems, alpha))
