"""Corrections as the API's JSON, with offsets in code points or UTF-16 code units."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from gec.formats import Positions
from gec.messages import category

if TYPE_CHECKING:
    from gec.corrector import Correction, SentenceResult
    from gec.text.edits import Edit
    from gec.web.calls import Call

Span = tuple[int, int]


class Offsets:
    """The offsets of one text as a client counts them, and back.

    >>> Offsets("a😀b", "utf16").out(2), Offsets("a😀b", "utf16").span(3, 4)
    (3, (2, 3))
    """

    def __init__(self, text: str, unit: str = "code_points") -> None:
        self._length = len(text)
        self._utf16 = unit == "utf16"
        self.out: Callable[[int], int] = Positions(text).utf16 if self._utf16 else int

    def span(self, start: int, end: int) -> Span:
        """Return a client's span in code points, within the text; no character is cut in two."""
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


def in_code_points(edit: dict[str, Any], text: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return a client's edit of ``text`` with offsets in code points, if ``values`` has others."""
    if values.get("offsets") != "utf16":
        return edit
    start, end = Offsets(text, "utf16").span(int(edit["start"]), int(edit["end"]))
    return {**edit, "start": start, "end": end}


def result(correction: Correction, call: Call, values: dict[str, Any]) -> dict[str, Any]:
    """Return one text's object in the answer of /api/v1/correct."""
    offsets = Offsets(correction.original, values.get("offsets", "code_points"))
    trace = values.get("trace", False)
    return {
        "text": correction.original,
        "corrected": correction.text,
        "edits": [_edit(edit, offsets) for edit in correction.edits],
        "sentences": [_sentence(s, call, offsets, trace) for s in correction.sentences],
        "warnings": list(correction.warnings),
    }


def events(
    parts: Iterable[Correction], text: str, call: Call, values: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the names and data of a stream's events: each sentence with its edits, then done."""
    offsets = Offsets(text, values.get("offsets", "code_points"))
    trace = values.get("trace", False)
    warnings: list[str] = []
    count = 0
    for part in parts:
        warnings += part.warnings
        edits = list(part.edits)
        for number, sentence in enumerate(part.sentences, 1):
            last = number == len(part.sentences)
            own = [edit for edit in edits if last or edit.end <= sentence.end]
            edits = edits[len(own) :]
            yield (
                "sentence",
                {
                    "sentence": _sentence(sentence, call, offsets, trace),
                    "edits": [_edit(edit, offsets) for edit in own],
                },
            )
            count += 1
    yield "done", {"warnings": warnings, "sentences": count}


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
