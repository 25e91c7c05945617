"""Corrections as the API's JSON, with offsets in code points or UTF-16 code units."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gec.edits.messages import category
from gec.text.lines import Positions

if TYPE_CHECKING:
    from gec.correct.result import Correction, SentenceResult
    from gec.edits.edits import Edit
    from gec.web.calls import Call

Span = tuple[int, int]
Sign = Callable[[str, Sequence["Edit"]], str | None]
"""Returns the token of a sentence and its edits, whose offsets count from the sentence's start."""


class Offsets:
    """Converts between a client's offsets in one text and code points.

    >>> Offsets("a😀b", "utf16").out(2), Offsets("a😀b", "utf16").span(3, 4)
    (3, (2, 3))
    """

    def __init__(self, text: str, unit: str = "code_points") -> None:
        self._length = len(text)
        self._utf16 = unit == "utf16"
        self.out: Callable[[int], int] = Positions(text).utf16 if self._utf16 else int

    def span(self, start: int, end: int) -> Span:
        """Return a client's span in code points, widened to whole characters, within the text."""
        start, end = min(start, 2 * self._length), min(end, 2 * self._length)
        if self._utf16:
            start, end = self._floor(start), self._ceiling(end)
        return min(start, self._length), min(end, self._length)

    def _ceiling(self, offset: int) -> int:
        return bisect_left(range(self._length + 1), offset, key=self.out)

    def _floor(self, offset: int) -> int:
        at = self._ceiling(offset)
        return at if at > self._length or self.out(at) == offset else at - 1


def protected(values: dict[str, Any], text: str) -> tuple[Span, ...]:
    """Return the spans that a request's options protect, in code points of its text."""
    offsets = Offsets(text, values.get("offsets", "code_points"))
    spans = (offsets.span(int(start), int(end)) for start, end in values.get("protect", ()))
    return tuple((start, end) for start, end in spans if start < end)


def result(
    correction: Correction, call: Call, values: dict[str, Any], sign: Sign | None = None
) -> dict[str, Any]:
    """Return one text's object in the answer of /api/v1/correct."""
    offsets = Offsets(correction.original, values.get("offsets", "code_points"))
    trace = values.get("trace", False)
    sentences: list[dict[str, Any]] = []
    at = 0
    for sentence, own in correction.by_sentence():
        places = range(at, at + len(own))
        at += len(own)
        shown = _shown(correction.original, sentence, own, places, sign)
        sentences.append(_sentence(sentence, call, offsets, trace) | shown)
    return {
        "text": correction.original,
        "corrected": correction.text,
        "edits": [_edit(edit, offsets) for edit in correction.edits],
        "sentences": sentences,
        "warnings": [str(warning) for warning in correction.warnings],
    }


def events(
    parts: Iterable[Correction],
    text: str,
    call: Call,
    values: dict[str, Any],
    sign: Sign | None = None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the names and data of a stream's events: each sentence with its edits, then done."""
    offsets = Offsets(text, values.get("offsets", "code_points"))
    trace = values.get("trace", False)
    warnings: list[str] = []
    count = 0
    for part in parts:
        warnings += map(str, part.warnings)
        for sentence, own in part.by_sentence():
            shown = _shown(text, sentence, own, range(len(own)), sign)
            yield (
                "sentence",
                {
                    "sentence": _sentence(sentence, call, offsets, trace) | shown,
                    "edits": [_edit(edit, offsets) for edit in own],
                },
            )
            count += 1
    yield "done", {"warnings": warnings, "sentences": count}


def _shown(
    text: str, sentence: SentenceResult, own: Sequence[Edit], places: range, sign: Sign | None
) -> dict[str, Any]:
    """Return the token with which a client sends feedback about a sentence's edits, if it may."""
    if sign is None:
        return {}
    begin = sentence.start
    edits = [replace(edit, start=edit.start - begin, end=edit.end - begin) for edit in own]
    token = sign(text[begin : sentence.end], edits)
    return {"shown": {"token": token, "edits": list(places)}} if token else {}


def _edit(edit: Edit, offsets: Offsets) -> dict[str, Any]:
    return {
        "start": offsets.out(edit.start),
        "end": offsets.out(edit.end),
        "original": edit.original,
        "replacement": edit.replacement,
        "type": edit.type,
        "category": category(edit.type),
        "confidence": edit.confidence,
        "message": edit.message,
    }


def _sentence(
    sentence: SentenceResult, call: Call, offsets: Offsets, trace: bool
) -> dict[str, Any]:
    how = sentence.trace
    milliseconds, cached = call.cost(sentence)
    found: dict[str, Any] = {
        "start": offsets.out(sentence.start),
        "end": offsets.out(sentence.end),
        "passes": how.passes if how else 0,
        "drafted": how.drafted if how else 0,
        "accepted": how.accepted if how else 0,
        "tokens": sum(step.emitted for step in how.steps) if how else 0,
        "milliseconds": milliseconds,
        "cached": cached,
    }
    if trace:
        blocks = how.blocks if how else ()
        found["blocks"] = [{"kind": b.kind, "text": "".join(b.tokens)} for b in blocks]
    return found
