"""Stored feedback: exported as training data, listed as JSON, and erased."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from gec.correct.result import Correction, SentenceResult
from gec.edits.align import align
from gec.edits.edits import Edit, WordEdit, apply
from gec.errors import InputError
from gec.output.m2 import to_m2
from gec.text.words import Word, split_words
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
        words = split_words(record.sentence)
        source = [word.text for word in words]
        target = [word.text for word in split_words(corrected)]
        if form == "parallel":
            yield f"{' '.join(source)}\t{' '.join(target)}\n"
            continue
        edits = _in_words(made, words, align(source, target))
        result = SentenceResult(0, len(record.sentence), tuple(words), tuple(target), None, 0.0)
        yield to_m2(Correction(record.sentence, corrected, tuple(edits), (result,)))


def _in_words(
    edits: Sequence[Edit], words: Sequence[Word], changes: Sequence[WordEdit]
) -> Iterator[Edit]:
    """Yield an edit for each change of words: stored edits have spans of code points only."""
    if len(edits) == len(changes):
        yield from (replace(e, words=change) for e, change in zip(edits, changes, strict=True))
        return
    for change in changes:
        start, end = change.source_start, change.source_end
        if start < end:
            first, last = words[start].start, words[end - 1].end
            found = (e for e in edits if e.start < last and e.end > first)
        else:
            low = words[start - 1].end if start > 0 else 0
            high = max(low, words[start].start if start < len(words) else low)
            found = (e for e in edits if low <= e.start and e.end <= high)
        yield from (replace(edit, words=change) for edit in islice(found, 1))


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


def delete(
    path: str, *, id: str | None = None, text: str | None = None, days: int | None = None
) -> int:
    """Delete the sentence ``id``, those with ``text`` in them, or those older than ``days``.

    Returns:
        The number of deleted sentences.

    Raises:
        InputError: the file does not exist, or is not a feedback file, or ``text`` is empty.
    """
    if text == "":
        raise InputError("--text must not be empty: every sentence contains nothing")
    with _opened(path) as base:
        if days is not None:
            return forget_older(base, days)
        if id is not None:
            return forget(base, "id = ?", (id,))
        return forget(base, "instr(sentence, ?) > 0", (text,))


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
