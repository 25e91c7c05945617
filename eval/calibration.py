"""``gec calibrate``: how often edits are right, from development sets, and what thresholds cost.

Every edit that the model proposes on annotated sentences is right or wrong: right when some
annotator made the same one. A logistic regression learns that from the evidence on the edit (Platt
1999, here with several features; Newton's method, ridge penalty). The numbers printed are from
cross-validation: no sentence is judged by weights that were fitted to it. Precision and recall are
those of one annotator a sentence, chosen as M2 chooses (see :func:`operation`).
"""

from __future__ import annotations

import math
import random
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gec.correct.confidence import Calibration, Evidence
from gec.correct.needless import Needless
from gec.errors import DataError
from gec.eval.metrics.m2.reading import GoldEdit, read_gold
from gec.eval.metrics.m2.scoring import Counts, merit
from gec.eval.metrics.score import read_lines

if TYPE_CHECKING:
    from gec.correct.corrector import Corrector

_FOLDS = 5
_RIDGE = 1.0
_FEWEST = 8  # edits of a type that has a weight of its own
THRESHOLDS = tuple(n / 20 for n in range(20))


@dataclass(frozen=True, slots=True)
class Judged:
    """One proposed edit: the file and the sentence it is of, and which annotators made it."""

    file: str
    sentence: int
    evidence: Evidence
    annotators: frozenset[int] = frozenset()

    @property
    def right(self) -> bool:
        """Whether any annotator made it."""
        return bool(self.annotators)


@dataclass(frozen=True, slots=True)
class Sample:
    """A development set after the model has seen it.

    Attributes:
        gold: for each sentence, how many edits each of its annotators made.
        edits: what the model proposed.
    """

    file: str
    gold: tuple[tuple[int, ...], ...]
    edits: tuple[Judged, ...]

    @property
    def sentences(self) -> int:
        return len(self.gold)

    @property
    def clean(self) -> frozenset[int]:
        """The sentences in which no annotator found anything to correct."""
        return frozenset(number for number, sizes in enumerate(self.gold) if not any(sizes))


@dataclass(frozen=True, slots=True)
class Operation:
    """What a threshold gives on one set: edits against the annotators', and needless changes."""

    precision: float
    recall: float
    f05: float
    changed: float  # share of the clean sentences with an edit; nan without clean sentences


def judge(
    corrector: Corrector, file: str, *, clean: bool = False, limit: int | None = None
) -> Sample:
    """Correct the sentences of an M2 file, or of a tokenized text in which all edits are wrong.

    ``limit`` sentences are drawn at random, always the same ones.
    """
    gold: list[tuple[str, list[tuple[GoldEdit, ...]]]]
    if clean:
        gold = [(line, []) for line in read_lines(file)]
    else:
        gold = [
            (sentence.source, [tuple(edits) for edits in sentence.edits.values()])
            for sentence in read_gold(file)
        ]
    if limit is not None and limit < len(gold):
        gold = random.Random(0).sample(gold, limit)
    edits = []
    found = corrector.correct_tokenized([source for source, _ in gold])
    for number, ((_, annotators), correction) in enumerate(zip(gold, found, strict=True)):
        for result in correction.sentences:
            for evidence in result.evidence:
                makers = (n for n, made in enumerate(annotators) if _among(evidence, made))
                edits.append(Judged(file, number, evidence, frozenset(makers)))
    return Sample(
        file,
        tuple(tuple(len(made) for made in annotators) for _, annotators in gold),
        tuple(edits),
    )


def _among(evidence: Evidence, gold: Sequence[GoldEdit]) -> bool:
    """Whether an annotator made a proposed edit, or allows it as one of several."""
    new = " ".join(evidence.replacement)
    return any(
        (edit.start, edit.end) == (evidence.start, evidence.end) and new in edit.corrections
        for edit in gold
    )


def fit(edits: Sequence[Judged]) -> Calibration:
    """Return the weights under which the edits' labels are likeliest, less the ridge penalty.

    Raises:
        DataError: all of them are right, or all wrong, or there are none.
    """
    if len({edit.right for edit in edits}) < 2:
        raise DataError(f"{len(edits)} edits, all right or all wrong, cannot be calibrated on")
    types = Counter(edit.evidence.type for edit in edits)
    features = [edit.evidence.features() for edit in edits]
    names = sorted(
        {name for row in features for name in row if types.get(name, _FEWEST) >= _FEWEST}
    )
    matrix = torch.tensor(
        [[row.get(name, 0.0) for name in names] for row in features], dtype=torch.float64
    )
    labels = torch.tensor([float(edit.right) for edit in edits], dtype=torch.float64)
    scale = matrix.std(0)
    scale = torch.where(scale > 1e-9, scale, 1.0)  # evidence that all edits share tells none apart
    weights, bias = _newton(matrix / scale, labels)
    return Calibration(
        round(bias, 4),
        {
            name: round(weight, 4)
            for name, weight in zip(names, (weights / scale).tolist(), strict=True)
        },
    )


def _newton(matrix: Tensor, labels: Tensor) -> tuple[Tensor, float]:
    """Return weights and bias of the penalised logistic regression."""
    rows = torch.cat([matrix, torch.ones(len(matrix), 1, dtype=matrix.dtype)], 1)
    penalty = torch.full((rows.shape[1],), _RIDGE, dtype=rows.dtype)
    penalty[-1] = 1e-6
    weights = torch.zeros(rows.shape[1], dtype=rows.dtype)
    for _ in range(50):
        p = torch.sigmoid(rows @ weights)
        gradient = rows.T @ (p - labels) + penalty * weights
        curvature = rows.T @ (rows * (p * (1 - p))[:, None]) + torch.diag(penalty)
        step = torch.linalg.solve(curvature, gradient)
        weights = weights - step
        if float(step.abs().max()) < 1e-9:
            break
    return weights[:-1], float(weights[-1])


