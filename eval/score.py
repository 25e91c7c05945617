"""What all scorers share: signatures, results, reading files that belong together line by line.

A scorer is a function that takes lists and returns a frozen dataclass meeting :class:`Score`.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, ClassVar, Protocol

from gec import __version__
from gec.errors import GecError, InputError
from gec.files import read_document


class Score(Protocol):
    """A result: its numbers, how they were made, and how the reference tool would print them."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def signature(self) -> str:
        """For example ``m2|version:3.2|beta:0.5|max_unchanged_words:2|gec:0.1.0``."""

    def __str__(self) -> str:
        """The lines the reference tool prints, without a last line break."""


class ReferenceExit(GecError):
    """Input on which the reference tool itself ends with an error, and its exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def signature(metric: str, /, **settings: object) -> str:
    """Return ``metric|name:value|...|gec:version``: all another person needs to get the number.

    >>> signature("gleu", n=4, sampling="python2").rpartition("|")[0]
    'gleu|n:4|sampling:python2'
    """
    parts = [metric, *(f"{name}:{_plain(value)}" for name, value in settings.items())]
    return "|".join([*parts, f"gec:{__version__}"])


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def show(score: Score, *, as_json: bool = False) -> None:
    """Print a score on standard output; its signature goes to standard error, or into the JSON."""
    if as_json:
        print(json.dumps(dataclasses.asdict(score), ensure_ascii=False, indent=1))
    else:
        print(score)
        print(score.signature, file=sys.stderr)


def warn(message: str) -> None:
    print(f"gec: warning: {message}", file=sys.stderr)


def read_lines(name: str) -> list[str]:
    r"""Return a file's lines, split at ``\n`` (and ``\r\n``) only, without the line ends.

    Raises:
        InputError: missing, unreadable or not UTF-8.
    """
    lines = read_document(name).text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def check_parallel(files: Mapping[str, Sequence[str]]) -> None:
    """Refuse files of different lengths; the first is what the others are compared with.

    Raises:
        InputError: says both counts and the first line that looks shifted.
    """
    (first, lines), *others = files.items()
    for name, other in others:
        if len(other) != len(lines):
            message = f"{name} has {len(other)} lines, {first} has {len(lines)}"
            if (shifted := first_shifted(lines, other)) is not None:
                message += (
                    f"; they look shifted from line {shifted + 1} on: {_shorten(other[shifted])!r}"
                    f" beside {_shorten(lines[shifted])!r}"
                )
            raise InputError(message)


def first_shifted(lines: Sequence[str], other: Sequence[str]) -> int | None:
    """Return the first index where ``other`` is like a neighbour of the line it stands beside.

    None where no such line is found, for example when only the end is missing.
    """
    for i in range(min(len(lines), len(other))):
        here = _likeness(lines[i], other[i])
        if here >= 0.5:
            continue
        neighbours = [lines[j] for j in (i - 1, i + 1) if 0 <= j < len(lines)]
        if any(_likeness(near, other[i]) > max(0.5, here) for near in neighbours):
            return i
    return None


def _likeness(a: str, b: str) -> float:
    return SequenceMatcher(None, a.split(), b.split(), autojunk=False).ratio()


def _shorten(text: str, length: int = 60) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."
