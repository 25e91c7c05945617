"""Where the prose of a document is: passages found by the parser of its markup."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

from gec.documents import code, commit, html, latex, markdown, rst
from gec.documents.passage import Passage
from gec.errors import DataError
from gec.text.protection import Span, mask, merged
from gec.text.protection import protected_spans as protected_in_text


def _plain(source: str, name: str) -> Iterator[Passage]:
    yield Passage(((0, len(source)),))


PARSERS: dict[str, Callable[[str, str], Iterator[Passage]]] = {
    "plain": _plain,
    "markdown": markdown.passages,
    "rst": rst.passages,
    "html": html.passages,
    "latex": latex.passages,
    "code": code.passages,
    "commit": commit.passages,
}
"""What finds the passages of each kind of document, given its text and its name."""


def passages(kind: str, source: str, name: str = "") -> list[Passage]:
    """Return a document's passages; ``kind`` is a key of :data:`PARSERS`.

    Raises DataError if a parser cannot read it.
    """
    said = source
    if kind in ("markdown", "rst"):  # documents about gec quote its comments
        said = _QUOTED.sub(lambda quoted: quoted[0].replace("gec:", "gec "), source)
    protected = protected_in_text(said)  # code, URLs, and between "gec: off" and "gec: on"
    if kind == "latex":  # where {name} is an argument, not a placeholder
        protected = [span for span in protected if "gec:" in source[slice(*span)]]
    if kind == "rst":
        protected += _switched_off(said)
    protected = merged(source, protected)
    ignored = [*_ignored(said)]
    try:
        parsed = [*PARSERS[kind](source, name)]
    except RecursionError:
        raise DataError("is nested too deeply") from None
    found = []
    for passage in parsed:
        if not passage.pieces:
            continue
        text = passage.text(source)
        own = merged(source, passage.protected)
        kept = merged(text, [*passage.inside(protected), *passage.inside(own)])
        passage = replace(
            passage,
            protected=tuple(kept),
            ignored=tuple(_near(ignored, passage.pieces[0][0], passage.pieces[-1][1])),
            end=len(text.rstrip()),
        )
        if re.search(r"[^\W\d_]{2}", mask(text, kept, " ")):
            found.append(passage)
    return found


def _near(spans: Sequence[Span], start: int, end: int) -> Sequence[Span]:
    """Return those of the spans, sorted by both ends, that overlap or touch a part of it."""
    first = bisect_left(spans, start, key=itemgetter(1))
    return spans[first : bisect_right(spans, end, key=itemgetter(0))]


_QUOTED = re.compile(r"(`+)(?!`)[^`\n]{0,40}gec:[^`\n]{0,40}\1(?!`)")
_RST_SWITCH = re.compile(r"^[ \t]*\.\.[ \t]+gec:[ \t]*(off|on)\b", re.MULTILINE)
_IGNORE = re.compile(
    r"(?:<!--|//|/\*|\#|%|--|;|\.\.)[ \t]*gec:[ \t]*ignore\b(?:[ \t]*(?:-->|\*/))?"
)


def _switched_off(source: str) -> Iterator[Span]:
    """Yield what stands between the comments ``.. gec: off`` and ``.. gec: on``."""
    start: int | None = None
    for found in _RST_SWITCH.finditer(source):
        if found[1] == "off":
            start = found.start() if start is None else start
        elif start is not None:
            yield start, found.end()
            start = None
    if start is not None:
        yield start, len(source)


def _ignored(source: str) -> Iterator[Span]:
    """Yield lines with a comment ``gec: ignore``; if it stands alone, the next line with text."""
    for found in _IGNORE.finditer(source):
        start = max(source.rfind(end, 0, found.start()) for end in "\r\n") + 1
        line = _LINE.match(source, start)
        end = line.end() if line else found.end()
        if not (source[start : found.start()] + source[found.end() : end]).strip():
            if not (line := _LINE.search(source, end)):
                continue
            start, end = line.span()
        yield start, end


_LINE = re.compile(r"[^\r\n]*[^\s][^\r\n]*")
