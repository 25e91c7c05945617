"""The chunks of GoToScorer, and what a system made of each (Gotou et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gec.eval.metrics.system_edits import Change


class Chunk(NamedTuple):
    """Source tokens ``start`` to ``end``, the text in their place, and the type of the edit."""

    start: int
    end: int
    text: tuple[str, ...]
    edited: bool = False
    type: str = ""


class Verdict(NamedTuple):
    """How a system treats a chunk of the reference."""

    changed: bool
    correct: bool


def divide(tokens: Sequence[str], changes: Sequence[Change]) -> list[Chunk]:
    """Return a sentence's chunks: edits, tokens, and a gap before each of them and at the end.

    >>> [(c.start, c.end, *c.text) for c in divide("a b".split(), [Change(1, 1, ("x",))])]
    [(0, 0), (0, 1, 'a'), (1, 1, 'x'), (1, 2, 'b'), (2, 2)]
    """
    basic: list[Chunk] = []
    place = 0
    for start, end, text, kind in changes:
        basic += (Chunk(i, i + 1, (tokens[i],)) for i in range(place, start))
        basic.append(Chunk(start, end, text, True, kind))
        place = max(place, end)
    basic += (Chunk(i, i + 1, (tokens[i],)) for i in range(place, len(tokens)))
    chunks: list[Chunk] = []
    for chunk in basic:
        if chunk.start != chunk.end and not (chunks and chunks[-1].start == chunks[-1].end):
            chunks.append(Chunk(chunk.start, chunk.start, ()))
        chunks.append(chunk)
    if not chunks or chunks[-1].start != chunks[-1].end:
        chunks.append(Chunk(len(tokens), len(tokens), ()))
    return chunks


def judge(gold: Sequence[Chunk], system: Sequence[Chunk]) -> list[Verdict]:
    """Return how a system treats every chunk of the reference.

    A chunk is right if the system has a chunk at the same place with the same words. Otherwise the
    chunk is wrong, and changed if the system edits anything that overlaps it or begins in it. If an
    edit of the system runs across a gap, the gap counts as left alone: right if it is no error.
    """
    same = {(chunk.start, chunk.end): chunk for chunk in reversed(system)}
    edits = [chunk for chunk in system if chunk.edited]
    verdicts = []
    for chunk in gold:
        match = same.get((chunk.start, chunk.end))
        if match and match.text == chunk.text:
            verdicts.append(Verdict(match.edited, correct=True))
        elif chunk.start == chunk.end:
            verdicts.append(Verdict(bool(match and match.edited), not match and not chunk.edited))
        else:
            verdicts.append(Verdict(any(_overlaps(chunk, edit) for edit in edits), correct=False))
    return verdicts


def _overlaps(chunk: Chunk, edit: Chunk) -> bool:
    return chunk.start <= edit.start < chunk.end or edit.start <= chunk.start < edit.end
