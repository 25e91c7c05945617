"""What several formats call a file and a change, and how they write JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gec.edits.edits import Edit


def label(name: str) -> str:
    """Return how outputs call a file; bytes of a name that are not UTF-8 become U+FFFD."""
    if name == "-":
        return "stdin"
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def change_of(edit: Edit) -> str:
    """Return what an edit does, for a person."""
    old, new = dump(edit.original), dump(edit.replacement)  # control characters escaped
    if not edit.original:
        return f"insert {new}"
    if not edit.replacement:
        return f"delete {old}"
    return f"{old} → {new}"


def dump(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON, in which only control characters are escaped."""
    return json.dumps(value, ensure_ascii=False, indent=indent)
