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
    """Plain text with one record, a document or a sentence, on each line."""

    def blocks(self, stream: BinaryIO, size: Size) -> Iterator[Block]:
        """Yield the lines as blocks."""
        return cut_lines(stream, size)

    def process(self, block: Block, correct: Correct) -> Result:
        """Return the block with its lines corrected."""
        records = [_line(raw) for raw in raw_lines(block.payload)]
        return process_records(block, records, correct)

    def finish(self, part: Path) -> Path:
        """Return ``part``: the results are the output."""
        return part


def raw_lines(payload: bytes) -> list[bytes]:
    """Return the lines with their ends; only ``\\n`` ends one (splitlines also cuts at ``\\r``)."""
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
    """The column with the text, and the columns for the corrected text and the edits.

    If ``output`` is None, the correction replaces the text; if ``edits`` is None, edits are not
    written.
    """

    column: str = "text"
    output: str | None = None
    edits: str | None = None


def edits_json(correction: Correction | None) -> str:
    """Return the edits as a JSON list; offsets count code points of the text before correction."""
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
    """One object on each line. Only the chosen values are rewritten, every other byte stays."""

    columns: Columns

    def blocks(self, stream: BinaryIO, size: Size) -> Iterator[Block]:
        """Yield the lines as blocks."""
        return cut_lines(stream, size)

    def process(self, block: Block, correct: Correct) -> Result:
        """Return the block with its objects corrected.

        Raises:
            ConfigError: no record of the first block has the field.
        """
        records = [self._record(raw) for raw in raw_lines(block.payload)]
        given = [record for record in records if record.raw.strip()]
        if block.index == 0 and given and all(r.error == self._missing() for r in given):
            raise ConfigError(
                f"none of the first {len(given)} records has a field {self.columns.column!r}; "
                f"the first has {', '.join(_fields(given[0].raw)) or 'none'}: choose with --column"
            )
        return process_records(block, records, correct)

    def finish(self, part: Path) -> Path:
        """Return ``part``: the results are the output."""
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
    """A value of a JSON object, and its span in the text in code points."""

    value: Any
    start: int
    end: int


_BLANK = re.compile(r"[ \t\r\n\ufeff]*")


def _number(text: str) -> int:
    """Return 0 for any number: numbers are never rewritten, whatever their length and spelling."""
    return 0


_DECODER = json.JSONDecoder(parse_int=_number, parse_float=_number, strict=False)


def scan_object(text: str) -> tuple[dict[str, Member], int]:
    """Return an object's members and the offset of its ``}``; of equal names the last counts.

    Raises:
        DataError: the text is not exactly one JSON object.
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
    """Return the text with these values replaced, or added at the end of the object."""
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
