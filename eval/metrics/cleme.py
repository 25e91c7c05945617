"""CLEME: precision, recall and F over chunks whose borders all texts share.

Ye, Li, Zhou, Li, Ma, Zheng and Shen 2023, "CLEME: Debiasing Multi-reference Evaluation for
Grammatical Error Correction" (EMNLP). Edits of the hypothesis and of all references that overlap or
touch are merged, so source, hypothesis and references divide into chunks at the same places
(section 3.1). A chunk that the hypothesis changes is a true positive if a reference has the same
words there, else a false positive; one that it leaves alone is a false negative or a true negative.

- ``dependent`` (section 3.2): against one reference as a whole, the one with the best F of the
  running totals, as in ERRANT. A chunk left alone is a false negative if that reference differs.
- ``independent`` (section 3.3): every chunk against all references. A chunk left alone is a false
  negative if all references change it.

Counts are weighted by the length l of the chunk, in words of its longer side (section 3.4)::

    weight = clip(a / (1 + (a - 1) exp(m - l)), low, high)

m is the mean length of the chunks that references change; for false positives the exponent is
l - m. ``level="sentence"`` averages the scores of sentences (SentCLEME). The constants are those of
the authors' program (:data:`WEIGHTS`), and so is the rounding to 4 decimals before comparing.

An empty reference is left out if there is another reference, as in the authors' program; unlike in
that program, an empty hypothesis is never left out.

>>> from gec.eval.metrics.errant import Annotation, Block
>>> def block(*edits):
...     return Block("He go school .", tuple(Annotation(*edit) for edit in edits))
>>> gold = block((1, 2, "R:VERB:SVA", "goes", 0), (2, 2, "M:PREP", "to", 0))
>>> score = cleme([block((1, 2, "R:VERB:SVA", "goes", 0))], [gold], weighted=False)
>>> score.tp, score.fp, score.fn, score.tn  # "go" -> "goes to" is one chunk for both
(0.0, 1.0, 0.0, 2.0)
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from gec.errors import ConfigError, InputError
from gec.eval.metrics.cleme_chunks import Piece, mean_length, partition
from gec.eval.metrics.errant import Block
from gec.eval.metrics.score import assessed, check_parallel, once, show, signature, use_utf8
from gec.eval.metrics.statistics import Numbers, Statistics, f_score
from gec.eval.metrics.system_edits import Systems, read_reference

Assumption = Literal["dependent", "independent"]
Level = Literal["corpus", "sentence"]

ASSUMPTIONS: tuple[Assumption, ...] = ("dependent", "independent")
LEVELS: tuple[Level, ...] = ("corpus", "sentence")
NAMES = ("precision", "recall", "f", "accuracy")
_DIGITS = 4


class Weight(NamedTuple):
    """The weight of a chunk by its length; ``scale`` is ``a`` in the formula above."""

    scale: float
    low: float
    high: float
    falls: bool = False  # long chunks weigh less

    def __call__(self, length: int, mean: float) -> float:
        beyond = mean - length if not self.falls else length - mean
        # capped: beyond the range of a float the weight is 0 anyway
        raw = self.scale / (1 + (self.scale - 1) * math.exp(min(beyond, 700)))
        return min(max(raw, self.low), self.high)


_CORPUS = (Weight(2, 0.75, 1.25), Weight(2, 0.75, 1.25, falls=True), Weight(2, 0.75, 1.25))

WEIGHTS: Mapping[tuple[Level, Assumption], tuple[Weight, Weight, Weight]] = {
    ("corpus", "dependent"): _CORPUS,
    ("corpus", "independent"): _CORPUS,
    ("sentence", "dependent"): (
        Weight(10, 1, 10),
        Weight(10, 0.25, 1, falls=True),
        Weight(10, 1, 1),
    ),
    ("sentence", "independent"): (
        Weight(10, 2.5, 10),
        Weight(10, 0.25, 1, falls=True),
        Weight(10, 1, 1),
    ),
}
"""The weights of true positives, false positives and false negatives."""

_EQUAL = (Weight(1, 1, 1),) * 3


class Tally(NamedTuple):
    """Weighted counts of one sentence, or of many."""

    tp: float = 0.0
    fp: float = 0.0
    fn: float = 0.0
    tn: float = 0.0

    def plus(self, other: Tally) -> Tally:
        """Return the sum of both counts."""
        return Tally(*(a + b for a, b in zip(self, other, strict=True)))

    def scores(self, beta: float) -> tuple[float, float, float, float]:
        """Return P, R, F and accuracy, each rounded to 4 decimals."""
        p = self.tp / (self.tp + self.fp) if self.fp else 1.0
        r = self.tp / (self.tp + self.fn) if self.fn else 1.0
        below = beta * beta * p + r
        f = (1 + beta * beta) * p * r / below if below else 0.0
        total = sum(self)
        accuracy = (self.tp + self.tn) / total if total else 0.0
        return (
            round(p, _DIGITS),
            round(r, _DIGITS),
            round(f, _DIGITS),
            round(accuracy, _DIGITS),
        )


@dataclass(frozen=True, slots=True)
class ClemeScore:
    """Scores and weighted counts; at level "sentence" the scores are means, and counts are sums.

    Attributes:
        sentences: weighted true positives, false positives, false negatives and true negatives of
            every sentence; under ``dependent`` against the chosen reference.
        mean_length: mean length of the chunks that references change, in words.
    """

    precision: float
    recall: float
    f: float
    accuracy: float
    tp: float
    fp: float
    fn: float
    tn: float
    beta: float
    mean_length: float
    sentences: tuple[tuple[float, float, float, float], ...]
    signature: str

    def __str__(self) -> str:
        scores = ("Precision", "Recall", f"F_{self.beta:g}", "Accuracy")
        values = (self.precision, self.recall, self.f, self.accuracy)
        lines = [f"{n:<10}: {v:.4f}" for n, v in zip(scores, values, strict=True)]
        counts = (("TP", self.tp), ("FP", self.fp), ("FN", self.fn), ("TN", self.tn))
        return "\n".join([*lines, *(f"{name:<10}: {count:.2f}" for name, count in counts)])


def cleme(
    hypothesis: Sequence[Block],
    reference: Sequence[Block],
    *,
    assumption: Assumption = "dependent",
    level: Level = "corpus",
    weighted: bool = True,
    beta: float = 0.5,
) -> ClemeScore:
    """Score one system; an example is at the top of the module.

    Args:
        hypothesis: the system's edits, a block for each sentence (only the first coder counts).
        reference: the references' edits; each coder is a reference.
        assumption: compare with one reference at a time, or with all at each chunk.
        level: scores of the summed counts, or means over sentences.
        weighted: whether to weigh chunks by their length.

    Raises:
        InputError: no sentence, or different numbers of sentences.
        ConfigError: no such assumption or level, or a negative beta.
    """
    measured = measure(
        hypothesis, reference, assumption=assumption, level=level, weighted=weighted, beta=beta
    )
    return measured.score()


@dataclass(frozen=True, slots=True)
class Measured:
    """The chosen counts of every sentence, the rounded scores, the statistics over the counts."""

    sentences: Sequence[Tally]
    mean_length: float
    beta: float
    values: tuple[float, float, float, float]
    statistics: Statistics

    def score(self) -> ClemeScore:
        """Return the scores and the summed counts."""
        precision, recall, f, accuracy = self.values
        total = _sum(self.sentences)
        return ClemeScore(
            precision,
            recall,
            f,
            accuracy,
            total.tp,
            total.fp,
            total.fn,
            total.tn,
            self.beta,
            self.mean_length,
            tuple((t.tp, t.fp, t.fn, t.tn) for t in self.sentences),
            self.statistics.signature,
        )


def measure(
    hypothesis: Sequence[Block],
    reference: Sequence[Block],
    *,
    assumption: Assumption = "dependent",
    level: Level = "corpus",
    weighted: bool = True,
    beta: float = 0.5,
    how: Mapping[str, object] | None = None,
) -> Measured:
    """Return the counts that :func:`cleme` sums up; arguments and errors as for that function."""
    _check(hypothesis, reference, assumption, level, beta)
    pieces = [partition(*blocks) for blocks in zip(hypothesis, reference, strict=True)]
    mean = mean_length(pieces)
    weights = WEIGHTS[level, assumption] if weighted else _EQUAL
    tallies = [list(_tallies(each, assumption, weights, mean)) for each in pieces]
    choose = _chosen_in_total if level == "corpus" else _chosen_alone
    chosen = choose(tallies, beta)
    made = signature(
        "cleme", assumption=assumption, level=level, weighted=weighted, beta=beta, **(how or {})
    )
    score: Callable[[Numbers], Numbers]
    if level == "corpus":
        values = _sum(chosen).scores(beta)
        rows, score = np.array(chosen), partial(_corpus_scores, beta=beta)
    else:
        rows, score = np.array([[*tally.scores(beta), 1.0] for tally in chosen]), _mean
        columns = np.ascontiguousarray(rows[:, :-1].T)  # sums in the order of the authors' program
        p, r, f, accuracy = columns.mean(axis=1).round(_DIGITS).tolist()
        values = p, r, f, accuracy
    return Measured(chosen, mean, beta, values, Statistics(rows, score, NAMES, "f", made))


def _check(
    hypothesis: Sequence[Block],
    reference: Sequence[Block],
    assumption: str,
    level: str,
    beta: float,
) -> None:
    if assumption not in ASSUMPTIONS:
        raise ConfigError(f"assumption must be {' or '.join(ASSUMPTIONS)}, not {assumption!r}")
    if level not in LEVELS:
        raise ConfigError(f"level must be {' or '.join(LEVELS)}, not {level!r}")
    if not 0 <= beta < math.inf:
        raise ConfigError(f"beta must be 0 or more and finite, not {beta}")
    sides = {"reference": reference, "hypothesis": hypothesis}
    check_parallel({name: [b.sentence for b in blocks] for name, blocks in sides.items()})
    if not reference:
        raise InputError("no sentence to score")


# ----------------------------------------------------------------------------------------- counting


def _tallies(
    pieces: Sequence[Sequence[Piece]],
    assumption: Assumption,
    weights: tuple[Weight, Weight, Weight],
    mean: float,
) -> Iterator[Tally]:
    """Yield a sentence's counts, one for each reference or one for all."""
    hypothesis, *references = pieces
    sets = [[reference] for reference in references] if assumption == "dependent" else [references]
    for each in sets:
        counts = [0.0] * 4
        for piece, *others in zip(hypothesis, *each, strict=True):
            column = _column(piece, others, assumption)
            counts[column] += weights[column](piece.length, mean) if column < 3 else 1.0
        yield Tally(*counts)


