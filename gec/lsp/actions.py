"""What an editor offers at a finding: corrections, words for a dictionary, and to ignore it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gec.edits.edits import Edit
from gec.edits.messages import category, message
from gec.lsp.buffer import Buffer
from gec.lsp.diagnostics import shown, title, to_diagnostic, to_range
from gec.lsp.positions import Text
from gec.lsp.preferences import Preferences
from gec.lsp.sentences import Finding

QUICK_FIX, FIX_ALL = "quickfix", "source.fixAll.gec"
ADD_TO_USER, ADD_TO_PROJECT = "gec.addToUserDictionary", "gec.addToProjectDictionary"
IGNORE, IGNORE_TYPE = "gec.ignore", "gec.ignoreType"
FIX = "gec.fixAll"
COMMANDS = (ADD_TO_USER, ADD_TO_PROJECT, IGNORE, IGNORE_TYPE, FIX)

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_LINE_MARK = re.compile(r"//|#|--|%|;")


@dataclass(frozen=True, slots=True)
class Offer:
    """The findings of one version of a document, for actions on them.

    Attributes:
        versioned: the editor takes changes for a version of a document, and refuses them if it has
            gone on.
        project: where the settings of the document's project stand; empty if it has none.
    """

    buffer: Buffer
    findings: Sequence[Finding]
    preferences: Preferences
    versioned: bool
    project: str = ""

    def at(self, start: int, end: int) -> list[Finding]:
        """Return the findings that are shown at a span or touch it."""
        value = self.buffer.text.value
        found = []
        for one in self.findings:
            first, last = shown(value, one)
            if first <= end and start <= last:
                found.append(one)
        return found

    def actions(self, start: int, end: int, only: Sequence[str] | None) -> list[dict[str, Any]]:
        """Return the actions at a span; ``only`` are the kinds that the editor wants."""
        wanted = _filter(only)
        found: list[dict[str, Any]] = []
        if wanted(QUICK_FIX):
            here = self.at(start, end)
            found += self._fixes(here)
            found += self._more(here, everything=not wanted(FIX_ALL))
            for one in here:
                found += self._words(one)
                found += self._ignores(one)
        if wanted(FIX_ALL) and self.findings:
            count = _count(len(self.findings))
            found.append(self._edit(f"Fix {count} in this file", FIX_ALL, self.findings))
        return found

    def chosen(self, type: str | None = None, confidence: float = 0.0) -> list[Finding]:
        """Return the findings of an error type, or all, that are sure enough."""
        return [
            one
            for one in self.findings
            if one.proposal.edit.confidence >= confidence and type in (None, one.proposal.edit.type)
        ]

    def change(self, findings: Iterable[Finding]) -> dict[str, Any]:
        """Return the protocol's WorkspaceEdit that makes edits."""
        return self._workspace_edit(
            (one.start, one.end, one.proposal.edit.replacement) for one in findings
        )

    # --------------------------------------------------------------------------------- the actions

    def _fixes(self, here: Sequence[Finding]) -> Iterator[dict[str, Any]]:
        best = max((one.edit.confidence for one in here), default=0.0)
        for one in here:
            action = self._edit(title(one.edit), QUICK_FIX, [one])
            action["diagnostics"] = [self._diagnostic(one)]
            if one.edit.confidence == best:
                action["isPreferred"] = True
            yield action

    def _more(self, here: Sequence[Finding], *, everything: bool) -> Iterator[dict[str, Any]]:
        """Yield the fixes of several findings, if one is at the cursor and there are others."""
        if not here or len(self.findings) < 2:
            return
        for type in dict.fromkeys(one.edit.type for one in here):
            same = self.chosen(type)
            if len(same) > 1:
                name = message(type).category_title
                yield self._edit(f"Fix {_count(len(same))} of this kind: {name}", QUICK_FIX, same)
        least = self.preferences.fix_confidence
        sure = self.chosen(confidence=least)
        if len(sure) > 1:
            share = f"{100 * least:g} %"
            yield self._edit(
                f"Fix {_count(len(sure))} with a confidence of {share} or more", QUICK_FIX, sure
            )
        if everything:
            count = _count(len(self.findings))
            yield self._edit(f"Fix {count} in this file", QUICK_FIX, self.findings)

    def _words(self, one: Finding) -> Iterator[dict[str, Any]]:
        """Yield what adds a misspelt word to a dictionary."""
        word = one.edit.original.strip()
        if category(one.edit.type) != "spelling" or not _WORD.fullmatch(word):
            return
        uri = self.buffer.uri
        yield self._command(f"Add “{word}” to your dictionary", ADD_TO_USER, one, word, uri)
        if uri.startswith("file:"):
            yield self._command(
                f"Add “{word}” to the project's dictionary", ADD_TO_PROJECT, one, word, uri
            )

    def _ignores(self, one: Finding) -> Iterator[dict[str, Any]]:
        uri, edit = self.buffer.uri, one.edit
        if (comment := ignoring(self.buffer, edit)) is not None:
            action = {
                "title": "Ignore this line (adds a comment)",
                "kind": QUICK_FIX,
                "diagnostics": [self._diagnostic(one)],
                "edit": self._workspace_edit([comment]),
            }
            yield action
        seen = one.proposal.known
        arguments = (uri, seen.original, seen.replacement, seen.before, seen.after)
        yield self._command("Ignore this until the editor closes", IGNORE, one, *arguments)
        name = message(edit.type).category_title
        how = f"({Path(self.project).name})" if self.project else "until the editor closes"
        kind = f"Ignore {edit.type} ({name}) in this file {how}"
        yield self._command(kind, IGNORE_TYPE, one, uri, edit.type)

    def _edit(self, name: str, kind: str, findings: Sequence[Finding]) -> dict[str, Any]:
        return {"title": name, "kind": kind, "edit": self.change(findings)}

    def _command(self, name: str, command: str, one: Finding, *arguments: str) -> dict[str, Any]:
        return {
            "title": name,
            "kind": QUICK_FIX,
            "diagnostics": [self._diagnostic(one)],
            "command": {"title": name, "command": command, "arguments": [*arguments]},
        }

    def _diagnostic(self, one: Finding) -> dict[str, Any]:
        return to_diagnostic(self.buffer.text, one, self.preferences.level)

    def _workspace_edit(self, changes: Iterable[tuple[int, int, str]]) -> dict[str, Any]:
        uri, text = self.buffer.uri, self.buffer.text
        edits = [{"range": to_range(text, a, b), "newText": new} for a, b, new in changes]
        if not self.versioned:
            return {"changes": {uri: edits}}
        document = {"uri": uri, "version": self.buffer.version}
        return {"documentChanges": [{"textDocument": document, "edits": edits}]}


