"""Quotients for the scores of all metrics, over any number of sums at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gec.errors import ConfigError

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """One system's output under one metric, sentence by sentence.

    Attributes:
        rows: [sentences, numbers], for example correct, proposed and gold edits; kept as floats.
        score: takes sums of rows, [..., numbers], and returns scores, [..., len(names)]. It gets
            thousands of sums at a time and must neither fail nor warn if all numbers are 0.
        names: what the scores are called, for example ``("precision", "recall", "f")``.
        main: the one by which systems are ranked; the greater, the better.
        signature: how the rows were made (:func:`gec.eval.metrics.score.signature`).
        values: the scores as the metric prints them, if they are not quite those of the sum: GLEU
            with several references is a mean over draws of them.
    """

    rows: NDArray[Any]
    score: Callable[[Numbers], Numbers]
    names: tuple[str, ...]
    main: str
    signature: str = ""
    values: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        rows = np.asarray(self.rows, dtype=np.float64)
        if rows.ndim != 2:
            raise ConfigError(f"statistics are [sentences, numbers], not {list(rows.shape)}")
        if self.main not in self.names:
            raise ConfigError(f"{self.main!r} is none of the scores {', '.join(self.names)}")
        object.__setattr__(self, "rows", rows)

    @property
    def summed(self) -> Numbers:
        """The scores of the sum of all rows, [len(names)]."""
        return self.score(self.rows.sum(axis=0, dtype=np.float64))

    @property
    def printed(self) -> Numbers:
        """The scores as the metric prints them, [len(names)]."""
        return self.summed if self.values is None else np.array(self.values)

    @property
    def column(self) -> int:
        """Where the main score stands among the scores."""
        return self.names.index(self.main)

    def __getitem__(self, name: str) -> float:
        return float(self.printed[self.names.index(name)])


def ratio(part: Numbers, whole: Numbers, *, empty: float = 0.0) -> Numbers:
    """Return quotients, ``empty`` if there is nothing to divide by.

    >>> ratio(np.array([1.0, 0.0]), np.array([4.0, 0.0]), empty=1.0).tolist()
    [0.25, 1.0]
    """
    some = whole > 0
    return np.where(some, part / np.where(some, whole, 1.0), empty)


def precision_recall_f(
    counts: NDArray[np.number], beta: float = 0.5
) -> tuple[Numbers, Numbers, Numbers]:
    """Return P, R and F of counts [..., 3], true positives, false positives, false negatives.

    Like ERRANT, P is 1 without false positives and R without false negatives.
    """
    tp, fp, fn = (counts[..., i].astype(np.float64) for i in range(3))
    precision = np.where(fp > 0, tp / np.maximum(tp + fp, 1), 1.0)
    recall = np.where(fn > 0, tp / np.maximum(tp + fn, 1), 1.0)
    return precision, recall, f_score(precision, recall, beta)


def f_score(precision: Numbers, recall: Numbers, beta: float) -> Numbers:
    """Return F; 0 if both are."""
    square = beta * beta
    below = square * precision + recall
    return (1 + square) * precision * recall / np.where(below > 0, below, 1.0)


def edit_statistics(
    counts: Sequence[Sequence[int]] | NDArray[np.number], beta: float = 0.5, signature: str = ""
) -> Statistics:
    """Return the statistics of any metric that counts edits as ERRANT does.

    Args:
        counts: true positives, false positives and false negatives of every sentence.
    """
    return Statistics(
        np.array(counts).reshape(-1, 3),
        lambda sums: np.stack(precision_recall_f(sums, beta), axis=-1),
        ("precision", "recall", "f"),
        "f",
        signature,
    )
