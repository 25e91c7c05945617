"""What the user asks of ``gec lsp`` in the editor's settings; all of it has defaults."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from gec.check.project import RULE_KEYS, Rules, read_rules
from gec.errors import ConfigError

WHERE = "the editor's settings of gec"
SEVERITIES = {"error": 1, "warning": 2, "information": 3, "hint": 4}
MOST_CHARACTERS = 1_000_000
CONFIDENT = 0.9


def user_dictionary() -> str:
    """Return where a user's own words stand if the settings name no file."""
    if os.name == "nt" and (folder := os.environ.get("APPDATA")):
        return str(Path(folder, "gec", "dictionary.txt"))
    folder = os.environ.get("XDG_CONFIG_HOME") or str(Path("~/.config").expanduser())
    return str(Path(folder, "gec", "dictionary.txt"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """The editor's settings; each may be written ``like_this`` or ``likeThis``.

    Attributes:
        enabled: check at all.
        languages: the only languages to check, as the editor names them; empty is all.
        rules: what counts, over what the project says: the same keys as in ``[tool.gec]``.
        severity: how findings are shown: error, warning, information or hint.
        user_dictionary: a file with the user's own words.
        fix_confidence: what "fix the sure ones" asks of an edit, 0 to 1.
        max_characters: longer documents are not checked.
        debounce: milliseconds without a change before a document is checked.
        pull: let the editor ask for diagnostics (LSP 3.17) rather than send them.
    """

    enabled: bool = True
    languages: frozenset[str] = frozenset()
    rules: Rules = field(default_factory=Rules)
    severity: str = "information"
    user_dictionary: str = field(default_factory=user_dictionary)
    fix_confidence: float = CONFIDENT
    max_characters: int = MOST_CHARACTERS
    debounce: float = 30.0
    pull: bool = False

    @property
    def level(self) -> int:
        """The number of the severity in the protocol."""
        return SEVERITIES[self.severity]


def read_preferences(given: object, own: Preferences | None = None) -> tuple[Preferences, str]:
    """Return the settings that an editor sent over ``own``, and what is wrong with them, if any.

    What is wrong keeps its default; all else counts.
    """
    found = own or Preferences()
    if given is None:
        return found, ""
    if not isinstance(given, Mapping):
        return found, f"{WHERE} must be a table"
    wrong: list[str] = []
    rules: dict[str, Any] = {}
    for key, value in given.items():
        name = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", str(key)).lower()
        if value is None or (name in _EMPTY_IS_DEFAULT and value == ""):
            continue
        if name in RULE_KEYS:
            rules[name] = value
        elif name in _KINDS:
            try:
                found = replace(found, **{name: _KINDS[name](value)})
            except (TypeError, ValueError) as error:
                wrong.append(f"{WHERE}: {key} {error}")
        elif name not in _IGNORED:
            names = ", ".join([*_KINDS, *RULE_KEYS])
            wrong.append(f"{WHERE} have no {key!r}; they have {names}")
    for name, value in rules.items():
        try:
            found = replace(found, rules=found.rules.under(read_rules({name: value}, WHERE)))
        except ConfigError as error:
            wrong.append(str(error))
    return found, "; ".join(wrong)


_EMPTY_IS_DEFAULT = frozenset({"setting", "user_dictionary", "severity"})
_IGNORED = frozenset({"trace", "command", "model", "path", "arguments"})  # the editor's own


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _names(value: object) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError("must be a list of strings")
    return frozenset(value)


def _severity(value: object) -> str:
    if not isinstance(value, str) or value.lower() not in SEVERITIES:
        raise ValueError(f"must be one of {', '.join(SEVERITIES)}")
    return value.lower()


def _file(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a file's name")
    return str(Path(value).expanduser())


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("must be a number")
    return float(value)


def _fraction(value: object) -> float:
    number = _number(value)
    if not 0 <= number <= 1:
        raise ValueError("must be a number from 0 to 1")
    return number


def _milliseconds(value: object) -> float:
    number = _number(value)
    if not 0 <= number <= 10_000:
        raise ValueError("must be a number of milliseconds from 0 to 10000")
    return number


def _count(value: object) -> int:
    number = _number(value)
    if number < 1:
        raise ValueError("must be a number of 1 or more")
    return int(number)


_KINDS: dict[str, Callable[[object], Any]] = {
    "enabled": _flag,
    "languages": _names,
    "severity": _severity,
    "user_dictionary": _file,
    "fix_confidence": _fraction,
    "max_characters": _count,
    "debounce": _milliseconds,
    "pull": _flag,
}
assert {*_KINDS} == {f.name for f in fields(Preferences)} - {"rules"}
