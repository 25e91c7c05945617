"""CSV and TSV: the chosen fields are rewritten, every other byte stays.

Quotes mean what they mean to Python's csv module: a field that begins with a quote ends at the next
quote that is not doubled, and may hold separators and line ends; a quote elsewhere is an ordinary
character. TSV has no quotes (IANA text/tab-separated-values). A record ends at ``\\n``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

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
from gec.batch.text import Columns, edits_json, raw_lines
from gec.errors import ConfigError, DataError

if TYPE_CHECKING:
    from gec.correct.result import Correction

LONGEST_RECORD = 1 << 24
"""Bytes of a record at most: an unclosed quote would make the rest of the file one record."""


@dataclass(frozen=True, slots=True)
class _Places:
    """Places of the columns, from 0; ``width`` counts the columns, ``header`` is the first record.

    ``output`` and ``edits`` may lie beyond the width: these columns are new.
    """

    column: int
    output: int
    edits: int | None
    width: int
    header: bytes


@dataclass(frozen=True, slots=True)
class Table:
    """Comma-separated values, or values with another separator.

    Attributes:
        columns: columns by name, or without ``header`` by number from 1.
        separator: one ASCII character.
        quotes: whether ``"`` quotes.
        header: whether the first record names the columns.
    """

    columns: Columns
    separator: str = ","
    quotes: bool = True
    header: bool = True

    def blocks(self, stream: BinaryIO, size: Size) -> Iterator[Block]:
        """Yield the blocks, each with the places of the columns as its context.

        Raises:
            ConfigError: the table has no such column.
            DataError: a quoted field does not end.
        """
        cut = self._cut(stream, size) if self.quotes else cut_lines(stream, size)
        places: _Places | None = None
        for block in cut:
            if places is None:
                places = self._places(next(self._split(block.payload)))
            yield Block(block.index, block.line, block.records, block.payload, context=places)

    def process(self, block: Block, correct: Correct) -> Result:
        """Return the block with its records corrected; the first block has the header, too."""
        places: _Places = block.context
        raws = list(self._split(block.payload))
        head = b""
        if block.index == 0 and self.header:
            raws = raws[1:]
            head = self._head(places)
        lines = head.count(b"\n") or bool(head)
        inner = Block(block.index, block.line + lines, len(raws), b"")
        records = [self._record(raw, places) for raw in raws]
        result = process_records(inner, records, correct)
        return Result(
            head + result.data, result.failures, result.records, result.changed, result.edits
        )

    def finish(self, part: Path) -> Path:
        """Return ``part``: the results are the output."""
        return part

    # ------------------------------------------------------------------------- cutting

    def _cut(self, stream: BinaryIO, size: Size) -> Iterator[Block]:
        index, line, held, length, records, lines, began = 0, 1, list[bytes](), 0, 0, 0, 0
        quoted = False
        for text in stream:
            held.append(text)
            length += len(text)
            lines += 1
            quoted = _is_open(text, quoted, self.separator)
            if quoted:
                if length - began > LONGEST_RECORD:
                    raise DataError(
                        f"a quoted field near line {line + lines - 1} does not end within "
                        f"{LONGEST_RECORD >> 20} MiB; is a quote missing? (--no-quotes reads "
                        "quotes as plain characters)"
                    )
                continue
            began = length
            records += 1
            if records >= size.records or length >= size.bytes:
                yield Block(index, line, records, b"".join(held))
                index, line = index + 1, line + lines
                held, length, records, lines, began = [], 0, 0, 0, 0
        if held:
            yield Block(index, line, records + quoted, b"".join(held))

    def _split(self, payload: bytes) -> Iterator[bytes]:
        held = b""
        quoted = False
        for text in raw_lines(payload):
            quoted = self.quotes and _is_open(text, quoted, self.separator)
            held += text
            if not quoted:
                yield held
                held = b""
        if held:
            yield held

    # ----------------------------------------------------------------------- the header

    def _places(self, first: bytes) -> _Places:
        bom = len(BOM) * first.startswith(BOM)
        found = fields(first[bom : line_end(first)], self.separator, self.quotes)
        columns, width = self.columns, len(found)
        if self.header:
            names = [_value(field, self.quotes).decode("utf-8", "replace") for field in found]
            if columns.column not in names:
                raise ConfigError(
                    f"no column {columns.column!r} in the header, which has "
                    f"{', '.join(names)}: choose with --column"
                )
        else:
            names = [str(number + 1) for number in range(width)]
            if columns.column not in names:
                raise ConfigError(
                    f"without a header --column must be a number from 1 to {width}, "
                    f"not {columns.column!r}"
                )
        new = [n for n in (columns.output, columns.edits) if n is not None and n not in names]
        names += new
        column = names.index(columns.column)
        return _Places(
            column,
            column if columns.output is None else names.index(columns.output),
            None if columns.edits is None else names.index(columns.edits),
            width,
            first,
        )

    def _head(self, places: _Places) -> bytes:
        """Return the header with the names of the new columns at its end."""
        end = line_end(places.header)
        named = {places.output: self.columns.output, places.edits: self.columns.edits}
        new = [str(named[p]) for p in sorted(p for p in named if p is not None)
               if p >= places.width]  # fmt: skip
        added = b"".join(self._quoted(f"{name}", b"", after=True) for name in new)
        return places.header[:end] + added + places.header[end:]

    # --------------------------------------------------------------------------- records

    def _record(self, raw: bytes, places: _Places) -> Record:
        lines = raw.count(b"\n") or 1
        end = line_end(raw)
        if not raw[:end]:
            return Record(raw, lines)
        start = len(BOM) * (raw.startswith(BOM) and not self.header)
        found = fields(raw[start:end], self.separator, self.quotes)
        if len(found) != places.width:
            return Record(
                raw, lines, error=f"{len(found)} columns where the table has {places.width}"
            )
        try:
            text = to_text(_value(found[places.column], self.quotes))
        except DataError as error:
            return Record(raw, lines, error=str(error))

        def write(correction: Correction | None) -> bytes:
            own = found[places.column]
            if correction is not None and correction.edits:
                own = self._quoted(correction.text, own)
            new = [*found, *([b""] * (1 + max(places.output, places.edits or 0) - len(found)))]
            new[places.output] = own
            if places.edits is not None:
                new[places.edits] = self._quoted(edits_json(correction), new[places.edits])
            return raw[:start] + self.separator.encode().join(new) + raw[end:]

        return Record(raw, lines, text=text, write=write)

    def _quoted(self, text: str, before: bytes, after: bool = False) -> bytes:
        """Return a field that holds ``text``, quoted if ``before`` was or the text needs it.

        With ``after``, the field has a separator before it.
        """
        data = text.encode()
        if self.quotes:
            needs = any(c in text for c in ('"', self.separator, "\n", "\r"))
            if needs or before.startswith(b'"'):
                data = b'"' + data.replace(b'"', b'""') + b'"'
        elif any(c in text for c in (self.separator, "\n")):
            raise DataError(f"a correction broke a record: {text!r}")
        return self.separator.encode() + data if after else data


@cache
def _patterns(separator: str) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Return patterns of a quoted field up to its closing quote, and of a field up to its end."""
    return re.compile(rb'[^"]*+(?:""[^"]*+)*+'), re.compile(
        rb"[^" + re.escape(separator.encode()) + rb"]*+"
    )


