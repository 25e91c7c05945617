"""The prose of source code: comments and docstrings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gec.documents.passage import Passage, without
from gec.errors import DataError
from gec.text.protection import Span

_COMMENT_MARK = re.compile(
    r"^[ \t]*(?:///?!?|//|\#+!?|--+\[*|;+|%+|/\*+!?|\*+(?!/)|\"\"\"|'''|<!--|\{-|\(\*)?[ \t]?"
    r"|[ \t]*(?:\*+/|\"\"\"|'''|-->|-\}|\*\)|\]\])\s*\Z",
    re.MULTILINE,
)
_LOOKS_LIKE_CODE = re.compile(r"[;{}]\s*$|^\s*@|^\s*\w+\(.*\)\s*$|\w\(\)|[=!<>]=|->|=>|\bdef |>>>")


def passages(source: str, name: str) -> Iterator[Passage]:
    """Yield comments and docstrings; comment lines one after the other are one passage."""
    from pygments.lexers import get_lexer_for_filename  # type: ignore[import-untyped]
    from pygments.token import Comment, String  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        lexer = get_lexer_for_filename(name)
    except ClassNotFound:
        raise DataError(f"the language of {name} is not known by its name") from None
    pieces: list[Span] = []
    last = 0
    for start, kind, value in lexer.get_tokens_unprocessed(source):
        prose = (kind in Comment and kind not in Comment.Preproc
                 and kind not in Comment.PreprocFile and kind not in Comment.Hashbang)  # fmt: skip
        if kind in String.Doc or prose:
            between = source[last:start]
            if pieces and (between.strip() or between.count("\n") > 1):
                yield Passage(tuple(pieces), fragment=True)
                pieces = []
            last = start + len(value)
            pieces += _comment_pieces(source, start, last)
    if pieces:
        yield Passage(tuple(pieces), fragment=True)


def _comment_pieces(source: str, start: int, end: int) -> list[Span]:
    """Return a comment without its marks and its indentation, each line with its line end."""
    pieces = []
    text = source[start:end]
    marks = [(start + m.start(), start + m.end()) for m in _COMMENT_MARK.finditer(text) if m[0]]
    for piece in without(start, end, marks):
        if not _LOOKS_LIKE_CODE.search(source[slice(*piece)]):
            pieces.append(piece)
    # the line end after a comment belongs to it: the next one may go on with its sentence
    if pieces and source[end : end + 1] == "\n" and pieces[-1][1] == end:
        pieces[-1] = (pieces[-1][0], end + 1)
    return pieces
