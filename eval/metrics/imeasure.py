"""The I-measure: how much a system improves a text, token by token.

Felice and Briscoe 2015, "Towards a standard evaluation method for grammatical error detection and
correction" (NAACL). Source, hypothesis and reference are aligned together, with the least sum of
pairwise costs (section 3.2: gap 2, mismatch 3). A column of the alignment is one token, or a gap:

=====================  =================  ======================
what it is             as a detection     as a correction
=====================  =================  ======================
all three agree        true negative      true negative
only the source does   true positive      true positive
only the reference     false negative     false negative
only the hypothesis    false positive     false positive
all three differ       true positive      FPN: false positive and
                                          false negative at once
=====================  =================  ======================

With w = 2, weighted accuracy rewards corrections more than tokens left alone (section 4)::

    WAcc = (w TP + TN) / (w (TP + FP) + TN + FN - (w + 1) FPN / 2)

I compares WAcc with that of the unchanged source, WAcc_b: (WAcc - WAcc_b) / (1 - WAcc_b) if WAcc is
better, WAcc / WAcc_b - 1 if it is worse. I is from -1 to 1; at 0 the text might as well have been
left alone.

References are all sentences that annotators' edits make. By default edits that do not touch are
mixed across annotators (section 3.1: every cluster of overlapping edits takes the corrections of
one annotator, or none if an annotator left it alone), and the best reference of a sentence counts.
The number of mixtures doubles with every cluster. A sentence with more than ``most`` mixtures takes
each annotator's own sentence instead, and the score counts such sentences (``unmixed``).

The authors' program first tokenizes corrections by NLTK; this scorer splits them at blanks, like
the source. If several references are equal in every number that is compared, the authors' program
takes the first one in Python 2's order of a dictionary, and this scorer the first one made.

>>> from gec.eval.metrics.errant import Annotation, Block
>>> gold = Block("He go home .", (Annotation(1, 2, "R:VERB:SVA", "goes", 0),))
>>> [imeasure([text], [gold]).i for text in ("He goes home .", "He go home .", "He go house .")]
[1.0, 0.0, -0.4666666666666667]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gec.errors import ConfigError, InputError
from gec.eval.metric_options import IMEASURE_LEVELS, IMEASURE_MOST, IMEASURE_OPTIMISED
from gec.eval.metrics.errant import Block
from gec.eval.metrics.imeasure_alignment import FP, TN, Columns, align
from gec.eval.metrics.imeasure_references import by_annotator, mixtures
from gec.eval.metrics.score import assessed, check_parallel, once, show, signature, use_utf8, warn
from gec.eval.metrics.statistics import Numbers, Statistics, f_score, ratio
from gec.eval.metrics.system_edits import read_output, read_reference

NAMES = ("i", "wacc", "precision", "recall", "f", "detection_i")


@dataclass(frozen=True, slots=True)
class Aspect:
    """Detection or correction: counts, then scores from 0 to 1 (``i``: from -1 to 1).

    ``accuracy_source`` and ``wacc_source`` are the scores of the unchanged source.
    """

    tp: int
    tn: int
    fp: int
    fn: int
    fpn: int
    precision: float
    recall: float
    f: float
    accuracy: float
    accuracy_source: float
    wacc: float
    wacc_source: float
    i: float

    def row(self, name: str) -> str:
        """Return a line of the printed table."""
        counts = (self.tp, self.tn, self.fp, self.fn, self.fpn)
        scores = (self.precision, self.recall, self.f, self.accuracy, self.accuracy_source)
        more = (self.wacc, self.wacc_source, self.i)
        shown = [f"{count:6d}" for count in counts]
        shown += [f"{100 * score:6.2f}" for score in (*scores, *more)]
        return "  ".join([f"{name:<10}", *shown])


@dataclass(frozen=True, slots=True)
class IScore:
    """The result over all sentences.

    Attributes:
        i: the I-measure of correction.
        sentences: true positives, true negatives, false positives, false negatives and FPN of the
            correction of every sentence, against its best reference.
        unmixed: sentences whose annotators have too many mixtures.
    """

    i: float
    correction: Aspect
    detection: Aspect
    beta: float
    sentences: tuple[tuple[int, ...], ...]
    unmixed: int
    signature: str

    def __str__(self) -> str:
        names = ["TP", "TN", "FP", "FN", "FPN", "P", "R", f"F_{self.beta:.2f}"]
        names += ["Acc", "Acc_b", "WAcc", "WAcc_b", "I"]
        header = "  ".join([" " * 10, *(f"{name:>6}" for name in names)])
        rows = (self.detection.row("Detection"), self.correction.row("Correction"))
        return "\n".join([header, *rows])


@dataclass(frozen=True, slots=True)
class _Settings:
    mix: bool = True
    optimise: str = "cwacc"
    level: str = "sent"
    beta: float = 1.0
    weight: float = 2.0
    most: int = IMEASURE_MOST

    def check(self) -> None:
        if self.optimise not in IMEASURE_OPTIMISED:
            raise ConfigError(f"optimise must be one of {', '.join(IMEASURE_OPTIMISED)}")
        if self.level not in IMEASURE_LEVELS:
            raise ConfigError(f"level must be {' or '.join(IMEASURE_LEVELS)}, not {self.level!r}")
        for name in ("beta", "weight"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ConfigError(f"{name} must be 0 or more and finite")

    def signature(self) -> str:
        return signature(
            "imeasure",
            mix=self.mix,
            optimise=self.optimise,
            level=self.level,
            beta=self.beta,
            weight=self.weight,
        )


def imeasure(
    hypotheses: Sequence[str],
    reference: Sequence[Block],
    *,
    mix: bool = True,
    optimise: str = "cwacc",
    level: str = "sent",
    beta: float = 1.0,
    weight: float = 2.0,
    most: int = IMEASURE_MOST,
) -> IScore:
    """Score one system; an example is at the top of the module.

    Args:
        hypotheses: the corrected sentences, split at blanks.
        reference: the sources with the annotators' edits.
        mix: whether to mix annotators' edits; otherwise each annotator is one reference.
        optimise: the score that chooses the best reference: c (correction) or d (detection), then
            p, r, f, acc, wacc or i.
        level: whether that score is of the sentence alone ("sent") or together with the sentences
            before ("corpus").
        beta: how many times as much recall weighs as precision in F.
        weight: w in the formula above.
        most: number of mixtures of a sentence that are tried at most.

    Raises:
        InputError: no sentence, or different numbers of sentences.
        ConfigError: a setting has no such value.
    """
    return measure(hypotheses, reference, _Settings(mix, optimise, level, beta, weight, most))[1]


def imeasure_statistics(
    hypotheses: Sequence[str], reference: Sequence[Block], **settings: object
) -> Statistics:
    """Return the chosen counts by sentence, for significance; arguments as for :func:`imeasure`."""
    return measure(hypotheses, reference, _Settings(**settings))[0]  # type: ignore[arg-type]


def measure(
    hypotheses: Sequence[str], reference: Sequence[Block], settings: _Settings
) -> tuple[Statistics, IScore]:
    """Return the statistics and the score; errors as for :func:`imeasure`."""
    settings.check()
    sources = [block.sentence for block in reference]
    check_parallel([("reference", sources), ("hypotheses", hypotheses)])
    if not sources:
        raise InputError("no sentence to score")
    total = np.zeros(5, dtype=np.int64)
    chosen: list[Columns] = []
    unmixed = 0
    for text, block in zip(hypotheses, reference, strict=True):
        references = mixtures(block, settings.most) if settings.mix else None
        unmixed += settings.mix and references is None
        if references is None:
            references = by_annotator(block)
        counts = align(block.sentence.split(), text.split(), references)
        best = counts[_best(counts, total, settings)]
        total += best
        chosen.append(best)
    rows = np.array(chosen)
    made = settings.signature()
    statistics = Statistics(rows, lambda sums: _score(sums, settings), NAMES, "i", made)
    return statistics, _summary(rows, settings, unmixed)


# ------------------------------------------------------------------------------------------ scores


@dataclass(frozen=True, slots=True)
class _Scores:
    """All scores of one aspect, over any number of counts at once."""

    p: Numbers
    r: Numbers
    f: Numbers
    acc: Numbers
    wacc: Numbers
    base_acc: Numbers
    base_wacc: Numbers
    i: Numbers


def _parts(counts: NDArray[np.number], aspect: str) -> Numbers:
    """Return TP, TN, FP, FN and FPN, [5, ...]."""
    tn, fn, fp, tp, fpn = (counts[..., n].astype(np.float64) for n in range(5))
    if aspect == "d":
        return np.stack([tp + fpn, tn, fp, fn, np.zeros_like(tn)])
    return np.stack([tp, tn, fp + fpn, fn + fpn, fpn])


def _scores(counts: NDArray[np.number], aspect: str, settings: _Settings) -> _Scores:
    tp, tn, fp, fn, fpn = _parts(counts, aspect)
    w = settings.weight
    p, r = ratio(tp, tp + fp, empty=1.0), ratio(tp, tp + fn, empty=1.0)
    acc = ratio(tp + tn, tp + tn + fp + fn - fpn, empty=1.0)
    wacc = ratio(w * tp + tn, w * (tp + fp) + tn + fn - (w + 1) * (fpn / 2), empty=1.0)
    # the source has no positives, so its two accuracies are the same
    kept, all_ = (counts[..., of].astype(np.float64).sum(axis=-1) for of in ([TN, FP], slice(5)))
    base = ratio(kept, all_, empty=1.0)
    return _Scores(
        p, r, f_score(p, r, settings.beta), acc, wacc, base, base, _improvement(wacc, base)
    )


def _improvement(wacc: Numbers, base: Numbers) -> Numbers:
    """Return I; of equal accuracies it is 1 if they are perfect, else 0."""
    better = (wacc - base) / np.where(base < 1, 1.0 - base, 1.0)
    worse = wacc / np.where(base > 0, base, 1.0) - 1.0
    return np.select([wacc == base, wacc > base], [np.floor(wacc), better], worse)


def _best(counts: Columns, total: Columns, settings: _Settings) -> int:
    """Return the index of the best reference: by the score optimised, then I, WAcc and accuracy,
    then the same of the other aspect; the first of equals."""
    judged = counts + total if settings.level == "corpus" else counts
    first, name = settings.optimise[0], settings.optimise[1:]
    keys = []
    for aspect in (first, "d" if first == "c" else "c"):
        scores = _scores(judged, aspect, settings)
        keys += [getattr(scores, name), scores.i, scores.wacc, scores.acc]
    ranks = list(zip(*(key.tolist() for key in keys), strict=True))
    return max(range(len(ranks)), key=ranks.__getitem__)


def _score(sums: Numbers, settings: _Settings) -> Numbers:
    c, d = (_scores(sums, aspect, settings) for aspect in "cd")
    return np.stack([c.i, c.wacc, c.p, c.r, c.f, d.i], axis=-1)


def _summary(rows: Columns, settings: _Settings, unmixed: int) -> IScore:
    correction, detection = (_aspect(rows.sum(axis=0), aspect, settings) for aspect in "cd")
    sentences = _parts(rows, "c").astype(np.int64).T.tolist()
    return IScore(
        correction.i,
        correction,
        detection,
        settings.beta,
        tuple(map(tuple, sentences)),
        unmixed,
        settings.signature(),
    )


def _aspect(total: Columns, aspect: str, settings: _Settings) -> Aspect:
    s = _scores(total, aspect, settings)
    numbers = (s.p, s.r, s.f, s.acc, s.base_acc, s.wacc, s.base_wacc, s.i)
    tp, tn, fp, fn, fpn = (int(count) for count in _parts(total, aspect))
    return Aspect(tp, tn, fp, fn, fpn, *(float(number) for number in numbers))


# ----------------------------------------------------------------------------------------- command


def main(args: argparse.Namespace) -> int:
    """``gec score imeasure HYP GOLD``"""
    once([args.hypothesis, args.gold, args.paired])
    use_utf8()
    reference = read_reference(args.gold)
    settings = _Settings(
        not args.no_mix, args.optimise, args.level, args.beta, args.weight, args.most
    )

    def measured(name: str) -> tuple[Statistics, IScore]:
        hypotheses = read_output(args, name, args.gold, reference.sources)
        return measure(hypotheses, reference.blocks, settings)

    statistics, score = measured(args.hypothesis)
    if score.unmixed:
        warn(
            f"{args.gold}: {score.unmixed} sentences have more than {settings.most} mixtures of "
            "annotators' edits: there each annotator is one reference (--most)"
        )
    significance = assessed(args, lambda: statistics, lambda: measured(args.paired)[0])
    show(score, as_json=args.json, significance=significance)
    return 0