def _is_open(line: bytes, quoted: bool, separator: str) -> bool:
    """Whether a quoted field is open after the line; ``quoted`` says whether one was before."""
    if not quoted and b'"' not in line:
        return False
    inside, plain = _patterns(separator)
    at, end = 0, len(line)
    while True:
        if not quoted and line[at : at + 1] == b'"':
            quoted, at = True, at + 1
        if quoted:
            at = _end(inside, line, at) + 1
            if at > end:
                return True
            quoted = False
        at = _end(plain, line, at) + 1
        if at > end:
            return False


def _end(pattern: re.Pattern[bytes], line: bytes, at: int) -> int:
    found = pattern.match(line, at)
    return found.end() if found else len(line)


def fields(record: bytes, separator: str, quotes: bool) -> list[bytes]:
    """Return the fields of a record without its line end; joined by the separator they give it.

    >>> fields(b'a,"b,c",', ",", True)
    [b'a', b'"b,c"', b'']
    """
    if not quotes or b'"' not in record:
        return record.split(separator.encode())
    inside, plain = _patterns(separator)
    found = []
    at = 0
    while True:
        start = at
        if record[at : at + 1] == b'"':
            at = min(_end(inside, record, at + 1) + 1, len(record))
        at = _end(plain, record, at)
        found.append(record[start:at])
        if at >= len(record):
            return found
        at += 1


def _value(field: bytes, quotes: bool) -> bytes:
    """Return the value of a field: without its quotes, and with doubled quotes made single."""
    if not (quotes and field.startswith(b'"')):
        return field
    inside, _ = _patterns(",")
    end = _end(inside, field, 1)
    return field[1:end].replace(b'""', b'"') + field[end + 1 :]
