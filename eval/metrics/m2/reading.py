"""Reads gold edits (M2) and hypotheses exactly as m2scorer does, even what it takes for a line.

An M2 file is a list of blocks with an empty line after each::

    S The cat sat at mat .
    A 3 4|||Prep|||on|||REQUIRED|||-NONE-|||0
    A 4 4|||ArtOrDet|||the||a|||REQUIRED|||-NONE-|||0

``S`` is the tokenized source sentence. ``A`` is one edit: offsets of its first token and of the
token after its last one, type, corrections separated by ``||``, two fields without a meaning here,
and the annotator's number.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gec.errors import DataError, InputError
from gec.eval.metrics.score import NOT_M2, warn_of_bom, warn_of_outside
from gec.files import decode, read_document


@dataclass(frozen=True, slots=True)
class GoldEdit:
    """An edit of an annotator.

    Attributes:
        start, end: token offsets into the source; equal for an insertion.
        original: the tokens between the offsets, joined with blanks.
        corrections: the acceptable corrections; an empty one is a deletion.
        type: the annotator's error type, on which no score depends.
    """

    start: int
    end: int
    original: str
    corrections: tuple[str, ...]
    type: str = ""

    def accepts(self, start: int, end: int, original: str, correction: str) -> bool:
        """Whether an edit equals this one: same span and text, and one of its corrections."""
        return (
            self.start == start
            and self.end == end
            and self.original == original
            and correction in self.corrections
        )


@dataclass(frozen=True, slots=True)
class GoldSentence:
    """A source sentence and every annotator's edits, both in the order of the file.

    ``edits`` lacks annotators whom the file does not name for this sentence, but has those who
    found nothing to correct, with no edits.
    """

    source: str
    edits: Mapping[int, Sequence[GoldEdit]]


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    number: int
    end: str


def read_hypotheses(name: str) -> list[str]:
    r"""Return the sentences of a file, plain or ``.gz``, one for each line; ``\n`` ends a line.

    Raises:
        InputError: missing, unreadable or not UTF-8.
    """
    lines = _read(name).split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.strip() for line in lines]


def read_gold(name: str) -> list[GoldSentence]:
    """Return the sentences of an M2 file, plain or ``.gz``.

    Raises:
        InputError: missing, unreadable or not UTF-8.
        DataError: the file is malformed; the message names the line.
    """
    outside: list[int] = []
    try:
        sentences = [
            sentence
            for block in _blocks(_lines(_read(name)))
            for sentence in _sentences(block, outside)
        ]
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    warn_of_outside(name, outside)
    return sentences


def _read(name: str) -> str:
    if name.endswith(".gz"):
        try:
            document = decode(gzip.decompress(Path(name).read_bytes()), name)
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"{name}: cannot be read ({reason})") from None
    else:
        document = read_document(name)
    warn_of_bom(document)
    return document.bom + document.text  # for m2scorer the mark is part of the first token


def _lines(text: str) -> Iterator[_Line]:
    r"""Yield the lines of an M2 file, which also end at U+2028, U+0085, ``\f``, ..."""
    number = 1
    for line in text.splitlines(keepends=True):
        content = line.splitlines()[0]
        end = line[len(content) :]
        yield _Line(content, number, end)
        number += end in ("\n", "\r\n", "\r")  # count as an editor does


def _blocks(lines: Iterator[_Line]) -> Iterator[list[_Line]]:
    block: list[_Line] = []
    for line in lines:
        if line.text or line.end != "\n":
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _sentences(block: list[_Line], outside: list[int]) -> Iterator[GoldSentence]:
    """Yield the sentences of one block, nearly always one.

    Several sentences share the block's edits: a sentence gets the edits that end within it or
    before it, counted from the start of the block. ``outside`` gets the lines of edits that lie in
    no sentence.
    """
    sources = [line.text[2:].strip() for line in block if line.text.startswith("S ")]
    if not sources:
        raise DataError(
            f"line {block[0].number}: a block without a sentence (a line 'S ...'); {NOT_M2}"
        )
    tokens = " ".join(sources).split()
    edits: dict[int, list[GoldEdit]] = {}
    previous = ""
    for line in block:
        if line.text.startswith("A "):
            annotator, edit = _edit(line, tokens)
            edits.setdefault(annotator, []).append(edit)
            if not (0 <= edit.start <= edit.end <= len(tokens) or edit.start == edit.end == -1):
                outside.append(line.number)
        elif not line.text.startswith(("S ", "I ")):
            raise DataError(f"line {line.number}: {_not_m2(line, previous)}")
        previous = line.end
    length = 0
    for source in sources:
        length += len(source.split())
        yield GoldSentence(
            source,
            {
                annotator: tuple(
                    edit for edit in found if 0 <= edit.start <= length and 0 <= edit.end <= length
                )
                for annotator, found in edits.items()
            }
            or {0: ()},
        )


def _edit(line: _Line, tokens: Sequence[str]) -> tuple[int, GoldEdit]:
    """Return the annotator and the edit of an ``A`` line; without an edit the span is -1."""
    fields = line.text[2:].split("|||")
    if len(fields) < 6:
        raise DataError(f"line {line.number}: {len(fields)} fields between '|||', expected 6")
    try:
        start, end = (int(offset) for offset in fields[0].split()[:2])
    except ValueError:
        raise DataError(f"line {line.number}: not two offsets: {fields[0]!r}") from None
    try:
        annotator = int(fields[5])
    except ValueError:
        raise DataError(f"line {line.number}: not an annotator's number: {fields[5]!r}") from None
    if fields[1] == "noop":
        start = end = -1
    corrections = tuple("" if c == "-NONE-" else c.strip() for c in fields[2].split("||"))
    return annotator, GoldEdit(start, end, " ".join(tokens[start:end]), corrections, fields[1])


def _not_m2(line: _Line, previous: str) -> str:
    """Return what is wrong with a line that is not S, A or I; ``previous`` ended the last line."""
    if previous not in ("", "\n", "\r\n"):
        return f"U+{ord(previous):04X} breaks a line here; replace it with a blank"
    if line.end == "\r\n" and not line.text:
        return r"the empty line ends with \r\n, not \n; convert the file to Unix line ends"
    if not line.text.strip():
        return "blanks in the line between two blocks; it must be empty"
    return f"expected 'S ...' or 'A ...', found {line.text[:40]!r}; {NOT_M2}"
