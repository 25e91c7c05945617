"""One thread that checks open documents: the newest first, and of it what the user looks at first.

A document is checked in small batches of sentences. Between two of them, and within one whenever
the corrector asks, the thread sees whether something newer waits. Sentences that are done stay
known, so nothing is done twice.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gec.errors import ConfigError, DataError, GecError
from gec.lsp.buffer import Buffer
from gec.lsp.outline import Outline
from gec.lsp.sentences import Finding, Reading, Results
from gec.lsp.workspace import Rulebook
from gec.memory import release_memory

if TYPE_CHECKING:
    from gec.correct.corrector import Corrector

LOG = logging.getLogger("gec.lsp")

FIRST_BATCH, BATCH = 4, 16
"""Sentences that are decoded together: those nearest to a change, and all others."""
SHOW_EVERY = 0.5
"""Seconds between two reports of a document that is not yet done."""
MANY = 500
"""So many sentences leave memory that is worth releasing."""
SETTLE = 0.5
"""Seconds without a change before a document whose outline was guessed is parsed."""


class Superseded(Exception):
    """Something newer waits."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was found in one version of a document.

    Attributes:
        findings: in the document's order.
        complete: every sentence was corrected.
        problem: why the document was not checked; empty if it was.
    """

    buffer: Buffer
    findings: tuple[Finding, ...]
    complete: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Task:
    """A version of a document that is to be checked, not before ``due``."""

    buffer: Buffer
    rules: Rulebook
    due: float
    number: int
    parse: bool = False


@dataclass(slots=True)
class _State:
    """What is known of a document between its versions."""

    outline: Outline | None = None
    reading: Reading | None = None


class Schedule:
    """Checks documents in a thread of its own.

    Args:
        load: makes the corrector, in the thread.
        report: takes what was found; called in the thread.
        failed: takes the message if the corrector cannot be made; called in the thread.
    """

    def __init__(
        self,
        load: Callable[[], Corrector],
        report: Callable[[Report], None],
        failed: Callable[[str], None],
    ) -> None:
        self._load = load
        self._report = report
        self._failed = failed
        self._corrector: Corrector | None = None
        self._results = Results()
        self._changed = threading.Condition()
        self._tasks: dict[str, _Task] = {}
        self._states: dict[str, _State] = {}
        self._number = 0
        self._fresh = 0  # sentences since memory was released
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="gec-lsp", daemon=True)

    def start(self) -> None:
        """Start the thread, which loads the corrector first."""
        self._thread.start()

    def close(self, patience: float = 0.0) -> bool:
        """End the thread, at the latest when it has decoded a batch; return whether it has ended.

        Wait so many seconds for it.
        """
        with self._changed:
            self._closing = True
            self._tasks.clear()
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(patience)
        return not self._thread.is_alive()

    def check(self, buffer: Buffer, rules: Rulebook, delay: float = 0.0) -> None:
        """Check a version of a document in so many seconds; older versions are forgotten."""
        with self._changed:
            self._put(buffer, rules, delay, parse=False)

    def forget(self, uri: str) -> None:
        """Forget a document that was closed."""
        with self._changed:
            self._tasks.pop(uri, None)
            self._states.pop(uri, None)
            self._changed.notify()

    def _put(self, buffer: Buffer, rules: Rulebook, delay: float, *, parse: bool) -> None:
        self._number += 1
        due = time.monotonic() + delay
        self._tasks[buffer.uri] = _Task(buffer, rules, due, self._number, parse)
        self._states.setdefault(buffer.uri, _State())
        self._changed.notify()

    # --------------------------------------------------------------------------------- the thread

    def _run(self) -> None:
        try:
            self._corrector = self._load()
        except Exception as error:
            LOG.error("the model cannot be loaded: %s", type(error).__name__)
            self._failed(str(error) if isinstance(error, GecError) else _named(error))
            return
        LOG.info("the model is loaded")
        release_memory()
        while (task := self._take()) is not None:
            try:
                self._check(task)
            except Superseded:
                continue
            except Exception as error:  # the thread must survive every document
                self._give_up(task, error)
            if self._fresh > MANY:
                self._fresh = 0
                release_memory()

    def _take(self) -> _Task | None:
        """Wait for the newest task that is due; None at the end."""
        with self._changed:
            while not self._closing:
                now = time.monotonic()
                due = [task for task in self._tasks.values() if task.due <= now]
                if due:
                    return max(due, key=lambda task: task.number)
                waits = [task.due - now for task in self._tasks.values()]
                self._changed.wait(min(waits, default=None))
        return None

    def _check(self, task: _Task) -> None:
        """Check a document, and report what is found whenever there is something to show."""
        assert self._corrector is not None
        reading = self._read(task)
        corrector = self._corrector.with_decoder(
            self._corrector.decode, interrupt=lambda: self._go_on(task)
        )
        shown = time.monotonic()
        missing = reading.missing(self._results, task.buffer.touched)
        size = FIRST_BATCH
        while missing:
            self._go_on(task)
            reading.correct(corrector, self._results, missing[:size], size)
            self._fresh += size
            missing, size = missing[size:], BATCH
            if missing and time.monotonic() - shown > SHOW_EVERY:
                self._show(task, reading, complete=False)
                shown = time.monotonic()
        with self._changed:
            if self._tasks.get(task.buffer.uri) is task:
                del self._tasks[task.buffer.uri]
                if reading.outline.guessed:
                    self._put(task.buffer, task.rules, SETTLE, parse=True)
        self._show(task, reading, complete=True)

    def _read(self, task: _Task) -> Reading:
        """Find the document's sentences."""
        prose = task.buffer.prose
        assert prose is not None
        with self._changed:
            state = self._states.get(task.buffer.uri)
        if state is None:
            raise Superseded
        source = _well_formed(task.buffer.text.value)
        outline = None
        if state.outline is not None and prose == (state.outline.kind, state.outline.name):
            outline = state.outline.after(source)
        if outline is None or (outline.guessed and task.parse):
            outline = Outline.parsed(source, *prose)
        state.outline = outline
        state.reading = Reading(outline, task.rules.demand, state.reading)
        return state.reading

    def _show(self, task: _Task, reading: Reading, *, complete: bool) -> None:
        found = reading.findings(self._results, task.rules.counts)
        baseline = task.rules.baseline
        if baseline is not None:
            verdicts = baseline.new(task.rules.baseline_name, (one.proposal.known for one in found))
            found = [one for one, new in zip(found, verdicts, strict=True) if new]
        self._report(Report(task.buffer, tuple(found), complete))

    def _go_on(self, task: _Task) -> None:
        """Raise Superseded if a newer task is due, or this one is no longer wanted."""
        now = time.monotonic()
        with self._changed:
            if self._closing or self._tasks.get(task.buffer.uri) is not task:
                raise Superseded
            if any(t.number > task.number and t.due <= now for t in self._tasks.values()):
                raise Superseded

    def _give_up(self, task: _Task, error: Exception) -> None:
        LOG.error("a document cannot be checked: %s", type(error).__name__)
        with self._changed:
            if self._tasks.get(task.buffer.uri) is task:
                del self._tasks[task.buffer.uri]
            state = self._states.get(task.buffer.uri)
            if state is not None:
                state.outline = state.reading = None
        problem = str(error) if isinstance(error, ConfigError | DataError) else _named(error)
        self._report(Report(task.buffer, (), True, problem))


def _named(error: Exception) -> str:
    """Return what to say about an error of which we do not know whether it quotes the text."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        from gec.extras import missing

        return missing(error.name)
    return f"unexpected {type(error).__name__}"


def _well_formed(text: str) -> str:
    """Return a text without halves of surrogate pairs, which no parser takes; offsets stay."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text
