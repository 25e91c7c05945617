"""GREEN, an F-score over n-grams for grammatical error correction.

Koyama, Nagata, Takamura and Okazaki 2024, "n-gram F-score for Evaluating Grammatical Error
Correction" (INLG). Source S, reference R and hypothesis H are multisets of n-grams, and every
n-gram lies in one region of their Venn diagram (the paper's Table 1):

====================  ===========================================
true positive         S without R, H; R and H without S; S, R and H
false positive        S and R without H; H without S, R
false negative        S and H without R; R without S, H
====================  ===========================================

Precision and recall are geometric means over the orders 1 to n of counts summed over the corpus, F
weighs recall ``beta`` times as much as precision; the paper takes n = 4 and beta = 2. Every
sentence takes the reference with the best F of its own; the F of the lower orders decides ties, as
in the authors' program. An order of which a whole corpus has no n-gram (all sentences are shorter
than n) has precision 1 and recall 0, also as in that program.

>>> score = green(["He go home ."], ["He goes home ."], [["He goes to home ."]])
>>> f"{score.precision:.4f} {score.recall:.4f} {score.f:.4f}"
'0.6687 0.5217 0.5457'
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gec.errors import ConfigError
from gec.eval.metrics.ngrams import Grams, ngrams
from gec.eval.metrics.score import (
    assessed,
    check_corpus,
    once,
    read_corpus,
    show,
    signature,
    use_utf8,
)
from gec.eval.metrics.statistics import Numbers, Statistics, ratio
from gec.eval.metrics.system_edits import read_output

UNITS = ("word", "char")
_COUNTS = 3  # true positives, false positives, false negatives


@dataclass(frozen=True, slots=True)
class GreenScore:
    """Precision, recall and F, from 0 to 1.

    Attributes:
        sentences: F of every sentence alone, against its best reference.
        chosen: index of that reference, from 0.
    """

    precision: float
    recall: float
    f: float
    sentences: tuple[float, ...]
    chosen: tuple[int, ...]
    signature: str

    def __str__(self) -> str:
        names = ("Precision", "Recall", "GREEN")
        values = (self.precision, self.recall, self.f)
        return "\n".join(f"{n:<10}: {100 * v:.2f}" for n, v in zip(names, values, strict=True))


def green(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    order: int = 4,
    beta: float = 2.0,
    unit: str = "word",
) -> GreenScore:
    """Score a corpus; an example is at the top of the module.

    Args:
        sources: the original sentences.
        hypotheses: the corrected ones.
        references: [set][sentence].
        order: longest n-gram.
        beta: how much more recall weighs than precision.
        unit: n-grams of words between blanks ("word") or of characters, also blanks ("char").

    Raises:
        InputError: no sentence, no reference, or lists of different lengths.
        ConfigError: an order, a beta or a unit that is not possible.
    """
    return _summary(*_counted(sources, hypotheses, references, order, beta, unit))


def green_statistics(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    order: int = 4,
    beta: float = 2.0,
    unit: str = "word",
) -> Statistics:
    """Return GREEN's counts by sentence, for significance; arguments as for :func:`green`."""
    return _counted(sources, hypotheses, references, order, beta, unit)[0]


def _counted(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    order: int,
    beta: float,
    unit: str,
) -> tuple[Statistics, tuple[float, ...], tuple[int, ...]]:
    """Return the statistics, and for every sentence the best F and the index of its reference."""
    _check(order, beta, unit)
    check_corpus("GREEN", sources, hypotheses, references)
    rows, best, chosen = [], [], []
    for source, hypothesis, *targets in zip(sources, hypotheses, *references, strict=True):
        counts = np.array([_count(source, hypothesis, r, order, unit) for r in targets])
        ranks = _by_order(counts, beta)[2][:, ::-1].tolist()  # the longest order first
        index = max(range(len(ranks)), key=ranks.__getitem__)  # the first of equals
        rows.append(counts[index].ravel())
        best.append(ranks[index][0])
        chosen.append(index)
    made = signature("green", references=len(references), n=order, beta=beta, unit=unit)

    def score(sums: Numbers) -> Numbers:
        parts = _by_order(sums.reshape(*sums.shape[:-1], order, _COUNTS), beta)
        return np.stack([part[..., -1] for part in parts], axis=-1)

    statistics = Statistics(np.array(rows), score, ("precision", "recall", "f"), "f", made)
    return statistics, tuple(best), tuple(chosen)