def _column(piece: Piece, others: Sequence[Piece], assumption: Assumption) -> int:
    """Return the place in :class:`Tally` at which a chunk of the hypothesis counts."""
    if piece.changed:
        return 0 if any(piece.text == other.text for other in others) else 1
    if assumption == "dependent":
        return 2 if any(piece.text != other.text for other in others) else 3
    return 2 if all(other.changed for other in others) else 3


def _chosen_in_total(tallies: Sequence[Sequence[Tally]], beta: float) -> list[Tally]:
    """Return each sentence's counts for the reference with the best F of the running totals."""
    total = Tally()
    chosen = []
    for options in tallies:
        best = max(options, key=lambda t: (total.plus(t).scores(beta)[2], t.tp, -t.fp, -t.fn, t.tn))
        total = total.plus(best)
        chosen.append(best)
    return chosen


def _chosen_alone(tallies: Sequence[Sequence[Tally]], beta: float) -> list[Tally]:
    """Return the counts with the best own F, then P, R and, as by the authors, lower accuracy."""

    def rank(tally: Tally) -> tuple[float, float, float, float]:
        p, r, f, accuracy = tally.scores(beta)
        return f, p, r, -accuracy

    return [max(options, key=rank) for options in tallies]


def _sum(tallies: Sequence[Tally]) -> Tally:
    total = Tally()
    for tally in tallies:
        total = total.plus(tally)
    return total


