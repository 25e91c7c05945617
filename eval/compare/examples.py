"""What a report shows of single sentences: diffs, wins, losses, disagreements, speed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gec.eval.compare.results import Result
from gec.eval.metrics.errant import Annotation, Block, Counts


@dataclass(frozen=True, slots=True)
class DiffPiece:
    """Part of a diff: ``kept``, or what was ``deleted`` and what ``inserted`` in its place."""

    kept: str = ""
    deleted: str = ""
    inserted: str = ""
    type: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence with its counts and diffs: of each system, and of each gold annotator chosen."""

    number: int
    counts: tuple[Counts, ...]
    diffs: tuple[tuple[DiffPiece, ...], ...]
    gold: Mapping[int, tuple[DiffPiece, ...]]


def diff(sentence: str, edits: Iterable[Annotation]) -> tuple[DiffPiece, ...]:
    """Return a sentence as the pieces that edits keep and change; overlapping ones are skipped."""
    words = sentence.split()
    pieces: list[DiffPiece] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.type in ("noop", "UNK", "Um") or not at <= edit.start <= edit.end <= len(words):
            continue
        pieces.append(DiffPiece(kept=" ".join(words[at : edit.start])))
        correction = "" if edit.correction == "-NONE-" else edit.correction
        pieces.append(
            DiffPiece(
                deleted=" ".join(words[edit.start : edit.end]),
                inserted=correction.partition("||")[0],
                type=edit.type,
            )
        )
        at = edit.end
    pieces.append(DiffPiece(kept=" ".join(words[at:])))
    return tuple(piece for piece in pieces if piece != DiffPiece())


def example(number: int, results: Sequence[Result], gold: Sequence[Block]) -> Example:
    reference = gold[number]
    coders = sorted({result.errant.chosen[number][1] for result in results})
    return Example(
        number + 1,
        tuple(result.errant.sentences[number] for result in results),
        tuple(diff(reference.sentence, r.blocks[number].annotations) for r in results),
        {
            coder: diff(reference.sentence, (a for a in reference.annotations if a.coder == coder))
            for coder in coders
        },
    )


def wins(result: Result) -> list[int]:
    """Return the sentences corrected without a fault, most edits, then longest, first."""
    return sorted(
        (n for n, c in enumerate(result.errant.sentences) if c.tp and not c.fp and not c.fn),
        key=lambda n: (-result.errant.sentences[n].tp, -len(result.blocks[n].sentence), n),
    )


def losses(result: Result) -> list[int]:
    """Return the sentences with wrong edits, those with most, then the longest, first."""
    return sorted(
        (n for n, c in enumerate(result.errant.sentences) if c.fp),
        key=lambda n: (
            result.errant.sentences[n].tp - result.errant.sentences[n].fp,
            -len(result.blocks[n].sentence),
            n,
        ),
    )


def differing(results: Sequence[Result]) -> list[int]:
    """Return the sentences that systems correct differently, the most telling first."""
    rows = zip(*(result.blocks for result in results), strict=True)
    numbers = [
        n for n, row in enumerate(rows) if any(x.annotations != row[0].annotations for x in row)
    ]

    def spread(n: int) -> int:
        nets = [2 * counts.tp - counts.fp for counts in (r.errant.sentences[n] for r in results)]
        return max(nets) - min(nets)

    return sorted(numbers, key=lambda n: (-spread(n), n))


def edit_ratio(block: Block) -> float:
    """Return words in edits over words of the source, at most 1 (Sun et al. 2021, Figure 5)."""
    words = len(block.sentence.split())
    changed = sum(
        max(edit.end - edit.start, len(edit.correction.split())) for edit in block.annotations
    )
    return min(1.0, changed / words) if words else 0.0


def speed_by_ratio(result: Result) -> list[tuple[float, float, float]]:
    """Return (edit ratio, output tokens a pass, ms a token) of every decoded sentence.

    Times are NaN where sentences were decoded in batches: each then has an equal share of its
    batch's time, which says nothing about it.
    """
    times = [line.milliseconds for line in result.system.lines if line.passes]
    alone = sum(a == b for a, b in pairwise(sorted(times))) < len(times) / 10
    return [
        (
            edit_ratio(block),
            line.tokens / line.passes,
            line.milliseconds / line.tokens if alone else math.nan,
        )
        for block, line in zip(result.blocks, result.system.lines, strict=True)
        if line.passes and line.tokens
    ]
