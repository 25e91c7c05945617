"""Systems scored by MaxMatch and ERRANT, with intervals, and every two of them compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gec.eval.compare.files import System, above
from gec.eval.metrics import errant as errant_metric
from gec.eval.metrics import m2
from gec.eval.metrics.errant import (
    Annotation,
    Annotator,
    Block,
    Counts,
    ErrantScore,
    compare,
    parse_blocks,
    reannotate,
)
from gec.eval.metrics.m2 import GoldSentence, M2Score, score_m2
from gec.eval.metrics.significance import Comparison, Interval, bootstrap, compare_all, holm

THRESHOLDS = 20
"""Points of the precision-recall curve at most."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Scores when edits below a confidence are left out."""

    threshold: float
    precision: float
    recall: float
    f: float


@dataclass(frozen=True, slots=True)
class Result:
    """A system's scores on the test set, with intervals from resampled sentences."""

    system: System
    m2: M2Score
    m2_interval: tuple[Interval, ...]
    errant: ErrantScore
    errant_interval: tuple[Interval, ...]
    by_type: Mapping[str, Counts]
    blocks: tuple[Block, ...]
    curve: tuple[CurvePoint, ...]


def evaluate(
    system: System,
    gold: Sequence[GoldSentence],
    blocks: Sequence[Block],
    annotator: Annotator,
    *,
    beta: float = 0.5,
    samples: int = 1000,
    seed: int = 0,
) -> Result:
    """Score one system; ``gold`` and ``blocks`` are one file as the two scorers read it."""
    texts = [line.text for line in system.lines]
    maxmatch = score_m2(texts, gold, beta=beta)
    sources = [block.sentence for block in blocks]
    annotated = annotator.blocks(sources, texts)
    errant = compare(annotated, blocks, beta=beta, how=annotator.settings)
    typed = compare(annotated, errant_types(blocks, annotator), beta=beta)
    return Result(
        system=system,
        m2=maxmatch,
        m2_interval=tuple(bootstrap(m2.statistics(maxmatch), samples=samples, seed=seed).values()),
        errant=errant,
        errant_interval=tuple(
            bootstrap(errant_metric.statistics(errant), samples=samples, seed=seed).values()
        ),
        by_type=typed.by_type,
        blocks=tuple(annotated),
        curve=tuple(_curve(system, annotator, blocks, beta)) if system.detailed else (),
    )


def errant_types(blocks: Sequence[Block], annotator: Annotator) -> Sequence[Block]:
    """Return gold blocks whose edits have ERRANT's types; other types are classified anew."""
    types = {edit.type for block in blocks for edit in block.annotations}
    if all(kind in ("noop", "UNK") or kind[:2] in ("M:", "R:", "U:") for kind in types):
        return blocks
    retyped = reannotate(blocks, annotator, gold=True, minimise=False)
    return [
        replace(block, annotations=tuple(map(_counted, block.annotations)))
        for block in parse_blocks("".join(retyped), "the gold file")
    ]


def _counted(edit: Annotation) -> Annotation:
    """Errors that were only detected count as edits in the scores; let them do so by type."""
    return edit._replace(type="R:OTHER") if edit.type == "UNK" else edit


def _curve(
    system: System, annotator: Annotator, blocks: Sequence[Block], beta: float
) -> Iterable[CurvePoint]:
    confidences = sorted(edit.confidence for line in system.lines for edit in line.edits)
    if not confidences:
        return
    sources = [block.sentence for block in blocks]
    shares = np.linspace(0, 1, THRESHOLDS)
    for threshold in sorted(set(np.quantile(confidences, shares, method="lower").tolist())):
        texts = [above(line, threshold) for line in system.lines]
        score = compare(annotator.blocks(sources, texts), blocks, beta=beta)
        yield CurvePoint(threshold, score.precision, score.recall, score.f)


@dataclass(frozen=True, slots=True)
class Difference:
    """ERRANT's F of one system less that of an earlier one; p adjusted for all pairs (Holm)."""

    system: str
    other: str
    comparison: Comparison
    p_adjusted: float


def compare_systems(
    results: Sequence[Result], *, samples: int = 1000, seed: int = 0
) -> tuple[Difference, ...]:
    """Compare every two systems; none for a single one."""
    statistics = [errant_metric.statistics(result.errant) for result in results]
    found = compare_all(statistics, samples=samples, seed=seed).comparisons
    adjusted = holm([scores["f"].p for scores in found.values()])
    return tuple(
        Difference(results[j].system.name, results[i].system.name, scores["f"], p)
        for ((i, j), scores), p in zip(found.items(), adjusted, strict=True)
    )
