"""The users' decisions about corrections, stored in SQLite with the users' consent.

The server does not trust the client about what was shown: the server signs each sentence together
with all of its edits (:meth:`Store.sign`), and a decision names that token and one edit. The key
lies in the file, so tokens outlive the process, and several processes may share them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gec import __version__
from gec.errors import InputError
from gec.web.problems import Problem
from gec.web.rates import RateLimit

if TYPE_CHECKING:
    from gec.edits.edits import Edit

MAX_BYTES = 2**30
MAX_SENTENCE = 10_000
MAX_TOKEN = 2**18
DECISIONS = ("accepted", "ignored", "undecided")
_DAY = 86_400
_PAGE = 4096
_SCHEMA = """
    CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS shown (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        day TEXT NOT NULL DEFAULT (date('now')),
        sentence TEXT NOT NULL,
        model TEXT NOT NULL,
        gec TEXT NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS edit (
        shown INTEGER NOT NULL REFERENCES shown (number) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        start INTEGER NOT NULL,
        end INTEGER NOT NULL,
        replacement TEXT NOT NULL,
        type TEXT NOT NULL,
        confidence REAL NOT NULL,
        decision TEXT CHECK (decision IN ('accepted', 'ignored')),
        PRIMARY KEY (shown, number)
    ) STRICT;
"""

ShownEdit = tuple[int, int, str, str, float]
"""Start and end in code points of the sentence, replacement, type, confidence."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A sentence as it was shown, with all edits that were shown."""

    id: str
    sentence: str
    edits: tuple[ShownEdit, ...]
    model: str


class Store:
    """The file that ``gec serve --feedback`` writes.

    Each process has one connection; one thread or process writes at a time.

    Args:
        path: the file, which is made if it does not exist.
        max_bytes: size that the file never exceeds.
        days: number of days that a sentence is kept; 0 is for ever.
        quota: number of bytes a day that one client may have stored, or the limit that counts them.

    Raises:
        InputError: the file cannot be used.
    """

    def __init__(
        self,
        path: str,
        *,
        max_bytes: int = MAX_BYTES,
        days: int = 0,
        quota: RateLimit | int = MAX_BYTES,
    ) -> None:
        self._path = path
        self._pages = max_bytes // _PAGE
        self._days = days
        self._quota = RateLimit(quota, _DAY) if isinstance(quota, int) else quota
        self._lock = threading.Lock()
        # by process: a child never uses the connection of its parent
        self._opened: dict[int, sqlite3.Connection] = {}
        self._today = ""
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)  # people's own sentences
            os.close(descriptor)
            with self._lock:
                self._key = _key(self._connection())
                self._expire()
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"{path}: feedback cannot be stored there ({error})") from None

    def sign(self, sentence: str, edits: Sequence[Edit], model: str) -> str | None:
        """Return a token for a sentence and all edits shown, or None.

        The edits' offsets count from the sentence's start. The result is None if there is nothing
        to decide, or if M2 could not hold the sentence.
        """
        if not edits or not _is_plain(sentence, edits):
            return None
        rows = [(e.start, e.end, e.replacement, e.type, e.confidence) for e in edits]
        value = [secrets.token_hex(12), sentence, rows, model]
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        try:
            payload = data.encode()
        except UnicodeEncodeError:  # a lone surrogate
            return None
        token = f"{_text(payload)}.{_text(self._signature(payload))}"
        return token if len(token) <= MAX_TOKEN else None

    def decide(self, token: str, number: int, decision: str, client: str) -> str:
        """Store a user's decision about edit ``number`` of a token; return the sentence's id.

        The latest decision about an edit counts. A sentence with no decision left is forgotten.

        Raises:
            Problem: 409, the edit was never shown; 429, the client's quota is used up; 507, the
                file has its full size.
        """
        shown = self._read(token)
        if number >= len(shown.edits):
            text = f"edit must be less than {len(shown.edits)}, the number of edits shown"
            raise Problem(409, "not_shown", text)
        try:
            with self._lock:
                self._expire()
                with self._connection() as base:
                    base.execute("BEGIN IMMEDIATE")  # another process may store the same sentence
                    if not self._is_stored(base, shown.id):
                        if decision == "undecided":
                            return shown.id
                        self._charge(client, len(token))
                        _insert(base, shown)
                    _update(base, shown.id, number, decision)
                if decision == "undecided":
                    self._forget_undecided(shown.id)
        except sqlite3.OperationalError as error:
            if "full" in str(error):
                raise Problem(507, "feedback_full", "no more feedback can be stored") from None
            raise
        return shown.id

    def close(self) -> None:
        """Close this process's connection."""
        with self._lock:
            if os.getpid() in self._opened:
                self._opened.pop(os.getpid()).close()

    def _read(self, token: str) -> Shown:
        payload, _, signature = token.partition(".")
        with suppress(ValueError):
            data = urlsafe_b64decode(payload.encode("ascii") + b"==")
            given = urlsafe_b64decode(signature.encode("ascii") + b"==")
            if _text(data) == payload and hmac.compare_digest(given, self._signature(data)):
                id, sentence, edits, model = json.loads(data)
                return Shown(id, sentence, tuple(map(tuple, edits)), model)
        raise Problem(409, "not_shown", "this server has shown no such corrections")

    def _signature(self, payload: bytes) -> bytes:
        return hmac.new(self._key, payload, hashlib.sha256).digest()

    def _is_stored(self, base: sqlite3.Connection, id: str) -> bool:
        return base.execute("SELECT 1 FROM shown WHERE id = ?", (id,)).fetchone() is not None

    def _charge(self, client: str, size: int) -> None:
        wait = self._quota.take(client, size)
        if wait:
            text = "this client has stored as much feedback as it may in a day"
            raise Problem(429, "feedback_quota", text, retry_after=wait)

    def _forget_undecided(self, id: str) -> None:
        forget(
            self._connection(),
            "id = ? AND NOT EXISTS "
            "(SELECT 1 FROM edit WHERE shown = shown.number AND decision IS NOT NULL)",
            (id,),
        )

    def _expire(self) -> None:
        """Once a day, forget the sentences that are too old."""
        today = datetime.now(UTC).date().isoformat()
        if self._days and today != self._today:
            forget_older(self._connection(), self._days)
        self._today = today

    def _connection(self) -> sqlite3.Connection:
        """Return this process's connection: SQLite's connections must not survive a fork."""
        base = self._opened.get(os.getpid())
        if base is None:
            base = connect(self._path)
            base.execute(f"PRAGMA max_page_count = {self._pages}")
            base.execute("PRAGMA journal_mode = WAL")
            base.execute("PRAGMA synchronous = NORMAL")
            base.executescript(_SCHEMA)
            self._opened[os.getpid()] = base
        return base


