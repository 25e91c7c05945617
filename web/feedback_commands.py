"""``gec feedback``: exports stored feedback as training data, lists it as JSON, erases it."""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from gec.correct.corrector import Correction, SentenceResult
from gec.edits.edits import Edit, apply
from gec.errors import InputError
from gec.output.formats import to_m2
from gec.text.words import split_words
from gec.web.feedback import connect, forget, forget_older

_READ = """
    SELECT shown.number, id, day, sentence, model, gec,
           start, end, replacement, type, confidence, decision
    FROM shown JOIN edit ON edit.shown = shown.number
    {} ORDER BY shown.number, edit.number
"""
_LAST_COMPLETE = """
    WHERE shown.number IN (
        SELECT max(number) FROM shown AS one WHERE NOT EXISTS (
            SELECT 1 FROM edit WHERE edit.shown = one.number AND decision IS NULL
        ) GROUP BY sentence
    )
"""


@dataclass(frozen=True, slots=True)
class Record:
    """A stored sentence; ``decisions`` has an entry for each edit, None if it is undecided."""

    id: str
    day: str
    sentence: str
    model: str
    gec: str
    edits: tuple[Edit, ...]
    decisions: tuple[str | None, ...]


def main(args: argparse.Namespace) -> int:
    """``gec feedback``: one of its steps"""
    if args.step == "delete":
        count = delete(args)
        print(f"{count} sentence{'' if count == 1 else 's'} deleted")
        return 0
    found = listed(args.file) if args.step == "list" else export(args.file, args.format)
    lines = chain([next(found, "")], found)  # a bad file fails before another is overwritten
    _write(lines, args.output)
    return 0


def _write(lines: Iterable[str], output: str) -> None:
    if output == "-":
        for line in lines:
            sys.stdout.buffer.write(line.encode())
        return
    try:
        with Path(output).open("w", encoding="utf-8", newline="") as file:
            file.writelines(lines)
    except OSError as error:
        raise InputError(f"{output}: cannot be written ({error.strerror})") from None


def export(path: str, form: str) -> Iterator[str]:
    """Yield the M2 blocks, or the lines of parallel text, of all sentences fully decided.

    A sentence gets the edits that were accepted; if all its edits were ignored, it stays as it is.
    A sentence with an undecided edit is left out: nobody has said whether that edit is an error.
    Of several records of the same sentence the last one counts. Both forms have blanks between
    words.

    Raises:
        InputError: the file does not exist, or is not a feedback file.
    """
    for record in records(path, _LAST_COMPLETE):
        made = [e for e, d in zip(record.edits, record.decisions, strict=True) if d == "accepted"]
        corrected = apply(record.sentence, made)
        source, target = (
            [word.text for word in split_words(text)] for text in (record.sentence, corrected)
        )
        if form == "parallel":
            yield f"{' '.join(source)}\t{' '.join(target)}\n"
            continue
        result = SentenceResult(0, len(record.sentence), tuple(source), tuple(target), None, 0.0)
        yield to_m2(Correction(record.sentence, corrected, tuple(made), (result,)))


def listed(path: str) -> Iterator[str]:
    """Yield everything that is stored, decided or not, as lines of one JSON object each."""
    for record in records(path):
        edits = [
            {
                "start": edit.start,
                "end": edit.end,
                "original": edit.original,
                "replacement": edit.replacement,
                "type": edit.type,
                "confidence": edit.confidence,
                "decision": decision,
            }
            for edit, decision in zip(record.edits, record.decisions, strict=True)
        ]
        about = {name: getattr(record, name) for name in ("id", "day", "sentence", "model", "gec")}
        yield json.dumps(about | {"edits": edits}, ensure_ascii=False) + "\n"


def delete(args: argparse.Namespace) -> int:
    """Delete the sentences that the options name; return how many."""
    if args.text == "":
        raise InputError("--text must not be empty: every sentence contains nothing")
    with _opened(args.file) as base:
        if args.older_than is not None:
            return forget_older(base, args.older_than)
        if args.id is not None:
            return forget(base, "id = ?", (args.id,))
        return forget(base, "instr(sentence, ?) > 0", (args.text,))


def records(path: str, which: str = "") -> Iterator[Record]:
    """Yield the stored records, oldest first; ``which`` is a condition in SQL.

    Raises:
        InputError: the file does not exist, or is not a feedback file.
    """
    with _opened(path) as base:
        try:
            for _, rows in groupby(base.execute(_READ.format(which)), key=lambda row: row[0]):
                yield _record(list(rows))
        except sqlite3.Error as error:
            raise _bad(path, error) from None


def _record(rows: list[tuple[Any, ...]]) -> Record:
    _, id, day, sentence, model, gec, *_ = rows[0]
    edits = tuple(
        Edit(start, end, sentence[start:end], replacement, kind, confidence, "")
        for *_, start, end, replacement, kind, confidence, _ in rows
    )
    return Record(id, day, sentence, model, gec, edits, tuple(row[-1] for row in rows))


def _opened(path: str) -> closing[sqlite3.Connection]:
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file")
    try:
        base = connect(path)
    except sqlite3.Error as error:
        raise _bad(path, error) from None
    try:
        base.execute("SELECT 1 FROM shown LIMIT 1")
    except sqlite3.Error as error:
        base.close()
        raise _bad(path, error) from None
    return closing(base)


def _bad(path: str, error: sqlite3.Error) -> InputError:
    return InputError(f"{path}: not a feedback file ({error})")
