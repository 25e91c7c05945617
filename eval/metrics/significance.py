"""How far a score can be trusted: bootstrap intervals and paired tests over sentences.

One mechanism serves all metrics. A metric offers :class:`Statistics`: one row of numbers a sentence
and a function that makes scores of a sum of such rows. What is resampled is rows, never files, so
ten thousand resamples cost a product of two matrices. Nothing that depends on the other sentences
is decided anew: if a scorer chooses annotators, rows are those of the annotators that it chose
on the whole set.

All systems get the same resamples and the same exchanges, drawn from ``seed``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gec.errors import ConfigError
from gec.eval.metrics.statistics import Numbers, Statistics

SAMPLES = 1000
"""Resamples if a comparison is asked for without a number."""

_BLOCK = 4_000_000  # random numbers drawn at a time: bounds the memory
_EQUAL = 1e-10  # differences that are equal but for rounding


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and the percentile bootstrap interval around it, at ``level`` (0 to 1)."""

    value: float
    low: float
    high: float
    level: float = 0.95

    def __str__(self) -> str:
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A score of system B against that of system A on the same sentences.

    Attributes:
        difference: B less A, with its paired bootstrap interval.
        p: two-sided p-value of the approximate randomization test (Noreen 1989).
        p_bootstrap: two-sided p-value of the paired bootstrap: how often resampled differences lie
            as far from their mean as the observed one from 0 (Riezler and Maxwell 2005).
        better: share of the bootstrap resamples in which B is better (Koehn 2004).
    """

    difference: Interval
    p: float
    p_bootstrap: float
    better: float
    samples: int


def bootstrap(
    statistics: Statistics, *, samples: int = SAMPLES, seed: int = 0, level: float = 0.95
) -> dict[str, Interval]:
    """Return every score with its percentile interval over resampled sentences (Efron 1979).

    Raises:
        ConfigError: no sentence, or samples below 1.
    """
    _check([statistics], samples)
    (drawn,) = _resampled([statistics], samples, seed)
    return _intervals(statistics, drawn, level)


def compare(
    a: Statistics, b: Statistics, *, samples: int = SAMPLES, seed: int = 0, level: float = 0.95
) -> dict[str, Comparison]:
    """Compare every score of two systems on the same sentences, in the same order.

    Raises:
        ConfigError: no sentence, different numbers of them, different metrics, or samples below 1.
    """
    found = compare_all([a, b], samples=samples, seed=seed, level=level)
    return found.comparisons[0, 1]


@dataclass(frozen=True, slots=True)
class Compared:
    """Systems with their intervals, and every pair of them.

    Attributes:
        intervals: by system, then by score.
        comparisons: (i, j) with i < j to what system j has over system i, by score.
    """

    intervals: tuple[dict[str, Interval], ...]
    comparisons: Mapping[tuple[int, int], dict[str, Comparison]]


def compare_all(
    systems: Sequence[Statistics],
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> Compared:
    """Compare every score of every pair of systems; errors as for :func:`compare`."""
    _check(systems, samples)
    drawn = _resampled(systems, samples, seed)
    extremes = _extremes(systems, samples, seed)
    return Compared(
        tuple(_intervals(s, d, level) for s, d in zip(systems, drawn, strict=True)),
        {
            (i, j): _comparison(systems[i], systems[j], drawn[j] - drawn[i], extremes[i, j], level)
            for i, j in combinations(range(len(systems)), 2)
        },
    )


def _comparison(
    a: Statistics, b: Statistics, drawn: Numbers, extreme: NDArray[np.int64], level: float
) -> dict[str, Comparison]:
    samples = len(drawn)
    observed = b.printed - a.printed
    far = np.abs(drawn - drawn.mean(axis=0)) >= np.abs(observed) - _EQUAL
    return {
        name: Comparison(
            difference=_interval(float(observed[i]), drawn[:, i], level),
            p=(int(extreme[i]) + 1) / (samples + 1),
            p_bootstrap=(int(far[:, i].sum()) + 1) / (samples + 1),
            better=float((drawn[:, i] > _EQUAL).mean()),
            samples=samples,
        )
        for i, name in enumerate(a.names)
    }


def _check(systems: Sequence[Statistics], samples: int) -> None:
    first = systems[0]
    if not len(first.rows):
        raise ConfigError("no sentence to resample")
    if samples < 1:
        raise ConfigError(f"samples must be at least 1, not {samples}")
    for other in systems[1:]:
        if len(other.rows) != len(first.rows):
            raise ConfigError(f"cannot compare {len(first.rows)} sentences with {len(other.rows)}")
        if (other.names, other.rows.shape) != (first.names, first.rows.shape):
            raise ConfigError("cannot compare scores of different metrics")


def _intervals(statistics: Statistics, drawn: Numbers, level: float) -> dict[str, Interval]:
    return {
        name: _interval(float(value), column, level)
        for name, value, column in zip(statistics.names, statistics.printed, drawn.T, strict=True)
    }


def _interval(value: float, drawn: Numbers, level: float) -> Interval:
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high), level)


# -------------------------------------------------------------------------------------- resampling


def _resampled(systems: Sequence[Statistics], samples: int, seed: int) -> list[Numbers]:
    """Return every system's scores on the same resamples, [samples, scores] each."""
    parts: list[list[Numbers]] = [[] for _ in systems]
    rng = np.random.default_rng(seed)
    for weights in _resamples(rng, len(systems[0].rows), samples):
        for part, system in zip(parts, systems, strict=True):
            part.append(system.score(weights @ system.rows) + (system.printed - system.summed))
    return [np.concatenate(part) for part in parts]