# ---------------------------------------------------------------------------------------- the file


def connect(path: str) -> sqlite3.Connection:
    """Return a connection to an existing file; raises InputError if its version is too old."""
    uri = f"{Path(path).resolve().as_uri()}?mode=rw"
    base = sqlite3.connect(uri, uri=True, check_same_thread=False, timeout=10)
    try:
        base.execute("PRAGMA foreign_keys = ON")
        base.execute("PRAGMA secure_delete = ON")  # deleted sentences are overwritten
        old = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'feedback'"
        if base.execute(old).fetchone():
            raise InputError(
                f"{path}: an earlier version wrote this file; it lacks the edits left undecided. "
                "Name a new file"
            )
    except BaseException:
        base.close()
        raise
    return base


def forget(base: sqlite3.Connection, where: str, values: Sequence[object]) -> int:
    """Delete the sentences of an SQL condition from file and journal; return how many."""
    with base:
        count = base.execute(f"DELETE FROM shown WHERE {where}", tuple(values)).rowcount
    if count:
        with closing(base.execute("PRAGMA wal_checkpoint(TRUNCATE)")) as rows:
            rows.fetchall()
    return count


def forget_older(base: sqlite3.Connection, days: int) -> int:
    """Delete the sentences that were stored more than ``days`` days ago; return how many."""
    return forget(base, "day < date('now', ?)", (f"-{days} days",))


def _key(base: sqlite3.Connection) -> bytes:
    with base:
        base.execute("INSERT OR IGNORE INTO meta VALUES ('key', ?)", (secrets.token_bytes(32),))
    key: bytes = base.execute("SELECT value FROM meta WHERE name = 'key'").fetchone()[0]
    return key


def _insert(base: sqlite3.Connection, shown: Shown) -> None:
    row = (shown.id, shown.sentence, shown.model, __version__)
    number = base.execute(
        "INSERT INTO shown (id, sentence, model, gec) VALUES (?, ?, ?, ?)", row
    ).lastrowid
    base.executemany(
        "INSERT INTO edit VALUES (?, ?, ?, ?, ?, ?, ?, NULL)",
        [(number, place, *edit) for place, edit in enumerate(shown.edits)],
    )


def _update(base: sqlite3.Connection, id: str, number: int, decision: str) -> None:
    base.execute(
        "UPDATE edit SET decision = ? "
        "WHERE number = ? AND shown = (SELECT number FROM shown WHERE id = ?)",
        (None if decision == "undecided" else decision, number, id),
    )


def _is_plain(sentence: str, edits: Sequence[Edit]) -> bool:
    """Whether a sentence and its edits can be written as M2 and as lines with tabs."""
    return (
        len(sentence) <= MAX_SENTENCE
        and all(0 <= e.start <= e.end <= len(sentence) for e in edits)
        and not any("|||" in text for text in (sentence, *(e.replacement for e in edits)))
        and all(e.replacement == "".join(e.replacement.splitlines()) for e in edits)
        and not any("\t" in e.replacement for e in edits)
    )


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
