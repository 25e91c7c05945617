"""The output of a run, and the journal by which an interrupted run continues.

During a run the results are in ``OUTPUT.part``. ``OUTPUT.journal`` has one JSON object a line:
first a description of the run (input, options), then commits: how many blocks of the input are
done, the digest of the input up to there, and the lengths of the results and of
``OUTPUT.errors.jsonl``. A commit is written after its results are on the disk (fsync), so a resumed
run cuts off everything beyond the last whole commit. ``OUTPUT`` appears in one step, when the run
is complete.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from gec.batch.blocks import Block, Failure, Result
from gec.batch.streams import STANDARD
from gec.errors import ConfigError, InputError

VERSION = 1
SECONDS_A_COMMIT = 1.0


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of a run; ``failed`` counts records."""

    records: int = 0
    changed: int = 0
    edits: int = 0
    failed: int = 0

    def plus(self, result: Result) -> Totals:
        """Return these counts plus those of one block's result."""
        return Totals(
            self.records + result.records,
            self.changed + result.changed,
            self.edits + result.edits,
            self.failed + len(result.failures),
        )

    def __add__(self, other: Totals) -> Totals:
        pairs = zip(asdict(self).values(), asdict(other).values(), strict=True)
        return Totals(*(a + b for a, b in pairs))


@dataclass(frozen=True, slots=True)
class Commit:
    """How far a run has come: number of blocks done, and lengths of its files in bytes."""

    blocks: int = 0
    digest: str = ""
    output: int = 0
    errors: int = 0
    totals: Totals = Totals()


class Output(Protocol):
    """Takes the results of one input.

    Attributes:
        start: how far an earlier run came that this run continues.
        complete: whether an earlier run has made the whole output.
    """

    start: Commit
    complete: bool

    def write(self, block: Block, result: Result, data: bytes) -> None:
        """Write a block's results: ``data``, and the failures of ``result``."""

    def finish(self, make: Callable[[Path], Path]) -> None:
        """Complete the output; ``make`` turns the file of all results into the output file."""

    def close(self) -> None:
        """Close the files, also after an error."""

    def forget(self) -> None:
        """Remove what only an interrupted run needs."""


class Stream:
    """Standard output, a device or a pipe: without a journal; failures become warnings."""

    def __init__(self, name: str, say: Callable[[str], None]) -> None:
        self.start, self.complete = Commit(), False
        self._name, self._say = name, say
        if name == STANDARD:
            if sys.stdout is None:
                raise InputError("standard output is closed")
            self._file: BinaryIO = sys.stdout.buffer
        else:
            with _reported(name):
                self._file = Path(name).open("wb")  # noqa: SIM115 - closed in close()

    def write(self, block: Block, result: Result, data: bytes) -> None:
        """Write a block's results, and say its failures."""
        for failure in result.failures:
            self._say(f"gec: warning: line {failure.line}: {failure.error}")
        with _reported(self._name):
            self._file.write(data)

    def finish(self, make: Callable[[Path], Path]) -> None:
        """Flush the stream; the results are the output, whatever ``make`` is."""
        with _reported(self._name):
            self._file.flush()

    def close(self) -> None:
        """Close the stream, unless it is standard output."""
        if self._name != STANDARD:
            with suppress(OSError):
                self._file.close()

    def forget(self) -> None:
        """Do nothing: a stream has no journal."""


