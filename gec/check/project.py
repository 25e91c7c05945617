"""A project's settings for checks: the table ``[tool.gec]`` of its pyproject.toml.

    [tool.gec]
    paths = ["README.md", "docs"]
    ignored_words = ["stdlib"]

    [[tool.gec.overrides]]
    files = ["CHANGELOG.md"]
    ignored_types = ["PUNCT"]

Patterns are as in .gitignore; they and paths are relative to the file's folder.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gec.correct.needless import Budget
from gec.edits.messages import MESSAGES, category
from gec.errors import ConfigError
from gec.files import read_document

if TYPE_CHECKING:
    from gec.correct.options import Options

CHECK_CONFIDENCE = 0.65
"""The least confidence of a finding of ``gec correct --check`` where nobody asks for another.

So chosen that good documentation has less than one finding in 1,000 words (docs/ci.md).
"""

SETTINGS = ("precise", "balanced", "thorough")


@dataclass(frozen=True, slots=True, kw_only=True)
class Strictness:
    """Which edits are findings, by their confidence; None is the bundle's own."""

    setting: str | None = None
    tolerance: float | None = None
    min_confidence: float | None = None
    max_needless: str | None = None

    def under(self, other: Strictness) -> Strictness:
        """Put another over this one: a setting replaces all numbers, a number only its like.

        A least confidence and a budget are alike.
        """
        if other.setting is not None:
            return other
        beneath = self
        if other.min_confidence is not None or other.max_needless is not None:
            beneath = replace(self, min_confidence=None, max_needless=None)
        given = {name: value for name in _NUMBERS if (value := getattr(other, name)) is not None}
        return replace(beneath, **given)

    def options(self, dictionary: frozenset[str] = frozenset()) -> Options:
        """Return the corrector's options for it, with words never to change."""
        from gec.correct.options import Options

        return Options(
            setting=self.setting,
            tolerance=self.tolerance,
            min_confidence=self.min_confidence,
            max_needless=Budget.read(self.max_needless) if self.max_needless else None,
            dictionary=dictionary,
        )


_NUMBERS = ("tolerance", "min_confidence", "max_needless")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What counts as a finding in a file.

    Attributes:
        strictness: how sure an edit must be.
        ignored_words: words that stay as they are.
        types: the only error types that count; empty is all (see :func:`matches`).
        ignored_types: error types that do not count.
    """

    strictness: Strictness = Strictness()
    ignored_words: frozenset[str] = frozenset()
    types: tuple[str, ...] = ()
    ignored_types: tuple[str, ...] = ()

    def counts(self, type: str) -> bool:
        """Whether edits of an error type count."""
        wanted = not self.types or any(matches(name, type) for name in self.types)
        return wanted and not any(matches(name, type) for name in self.ignored_types)

    def under(self, other: Rules) -> Rules:
        """Put the rules of an override over these."""
        return Rules(
            strictness=self.strictness.under(other.strictness),
            ignored_words=self.ignored_words | other.ignored_words,
            types=other.types or self.types,
            ignored_types=self.ignored_types + other.ignored_types,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The settings of a project; a project without a file has the defaults.

    Attributes:
        root: the folder of the file, else the current one.
        file: where the settings stand, as messages call it.
        rules: of every file; ``overrides`` come over them, in order, where a pattern matches.
        paths: what is checked if the command line names nothing.
        include: the files to check in folders; empty is all with a known kind of prose.
        exclude: files never to check.
        dictionary, baseline: files, or None.
    """

    root: Path
    file: str = ""
    rules: Rules = Rules()
    overrides: tuple[tuple[tuple[str, ...], Rules], ...] = ()
    paths: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    dictionary: str | None = None
    baseline: str | None = None

    def path(self, name: str) -> str:
        """Return how the current folder calls a path of the settings."""
        return os.path.relpath(self.root / name)

    def inner(self, name: str) -> str:
        """Return how the root calls a file, for patterns and baselines; ``-`` stays."""
        if name == "-":
            return name
        return Path(os.path.relpath(name, self.root)).as_posix()

    def rules_of(self, name: str) -> Rules:
        """Return the rules of a file, given its name from the current folder."""
        rules = self.rules
        for patterns, more in self.overrides:
            if match(patterns, self.inner(name)):
                rules = rules.under(more)
        return rules


def match(patterns: Iterable[str], name: str) -> bool:
    """Whether a file's name, relative to the root, matches patterns as in .gitignore."""
    from pathspec import GitIgnoreSpec

    return not name.startswith("../") and GitIgnoreSpec.from_lines(patterns).match_file(name)


def matches(name: str, type: str) -> bool:
    """Whether a name of error types has a type of ERRANT's among them.

    A name is a type (``R:VERB:SVA``), its operation (``M``, ``R``, ``U``), a category (``VERB``,
    which has ``VERB:SVA`` in it), or spelling, grammar, punctuation or style.

    >>> [matches(name, "R:VERB:SVA") for name in ("VERB", "R", "VERB:SVA", "grammar", "NOUN")]
    [True, True, True, True, False]
    """
    kind = type.partition(":")[2]
    return name == category(type) or any(
        own == name or own.startswith(f"{name}:") for own in (type, kind)
    )


