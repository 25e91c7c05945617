"""M2 files as ERRANT reads them: blocks of a sentence and its annotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gec.errors import DataError
from gec.eval.metrics.score import NOT_M2, warn, warn_of_bom
from gec.files import read_document

DETECTED = ("Um", "UNK")
"""Types of errors that have no correction."""


class Annotation(NamedTuple):
    """One line ``A start end|||type|||correction|||...|||coder``; ``||`` is not split."""

    start: int
    end: int
    type: str
    correction: str
    coder: int


@dataclass(frozen=True, slots=True)
class Block:
    """A sentence with its annotations; ``line`` is its first line in the file, from 1."""

    sentence: str
    annotations: tuple[Annotation, ...]
    line: int = 1


def read_blocks(name: str, *, strict: bool = True) -> list[Block]:
    """Return the blocks of an M2 file; an empty file is one block without words, as in ERRANT.

    Raises:
        InputError: the file is missing, unreadable or not UTF-8.
        DataError: as for :func:`parse_blocks`.
    """
    document = read_document(name)
    warn_of_bom(document)
    if not document.text.strip():
        warn(f"{name} is empty: read as one sentence without words and edits")
    return parse_blocks(document.text, name, strict=strict)


def parse_blocks(text: str, name: str, *, strict: bool = True) -> list[Block]:
    """Return the blocks of M2 text; messages call the text ``name``.

    Exactly one empty line separates two blocks; more make empty blocks, or an error.

    Args:
        strict: whether to refuse a block that does not begin with ``S``; otherwise there is only a
            warning, because ERRANT takes any first line for a sentence.

    Raises:
        DataError: a line is malformed; the message names file and line.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    stripped = text.strip()
    line = 1 + text.count("\n", 0, text.find(stripped))
    blocks: list[Block] = []
    unlike: list[str] = []
    for block in stripped.split("\n\n"):
        lines = block.split("\n")
        if stripped and lines[0] != "S" and not lines[0].startswith("S "):
            message = f"{name}, line {line}: expected 'S ...', found {lines[0][:60]!r}; {NOT_M2}"
            if strict:
                raise DataError(message)
            unlike.append(message)
        annotations = tuple(_annotation(lines[i], name, line + i) for i in range(1, len(lines)))
        blocks.append(Block(block[2:].partition("\nA")[0], annotations, line))
        line += len(lines) + 1
    if unlike:
        warn(unlike[0])
    return blocks


def outside(blocks: Sequence[Block]) -> list[int]:
    """Return the lines of edits that do not lie within their sentence; -1 -1 is no place."""
    lines = []
    for block in blocks:
        length = len(block.sentence.split())
        for line, (start, end, kind, *_) in enumerate(block.annotations, start=block.line + 1):
            within = 0 <= start <= end <= length or start == end == -1
            if kind != "noop" and not within:
                lines.append(line)
    return lines


def _annotation(text: str, name: str, line: int) -> Annotation:
    fields = text[2:].split("|||")
    try:
        start, end = fields[0].split()[:2]
        return Annotation(int(start), int(end), fields[1], fields[2], int(fields[-1]))
    except (ValueError, IndexError):
        raise DataError(
            f"{name}, line {line}: expected 'A START END|||TYPE|||CORRECTION|||...|||CODER', "
            f"found {text[:60]!r}"
        ) from None
