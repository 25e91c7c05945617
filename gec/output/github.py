"""GitHub's workflow commands: an annotation for each edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gec.output.wording import change_of, label
from gec.text.lines import Positions

if TYPE_CHECKING:
    from gec.correct.result import Correction


def to_github(name: str, correction: Correction) -> str:
    """Return GitHub's workflow commands, one for each edit."""
    positions = Positions(correction.original)
    lines: list[str] = []
    for edit in correction.edits:
        line, end_line = positions.line(edit.start), positions.line(edit.end)
        properties = {"file": label(name), "line": str(line)}
        if line == end_line:  # GitHub refuses columns for a range over several lines
            properties["col"] = str(positions.column(edit.start))
            properties["endColumn"] = str(positions.column(edit.end))
        else:
            properties["endLine"] = str(end_line)
        properties["title"] = edit.type
        fields = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
        lines.append(f"::warning {fields}::{_data(edit.message or change_of(edit))}\n")
    return "".join(lines)


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")