def _extremes(
    systems: Sequence[Statistics], samples: int, seed: int
) -> dict[tuple[int, int], NDArray[np.int64]]:
    """Return for every pair how often an exchange of sentences makes as great a difference.

    In an exchange a coin for each sentence says whether the two systems swap their rows. The sum of
    what a system would hand over does not depend on its partner, so it is made once a system.
    """
    pairs = list(combinations(range(len(systems)), 2))
    found = {pair: np.zeros(len(systems[0].names), dtype=np.int64) for pair in pairs}
    sums = [system.rows.sum(axis=0) for system in systems]
    observed = [system.summed for system in systems]
    rng = np.random.default_rng([seed, 1])
    for swap in _swaps(rng, len(systems[0].rows), samples):
        handed = [swap @ system.rows for system in systems]
        for i, j in pairs:
            moved = handed[j] - handed[i]
            shuffled = systems[j].score(sums[j] - moved) - systems[i].score(sums[i] + moved)
            limit = np.abs(observed[j] - observed[i]) - _EQUAL
            found[i, j] += (np.abs(shuffled) >= limit).sum(axis=0)
    return found


def _blocks(size: int, samples: int) -> Iterator[int]:
    step = max(1, _BLOCK // size)
    for start in range(0, samples, step):
        yield min(step, samples - start)


def _resamples(rng: np.random.Generator, size: int, samples: int) -> Iterator[Numbers]:
    """Yield blocks [b, size]: how often each sentence is drawn, ``size`` draws with replacement."""
    for rows in _blocks(size, samples):
        chosen = rng.integers(size, size=(rows, size))
        chosen += np.arange(rows)[:, None] * size
        counts = np.bincount(chosen.ravel(), minlength=rows * size).reshape(rows, size)
        yield counts.astype(np.float64)


def _swaps(rng: np.random.Generator, size: int, samples: int) -> Iterator[Numbers]:
    """Yield blocks [b, size] of fair coins."""
    for rows in _blocks(size, samples):
        yield rng.integers(2, size=(rows, size)).astype(np.float64)


# ------------------------------------------------------------------------------------ many systems


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number (Holm 1979), in the given order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p)
    least = 0.0
    for rank, index in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        least = max(least, min(1.0, p[index] * (len(p) - rank)))
        adjusted[index] = least
    return adjusted


def samples_needed(systems: int, alpha: float) -> int:
    """Return how many resamples it takes for a pair to be significant after Holm's adjustment.

    The least p-value of N resamples is 1 / (N + 1); all pairs together multiply it.
    """
    pairs = systems * (systems - 1) // 2
    return max(1, int(np.ceil(round(pairs / alpha, 6))) - 1)


def clusters(order: Sequence[int], different: Callable[[int, int], bool]) -> list[list[int]]:
    """Divide ranked systems: all of one cluster differ significantly from all of the next ones.

    Args:
        order: systems, the best first.
        different: whether two of them differ significantly.
    """
    found: list[list[int]] = []
    start = 0
    for end in range(1, len(order) + 1):
        above, below = order[:end], order[end:]
        if all(different(i, j) for i in above for j in below):
            found.append(list(order[start:end]))
            start = end
    return found


# -------------------------------------------------------------- what --samples and --paired print


@dataclass(frozen=True, slots=True)
class Significance:
    """What ``--samples`` and ``--paired`` add to a score.

    Attributes:
        intervals: by score.
        other: the name of the system compared with; empty if there is none.
        comparisons: this system's scores against the other's.
    """

    samples: int
    seed: int
    intervals: Mapping[str, Interval]
    other: str = ""
    comparisons: Mapping[str, Comparison] | None = None

    @property
    def settings(self) -> dict[str, object]:
        """What the signature says of it."""
        tests = {"paired": self.other} if self.other else {}
        return {"samples": self.samples, "seed": self.seed, **tests}

    def __str__(self) -> str:
        width = max(map(len, self.intervals))
        lines = [f"95 % intervals from {self.samples} resamples of the sentences:"]
        lines += [f"{name:<{width}}  {interval}" for name, interval in self.intervals.items()]
        if self.comparisons:
            lines.append(f"Difference from {self.other}, p by approximate randomization and paired")
            lines[-1] += " bootstrap, share of resamples won:"
            lines += [
                f"{name:<{width}}  {c.difference}  p = {c.p:.4f}, {c.p_bootstrap:.4f}  "
                f"{100 * c.better:.1f} %"
                for name, c in self.comparisons.items()
            ]
        return "\n".join(lines)


def assess(
    statistics: Statistics,
    other: Statistics | None = None,
    *,
    name: str = "",
    samples: int = SAMPLES,
    seed: int = 0,
) -> Significance:
    """Return a system's intervals and, given another one called ``name``, the paired tests."""
    if other is None:
        return Significance(samples, seed, bootstrap(statistics, samples=samples, seed=seed))
    found = compare_all([other, statistics], samples=samples, seed=seed)
    return Significance(samples, seed, found.intervals[1], name, found.comparisons[0, 1])
