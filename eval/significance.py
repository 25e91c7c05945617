"""How far a score can be trusted: bootstrap intervals and paired tests over sentences.

Counts are integer arrays [sentences, 3]: true positives, false positives, false negatives. F is
computed from their sums, never averaged over sentences. Where several annotators exist the counts
are those of the annotator the scorer chose; the choice is not repeated for every resample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gec.errors import ConfigError

Counts = NDArray[np.int64]
_BLOCK = 4_000_000  # random numbers drawn at a time: bounds the memory


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
    """System B against system A on the same sentences.

    Attributes:
        difference: F of B less F of A, with its paired bootstrap interval.
        p: two-sided p-value of the approximate randomization test (Noreen 1989).
        better: share of the bootstrap resamples in which B is better (Koehn 2004).
    """

    difference: Interval
    p: float
    better: float
    samples: int


def precision_recall_f(
    counts: NDArray[np.number], beta: float = 0.5
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return P, R and F of counts [..., 3]; like ERRANT, P is 1 without false positives."""
    tp, fp, fn = (counts[..., i].astype(np.float64) for i in range(3))
    precision = np.where(fp > 0, tp / np.maximum(tp + fp, 1), 1.0)
    recall = np.where(fn > 0, tp / np.maximum(tp + fn, 1), 1.0)
    square = beta * beta
    below = square * precision + recall
    f = (1 + square) * precision * recall / np.where(below > 0, below, 1.0)
    return precision, recall, f


def bootstrap(
    counts: Counts, *, beta: float = 0.5, samples: int = 1000, seed: int = 0, level: float = 0.95
) -> tuple[Interval, Interval, Interval]:
    """Return P, R and F with percentile intervals over resampled sentences (Efron 1979).

    Raises:
        ConfigError: no sentence, or samples below 1.
    """
    _check(counts, samples)
    rng = np.random.default_rng(seed)
    sums = np.concatenate([weights @ counts for weights in _resamples(rng, len(counts), samples)])
    values = precision_recall_f(counts.sum(axis=0), beta)
    p, r, f = (
        _interval(float(value), drawn, level)
        for value, drawn in zip(values, precision_recall_f(sums, beta), strict=True)
    )
    return p, r, f


def compare(
    a: Counts,
    b: Counts,
    *,
    beta: float = 0.5,
    samples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Comparison:
    """Compare two systems' F on the same sentences, in the same order.

    Raises:
        ConfigError: no sentence, different numbers of them, or samples below 1.
    """
    _check(a, samples)
    if a.shape != b.shape:
        raise ConfigError(f"cannot compare {len(a)} sentences with {len(b)}")
    rng = np.random.default_rng(seed)

    def f(sums: NDArray[np.number]) -> NDArray[np.float64]:
        return precision_recall_f(sums, beta)[2]

    observed = float(f(b.sum(axis=0)) - f(a.sum(axis=0)))
    drawn = np.concatenate([f(w @ b) - f(w @ a) for w in _resamples(rng, len(a), samples)])
    extreme = 0
    for swap in _swaps(rng, len(a), samples):
        moved = swap @ (b - a)  # what the exchanged sentences take from one system to the other
        shuffled = f(b.sum(axis=0) - moved) - f(a.sum(axis=0) + moved)
        extreme += int((np.abs(shuffled) >= abs(observed) - 1e-12).sum())
    return Comparison(
        difference=_interval(observed, drawn, level),
        p=(extreme + 1) / (samples + 1),
        better=float((drawn > 0).mean()),
        samples=samples,
    )


def _check(counts: Counts, samples: int) -> None:
    if not len(counts):
        raise ConfigError("no sentence to resample")
    if samples < 1:
        raise ConfigError(f"samples must be at least 1, not {samples}")


def _interval(value: float, drawn: NDArray[np.float64], level: float) -> Interval:
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high), level)


def _blocks(size: int, samples: int) -> Iterator[int]:
    step = max(1, _BLOCK // size)
    for start in range(0, samples, step):
        yield min(step, samples - start)


def _resamples(rng: np.random.Generator, size: int, samples: int) -> Iterator[NDArray[np.int64]]:
    """Yield blocks [b, size]: how often each sentence is drawn, ``size`` draws with replacement."""
    for rows in _blocks(size, samples):
        chosen = rng.integers(size, size=(rows, size))
        chosen += np.arange(rows)[:, None] * size
        yield np.bincount(chosen.ravel(), minlength=rows * size).reshape(rows, size)


def _swaps(rng: np.random.Generator, size: int, samples: int) -> Iterator[NDArray[np.int64]]:
    """Yield blocks [b, size] of fair coins."""
    for rows in _blocks(size, samples):
        yield rng.integers(2, size=(rows, size))
