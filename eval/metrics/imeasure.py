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

With w = 2, weighted accuracy rewards corrections more than what was left alone (section 4)::

    WAcc = (w TP + TN) / (w (TP + FP) + TN + FN - (w + 1) FPN / 2)

and I compares it with that of the unchanged source, WAcc_b: (WAcc - WAcc_b) / (1 - WAcc_b) if it is
better, WAcc / WAcc_b - 1 if it is worse. I is from -1 to 1; 0 is a text that might as well have
been left alone.

References are all sentences that annotators' edits make. By default edits that do not touch are
mixed across annotators (section 3.1: every cluster of overlapping edits is corrected as one of them
has it, or not at all if somebody left it alone), and the best reference of a sentence counts.
The number of mixtures doubles with every cluster; where there are more than ``most`` of them, each
annotator's own sentence is taken, and the score says for how many sentences (``unmixed``).

The authors' program tokenizes corrections by NLTK first; here they are split at blanks, as the
source is. Where several references are equally good in every number that is compared, it takes the
first one in Python 2's order of a dictionary; here that is the first one made.

>>> from gec.eval.metrics.errant import Annotation, Block
>>> gold = Block("He go home .", (Annotation(1, 2, "R:VERB:SVA", "goes", 0),))
>>> [imeasure([text], [gold]).i for text in ("He goes home .", "He go home .", "He go house .")]
[1.0, 0.0, -0.4666666666666667]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, product

import numpy as np
from numpy.typing import NDArray

from gec.errors import ConfigError, InputError
from gec.eval.compare.significance import Numbers, Statistics, f_score
from gec.eval.metric_options import IMEASURE_LEVELS, IMEASURE_MOST, IMEASURE_OPTIMISED
from gec.eval.metrics.errant import Block
from gec.eval.metrics.score import (
    assessed,
    check_parallel,
    once,
    show,
    signature,
    use_utf8,
    warn,
)
from gec.eval.metrics.system_edits import read_output, read_reference

Words = Sequence[str]
Counts = NDArray[np.int64]  # [..., 5]: columns of the alignment that are TN, FN, FP, TP, FPN
Place = tuple[int, int, tuple[str, ...]]  # tokens start to end become these

NAMES = ("i", "wacc", "precision", "recall", "f", "detection_i")

_GAP, _MISMATCH = 2, 3
_BATCH = 2_000_000  # cells of the alignment table at a time: bounds the memory
_TN, _FN, _FP, _TP, _FPN = range(5)


@dataclass(frozen=True, slots=True)
class Aspect:
    """Detection or correction: counts, then scores from 0 to 1 (``i``: from -1 to 1).

    ``accuracy_source`` and ``wacc_source`` are those of the unchanged source.
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
        mix: mix annotators' edits; else each annotator is one reference.
        optimise: what the best reference has most of: c (correction) or d (detection), then p, r,
            f, acc, wacc or i.
        level: of the sentence alone, or together with the sentences before ("corpus").
        beta: how much more recall weighs than precision in F.
        weight: w in the formula above.
        most: how many mixtures of a sentence are tried at most.

    Raises:
        InputError: no sentence, or different numbers of them.
        ConfigError: a setting that does not exist.
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
    chosen: list[Counts] = []
    unmixed = 0
    for text, block in zip(hypotheses, reference, strict=True):
        references = _mixtures(block, settings.most) if settings.mix else None
        unmixed += settings.mix and references is None
        if references is None:
            references = _by_annotator(block)
        counts = align(block.sentence.split(), text.split(), references)
        best = counts[_best(counts, total, settings)]
        total += best
        chosen.append(best)
    rows = np.array(chosen)
    made = settings.signature()
    statistics = Statistics(rows, lambda sums: _score(sums, settings), NAMES, "i", made)
    return statistics, _summary(rows, settings, unmixed)


# -------------------------------------------------------------------------------------- references


def _edits(block: Block) -> tuple[set[int], list[tuple[Place, int]]]:
    """Return the annotators, and all edits with their annotators; of alternatives the first."""
    annotators = {annotation.coder for annotation in block.annotations}
    found = []
    for start, end, kind, correction, coder in block.annotations:
        if kind.lower() != "noop" and 0 <= start <= end:
            words = "" if correction == "-NONE-" else correction.split("||")[0]
            found.append(((start, end, tuple(words.split())), coder))
    return annotators, found


def _clusters(edits: Sequence[tuple[Place, int]]) -> list[dict[int, list[Place]]]:
    """Return groups of edits that overlap, from left to right: annotator to edits."""
    clusters: list[list[tuple[Place, int]]] = []
    for edit in sorted(edits, key=lambda edit: edit[0][0] - edit[0][1]):  # the longest first
        for cluster in clusters:
            if any(_overlap(edit[0], other) for other, _ in cluster):
                cluster.append(edit)
                break
        else:
            clusters.append([edit])
    clusters.sort(key=lambda cluster: cluster[0][0][:2])
    by_coder = [sorted(cluster, key=lambda edit: edit[1]) for cluster in clusters]
    return [
        {coder: [place for place, _ in group] for coder, group in groupby(c, lambda edit: edit[1])}
        for c in by_coder
    ]


def _overlap(one: Place, other: Place) -> bool:
    (a, b), (c, d) = one[:2], other[:2]
    if (a, b) == (c, d):
        return True
    if a == b or c == d:  # an insertion overlaps only what it lies within
        return c < a and b < d if a == b else a < c and d < b
    return c < b <= d or c <= a < d


def _mixtures(block: Block, most: int) -> list[Words] | None:
    """Return every sentence that mixed annotators make; None if there are more than ``most``."""
    annotators, edits = _edits(block)
    options: list[list[tuple[Place, ...]]] = []
    for cluster in _clusters(edits):
        found = [tuple(sorted(_joined(places))) for places in cluster.values()]
        if len(cluster) < len(annotators):
            found.insert(0, ())
        options.append(list(dict.fromkeys(found)))
    if math.prod(map(len, options)) > most:
        return None
    tokens = block.sentence.split()
    mixed = ([edit for part in parts for edit in part] for parts in product(*options))
    return _distinct(_applied(tokens, edits) for edits in mixed if _compatible(edits))


def _joined(places: Iterable[Place]) -> list[Place]:
    """Join an annotator's corrections of one place, in their order."""
    joined: dict[tuple[int, int], tuple[str, ...]] = {}
    for start, end, words in places:
        joined[start, end] = joined.get((start, end), ()) + words
    return [(*place, words) for place, words in joined.items()]


