"""Whole files as one record each: prose, and markup whose prose alone is corrected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from gec.batch.blocks import BOM, Block, Correct, Failure, Result, Size, to_text
from gec.documents.markup import passages
from gec.edits.edits import Edit, apply
from gec.errors import DataError


@dataclass(frozen=True, slots=True)
class Documents:
    """A file that is one document.

    Attributes:
        kind: plain, markdown, rst, html, latex or code.
        name: name of the file, which tells the language of code.
    """

    kind: str
    name: str = ""

    def blocks(self, stream: BinaryIO, size: Size) -> Iterator[Block]:
        """Yield the file as one block of one record, or nothing if the file is empty."""
        if data := stream.read():
            yield Block(0, 1, 1, data)

    def process(self, block: Block, correct: Correct) -> Result:
        """Return the file with its prose corrected, or unchanged with a failure."""
        raw = block.payload
        bom = len(BOM) * raw.startswith(BOM)
        try:
            source = to_text(raw[bom:])
            found = passages(self.kind, source, self.name)
        except DataError as error:
            return Result(raw, (Failure(1, str(error)),), 1)
        edits: list[Edit] = []
        failures = []
        texts = [passage.seen(source) for passage in found]
        outcomes = correct(texts, [passage.protected for passage in found])
        for passage, outcome in zip(found, outcomes, strict=True):
            if outcome.correction is not None:
                edits += passage.outside(outcome.correction.edits)
            if outcome.error is not None:
                line = 1 + source.count("\n", 0, passage.pieces[0][0])
                failures.append(Failure(line, outcome.error))
        data = raw[:bom] + apply(source, edits).encode()
        return Result(data, tuple(failures), 1, int(bool(edits)), len(edits))

    def finish(self, part: Path) -> Path:
        """Return ``part``: the results are the output."""
        return part
