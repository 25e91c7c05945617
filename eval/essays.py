"""``gec essays``: files of MultiGEC's essays to lines, which every scorer reads, and back.

A line holds one essay, with a tab for every line break, as in MultiGEC's own conversion. Systems
and references are put in the order of the first file's essays.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gec.documents.essays import Essay, parse, render
from gec.errors import ConfigError, DataError, InputError
from gec.eval.metrics.score import once, read_lines, to_line, write_text
from gec.files import read_document

if TYPE_CHECKING:
    from spacy.language import Language


def read_essays(name: str) -> list[Essay]:
    """Return the essays of a file.

    Raises:
        InputError: missing, unreadable or not UTF-8.
        DataError: not of this format, or an id that comes twice.
    """
    return parse(read_document(name).text, name)


def aligned(
    first: Sequence[Essay], other: Sequence[Essay], name: str, fill: Sequence[Essay] = ()
) -> list[Essay]:
    """Return the essays of ``other`` in the order of ``first``; those it lacks are of ``fill``.

    Raises:
        DataError: an essay that only one of the two files has.
    """
    own: Mapping[str, Essay] = {essay.id: essay for essay in other}
    ids = {essay.id for essay in first}
    if extra := [id_ for id_ in own if id_ not in ids]:
        raise DataError(f"{name}: essay {extra[0]} is not in the first file")
    spare = {essay.id: essay for essay in fill}
    if missing := [id_ for id_ in ids if id_ not in own and id_ not in spare]:
        raise DataError(
            f"{name}: no essay {min(missing)}; --fill names a file from which to take those that "
            "are missing"
        )
    return [own.get(essay.id) or spare[essay.id] for essay in first]


def from_lines(lines: Sequence[str], first: Sequence[Essay]) -> list[Essay]:
    """Return lines as essays with the ids of ``first``; tabs become line breaks.

    Raises:
        InputError: not as many lines as essays.
    """
    if len(lines) != len(first):
        raise InputError(f"{len(lines)} lines for {len(first)} essays")
    return [
        Essay(essay.id, line.replace("\t", "\n")) for essay, line in zip(first, lines, strict=True)
    ]


def tokenized(text: str, nlp: Language) -> str:
    """Return a text with blanks around its tokens; line breaks stay."""
    return "\n".join(
        " ".join(token.text for token in nlp.make_doc(line) if not token.is_space)
        for line in text.splitlines()
    )


def tokenizer(language: str) -> Language:
    """Return spaCy's tokenizer for a language's code.

    Raises:
        ConfigError: spaCy has none, or it needs a package that is not installed.
    """
    import spacy

    try:
        return spacy.blank(language)
    except (ImportError, OSError, ValueError) as error:
        reason = str(error).split("\n")[0]
        raise ConfigError(f"spaCy has no tokenizer for {language!r} here: {reason}") from error


def lines_main(args: argparse.Namespace) -> int:
    """``gec essays lines FILE... --output DIR``"""
    once(args.files)
    files = [(name, read_essays(name)) for name in args.files]
    fill = read_essays(args.fill) if args.fill else []
    nlp = tokenizer(args.tokenize) if args.tokenize else None
    outputs = [f"{Path(name).stem}.txt" for name in args.files]
    if len(set(outputs)) < len(outputs):
        raise ConfigError("two of the files have the same name, and so would their lines")
    rows = [aligned(files[0][1], essays, name, fill) for name, essays in files]
    folder = Path(args.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror})") from error
    for output, essays in zip(outputs, rows, strict=True):
        texts = [essay.text if nlp is None else tokenized(essay.text, nlp) for essay in essays]
        write_text(str(folder / output), (to_line(text) + "\n" for text in texts))
    return 0


def back_main(args: argparse.Namespace) -> int:
    """``gec essays back LINES ESSAYS --output FILE``"""
    once([args.lines, args.essays])
    lines = read_lines(args.lines)
    try:
        essays = from_lines(lines, read_essays(args.essays))
    except InputError as error:
        raise InputError(f"{args.lines}, {args.essays}: {error}") from error
    write_text(args.output, [render(essays)])
    return 0
