"""Edits of system outputs and references for the metrics that compare edits.

An output is text with one tokenized sentence on each line, whose edits ERRANT finds, or an M2 file
(its name ends with ``.m2``) with edits found before. If edits were found for another source, the
sentence is refused: places in two tokenizations cannot be compared.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gec.errors import DataError, InputError
from gec.eval.metrics.errant import Annotation, Block, outside, read_blocks
from gec.eval.metrics.pipeline import chosen_pipeline
from gec.eval.metrics.score import check_parallel, read_lines, warn_of_outside

_NOTHING = ("noop", "UNK", "Um")  # no edit, or an error without a correction
_GLUED = re.compile(r"\w[.?!]$")  # a word with the mark that ends its sentence, as in plain text


class Change(NamedTuple):
    """Source tokens ``start`` to ``end`` become ``tokens``; ``type`` is the error type."""

    start: int
    end: int
    tokens: tuple[str, ...]
    type: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """An M2 file of reference edits and its name."""

    name: str
    blocks: Sequence[Block]

    @property
    def sources(self) -> list[str]:
        """The source sentences."""
        return [block.sentence for block in self.blocks]


@dataclass(slots=True)
class Systems:
    """Reads system outputs for one reference; ERRANT is loaded once, and only if needed.

    Attributes:
        settings: how the edits were found, for the signature.
    """

    args: argparse.Namespace
    reference: Reference
    types: bool = False
    settings: dict[str, object] = field(default_factory=dict)
    _annotator: object = None

    def read(self, name: str) -> Sequence[Block]:
        """Return an output's edits.

        Raises:
            InputError: as for :func:`read_output`.
            DataError: an M2 file is malformed or has other sentences; the message says which.
        """
        if name.endswith(".m2"):
            blocks = read_blocks(name)
            warn_of_outside(name, outside(blocks))
            check_sentences(self.reference.name, self.reference.blocks, name, blocks)
            self.settings.setdefault("edits", "file")
            return blocks
        reference = self.reference
        return self._annotated(read_output(self.args, name, reference.name, reference.sources))

    def _annotated(self, lines: Sequence[str]) -> Sequence[Block]:
        from gec.eval.metrics.errant import Annotator

        if not isinstance(self._annotator, Annotator):
            self._annotator = Annotator(chosen_pipeline(self.args, types=self.types))
        self.settings |= self._annotator.settings
        return self._annotator.blocks(self.reference.sources, lines)


def read_output(
    args: argparse.Namespace, name: str, source: str, sources: Sequence[str]
) -> list[str]:
    """Return a system's sentences, which belong to ``sources`` of the file ``source``.

    Raises:
        InputError: the file cannot be read, has more or fewer lines, is not tokenized like the
            sources, or (without ``--allow-empty``) has an empty line; the message says which.
    """
    lines = read_lines(name)
    check_parallel([(source, sources), (name, lines)])
    check_fits(name, sources, lines, allow_empty=args.allow_empty)
    return lines


def check_fits(
    name: str, sources: Sequence[str], lines: Sequence[str], *, allow_empty: bool = False
) -> None:
    """Refuse output that no scorer can say anything sensible about.

    Output is taken for text that is not tokenized if in half of the sentences whose last token is a
    full stop, an exclamation or a question mark it has such a mark joined to its last word.

    Raises:
        InputError: a line without words for a sentence that has some, or lines that are not
            tokenized as the sources are; says the first.
    """
    ended = glued = 0
    first = None
    for number, (source, line) in enumerate(zip(sources, lines, strict=True), 1):
        before, after = source.split(), line.split()
        if before and not after:
            if allow_empty:
                continue
            raise InputError(
                f"{name}, line {number}: empty, but the sentence is {source[:60]!r}; "
                "--allow-empty takes it for deleted"
            )
        if before and before[-1] in (".", "!", "?"):
            ended += 1
            if _GLUED.search(after[-1]) and after[-1] not in before:
                glued += 1
                first = first or number
    if first and glued * 2 >= ended:
        raise InputError(
            f"{name}, line {first}: not tokenized as the gold file is: {lines[first - 1][-60:]!r} "
            f"beside {sources[first - 1][-60:]!r}; separate words and marks by blanks"
        )


def read_reference(name: str) -> Reference:
    """Return the reference edits of a file.

    Raises:
        InputError: the file cannot be read, or has no sentence.
        DataError: the file is malformed; the message names the line.
    """
    blocks = read_blocks(name)
    if not any(block.sentence.split() for block in blocks):
        raise InputError(f"{name}: no sentence to score")
    warn_of_outside(name, outside(blocks))
    return Reference(name, blocks)


def check_sentences(name: str, blocks: Sequence[Block], other: str, found: Sequence[Block]) -> None:
    """Refuse edits of other sentences than the reference's.

    Raises:
        InputError: the numbers of sentences differ.
        DataError: a sentence or its tokenization differs; the message says where.
    """
    check_parallel([(name, [b.sentence for b in blocks]), (other, [b.sentence for b in found])])
    for ours, theirs in zip(found, blocks, strict=True):
        if ours.sentence.split() != theirs.sentence.split():
            raise DataError(
                f"{other}, line {ours.line}: {ours.sentence[:60]!r} is not the sentence of {name}, "
                f"line {theirs.line}: {theirs.sentence[:60]!r}"
            )


def changes_by_coder(block: Block) -> Mapping[int, Sequence[Change]]:
    """Return every coder's edits, sorted by place; a block without edits has coder 0.

    Edits outside the sentence, and errors without a correction, are left out.
    """
    length = len(block.sentence.split())
    coders: dict[int, list[Change]] = {}
    for annotation in block.annotations:
        found = coders.setdefault(annotation.coder, [])
        if annotation.type not in _NOTHING and 0 <= annotation.start <= annotation.end <= length:
            found.append(_change(annotation))
    for found in coders.values():
        found.sort(key=lambda change: change[:2])  # edits of one place keep their order
    return {coder: coders[coder] for coder in sorted(coders)} or {0: []}


def _change(annotation: Annotation) -> Change:
    words = "" if annotation.correction == "-NONE-" else annotation.correction
    return Change(annotation.start, annotation.end, tuple(words.split()), annotation.type)


def only_changes(block: Block) -> Sequence[Change]:
    """Return the edits of a system's block, which are those of its first coder."""
    return next(iter(changes_by_coder(block).values()))


def corrected(source: str, changes: Iterable[Change]) -> str:
    """Return a sentence after changes; of those that overlap, the one that begins first is made."""
    tokens = source.split()
    made: list[str] = []
    done = 0
    for change in sorted(changes, key=lambda change: change[:2]):
        if change.start >= done:
            made += [*tokens[done : change.start], *change.tokens]
            done = change.end
    return " ".join([*made, *tokens[done:]])
