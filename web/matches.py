"""Edits as matches of the LanguageTool API, whose spans and replacements are never empty."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gec.edits.messages import message
from gec.text.lines import Positions
from gec.web.annotated import Annotated

if TYPE_CHECKING:
    from gec.correct.result import SentenceResult
    from gec.edits.edits import Edit

CONTEXT = 40
_RIGHT = re.compile(r"[^\S\r\n]*(?:\w+(?:['’]\w+)*|[^\w\s])")
_LEFT = re.compile(r"(?:\w+(?:['’]\w+)*|[^\w\s])[^\S\r\n]*\Z")
_REACH = 200


@dataclass(frozen=True, slots=True)
class Replacement:
    """A change of characters ``start`` to ``end`` to ``text``, made of ``edits``."""

    start: int
    end: int
    text: str
    edits: tuple[Edit, ...]


def replacements(text: str, edits: Sequence[Edit]) -> list[Replacement]:
    """Return the edits as replacements, each of which covers a character and leaves one.

    An insertion covers the word beside it, and a deletion leaves the word beside it; if another
    edit stands in the way, the two become one. An edit for which this is impossible, such as an
    insertion into an empty text, is left out.
    """
    found: list[Replacement] = []
    for number, edit in enumerate(edits):
        low = found[-1].end if found else 0
        high = edits[number + 1].start if number + 1 < len(edits) else len(text)
        new = Replacement(edit.start, edit.end, edit.replacement, (edit,))
        if not _is_whole(new):
            new = _extended(text, new, low, high)
        if not _is_whole(new) and found:
            new = _joined(text, found.pop(), new)
        if found and not _is_whole(found[-1]):
            new = _joined(text, found.pop(), new)
        found.append(new)
    return [one for one in found if _is_whole(one)]


def _is_whole(one: Replacement) -> bool:
    return one.start < one.end and one.text != ""


def _extended(text: str, one: Replacement, low: int, high: int) -> Replacement:
    """Return a replacement extended by a word, on the side to which it belongs if possible."""
    right = _RIGHT.match(text, one.end, min(high, one.end + _REACH))
    left = _LEFT.search(text, max(low, one.start - _REACH), one.start)
    sides = []
    if right:
        sides.append(Replacement(one.start, right.end(), one.text + right[0], one.edits))
    if left:
        sides.append(Replacement(left.start(), one.end, left[0] + one.text, one.edits))
    if not sides:  # no word beside it, as on an empty line: any character will do
        if one.end < high:
            end = one.end + 1
            return Replacement(one.start, end, one.text + text[one.end : end], one.edits)
        if low < one.start:
            start = one.start - 1
            return Replacement(start, one.end, text[start : one.start] + one.text, one.edits)
        return one
    changed = one.text or text[one.start : one.end]
    belongs_left = not changed[:1].isalnum()  # a blank or a mark comes after a word
    # some clients mix up code points and code units, so avoid characters beyond U+FFFF
    return min(
        sides,
        key=lambda side: (
            max(text[side.start : side.end]) > "\uffff",
            (side.start < one.start) != belongs_left,
        ),
    )


def _joined(text: str, first: Replacement, second: Replacement) -> Replacement:
    between = text[first.end : second.start]
    return Replacement(
        first.start, second.end, first.text + between + second.text, first.edits + second.edits
    )


# --------------------------------------------------------------------------------------- matches


def rule_id(type: str) -> str:
    """Return the name of a type's rule; clients take a name in _SPELLER_RULE for spelling."""
    return f"GEC_{type.replace(':', '_')}{'_SPELLER_RULE' if type == 'R:SPELL' else ''}"


_CATEGORIES = {
    "SPELL": ("misspelling", "TYPOS", "Possible Typo"),
    "ORTH": ("typographical", "CASING", "Capitalization"),
    "PUNCT": ("typographical", "PUNCTUATION", "Punctuation"),
}
_GRAMMAR = ("grammar", "GRAMMAR", "Grammar")


def category_of(type: str) -> tuple[str, str, str]:
    """Return ITS issue type, category id and category name of an error type."""
    return _CATEGORIES.get(type[2:], _GRAMMAR)


def matches(
    text: Annotated, edits: Sequence[Edit], sentences: Sequence[SentenceResult]
) -> Iterator[dict[str, Any]]:
    """Yield the match of each edit of ``text.plain``; offsets count UTF-16 units of the full text.

    An edit that would overwrite markup gets a match without a replacement.
    """
    positions = Positions(text.full)
    line = iter(sentences)
    sentence = next(line, None)
    for one in replacements(text.plain, edits):
        while sentence and one.start >= sentence.end:
            sentence = next(line, None)
        start, end = text.span(one.start, one.end)
        inside = sentence is not None and one.start >= sentence.start
        own = text.plain[sentence.start : sentence.end] if sentence and inside else ""
        values = [one.text] if text.is_text(one.start, one.end) else []
        yield _match(text.full, positions, (start, end), values, one.edits, own)


def _match(
    full: str,
    positions: Positions,
    span: tuple[int, int],
    values: list[str],
    edits: tuple[Edit, ...],
    sentence: str,
) -> dict[str, Any]:
    kind = edits[0].type
    issue, category, name = category_of(kind)
    offset = positions.utf16(span[0])
    return {
        "message": " ".join(edit.message for edit in edits),
        "shortMessage": message(kind).category_title,
        "replacements": [
            {"value": value, "confidence": min(edit.confidence for edit in edits)}
            for value in values
        ],
        "offset": offset,
        "length": positions.utf16(span[1]) - offset,
        "context": context(full, *span),
        "sentence": sentence,
        "type": {"typeName": "UnknownWord" if issue == "misspelling" else "Other"},
        "rule": {
            "id": rule_id(kind),
            "description": message(kind).short,
            "issueType": issue,
            "category": {"id": category, "name": name},
            "isPremium": False,
        },
        "ignoreForIncompleteSentence": False,
        "contextForSureMatch": 0 if issue == "misspelling" else -1,
    }


def context(text: str, start: int, end: int) -> dict[str, Any]:
    """Return LanguageTool's context: the match with 40 characters on each side."""
    first, last = max(0, start - CONTEXT), min(len(text), end + CONTEXT)
    before = ("..." if first > 0 else "") + text[first:start]
    shown = before + text[start:end] + text[end:last] + ("..." if last < len(text) else "")
    offset = utf16_length(before)
    return {
        "text": shown.replace("\n", " "),
        "offset": offset,
        "length": utf16_length(text[start:end]),
    }


def utf16_length(text: str) -> int:
    """Return the length of a text in UTF-16 code units."""
    return len(text) + sum(character > "\uffff" for character in text)
