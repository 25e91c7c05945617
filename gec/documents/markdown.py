"""The prose of Markdown: paragraphs, headings, list items and the cells of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from gec.documents.passage import LINE_END, Passage, without

_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:(?!---).*\r?\n)*---[ \t]*(?=\r?\n|\Z)")
_MARKS = re.compile(r"(?<![*_~\\\w])[*_~]{1,3}(?=\w)|(?<=[\w.,;:!?)])[*_~]{1,3}(?![*_~\w])")
_QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_REFERENCE = re.compile(r"(?<=\])\[[^\]\n]*\]|\[\^[^\]\n]+\]")
_HARD_BREAK = re.compile(r"\\$", re.MULTILINE)


def passages(source: str, name: str) -> Iterator[Passage]:
    from markdown_it import MarkdownIt

    head = _FRONT_MATTER.match(source)
    begin = head.end() if head else 0
    starts = [0, *(found.end() for found in LINE_END.finditer(source)), len(source)]
    # as many lines as before, but for the parser empty
    blank = re.sub(r"[^\r\n]", " ", source[:begin]) + source[begin:]
    seen = set()
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(blank)
    for before, token in pairwise(tokens):
        if token.type != "inline" or token.map is None or tuple(token.map) in seen:
            continue
        seen.add(tuple(token.map))
        first, last = starts[token.map[0]], starts[min(token.map[1], len(starts) - 1)]
        fragment = before.hidden or before.type != "paragraph_open"  # hidden: of a tight list
        yield from _marked(source, first, last, fragment)


def _marked(source: str, first: int, last: int, fragment: bool) -> Iterator[Passage]:
    """Yield a paragraph without its quote marks and emphasis, or the cells of a table's row."""
    text = source[first:last]
    marks = sorted(
        (first + found.start(), first + found.end())
        for pattern in (_MARKS, _QUOTE, _HARD_BREAK)
        for found in pattern.finditer(text)
    )
    kept = [(first + f.start(), first + f.end()) for f in _REFERENCE.finditer(text)]
    bars = re.finditer(r"(?<!\\)\|", text) if text.lstrip().startswith("|") else ()
    cuts = [first + bar.start() for bar in bars]
    for start, end in zip([first, *(cut + 1 for cut in cuts)], [*cuts, last], strict=True):
        if pieces := without(start, end, marks):
            yield Passage(pieces, tuple(kept), fragment=fragment)