def _corpus_scores(sums: Numbers, beta: float) -> Numbers:
    """Return P, R, F and accuracy of summed counts, [..., 4]; weighted, so they may be below 1."""
    tp, fp, fn, tn = (sums[..., i] for i in range(4))
    precision = np.where(fp > 0, tp / np.where(fp > 0, tp + fp, 1.0), 1.0)
    recall = np.where(fn > 0, tp / np.where(fn > 0, tp + fn, 1.0), 1.0)
    total = tp + fp + fn + tn
    accuracy = np.where(total > 0, (tp + tn) / np.where(total > 0, total, 1.0), 0.0)
    return np.stack([precision, recall, f_score(precision, recall, beta), accuracy], axis=-1)


def _mean(sums: Numbers) -> Numbers:
    return sums[..., :-1] / np.maximum(sums[..., -1:], 1.0)


# ------------------------------------------------------------------------------------------ command


def main(args: argparse.Namespace) -> int:
    """``gec score cleme HYP GOLD``"""
    once([args.hypothesis, args.gold, args.paired])
    use_utf8()
    systems = Systems(args, read_reference(args.gold))

    def measured(name: str) -> Measured:
        blocks = systems.read(name)
        return measure(
            blocks,
            systems.reference.blocks,
            assumption=args.assumption,
            level=args.level,
            weighted=not args.unweighted,
            beta=args.beta,
            how=systems.settings,
        )

    found = measured(args.hypothesis)
    significance = assessed(
        args, lambda: found.statistics, lambda: measured(args.paired).statistics
    )
    show(found.score(), as_json=args.json, significance=significance)
    return 0