def cross_validated(edits: Sequence[Judged]) -> list[float]:
    """Return each edit's confidence from weights fitted to other sentences."""
    folds = [zlib.crc32(f"{Path(e.file).name} {e.sentence}".encode()) % _FOLDS for e in edits]
    confidences = [0.0] * len(edits)
    for fold in set(folds):
        rest = [edit for edit, other in zip(edits, folds, strict=True) if other != fold]
        calibration = fit(rest)
        for place, (edit, own) in enumerate(zip(edits, folds, strict=True)):
            if own == fold:
                confidences[place] = calibration(edit.evidence)
    return confidences


def needless(samples: Sequence[Sample]) -> dict[str, Needless]:
    """Return how sure the model is of edits in sentences without errors, by the files' names.

    Only files in which no sentence has an error count; the confidences are cross-validated.
    """
    confidences = iter(cross_validated([edit for sample in samples for edit in sample.edits]))
    found = {}
    for sample in samples:
        surest: dict[int, float] = {}
        for edit in sample.edits:
            confidence = next(confidences)
            surest[edit.sentence] = max(confidence, surest.get(edit.sentence, 0.0))
        if len(sample.clean) == sample.sentences:
            found[Path(sample.file).stem] = Needless.of(sample.sentences, [*surest.values()])
    return found


def ranking(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """Return the share of (right, wrong) pairs of edits in which the right one is surer (AUC)."""
    order = sorted(range(len(right)), key=lambda i: confidences[i])
    total, place = 0.0, 0
    while place < len(order):  # ties share their mean rank
        end = place
        while end < len(order) and confidences[order[end]] == confidences[order[place]]:
            end += 1
        total += (place + end + 1) / 2 * sum(right[i] for i in order[place:end])
        place = end
    good = sum(right)
    bad = len(right) - good
    return (total - good * (good + 1) / 2) / (good * bad) if good and bad else math.nan


def reliability(
    confidences: Sequence[float], right: Sequence[bool], bins: int = 10
) -> list[tuple[int, float, float]]:
    """Return for each tenth of confidence that has edits: number, mean confidence, share right."""
    table = []
    for place in range(bins):
        inside = [i for i, c in enumerate(confidences) if min(int(c * bins), bins - 1) == place]
        if inside:
            mean = sum(confidences[i] for i in inside) / len(inside)
            table.append((len(inside), mean, sum(right[i] for i in inside) / len(inside)))
    return table


def operation(sample: Sample, confidences: Sequence[float], threshold: float) -> Operation:
    """Return what leaving out edits below ``threshold`` gives on one set (edits, not M2).

    Each sentence counts by one annotator, chosen as M2 does: who gives the highest F0.5 over the
    sentences so far. What only another one made is wrong then.
    """
    made: dict[int, list[Judged]] = defaultdict(list)
    for edit, confidence in zip(sample.edits, confidences, strict=True):
        if confidence >= threshold:
            made[edit.sentence].append(edit)
    counts = Counts()
    for number, sizes in enumerate(sample.gold):
        here = made.get(number, [])
        choices = [
            Counts(
                counts.correct + sum(annotator in edit.annotators for edit in here),
                counts.proposed + len(here),
                counts.gold + size,
            )
            for annotator, size in enumerate(sizes or (0,))
        ]
        counts = max(choices, key=lambda choice: merit(choice, 0.5))
    changed = len(made.keys() & sample.clean)
    return Operation(
        counts.precision,
        counts.recall,
        counts.final_f(0.5),
        changed / len(sample.clean) if sample.clean else math.nan,
    )


def plot(samples: Sequence[Sample]) -> str:
    """Return the reliability of :func:`report` as SVG; no edit at all raises DataError."""
    from gec.eval.compare.plots import reliability as draw

    edits = [edit for sample in samples for edit in sample.edits]
    bins = reliability(cross_validated(edits), [edit.right for edit in edits])
    if not bins:
        raise DataError("there is no edit to plot the reliability of")
    return draw(bins)


def report(samples: Sequence[Sample]) -> str:
    """Return what ``gec calibrate`` prints: reliability, then what every threshold gives."""
    edits = [edit for sample in samples for edit in sample.edits]
    confidences = cross_validated(edits)
    right = [edit.right for edit in edits]
    raw = [min(e.evidence.probability, e.evidence.following) * e.evidence.spelling for e in edits]
    lines = [
        f"{len(edits)} edits, {sum(right)} right; right above wrong (AUC): "
        f"{ranking(confidences, right):.3f}, by the network's probability alone "
        f"{ranking(raw, right):.3f}",
        "",
        "confidence  right   edits",
    ]
    for number, mean, share in reliability(confidences, right):
        lines.append(f"{mean:10.2f}  {share:5.2f}  {number:6d}")
    names = [Path(sample.file).name for sample in samples]
    width = max(24, *(len(name) for name in names))
    lines += ["", "P R F0.5 (edits) and % of the sentences without errors that are changed"]
    lines.append("  ".join(["at least", *(f"{name:>{width}}" for name in names)]))
    for threshold in THRESHOLDS:
        cells, at = [], 0
        for sample in samples:
            own = confidences[at : at + len(sample.edits)]
            at += len(sample.edits)
            found = operation(sample, own, threshold)
            shares = f"{found.precision:.3f} {found.recall:.3f} {found.f05:.4f} "
            clean = f"{100 * found.changed:5.1f}" if sample.clean else "    -"
            cells.append(f"{(shares if any(map(any, sample.gold)) else '') + clean:>{width}}")
        lines.append("  ".join([f"{threshold:8.2f}", *cells]))
    return "\n".join(lines)
