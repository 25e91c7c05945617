"""The chunks of CLEME: source, hypothesis and references divided at the same places.

Ye et al. 2023, section 3.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gec.eval.metrics.errant import Block
from gec.eval.metrics.system_edits import Change, changes_by_coder, only_changes


class Piece(NamedTuple):
    """One text's side of a chunk; ``changed`` if one of the text's edits lies in the chunk."""

    source: tuple[str, ...]
    text: tuple[str, ...]
    changed: bool

    @property
    def length(self) -> int:
        """The number of words of the longer side."""
        return max(len(self.source), len(self.text))


def partition(hypothesis: Block, reference: Block) -> list[list[Piece]]:
    """Return [text][chunk]: the hypothesis first, then the references."""
    tokens = reference.sentence.split()
    ours = only_changes(hypothesis)
    theirs = list(changes_by_coder(reference).values())
    if len(theirs) > 1:
        theirs = [changes for changes in theirs if _leaves_words(tokens, changes)] or theirs[:1]
    texts = [ours, *theirs]
    spans = _merged(texts)
    return [list(_pieces(tokens, spans, changes)) for changes in texts]


def _leaves_words(tokens: Sequence[str], changes: Sequence[Change]) -> bool:
    return bool(_changed(tokens, 0, len(tokens), changes))


def _merged(texts: Sequence[Sequence[Change]]) -> list[tuple[int, int]]:
    """Return the spans of all texts' edits; spans that overlap or touch become one."""
    spans: list[tuple[int, int]] = []
    for start, end in sorted((change.start, change.end) for text in texts for change in text):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans


def _pieces(
    tokens: Sequence[str], spans: Sequence[tuple[int, int]], changes: Sequence[Change]
) -> Iterator[Piece]:
    """Yield one text's chunks: the spans, and the tokens between them."""
    place = 0
    for start, end in spans:
        if place < start:
            yield _kept(tokens[place:start])
        inside = [change for change in changes if start <= change.start and change.end <= end]
        words = _changed(tokens, start, end, inside)
        yield Piece(tuple(tokens[start:end]), words, bool(inside))
        place = end
    if place < len(tokens):
        yield _kept(tokens[place:])


def _kept(tokens: Sequence[str]) -> Piece:
    return Piece(tuple(tokens), tuple(tokens), changed=False)


def _changed(
    tokens: Sequence[str], start: int, end: int, changes: Sequence[Change]
) -> tuple[str, ...]:
    """Return tokens ``start`` to ``end`` after the changes, all of which lie there."""
    text: list[str] = []
    for change in changes:
        text += [*tokens[start : change.start], *change.tokens]
        start = max(start, change.end)
    return (*text, *tokens[start:end])


def mean_length(pieces: Sequence[Sequence[Sequence[Piece]]]) -> float:
    """Return the mean length of the chunks that references change; 0 if there is none."""
    lengths = [
        piece.length
        for _, *references in pieces
        for reference in references
        for piece in reference
        if piece.changed
    ]
    return sum(lengths) / len(lengths) if lengths else 0.0
