"""What passes through the pipeline: blocks of records in, results out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from gec.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from gec.correct.result import Correction
    from gec.text.protection import Span


@dataclass(frozen=True, slots=True)
class Size:
    """The limits of a block: it ends after so many records or bytes, whichever comes first."""

    records: int = 2048
    bytes: int = 1 << 20


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive records of one input, unchanged.

    Attributes:
        index: number of the block, from 0.
        line: line (in Parquet: row) of the first record, from 1.
        records: number of records.
        payload: bytes of the records.
        digest: digest of the input's bytes from its beginning to the end of this block.
        context: what the format knows from the head of the file, such as a table's columns.
    """

    index: int
    line: int
    records: int
    payload: bytes
    digest: str = ""
    context: Any = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A record, or a part of one, that was left as it was."""

    line: int
    error: str


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a block: the bytes to write, and the counts.

    ``changed`` counts records with an edit, ``edits`` all edits.
    """

    data: bytes
    failures: tuple[Failure, ...] = ()
    records: int = 0
    changed: int = 0
    edits: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one text; if ``correction`` is None, ``error`` says why the text failed.

    An ``error`` beside a correction is about a part of the text that was left as it was.
    """

    correction: Correction | None
    error: str | None = None


class Correct(Protocol):
    """Corrects the texts of one block; ``protected`` has, for each text, spans that must stay."""

    def __call__(
        self, texts: Sequence[str], protected: Sequence[tuple[Span, ...]] | None = None
    ) -> list[Outcome]: ...


class Format(Protocol):
    """A file format: how to cut an input into blocks, and how to correct a block.

    A format must be picklable.
    """

    def blocks(self, stream: BinaryIO, size: Size) -> Iterator[Block]:
        """Yield the blocks of the input; runs in the main process."""

    def process(self, block: Block, correct: Correct) -> Result:
        """Return one block corrected; runs in a worker."""

    def finish(self, part: Path) -> Path:
        """Return the output file, made of ``part``, which holds all results one after the other."""


@dataclass(slots=True)
class Record:
    """One record on its way: a text to correct, or an error.

    ``write`` turns a correction into the record's bytes; ``write(None)`` is for a record whose
    correction failed. A record with neither text nor error (an empty line, a missing value) is
    written unchanged.
    """

    raw: bytes
    lines: int = 1
    text: str | None = None
    error: str | None = None
    write: Callable[[Correction | None], bytes] = field(default=lambda _: b"")


def process_records(block: Block, records: Sequence[Record], correct: Correct) -> Result:
    """Return the result of a block whose records are written one after the other."""
    outcomes = iter(correct([r.text for r in records if r.text is not None]))
    written: list[bytes] = []
    failures: list[Failure] = []
    line, changed, edits = block.line, 0, 0
    for record in records:
        error = record.error
        if record.text is None:
            written.append(record.raw)
        else:
            outcome = next(outcomes)
            error = outcome.error
            written.append(record.write(outcome.correction))
            if outcome.correction and outcome.correction.edits:
                changed += 1
                edits += len(outcome.correction.edits)
        if error is not None:
            failures.append(Failure(line, error))
        line += record.lines
    return Result(b"".join(written), tuple(failures), len(records), changed, edits)


def cut_lines(stream: BinaryIO, size: Size, line: int = 1) -> Iterator[Block]:
    """Yield the blocks of an input whose records are lines, which end at ``\\n``.

    The first line has the number ``line``.
    """
    index = 0
    held: list[bytes] = []
    length = 0
    for text in stream:
        held.append(text)
        length += len(text)
        if len(held) >= size.records or length >= size.bytes:
            yield Block(index, line, len(held), b"".join(held))
            index, line = index + 1, line + len(held)
            held, length = [], 0
    if held:
        yield Block(index, line, len(held), b"".join(held))


class Digest:
    """The digest of everything added so far."""

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=16)

    def add(self, data: bytes) -> str:
        """Add ``data``; return the digest of everything so far, 32 hexadecimal digits."""
        self._hash.update(data)
        return self._hash.hexdigest()


BOM = b"\xef\xbb\xbf"


def to_text(raw: bytes) -> str:
    """Return the text of a record's UTF-8; raises DataError, which says what is wrong."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"not UTF-8 at byte {error.start} of the record "
            f"(0x{raw[error.start]:02x}: {error.reason})"
        ) from None
    if "\0" in text:
        raise DataError("a NUL character: not text")
    return text


def line_end(raw: bytes) -> int:
    """Return the offset at which the line's content ends: before ``\\n`` or ``\\r\\n``."""
    if raw.endswith(b"\r\n"):
        return len(raw) - 2
    return len(raw) - raw.endswith(b"\n")
