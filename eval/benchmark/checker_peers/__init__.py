"""Checkers that people can install, each behind the same two functions.

A checker is a module with a function ``load`` that takes its options and returns a
:class:`Checker`. It is loaded in a process of its own (:mod:`.program`), so that its memory and its
cold start can be measured; therefore nothing heavy is imported here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from gec.errors import ConfigError

NAMES = ("gec", "harper", "languagetool", "codespell", "hunspell")
_MODULES = {"gec": "own"}


class Fix(NamedTuple):
    """Code points ``start`` to ``end`` of a text become ``replacement``."""

    start: int
    end: int
    replacement: str


class Checker(Protocol):
    """What a checker does with texts.

    Attributes:
        about: its package and version, and what it was set to, in words.
    """

    about: str

    def check(self, texts: Sequence[str], setting: str) -> list[list[Fix]]:
        """Return the first suggestion of every finding; only ``gec`` has settings."""


def load(name: str, options: Mapping[str, Any]) -> Checker:
    """Load a checker.

    Raises:
        ConfigError: no such checker.
        ModuleNotFoundError: its package is not installed.
        GecError: it cannot be used; says why.
    """
    if name not in NAMES:
        raise ConfigError(f"unknown checker {name!r}, expected one of {', '.join(NAMES)}")
    module = import_module(f"{__name__}.{_MODULES.get(name, name)}")
    checker: Checker = module.load(**options)
    return checker
