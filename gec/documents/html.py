"""The prose of HTML: what stands between tags that end a block."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

from gec.documents.passage import Passage
from gec.errors import DataError
from gec.text.protection import Span

_SKIPPED = frozenset(
    "script style pre code kbd samp var textarea svg math template object noscript".split()
)
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite data del dfn em font i ins label mark q s small span strike "
    "strong sub sup time tt u wbr code kbd samp var".split()
)


class _Events(HTMLParser):
    """The places at which data, tags and references begin; each ends where the next begins."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=False)
        self._starts = [0, *(i + 1 for i, c in enumerate(source) if c == "\n")]
        self.events: list[tuple[int, str, str]] = []
        self.feed(source)
        self.close()

    def _add(self, kind: str, value: str = "") -> None:
        line, column = self.getpos()
        self.events.append((self._starts[line - 1] + column, kind, value))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add("start", tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add("empty", tag)

    def handle_endtag(self, tag: str) -> None:
        self._add("end", tag)

    def handle_data(self, data: str) -> None:
        self._add("data")

    def handle_entityref(self, name: str) -> None:
        self._add("reference")

    def handle_charref(self, name: str) -> None:
        self._add("reference")

    def handle_comment(self, data: str) -> None:
        self._add("other")

    def handle_decl(self, decl: str) -> None:
        self._add("other")

    def handle_pi(self, data: str) -> None:
        self._add("other")

    def unknown_decl(self, data: str) -> None:
        self._add("other")


def passages(source: str, name: str) -> Iterator[Passage]:
    try:
        events = _Events(source).events
    except (AssertionError, ValueError) as error:
        raise DataError(f"not HTML: {error}") from None
    ends = [start for start, _, _ in events[1:]] + [len(source)]
    pieces: list[Span] = []
    kept: list[Span] = []
    skipping: list[str] = []
    fragment = True  # all but paragraphs
    for (start, kind, tag), end in zip(events, ends, strict=True):
        if kind == "start" and tag in _SKIPPED:
            skipping.append(tag)
        if skipping:
            if skipping[0] in _INLINE and pieces:  # code in a sentence is a word of it
                pieces.append((start, end))
                kept.append((start, end))
            if kind == "end" and tag in skipping:
                del skipping[skipping.index(tag) :]
        elif kind == "data":
            pieces.append((start, end))
        elif kind == "reference":
            pieces.append((start, end))
            kept.append((start, end))
        elif not (tag in _INLINE or kind == "other"):
            if pieces:
                yield Passage(tuple(pieces), tuple(kept), fragment=fragment)
            pieces, kept = [], []
            fragment = (kind, tag) != ("start", "p")
    if pieces:
        yield Passage(tuple(pieces), tuple(kept), fragment=fragment)