class Journalled:
    """An output file with its journal.

    Raises:
        ConfigError: there are results already, and neither ``resume`` nor ``overwrite`` is set;
            or the results to resume were made with other options.
        InputError: the input has changed; the output cannot be written.
    """

    def __init__(
        self, name: str, about: Mapping[str, Any], *, resume: bool = False, overwrite: bool = False
    ) -> None:
        self._name = name
        self.path = Path(name)
        self.part = Path(name + ".part")
        self.journal = Path(name + ".journal")
        self.errors = Path(name + ".errors.jsonl")
        self.start = Commit()
        self.complete = False
        self._files: list[BinaryIO] = []
        with _reported(name):
            header, last, done = self._known = _read_journal(self.journal)
            begun = self.journal.exists()
            if resume and self.path.exists() and not self.part.exists() and (done or not begun):
                self._check(header, about)
                self.complete = True
                self.start = last
                return
            if resume and header:
                self._check(header, about)
                self.start = last
            elif not overwrite:
                self._refuse(started=bool(header))
            self._committed = self._latest = self.start
            self._when = time.monotonic()
            self._begin(about)

    def _refuse(self, *, started: bool) -> None:
        if started:
            raise ConfigError(
                f"{self._name}: an earlier run was interrupted; go on with --resume, or begin "
                "anew with --overwrite"
            )
        if self.path.exists():
            raise ConfigError(f"{self._name}: exists already; replace it with --overwrite")

    def _check(self, header: Mapping[str, Any], about: Mapping[str, Any]) -> None:
        """Refuse to mix the results of two inputs or of two ways to correct."""
        if not header:
            return
        before, now = header["input"], about["input"]
        changed = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
        if changed:
            raise InputError(
                f"{now.get('name')}: has changed since the run began ({', '.join(changed)}); "
                "begin anew with --overwrite"
            )
        before, now = header["options"], json.loads(json.dumps(about["options"]))
        changed = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
        if changed:
            shown = ", ".join(f"{k} {before.get(k)!r}, now {now.get(k)!r}" for k in changed)
            raise ConfigError(
                f"{self._name}: the run to resume had other options ({shown}); use the same, or "
                "begin anew with --overwrite"
            )

    def _begin(self, about: Mapping[str, Any]) -> None:
        """Make the files and close them: a run reads ahead, but writes one output at a time.

        The first write opens the files again with :meth:`_open`.
        """
        self._open()
        try:
            if self.start == Commit():
                _cut(self._files[0], 0)
                self._note({"version": VERSION, **about})
            _sync_folder(self.path)
            self._known = _read_journal(self.journal)
        finally:
            self._release()

    def _open(self) -> None:
        """Open the files, unless they are open, and cut off what lies beyond the last commit."""
        if self._files:
            return
        try:
            for path in (self.journal, self.part, self.errors):
                self._files.append(path.open("r+b" if path.exists() else "w+b"))
            journal, part, errors = self._files
            _lock(journal, self._name)
            if _read_journal(self.journal) != self._known:
                raise ConfigError(f"{self._name}: another run has written it meanwhile")
            for file, length in ((part, self.start.output), (errors, self.start.errors)):
                if file.seek(0, os.SEEK_END) < length:
                    raise InputError(
                        f"{file.name}: shorter than its journal says, was it changed? "
                        "begin anew with --overwrite"
                    )
                _cut(file, length)
            # an incomplete last line would swallow the next line
            _cut(journal, journal.read().rfind(b"\n") + 1)
        except BaseException:
            self._release()
            raise

    def _release(self) -> None:
        """Close the files, which releases the lock."""
        files, self._files = self._files, []
        for file in files:
            with suppress(OSError):
                file.close()

    def _note(self, value: Mapping[str, Any]) -> None:
        journal = self._files[0]
        journal.write(json.dumps(value).encode() + b"\n")
        journal.flush()
        os.fsync(journal.fileno())

    def write(self, block: Block, result: Result, data: bytes) -> None:
        """Add a block's results, and from time to time commit."""
        listed = b"".join(_listed(failure) for failure in result.failures)
        with _reported(self._name):
            self._open()
            _, part, errors = self._files
            part.write(data)
            errors.write(listed)
            self._latest = Commit(
                block.index + 1,
                block.digest,
                self._latest.output + len(data),
                self._latest.errors + len(listed),
                self._latest.totals.plus(result),
            )
            if time.monotonic() - self._when >= SECONDS_A_COMMIT:
                self.commit()

    def commit(self) -> None:
        """Put everything written on the disk, then write a commit to the journal."""
        if self._latest != self._committed:
            for file in self._files[1:]:
                file.flush()
                os.fsync(file.fileno())
            self._note({"commit": asdict(self._latest)})
            self._committed = self._latest
        self._when = time.monotonic()

    def finish(self, make: Callable[[Path], Path]) -> None:
        """Commit, let ``make`` turn the results into the output's format, and rename its file."""
        if self.complete:
            return
        with _reported(self._name):
            self._open()
            self.commit()
            whole = make(self.part)  # a run that is killed after this line makes it again
            self._note({"done": True})
            os.replace(whole, self.path)  # noqa: PTH105
            self.part.unlink(missing_ok=True)
            if not self._latest.errors:
                self.errors.unlink(missing_ok=True)
            _sync_folder(self.path)

    def close(self) -> None:
        """Commit the results so far, also after an error, and close the files."""
        with suppress(OSError):
            if self._files:
                self.commit()
        self._release()

    def forget(self) -> None:
        """Remove the journal of an output that is complete."""
        self.journal.unlink(missing_ok=True)


def _listed(failure: Failure) -> bytes:
    return json.dumps(asdict(failure), ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _read_journal(path: Path) -> tuple[dict[str, Any], Commit, bool]:
    """Return the description of a run, its last whole commit, and whether it was completed."""
    header: dict[str, Any] = {}
    last, done = Commit(), False
    if not path.exists():
        return header, last, done
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            value = json.loads(line)
        except ValueError:
            raise InputError(f"{path}: not a journal; begin anew with --overwrite") from None
        if "version" in value:
            header = value
            if value["version"] != VERSION:
                raise InputError(f"{path}: of another version; begin anew with --overwrite")
        elif "commit" in value:
            last = Commit(**value["commit"])
            last = replace(last, totals=Totals(**value["commit"]["totals"]))
        done = bool(value.get("done"))
    return header, last, done


def _cut(file: BinaryIO, length: int) -> None:
    """Cut a file to its first ``length`` bytes, and go to the end."""
    if file.seek(0, os.SEEK_END) > length:
        file.truncate(length)
    file.seek(length)


def _lock(file: BinaryIO, name: str) -> None:
    with suppress(ImportError):  # Windows
        import fcntl

        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(f"{name}: another run is writing it") from None


def _sync_folder(path: Path) -> None:
    """Put the folder of a file on the disk, without which the file's name is not safe."""
    with suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def _reported(name: str) -> Iterator[None]:
    where = "standard output" if name == STANDARD else name
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        hint = "" if name == STANDARD else "; when there is room or permission, use --resume"
        raise InputError(f"{where}: cannot be written ({error.strerror or error}){hint}") from error
