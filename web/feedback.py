"""What users accepted and ignored, with their consent: stored in SQLite, exported for training."""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

from gec import __version__
from gec.corrector import Correction, SentenceResult
from gec.errors import InputError
from gec.formats import to_m2
from gec.text.edits import Edit, apply
from gec.text.words import split_words
from gec.web.problems import Problem

MAX_BYTES = 2**30
_PAGE = 4096
_SCHEMA = """
    CREATE TABLE IF NOT EXISTS feedback (
        id INTEGER PRIMARY KEY,
        day TEXT NOT NULL DEFAULT (date('now')),
        sentence TEXT NOT NULL,
        start INTEGER NOT NULL,
        end INTEGER NOT NULL,
        original TEXT NOT NULL,
        replacement TEXT NOT NULL,
        type TEXT NOT NULL,
        confidence REAL NOT NULL,
        decision TEXT NOT NULL CHECK (decision IN ('accepted', 'ignored')),
        model TEXT NOT NULL,
        gec TEXT NOT NULL
    ) STRICT
"""


class Store:
    """The file that ``gec serve --feedback`` writes; one connection, one writer at a time."""

    def __init__(self, path: str, *, max_bytes: int = MAX_BYTES) -> None:
        self._lock = threading.Lock()
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)  # people's own sentences
            os.close(descriptor)
            self._connection = sqlite3.connect(path, check_same_thread=False, timeout=10)
            self._connection.execute(f"PRAGMA max_page_count = {max_bytes // _PAGE}")
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            with self._connection:
                self._connection.execute(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"{path}: feedback cannot be stored there ({error})") from None

    def add(self, sentence: str, edit: dict[str, Any], decision: str, model: str) -> None:
        """Store one decision; ``edit`` is the API's, in code points.

        Raises:
            Problem: 409, the edit does not fit the sentence; 507, the file is full.
        """
        start, end = int(edit["start"]), int(edit["end"])
        if not start <= end <= len(sentence) or sentence[start:end] != edit["original"]:
            raise Problem(409, "edit_does_not_fit", "the edit's original is not in its place")
        row = (
            sentence, start, end, edit["original"], edit["replacement"], edit["type"],
            float(edit["confidence"]), decision, model, __version__,
        )  # fmt: skip
        names = (
            "sentence, start, end, original, replacement, type, confidence, decision, model, gec"
        )
        marks = ", ".join("?" * len(row))
        try:
            with self._lock, self._connection:
                self._connection.execute(f"INSERT INTO feedback ({names}) VALUES ({marks})", row)
        except UnicodeEncodeError:
            raise Problem(400, "invalid_request", "the text has a lone surrogate") from None
        except sqlite3.OperationalError as error:
            if "full" in str(error):
                raise Problem(507, "feedback_full", "no more feedback can be stored") from None
            raise

    def close(self) -> None:
        with self._lock:
            self._connection.close()


# ---------------------------------------------------------------------------------------- export


def export_main(args: argparse.Namespace) -> int:
    """``gec feedback export``"""
    found = export(args.file, args.format)
    lines = chain([next(found, "")], found)  # a bad file is found before another is overwritten
    if args.output == "-":
        for line in lines:
            sys.stdout.buffer.write(line.encode())
        return 0
    try:
        with Path(args.output).open("w", encoding="utf-8", newline="") as file:
            file.writelines(lines)
    except OSError as error:
        raise InputError(f"{args.output}: cannot be written ({error.strerror})") from None
    return 0


def export(path: str, form: str) -> Iterator[str]:
    """Yield the M2 blocks, or the lines of parallel text, of all sentences in a file.

    A sentence has the edits that were accepted and not ignored later; of two that overlap, the
    later one. What was only ignored shows in a sentence that stays as it is. Words are set off by
    blanks in both forms.

    Raises:
        InputError: the file is not there, or not one of ours.
    """
    for sentence, decided in _decisions(path):
        edits = sorted(decided, key=lambda edit: (edit.start, edit.end))
        corrected = apply(sentence, edits)
        source, target = (
            [word.text for word in split_words(text)] for text in (sentence, corrected)
        )
        if form == "parallel":
            yield f"{' '.join(source)}\t{' '.join(target)}\n"
            continue
        result = SentenceResult(0, len(sentence), tuple(source), tuple(target), None, 0.0)
        yield to_m2(Correction(sentence, corrected, tuple(edits), (result,)))


def _decisions(path: str) -> Iterator[tuple[str, list[Edit]]]:
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file")
    query = (
        "SELECT sentence, start, end, original, replacement, type, confidence, decision "
        "FROM feedback ORDER BY min(id) OVER (PARTITION BY sentence), id"
    )
    try:
        with closing(sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)) as base:
            sentence: str | None = None
            kept: list[Edit] = []
            for row in base.execute(query):
                if row[0] != sentence:
                    if sentence is not None:
                        yield sentence, kept
                    sentence, kept = row[0], []
                _, start, end, original, replacement, kind, confidence, decision = row
                edit = Edit(start, end, original, replacement, kind, confidence, "")
                kept = [other for other in kept if not _overlap(edit, other)]
                if decision == "accepted":
                    kept.append(edit)
            if sentence is not None:
                yield sentence, kept
    except sqlite3.Error as error:
        raise InputError(f"{path}: not a feedback file ({error})") from None


def _overlap(edit: Edit, other: Edit) -> bool:
    same = (edit.start, edit.end) == (other.start, other.end)
    return same or (edit.start < other.end and other.start < edit.end)
