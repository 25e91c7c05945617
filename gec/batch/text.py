"""Records that are lines: plain text and JSON Lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from gec.batch.blocks import (
    BOM,
    Block,
    Correct,
    Record,
    Result,
    Size,
    cut_lines,
    line_end,
    process_records,
    to_text,
)
from gec.errors import ConfigError, DataError

if TYPE_CHECKING:
    from gec.correct.result import Correction


@dataclass(frozen=True, slots=True)
class Lines:
    """A document or a sentence a line."""

    def blocks(self, stream: BinaryIO, size: Size) -> Iterator[Block]:
        return cut_lines(stream, size)

    def process(self, block: Block, correct: Correct) -> Result:
        records = [_line(raw) for raw in raw_lines(block.payload)]
        return process_records(block, records, correct)

    def finish(self, part: Path) -> Path:
        return part


def raw_lines(payload: bytes) -> list[bytes]:
    """Split after ``\\n`` only (bytes.splitlines would split at ``\\r``, too)."""
    lines = payload.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def _line(raw: bytes) -> Record:
    start, end = len(BOM) * raw.startswith(BOM), line_end(raw)
    try:
        text = to_text(raw[start:end])
    except DataError as error:
        return Record(raw, error=str(error))

    def write(correction: Correction | None) -> bytes:
        if correction is None or not correction.edits:
            return raw
        new = correction.text.encode()
        if new.count(b"\n"):
            raise DataError(f"a correction broke a line: {correction.text!r}")
        return raw[:start] + new + raw[end:]

    return Record(raw, text=text, write=write)


# ------------------------------------------------------------------------------------- JSON Lines


@dataclass(frozen=True, slots=True)
class Columns:
    """Which text is corrected, and where corrected text and edits go.

    ``output`` None corrects in place; ``edits`` None does not write the edits.
    """

    column: str = "text"
    output: str | None = None
    edits: str | None = None


def edits_json(correction: Correction | None) -> str:
    """The edits as one JSON list; offsets are code points of the text before."""
    found = [
        {
            "start": edit.start,
            "end": edit.end,
            "original": edit.original,
            "replacement": edit.replacement,
            "type": edit.type,
            "confidence": round(edit.confidence, 4),
        }
        for edit in (correction.edits if correction else ())
    ]
    return json.dumps(found, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class JsonLines:
    """An object a line. Only the values in question are rewritten, whatever else stays."""

    columns: Columns

    def blocks(self, stream: BinaryIO, size: Size) -> Iterator[Block]:
        return cut_lines(stream, size)

    def process(self, block: Block, correct: Correct) -> Result:
        records = [self._record(raw) for raw in raw_lines(block.payload)]
        given = [record for record in records if record.raw.strip()]
        if block.index == 0 and given and all(r.error == self._missing() for r in given):
            raise ConfigError(
                f"none of the first {len(given)} records has a field {self.columns.column!r}; "
                f"the first has {', '.join(_fields(given[0].raw)) or 'none'}: choose with --column"
            )
        return process_records(block, records, correct)

    def finish(self, part: Path) -> Path:
        return part

    def _missing(self) -> str:
        return f"no field {self.columns.column!r}"

    def _record(self, raw: bytes) -> Record:
        if not raw.strip():
            return Record(raw)
        try:
            line = to_text(raw)
            members, end = scan_object(line)
            if self.columns.column not in members:
                raise DataError(self._missing())
            value = members[self.columns.column]
            if not isinstance(value.value, str | None):
                raise DataError(f"the field {self.columns.column!r} holds no text")
        except DataError as error:
            return Record(raw, error=str(error))

        def write(correction: Correction | None) -> bytes:
            token = line[value.start : value.end]
            if correction is not None and correction.edits:
                token = json.dumps(correction.text, ensure_ascii="\\u" in token)
            new = {self.columns.output or self.columns.column: token}
            if self.columns.edits is not None:
                new[self.columns.edits] = edits_json(correction)
            return _spliced(line, members, end, new).encode()

        if value.value is None:
            return Record(write(None))
        return Record(raw, text=value.value, write=write)


@dataclass(frozen=True, slots=True)
class Member:
    """A value of a JSON object and where it stands."""

    value: Any
    start: int
    end: int


_BLANK = re.compile(r"[ \t\r\n\ufeff]*")


def _number(text: str) -> int:
    """Numbers are not looked at: of any length and spelling they stay as they are."""
    return 0


_DECODER = json.JSONDecoder(parse_int=_number, parse_float=_number, strict=False)


def scan_object(text: str) -> tuple[dict[str, Member], int]:
    """Return an object's members (of several with one name the last), and where its ``}`` is.

    Raises DataError where the text is anything but one JSON object.
    """

    def blank(at: int) -> int:
        found = _BLANK.match(text, at)
        return found.end() if found else at

    def expect(at: int, character: str) -> int:
        if text[at : at + 1] != character:
            raise DataError(f"not a JSON object: expected {character} at character {at}")
        return at + 1

    members: dict[str, Member] = {}
    try:
        at = blank(expect(blank(0), "{"))
        while text[at : at + 1] != "}":
            if members:
                at = blank(expect(at, ","))
            expect(at, '"')
            name, at = _DECODER.raw_decode(text, at)
            start = blank(expect(blank(at), ":"))
            value, at = _DECODER.raw_decode(text, start)
            members[name] = Member(value, start, at)
            at = blank(at)
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON: {error}") from None
    if blank(at + 1) != len(text):
        raise DataError(f"more than one JSON object: text after character {at}")
    return members, at


def _spliced(text: str, members: dict[str, Member], end: int, new: dict[str, str]) -> str:
    """Replace values of the object, and put those it does not have at its end."""
    pieces: list[tuple[int, int, str]] = []
    added = ""
    for name, token in new.items():
        if name in members:
            pieces.append((members[name].start, members[name].end, token))
        else:
            added += f", {json.dumps(name, ensure_ascii=False)}: {token}"
    last = max((m.end for m in members.values()), default=end)
    pieces.append((last, last, added))
    at, out = 0, ""
    for start, stop, token in sorted(pieces):
        out += text[at:start] + token
        at = stop
    return out + text[at:]


def _fields(raw: bytes) -> list[str]:
    try:
        return [*scan_object(to_text(raw))[0]]
    except DataError:
        return []
