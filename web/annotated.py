"""Text with markup, as in the LanguageTool API's ``data``.

The corrector reads the text without the markup; answers have offsets within the full text.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from gec.web.problems import Problem

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of ``plain``, and the piece of ``full`` that it stands for; equal if it is text."""

    start: int
    full_start: int
    full_end: int
    is_text: bool


class Annotated:
    """A text whose markup is known.

    Attributes:
        full: text and markup; all offsets of answers count its characters.
        plain: the text to correct, with what each markup is to be read as.

    >>> text = Annotated([("A ", None), ("<b>", ""), ("dog", None), ("</b>", "")])
    >>> text.plain, text.full, text.span(2, 5)
    ('A dog', 'A <b>dog</b>', (5, 8))
    """

    def __init__(self, pieces: list[tuple[str, str | None]]) -> None:
        """Join ``pieces``, each (text, None) or (markup, text to read instead)."""
        plain: list[str] = []
        self._pieces: list[_Piece] = []
        at = full_at = 0
        for written, instead in pieces:
            read = written if instead is None else instead
            if read:  # the plain text has no trace of markup that reads as nothing
                end = full_at + len(written)
                self._pieces.append(_Piece(at, full_at, end, instead is None))
            plain.append(read)
            at += len(read)
            full_at += len(written)
        self.plain = "".join(plain)
        self.full = "".join(written for written, _ in pieces)
        self._starts = [piece.start for piece in self._pieces]

    def span(self, start: int, end: int) -> Span:
        """Return the span in ``full`` of plain characters ``start`` to ``end``, at least one."""
        first, last = self._piece(start), self._piece(end - 1)
        begin = first.full_start + (start - first.start if first.is_text else 0)
        stop = last.full_start + (end - last.start) if last.is_text else last.full_end
        return begin, stop

    def is_text(self, start: int, end: int) -> bool:
        """Whether plain characters ``start`` to ``end`` stand in ``full`` without any markup."""
        begin, stop = self.span(start, end)
        return self.full[begin:stop] == self.plain[start:end] and (
            self._piece(start).is_text and self._piece(end - 1).is_text
        )

    def protected(self) -> tuple[Span, ...]:
        """Return the spans of the plain text that stand for markup."""
        ends = [*self._starts[1:], len(self.plain)]
        return tuple(
            (piece.start, end)
            for piece, end in zip(self._pieces, ends, strict=False)
            if not piece.is_text and self.plain[piece.start : end].strip()
        )

    def _piece(self, at: int) -> _Piece:
        return self._pieces[bisect_right(self._starts, at) - 1]


def parse(data: str) -> Annotated:
    """Return the parameter ``data``, which is ``{"text": ...}`` or ``{"annotation": [...]}``.

    Raises:
        Problem: 400, the parameter has another form.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise _bad("is not JSON") from None
    if not isinstance(value, dict) or ("text" in value) == ("annotation" in value):
        raise _bad("needs either 'text' or 'annotation'")
    if "text" in value:
        return Annotated([(_string(value, "text"), None)])
    if not isinstance(value["annotation"], list):
        raise _bad("'annotation' must be a list")
    return Annotated([_read(item) for item in value["annotation"]])


def _read(item: Any) -> tuple[str, str | None]:
    if not isinstance(item, dict) or ("text" in item) == ("markup" in item):
        raise _bad("an annotation needs either 'text' or 'markup'")
    if "text" in item:
        if "interpretAs" in item:
            raise _bad("'interpretAs' belongs to 'markup'")
        return _string(item, "text"), None
    return _string(item, "markup"), _string(item, "interpretAs") if "interpretAs" in item else ""


def _string(value: dict[str, Any], name: str) -> str:
    found = value[name]
    if not isinstance(found, str):
        raise _bad(f"'{name}' must be a string")
    return found


def _bad(what: str) -> Problem:
    return Problem(400, "invalid_request", f"the parameter 'data' {what}")