def read_rules(table: Mapping[str, Any], where: str) -> Rules:
    """Read what ``[tool.gec]`` may say of every file from a table of another source.

    Raises:
        ConfigError: a key is unknown or its value of another kind; ``where`` names the source.
    """
    return _rules(_checked(table, _RULE_KEYS, where))


# ----------------------------------------------------------------------------------------- reading


def find_project(config: str | None = None, start: Path | None = None) -> Project:
    """Read the settings of a file, or of the nearest pyproject.toml that has the table.

    It is looked for in the folder ``start``, else the current one, and those above, up to that of
    the repository.

    Raises:
        InputError: the file cannot be read.
        ConfigError: it is no TOML, or has a setting that is unknown or of another kind.
    """
    if config is not None:
        table = _table(config)
        if table is None:
            raise ConfigError(f"{config}: has no table [tool.gec]")
        return _project(table, config)
    here = Path.cwd() if start is None else start
    for folder in (here, *here.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            name = os.path.relpath(file) if start is None else str(file)
            if (table := _table(name)) is not None:
                return _project(table, name)
        if (folder / ".git").exists():
            break
    return Project(root=here)


def _table(name: str) -> dict[str, Any] | None:
    try:
        document = tomllib.loads(read_document(name).text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name}: {error}") from None
    tool = document.get("tool", {})
    table = tool.get("gec") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{name}: tool.gec must be a table, not {table!r}")
    return table


def _project(table: Mapping[str, Any], name: str) -> Project:
    where = f"{name}: [tool.gec]"
    values = _checked(table, _RULE_KEYS | _PROJECT_KEYS, where)
    overrides = []
    for number, own in enumerate(values.pop("overrides", ()), 1):
        there = f"{name}: [[tool.gec.overrides]] number {number}"
        more = _checked(own, _RULE_KEYS | {"files": _strings}, there)
        if not more.get("files"):
            raise ConfigError(f"{there}: files must name at least one pattern")
        overrides.append((more.pop("files"), _rules(more)))
    rules = _rules({key: values.pop(key) for key in list(values) if key in _RULE_KEYS})
    return Project(
        root=Path(name).resolve().parent,
        file=name,
        rules=rules,
        overrides=tuple(overrides),
        **values,
    )


def _rules(values: Mapping[str, Any]) -> Rules:
    own = {f.name: values[f.name] for f in fields(Strictness) if f.name in values}
    rest = {key: value for key, value in values.items() if key not in own}
    if "ignored_words" in rest:
        rest["ignored_words"] = frozenset(rest["ignored_words"])
    return Rules(strictness=Strictness(**own), **rest)


def _checked(
    table: Mapping[str, Any], keys: Mapping[str, Callable[[Any], Any]], where: str
) -> dict[str, Any]:
    """Return the values of a table; a ConfigError names the key that is wrong."""
    values = {}
    for key, value in table.items():
        if key not in keys:
            raise ConfigError(f"{where} has no setting {key!r}; it has {', '.join(keys)}")
        try:
            values[key] = keys[key](value)
        except ValueError as error:
            raise ConfigError(f"{where} {key}: {error}, not {value!r}") from None
    return values


def _string(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a string")
    if "\0" in value:
        raise ValueError("must have no NUL character")
    return value


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(v, str) and v.strip() for v in value):
        raise ValueError("must be a list of strings")
    if any("\0" in v for v in value):
        raise ValueError("must have no NUL character")
    return tuple(value)


def _tables(value: Any) -> tuple[dict[str, Any], ...]:
    if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
        raise ValueError("must be tables, each begun with [[tool.gec.overrides]]")
    return tuple(value)


def _setting(value: Any) -> str:
    if value not in SETTINGS:
        raise ValueError(f"must be one of {', '.join(SETTINGS)}")
    return str(value)


def _fraction(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("must be a number from 0 to 1")
    return float(value)


def _nats(value: Any) -> float:
    number = not isinstance(value, bool) and isinstance(value, int | float)
    if not number or not (math.isfinite(value) and value >= 0):
        raise ValueError("must be a number of 0 or more")
    return float(value)


def _budget(value: Any) -> str:
    try:
        Budget.read(text := _string(value))
    except ConfigError:
        raise ValueError('must be a string such as "1/1000" or "1/1000:documentation"') from None
    return text


def _types(value: Any) -> tuple[str, ...]:
    for name in (names := _strings(value)):
        if not any(matches(name, type) for type in MESSAGES):
            raise ValueError(
                f"there is no error type {name!r}: write such as R:VERB:SVA, VERB, M or spelling"
            )
    return names


_RULE_KEYS: dict[str, Callable[[Any], Any]] = {
    "setting": _setting,
    "tolerance": _nats,
    "min_confidence": _fraction,
    "max_needless": _budget,
    "ignored_words": _strings,
    "types": _types,
    "ignored_types": _types,
}
RULE_KEYS = tuple(_RULE_KEYS)
"""The settings that :func:`read_rules` knows."""
_PROJECT_KEYS: dict[str, Callable[[Any], Any]] = {
    "paths": _strings,
    "include": _strings,
    "exclude": _strings,
    "dictionary": _string,
    "baseline": _string,
    "overrides": _tables,
}
