"""A passage: what a reader of a document sees as one run of text, such as a paragraph.

It consists of pieces of the source, between which markup is left out (emphasis marks, tags, the
``#`` of comment lines), and has protected spans, which the model sees but may not change (code,
formulas, URLs). Whatever is in no piece is never looked at again, so it survives.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from operator import itemgetter

from gec.edits.edits import Edit
from gec.text.protection import Overlaps, Span, merged

LINE_END = re.compile(r"\r\n|\n|\r")
_FINAL = frozenset(".!?:;…")


@dataclass(frozen=True)
class Passage:
    """Pieces of a source, in order, and spans of ``source`` within them that must not change.

    Those that are ``protected`` the model sees as single words; what is ``ignored`` (places in the
    source) it sees as it is, and edits there are left out. A ``fragment``, such as a heading, a
    cell or a comment, need not end in a period.
    """

    pieces: tuple[Span, ...]
    protected: tuple[Span, ...] = ()
    ignored: tuple[Span, ...] = ()
    fragment: bool = False
    end: int = 0  # of the text without the blanks behind it

    def text(self, source: str) -> str:
        """Return the pieces as one text."""
        return "".join(source[start:end] for start, end in self.pieces)

    def seen(self, source: str) -> str:
        """Return the text for the model, in which our comments, if only quoted, do not count."""
        text = self.text(source)
        pieces: list[str] = []
        at = 0
        for start, end in merged(text, self.protected):
            pieces += text[at:start], text[start:end].replace("gec:", "gec ")
            at = end
        return "".join(pieces) + text[at:]

    def inside(self, spans: Sequence[Span]) -> tuple[Span, ...]:
        """Return spans of the source, sorted and apart, as spans of the passage's text."""
        found: list[Span] = []
        for at, (start, end) in zip(self._offsets, self.pieces, strict=False):
            for place in range(bisect_right(spans, start, key=itemgetter(1)), len(spans)):
                first, last = max(spans[place][0], start), min(spans[place][1], end)
                if first >= last:
                    break
                found.append((at + first - start, at + last - start))
        return tuple(found)

    def outside(self, edits: Iterable[Edit]) -> Iterator[Edit]:
        """Yield edits of the passage's text as edits of the source.

        It leaves out those that cross markup or lie in what is ignored, and a period after a
        fragment.
        """
        offsets = self._offsets
        for edit in edits:
            if self.fragment and edit.start >= self.end and edit.replacement.strip() in _FINAL:
                continue
            # an insertion between two pieces belongs to the first, all else to where it begins
            place = bisect_right(offsets, edit.start - (edit.start == edit.end > 0)) - 1
            if edit.end <= offsets[place + 1]:
                move = self.pieces[place][0] - offsets[place]
                start, end = edit.start + move, edit.end + move
                if not self._ignores(start - 1, end + 1):  # what touches it is in it, too
                    yield replace(edit, start=start, end=end)

    def place(self, start: int, end: int) -> Span:
        """Return the span of the source for one of the text, with the markup inside it."""
        offsets = self._offsets
        first = min(bisect_right(offsets, start), len(self.pieces)) - 1
        last = max(first, min(bisect_left(offsets, end), len(self.pieces)) - 1)
        moved = (self.pieces[i][0] - offsets[i] for i in (first, last))
        return start + next(moved), end + next(moved)

    @cached_property
    def _ignores(self) -> Overlaps:
        return Overlaps(self.ignored)

    @cached_property
    def _offsets(self) -> list[int]:
        """The places in the passage's text at which the pieces begin, and its end."""
        return list(accumulate((end - start for start, end in self.pieces), initial=0))


def without(start: int, end: int, spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return what is left of a span without others, which are sorted."""
    pieces = []
    for first, last in spans:
        if first >= end:
            break
        if start < first:
            pieces.append((start, first))
        start = max(start, last)
    return (*pieces, (start, end)) if start < end else tuple(pieces)