def _compatible(edits: Sequence[Place]) -> bool:
    return len({edit[:2] for edit in edits}) == len(edits)


def _by_annotator(block: Block) -> list[Words]:
    """Return each annotator's sentence; the source if one of them found nothing."""
    annotators, edits = _edits(block)
    tokens = block.sentence.split()
    clusters = _clusters(edits)
    some = {coder for _, coder in edits}
    texts: list[Words] = [] if annotators and some == annotators else [tokens]
    for coder in sorted(some):
        own = [edit for cluster in clusters for edit in _joined(cluster.get(coder, ()))]
        texts.append(_applied(tokens, own))
    return _distinct(texts)


def _applied(tokens: Words, edits: Iterable[Place]) -> Words:
    """Apply edits from right to left; one that would leave nothing of a sentence is left out."""
    text = list(tokens)
    for start, end, words in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        corrected = [*text[:start], *words, *text[end:]]
        text = corrected or text
    return text


def _distinct(texts: Iterable[Words]) -> list[Words]:
    return list({tuple(text): text for text in texts}.values())


# --------------------------------------------------------------------------------------- alignment


def align(source: Words, hypothesis: Words, references: Sequence[Words]) -> Counts:
    """Return the columns of the three-way alignment with each reference, [references, 5].

    Alignments that begin alike share their work: references go through the table together. Common
    last tokens are aligned with each other in any case, so the table goes without them.
    """
    size = (len(source) + 1) * (len(hypothesis) + 1) * (max(map(len, references)) + 1)
    step = max(1, _BATCH // size)
    parts = [references[i : i + step] for i in range(0, len(references), step)]
    return np.concatenate([_align(source, hypothesis, part) for part in parts])


def _align(source: Words, hypothesis: Words, references: Sequence[Words]) -> Counts:
    same = min(_common_end(source, hypothesis, reference) for reference in references)
    cut = slice(-same if same else None)
    number: dict[str, int] = {}
    s, h, *r = (
        np.array([number.setdefault(word, len(number)) for word in words[cut]], dtype=np.int64)
        for words in (source, hypothesis, *references)
    )
    lengths = np.array([len(words) for words in r])
    padded = np.full((len(r), max(lengths)), -1)
    for row, words in zip(padded, r, strict=True):
        row[: len(words)] = words
    counts = _trace(_table(s, h, padded), s, h, padded, lengths)
    counts[:, _TN] += same
    return counts


def _common_end(*texts: Words) -> int:
    count = 0
    for tokens in zip(*(text[::-1] for text in texts), strict=False):
        if len(set(tokens)) > 1:
            break
        count += 1
    return count


def _cost(one: NDArray[np.int64], other: NDArray[np.int64] | np.int64) -> NDArray[np.int64]:
    return np.where(one == other, 0, _MISMATCH)


def _table(s: NDArray[np.int64], h: NDArray[np.int64], r: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the least cost of aligning beginnings, [i, j, reference, k]."""
    width = r.shape[1] + 1
    far = np.int64(1 << 40)
    table = np.full((len(s) + 1, len(h) + 1, len(r), width), far)
    gaps = 2 * _GAP  # what a token costs beside two gaps, or a gap beside two tokens
    slope = gaps * np.arange(width)
    sr = [_cost(r, word) for word in s]
    hr = [_cost(r, word) for word in h]
    for i in range(len(s) + 1):
        for j in range(len(h) + 1):
            least = np.full((len(r), width), far)
            if i == j == 0:
                least[:, 0] = 0
            if i:
                above = table[i - 1, j]
                least = np.minimum(least, above + gaps)
                least[:, 1:] = np.minimum(least[:, 1:], above[:, :-1] + sr[i - 1] + gaps)
            if j:
                left = table[i, j - 1]
                least = np.minimum(least, left + gaps)
                least[:, 1:] = np.minimum(least[:, 1:], left[:, :-1] + hr[j - 1] + gaps)
            if i and j:
                diagonal = table[i - 1, j - 1] + (0 if s[i - 1] == h[j - 1] else _MISMATCH)
                least = np.minimum(least, diagonal + gaps)
                all_three = diagonal[:, :-1] + sr[i - 1] + hr[j - 1]
                least[:, 1:] = np.minimum(least[:, 1:], all_three)
            # a reference's token alone: along the row, one after the other
            table[i, j] = np.minimum.accumulate(least - slope, axis=1) + slope
    return table


def _trace(
    table: NDArray[np.int64],
    s: NDArray[np.int64],
    h: NDArray[np.int64],
    r: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> Counts:
    """Go back from the ends of all alignments at once and count the columns, [references, 5].

    Of equally cheap steps the first in this order is taken, as in the authors' program: all three,
    source and hypothesis, source and reference, hypothesis and reference, then one alone.
    """
    rows = np.arange(len(lengths))
    i, j, k = np.full(len(rows), len(s)), np.full(len(rows), len(h)), lengths.copy()
    counts = np.zeros((len(rows), 5), dtype=np.int64)
    gaps = 2 * _GAP
    # one more entry, which index -1 reads where there is no token left; such steps are not taken
    s, h = np.append(s, -2), np.append(h, -3)
    r = np.hstack([r, np.full((len(rows), 1), -4)])
    steps = ((1, 1, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1))
    while (going := (i + j + k) > 0).any():
        tokens = s[i - 1], h[j - 1], r[rows, k - 1]
        sh, sr, hr = tokens[0] == tokens[1], tokens[0] == tokens[2], tokens[1] == tokens[2]
        here = table[i, j, rows, k]
        open_ = going.copy()
        move = np.zeros((3, len(rows)), dtype=np.int64)
        kinds = np.zeros(len(rows), dtype=np.int64)
        for a, b, c in steps:
            there = (i >= a) & (j >= b) & (k >= c) & open_
            cost = _MISMATCH * (a * b * ~sh + a * c * ~sr + b * c * ~hr)
            cost = cost + gaps * (a + b + c < 3)
            before = table[np.maximum(i - a, 0), np.maximum(j - b, 0), rows, np.maximum(k - c, 0)]
            taken = there & (here == before + cost)
            move[:, taken] = np.array([[a], [b], [c]])
            kinds = np.where(taken, _kind(a, b, c, sh, sr, hr), kinds)
            open_ &= ~taken
        counts[rows[going], kinds[going]] += 1
        i, j, k = i - move[0], j - move[1], k - move[2]
    return counts


def _kind(
    a: int, b: int, c: int, sh: NDArray[np.bool_], sr: NDArray[np.bool_], hr: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return what a column is; two gaps agree, a gap and a token do not."""

    def agree(one: int, other: int, equal: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return equal if one and other else np.full(equal.shape, one == other)

    sh, sr, hr = agree(a, b, sh), agree(a, c, sr), agree(b, c, hr)
    return np.select([sh & hr, sh, sr, hr], [_TN, _FN, _FP, _TP], _FPN)


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
    p, r = _ratio(tp, tp + fp), _ratio(tp, tp + fn)
    acc = _ratio(tp + tn, tp + tn + fp + fn - fpn)
    wacc = _ratio(w * tp + tn, w * (tp + fp) + tn + fn - (w + 1) * (fpn / 2))
    # the source has no positives, so its two accuracies are the same
    kept, all_ = (counts[..., of].astype(np.float64).sum(axis=-1) for of in ([_TN, _FP], slice(5)))
    base = _ratio(kept, all_)
    return _Scores(
        p, r, f_score(p, r, settings.beta), acc, wacc, base, base, _improvement(wacc, base)
    )


def _ratio(part: Numbers, whole: Numbers) -> Numbers:
    """Return quotients; 1 if there is nothing to divide by."""
    some = whole > 0
    return np.where(some, part / np.where(some, whole, 1.0), 1.0)


def _improvement(wacc: Numbers, base: Numbers) -> Numbers:
    """Return I; of equal accuracies it is 1 if they are perfect, else 0."""
    better = (wacc - base) / np.where(base < 1, 1.0 - base, 1.0)
    worse = wacc / np.where(base > 0, base, 1.0) - 1.0
    return np.select([wacc == base, wacc > base], [np.floor(wacc), better], worse)


def _best(counts: Counts, total: Counts, settings: _Settings) -> int:
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


def _summary(rows: Counts, settings: _Settings, unmixed: int) -> IScore:
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


def _aspect(total: Counts, aspect: str, settings: _Settings) -> Aspect:
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