def _check(order: int, beta: float, unit: str) -> None:
    if order < 1:
        raise ConfigError(f"order must be at least 1, not {order}")
    if not beta >= 0:
        raise ConfigError(f"beta must be 0 or more, not {beta}")
    if unit not in UNITS:
        raise ConfigError(f"unit must be one of {', '.join(UNITS)}, not {unit!r}")


def _count(
    source: str, hypothesis: str, reference: str, order: int, unit: str
) -> list[tuple[int, int, int]]:
    """Return true positives, false positives and false negatives of every order."""
    texts = (source, reference, hypothesis)
    units = [text.split() if unit == "word" else list(text) for text in texts]
    return [_regions(*(ngrams(words, n) for words in units)) for n in range(1, order + 1)]


def _regions(s: Grams, r: Grams, h: Grams) -> tuple[int, int, int]:
    """Return true positives, false positives and false negatives from the Venn diagram."""
    true = (s - (r | h)).total() + ((r & h) - s).total() + (s & r & h).total()
    over = ((s & r) - h).total() + (h - (s | r)).total()
    under = ((s & h) - r).total() + (r - (s | h)).total()
    return true, over, under


def _by_order(counts: NDArray[np.number], beta: float) -> tuple[Numbers, Numbers, Numbers]:
    """Return P, R and F of counts [..., order, 3], for every longest order 1, 2, ...: [..., order].

    An order without n-grams has precision 1 and recall 0.
    """
    tp, fp, fn = (counts[..., i].astype(np.float64) for i in range(_COUNTS))
    done, wanted = tp + fp, tp + fn
    precision = _running_mean(ratio(tp, done, empty=1.0))
    recall = _running_mean(ratio(tp, wanted))
    alpha = 1 / (beta * beta + 1)
    some = (precision > 0) & (recall > 0)
    p, r = (np.where(some, part, 1.0) for part in (precision, recall))
    f = np.where(some, 1 / (alpha / p + (1 - alpha) / r), 0.0)
    return precision, recall, f


def _running_mean(values: Numbers) -> Numbers:
    """Return geometric means of the first one, two, ... values along the last axis."""
    logs = np.log(np.where(values > 0, values, 1.0)).cumsum(axis=-1)
    means = np.exp(logs / np.arange(1, values.shape[-1] + 1))
    return np.where(np.minimum.accumulate(values, axis=-1) > 0, means, 0.0)


def _summary(
    statistics: Statistics, sentences: tuple[float, ...], chosen: tuple[int, ...]
) -> GreenScore:
    precision, recall, f = statistics.printed.tolist()
    return GreenScore(precision, recall, f, sentences, chosen, statistics.signature)


def main(args: argparse.Namespace) -> int:
    """``gec score green HYP -s SOURCE -r REFERENCE...``"""
    once([args.source, *args.references, args.hypothesis, args.paired])
    use_utf8()
    sources, references = read_corpus(args.source, args.references)

    def measured(name: str) -> tuple[Statistics, tuple[float, ...], tuple[int, ...]]:
        hypotheses = read_output(args, name, args.source, sources)
        return _counted(sources, hypotheses, references, args.n, args.beta, args.unit)

    statistics, sentences, chosen = measured(args.hypothesis)
    significance = assessed(args, lambda: statistics, lambda: measured(args.paired)[0])
    score = _summary(statistics, sentences, chosen)
    show(score, as_json=args.json, significance=significance)
    return 0
