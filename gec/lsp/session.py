"""One editor's session: its open documents, what was found in them, and what it asks for.

Everything here runs in the thread that reads the editor's messages, so nothing here may take long;
checking is the schedule's.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gec.check.baseline import Known
from gec.errors import ConfigError
from gec.lsp.actions import Offer
from gec.lsp.buffer import Buffer, Change, path_of
from gec.lsp.diagnostics import explanation, to_diagnostics, to_range
from gec.lsp.positions import Position, Text
from gec.lsp.preferences import Preferences, read_preferences
from gec.lsp.schedule import Report, Schedule
from gec.lsp.workspace import Workspace

if TYPE_CHECKING:
    from gec.correct.corrector import Corrector

LOG = logging.getLogger("gec.lsp")
PATIENCE = 2.0
"""Seconds that a request waits for a document to be checked."""


class Client(Protocol):
    """What a session tells its editor."""

    def publish(self, uri: str, version: int | None, diagnostics: list[dict[str, Any]]) -> None:
        """Send the diagnostics of a document."""

    def say(self, message: str, *, error: bool = False) -> None:
        """Show a line to the user."""

    def refresh(self) -> None:
        """Let the editor ask for diagnostics again, if it asks for them."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What the editor shows of a document.

    Attributes:
        report: what was found, without what the user ignores.
        diagnostics: the same for the protocol.
        sent: the editor has got them.
    """

    report: Report
    diagnostics: list[dict[str, Any]]
    sent: bool


class Session:
    """The open documents of one editor.

    Args:
        client: takes what is found.
        load: makes the corrector.
        call: runs a function in the session's thread.

    Attributes:
        first: the settings that the editor began with; what it sends later comes over them.
        pulled: the editor asks for diagnostics; else they are sent to it.
        versioned: the editor takes changes for a version of a document.
        encoding: what its positions count.
    """

    def __init__(
        self,
        client: Client,
        load: Callable[[], Corrector],
        call: Callable[[Callable[[], None]], None],
    ) -> None:
        self.workspace = Workspace(client.say)
        self.first = Preferences()
        self.pulled = False
        self.versioned = False
        self.encoding = "utf-16"
        self._client = client
        self._call = call
        self._buffers: dict[str, Buffer] = {}
        self._shown: dict[str, Shown] = {}
        self._waiting: dict[str, list[asyncio.Future[None]]] = defaultdict(list)
        self._ignored: set[tuple[str, Known]] = set()
        self._ignored_types: set[tuple[str, str]] = set()
        self._refused: set[str] = set()
        self._broken = False
        self._schedule = Schedule(
            load,
            lambda report: call(lambda: self._arrived(report)),
            lambda message: call(lambda: self._cannot(message)),
        )

    def start(self) -> None:
        """Begin to load the corrector."""
        self._schedule.start()

    def close(self, patience: float = 0.0) -> bool:
        """End the checking; return whether it has ended within so many seconds."""
        return self._schedule.close(patience)

    # --------------------------------------------------------------------------------- documents

    def opened(self, uri: str, version: int, language: str, text: str) -> None:
        """A document was opened."""
        buffer = Buffer(uri, version, language, Text.of(text, self.encoding))
        self._buffers[uri] = buffer
        self._check(buffer)

    def changed(self, uri: str, version: int, changes: Sequence[Change]) -> None:
        """A document has another version; one that was never opened is ignored."""
        buffer = self._buffers.get(uri)
        if buffer is None:
            LOG.warning("a document was changed that is not open")
            return
        self._buffers[uri] = buffer = buffer.changed(version, changes)
        self._check(buffer, self.workspace.preferences.debounce / 1000)

    def closed(self, uri: str) -> None:
        """A document was closed: its diagnostics go."""
        self._schedule.forget(uri)
        self._buffers.pop(uri, None)
        self._refused.discard(uri)
        shown = self._shown.pop(uri, None)
        if shown is not None and not self.pulled:
            self._client.publish(uri, None, [])
        self._wake(uri)

    def saved(self, uri: str) -> None:
        """A document was saved: it may hold settings or words."""
        if self.workspace.watches(path_of(uri)):
            self.renew()

    def renew(self) -> None:
        """Read settings and dictionaries again, and check all documents by them."""
        self.workspace.forget()
        if self.pulled:
            self._shown.clear()
            self._client.refresh()
        for buffer in self._buffers.values():
            self._check(buffer)

    def configure(self, given: object) -> None:
        """Take the editor's settings; what is wrong with them is said."""
        preferences, wrong = read_preferences(given, self.first)
        if wrong:
            self._client.say(f"gec: {wrong}")
        if preferences != self.workspace.preferences:
            self.workspace.preferences = preferences
            self.renew()

    def _check(self, buffer: Buffer, delay: float = 0.0) -> None:
        reason = self._refusal(buffer)
        rules = None
        if reason is None and buffer.prose is not None:
            rules = self.workspace.rules_of(buffer.name, buffer.language)
        if rules is None:
            self._schedule.forget(buffer.uri)
            if reason and buffer.uri not in self._refused:
                self._refused.add(buffer.uri)
                self._client.say(f"gec: {Path(buffer.name).name} {reason}")
            self._show(Report(buffer, (), True))
            return
        self._refused.discard(buffer.uri)
        self._schedule.check(buffer, rules, delay)

    def _refusal(self, buffer: Buffer) -> str | None:
        """Return why a document is not checked, if that is to be said."""
        size, most = len(buffer.text.value), self.workspace.preferences.max_characters
        if size > most:
            return (
                f"has {size:,} characters, more than {most:,}, and is not checked "
                "(setting max_characters)"
            )
        if "\0" in buffer.text.value:
            return "looks binary and is not checked"
        return None

    # ---------------------------------------------------------------------------- what is found

    def _arrived(self, report: Report) -> None:
        """Show what the schedule found, if the document is still the one that it was found in."""
        buffer = self._buffers.get(report.buffer.uri)
        if buffer is None or buffer.version != report.buffer.version:
            return
        if report.problem and report.buffer.uri not in self._refused:
            self._refused.add(report.buffer.uri)
            self._client.say(f"gec: {Path(buffer.name).name} cannot be checked: {report.problem}")
        self._show(report)

    def _show(self, report: Report) -> None:
        uri = report.buffer.uri
        findings = tuple(
            one
            for one in report.findings
            if (uri, one.proposal.known) not in self._ignored
            and (uri, one.proposal.edit.type) not in self._ignored_types
        )
        report = replace(report, findings=findings)
        level = self.workspace.preferences.level
        diagnostics = to_diagnostics(report.buffer.text, findings, level)
        before = self._shown.get(uri)
        same = (
            before is not None
            and before.sent
            and before.report.buffer.version == report.buffer.version
            and before.diagnostics == diagnostics
        )
        early = not findings and not report.complete  # "nothing" is said at the end
        send = not (same or early or self.pulled)
        if send:
            self._client.publish(uri, report.buffer.version, diagnostics)
        self._shown[uri] = Shown(report, diagnostics, send or same)
        if report.complete:
            self._wake(uri)

    def _cannot(self, message: str) -> None:
        self._broken = True
        self._client.say(f"gec: {message}", error=True)
        for uri in [*self._waiting]:
            self._wake(uri)

    def _wake(self, uri: str) -> None:
        for waiting in self._waiting.pop(uri, []):
            if not waiting.done():
                waiting.set_result(None)

    async def current(self, uri: str, patience: float | None = PATIENCE) -> Shown | None:
        """Return what was found in the present version of a document, as soon as that is known.

        None: the document is not open, or is not checked within so many seconds.
        """
        try:
            async with asyncio.timeout(patience):
                while (buffer := self._buffers.get(uri)) is not None and not self._broken:
                    shown = self._shown.get(uri)
                    if (
                        shown is not None
                        and shown.report.buffer.version == buffer.version
                        and (shown.report.complete or patience is not None)
                    ):
                        return shown
                    waiting = asyncio.get_running_loop().create_future()
                    self._waiting[uri].append(waiting)
                    await waiting
        except TimeoutError:
            pass
        return None

    # --------------------------------------------------------------------------------- requests

    async def actions(
        self, uri: str, start: Position, end: Position, only: Sequence[str] | None
    ) -> list[dict[str, Any]]:
        """Return the actions at a range of a document."""
        shown = await self.current(uri)
        if shown is None:
            return []
        text = shown.report.buffer.text
        first, last = sorted((text.offset(*start), text.offset(*end)))
        self._look(uri, first)
        return self._offer(shown).actions(first, last, only)

    async def hover(self, uri: str, place: Position) -> dict[str, Any] | None:
        """Return the explanation of what is found at a position."""
        shown = await self.current(uri)
        if shown is None:
            return None
        text = shown.report.buffer.text
        at = text.offset(*place)
        self._look(uri, at)
        found = self._offer(shown).at(at, at)
        if not found:
            return None
        said = "\n\n---\n\n".join(explanation(one.edit) for one in found)
        edit = found[0].edit
        return {
            "contents": {"kind": "markdown", "value": said},
            "range": to_range(text, edit.start, edit.end),
        }

    async def fixes(
        self, uri: str, type: str | None, confidence: float
    ) -> tuple[int, dict[str, Any]] | None:
        """Return how many findings are chosen, and the change that fixes them; None if none is."""
        shown = await self.current(uri)
        if shown is None:
            return None
        offer = self._offer(shown)
        chosen = offer.chosen(type, confidence)
        return (len(chosen), offer.change(chosen)) if chosen else None

    def ignore(self, uri: str, finding: Known) -> None:
        """Show a finding no more."""
        self._ignored.add((uri, finding))
        self._again(uri)

    def ignore_type(self, uri: str, type: str) -> None:
        """Show no more findings of an error type in a document; its project's settings say so.

        Raises:
            GecError: the settings cannot be written.
        """
        if uri.startswith("file:") and self.workspace.ignore_type(type, path_of(uri)):
            self.renew()
        else:
            self._ignored_types.add((uri, type))
            self._again(uri)

    def add_word(self, word: str, uri: str, *, project: bool) -> str:
        """Add a word to a dictionary; return its file.

        Raises:
            GecError: the file cannot be written, or the word is none.
        """
        if not word.strip() or "\n" in word or "\r" in word:
            raise ConfigError("a word for the dictionary must be one line")
        if project:
            file = self.workspace.add_to_project(word.strip(), path_of(uri))
        else:
            file = self.workspace.add_to_user(word.strip())
        self.renew()
        return file

    def _again(self, uri: str) -> None:
        shown = self._shown.get(uri)
        if shown is not None:
            self._show(shown.report)

    def _look(self, uri: str, at: int) -> None:
        """Remember where the user looks; the next check begins there."""
        self._buffers[uri] = self._buffers[uri].looked_at(at)

    def _offer(self, shown: Shown) -> Offer:
        report, settings = shown.report, ""
        if report.buffer.uri.startswith("file:"):
            settings = self.workspace.project_of(report.buffer.name).file
        return Offer(
            report.buffer,
            report.findings,
            self.workspace.preferences,
            self.versioned,
            settings,
        )
