"""Findings as the protocol's diagnostics and hovers.

Diagnostics are dictionaries as the protocol has them: there may be thousands at every keystroke.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Protocol

from gec.edits.edits import Edit
from gec.edits.messages import category, message
from gec.lsp.positions import Text
from gec.lsp.sentences import Finding

SOURCE = "gec"
UNNECESSARY = 1
"""The protocol's tag of what may be removed; editors fade it."""
_NEXT_WORD = re.compile(r"[^\S\r\n]*([^\s\w]*\w+)")
_LAST_WORD = re.compile(r"\S+[^\S\r\n]*\Z")
_LOOK_BACK = 60
_LONGEST = 40


class Span(Protocol):
    """Whatever stands at a place of a text."""

    @property
    def start(self) -> int:
        """The first code point."""

    @property
    def end(self) -> int:
        """The code point behind the last."""


def to_diagnostics(text: Text, findings: Iterable[Finding], level: int) -> list[dict[str, Any]]:
    """Return the diagnostics of a document; ``level`` is the number of their severity."""
    return [to_diagnostic(text, one, level) for one in findings]


def to_diagnostic(text: Text, one: Finding, level: int) -> dict[str, Any]:
    """Return the diagnostic of a finding."""
    edit = one.proposal.edit
    found: dict[str, Any] = {
        "range": to_range(text, *shown(text.value, one)),
        "severity": level,
        "code": edit.type,
        "source": SOURCE,
        "message": edit.message,
        "data": {
            "replacement": edit.replacement,
            "confidence": round(edit.confidence, 4),
            "category": category(edit.type),
        },
    }
    if edit.type.startswith("U:") and edit.original.strip():
        found["tags"] = [UNNECESSARY]
    return found


def to_range(text: Text, start: int, end: int) -> dict[str, dict[str, int]]:
    """Return a span of code points as the protocol's range."""
    (first, left), (last, right) = text.position(start), text.position(end)
    return {
        "start": {"line": first, "character": left},
        "end": {"line": last, "character": right},
    }


def shown(text: str, place: Span) -> tuple[int, int]:
    """Return the span at which an edit is shown: what it replaces, or the word beside it.

    Editors show nothing, or anything, at an empty span.

    >>> shown("I have dog.", Edit(7, 7, "", "a ", "M:DET", 0.9, "Add."))
    (7, 10)
    """
    inside = text[place.start : place.end]
    if inside.strip():
        start = place.start + len(inside) - len(inside.lstrip())
        return start, start + len(inside.strip())
    following = _NEXT_WORD.match(text, place.end)
    if following:
        return following.span(1)
    begin = max(0, place.start - _LOOK_BACK)
    before = _LAST_WORD.search(text[begin : place.start])
    return (begin + before.start(), place.start) if before else (place.start, place.end)


def percent(edit: Edit) -> str:
    """Return how sure an edit is, for a person."""
    return f"{100 * edit.confidence:.0f} %"


def title(edit: Edit) -> str:
    """Return what an edit does and how sure it is, in one line.

    >>> title(Edit(0, 2, "go", "goes", "R:VERB:SVA", 0.934, ""))
    'Replace “go” with “goes” (93 %)'
    """
    old, new = _brief(edit.original), _brief(edit.replacement)
    if not old and not new:
        return f"Change the space ({percent(edit)})"
    if not old:
        return f"Add “{new}” ({percent(edit)})"
    if not new:
        return f"Remove “{old}” ({percent(edit)})"
    return f"Replace “{old}” with “{new}” ({percent(edit)})"


def _brief(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"


def explanation(edit: Edit) -> str:
    """Return what to tell a learner about an edit, in Markdown."""
    about = message(edit.type)
    lines = [
        f"**{about.category_title}**: {_escaped(edit.message)}",
        "",
        _escaped(about.explanation),
    ]
    if about.wrong:
        lines += ["", f"- ✗ {_escaped(about.wrong)}", f"- ✓ {_escaped(about.right)}"]
    lines += ["", f"Confidence {percent(edit)} · `{edit.type}` · {category(edit.type)}"]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """Return a text in which Markdown sees no markup."""
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", " ".join(text.split()))