def ignoring(buffer: Buffer, edit: Edit) -> tuple[int, int, str] | None:
    """Return the change that puts a comment ``gec: ignore`` for an edit's line.

    None where the document's kind has no comments, or none that would leave the text as it looks.
    """
    prose = buffer.prose
    if prose is None:
        return None
    kind, text = prose[0], buffer.text
    number = text.line_of(edit.start)
    start, end = text.line(number)
    line = text.value[start:end]
    behind = start + len(line.rstrip())
    if kind in ("markdown", "html"):
        return behind, behind, " <!-- gec: ignore -->"
    if kind == "latex":
        return behind, behind, " % gec: ignore"
    if kind == "commit":
        return start, start, f"# gec: ignore{_line_break(text, end)}"
    if kind == "code":
        marks = _LINE_MARK.findall(text.value[start : edit.start])
        mark = marks[0] if marks else "#" if prose[1].endswith((".py", ".pyi", ".sh")) else "//"
        return behind, behind, f" {mark} gec: ignore"
    first = number == 0 or not text.value[slice(*text.line(number - 1))].strip()
    if kind == "rst" and first:
        indent = line[: len(line) - len(line.lstrip())]
        return start, start, f"{indent}.. gec: ignore{2 * _line_break(text, end)}"
    return None


def _line_break(text: Text, end: int) -> str:
    """Return the line break at the end of a line, or that of the last line with one."""
    return "\r\n" if text.value[end : end + 2] == "\r\n" else "\n"


def _filter(only: Sequence[str] | None) -> Callable[[str], bool]:
    """Return whether a kind of action is wanted: an editor that wants a kind wants what is below.

    >>> [_filter(["source"])(kind) for kind in (FIX_ALL, QUICK_FIX)]
    [True, False]
    """
    if not only:
        return lambda kind: True
    return lambda kind: any(
        kind == name or kind.startswith(f"{name}.") or not name for name in only
    )


def _count(number: int) -> str:
    return "1 finding" if number == 1 else f"all {number:,} findings"
