"""The passages of an open document, parsed, or for a moment derived from those before a keystroke.

A parser needs up to a second for a long document, so it does not run at every keystroke. While
someone writes plain words within a passage, its neighbours only move. Such an outline is a guess:
as soon as nobody writes, the document is parsed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace

from gec.documents.markup import passages
from gec.documents.passage import Passage
from gec.lsp.positions import difference
from gec.lsp.recut import HARMLESS
from gec.text.protection import Span

_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Outline:
    """Where a document's prose is.

    Attributes:
        source: the document's text.
        kind, name: how its prose is found.
        found: its passages.
        guessed: the document was not parsed.
    """

    source: str
    kind: str
    name: str
    found: tuple[Passage, ...]
    guessed: bool = False

    @classmethod
    def parsed(cls, source: str, kind: str, name: str) -> Outline:
        """Parse a document.

        Raises:
            DataError: it is not of its kind.
        """
        found = passages(kind, source, name)
        return cls(source, kind, name, tuple(sorted(found, key=lambda p: p.pieces[0])))

    def after(self, source: str) -> Outline | None:
        """Return the outline of another version; None if the document must be parsed."""
        if source == self.source:
            return self
        start, end, stop = difference(self.source, source)
        new = source[start:stop]
        place = self._passage(start, end)
        if place is None or not (
            HARMLESS.fullmatch(new) and HARMLESS.fullmatch(self.source, start, end)
        ):
            return None
        passage = _grown(self.found[place], self.source, source, start, end, len(new))
        if passage is None:
            return None
        shift = len(new) - (end - start)
        rest = (_moved(other, shift) for other in self.found[place + 1 :])
        found = (*self.found[:place], passage, *rest)
        return replace(self, source=source, found=found, guessed=True)

    def _passage(self, start: int, end: int) -> int | None:
        """Return the number of the passage in one piece of which a change lies, behind a letter."""
        line = max((self.source.rfind(mark, 0, start) for mark in "\r\n"), default=-1) + 1
        place = bisect_right(self.found, start, key=lambda p: p.pieces[0][0]) - 1
        if place < 0 or _nested(self.found, place, start):
            return None
        for first, last in self.found[place].pieces:
            if first < start and (end < last or (end == last and self._ends_line(last))):
                inside = self.source[max(first, line) : start]
                return place if _LETTER.search(inside) else None
        return None

    def _ends_line(self, at: int) -> bool:
        return self.source[at : at + 1] in ("", "\r", "\n")


def _nested(found: tuple[Passage, ...], place: int, start: int) -> bool:
    """Whether an earlier passage goes on behind a place, as around a footnote."""
    return any(p.pieces[-1][1] > start for p in found[max(0, place - 3) : place])


def _grown(
    passage: Passage, old: str, source: str, start: int, end: int, size: int
) -> Passage | None:
    """Return a passage with a change in it; None if the change meets what is protected."""
    shift = size - (end - start)
    at = 0
    pieces: list[Span] = []
    place: int | None = None
    for first, last in passage.pieces:
        if first < start and end <= last and place is None:
            place = at + start - first
            pieces.append((first, last + shift))
        else:
            move = shift if place is not None else 0
            pieces.append((first + move, last + move))
        at += last - first
    if place is None:
        return None
    protected: list[Span] = []
    for first, last in passage.protected:
        if last < place:
            protected.append((first, last))
        elif first > place + end - start:
            protected.append((first + shift, last + shift))
        else:
            return None
    ignored: list[Span] = []
    for first, last in passage.ignored:
        if first <= end and start <= last:
            return None
        ignored.append((first + shift, last + shift) if first > start else (first, last))
    grown = Passage(tuple(pieces), tuple(protected), tuple(ignored), passage.fragment)
    return replace(grown, end=len(grown.text(source).rstrip()))


def _moved(passage: Passage, shift: int) -> Passage:
    if not shift:
        return passage
    return replace(
        passage,
        pieces=tuple((first + shift, last + shift) for first, last in passage.pieces),
        ignored=tuple((first + shift, last + shift) for first, last in passage.ignored),
    )
