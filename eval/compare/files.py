"""Systems' outputs as files, and the files that a report or a leaderboard is written to."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from gec.errors import ConfigError, DataError
from gec.eval.metrics.score import check_parallel, read_lines
from gec.eval.metrics.system_edits import check_fits


class ProposedEdit(NamedTuple):
    """An edit as ``gec correct`` writes it: code points of the line, and a probability."""

    start: int
    end: int
    replacement: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Line:
    """What a system did with one line: its output, and what it said about it (JSONL only)."""

    text: str
    source: str = ""
    edits: tuple[ProposedEdit, ...] = ()
    passes: int = 0
    tokens: int = 0
    milliseconds: float = 0.0


@dataclass(frozen=True, slots=True)
class System:
    """A system's name and lines; ``detailed``: they came with confidences and times."""

    name: str
    lines: tuple[Line, ...]
    detailed: bool


def read_system(
    path: str, sources: Sequence[str], name: str | None = None, *, allow_empty: bool = False
) -> System:
    """Read a system's output: tokenized lines, or the JSON Lines of ``gec correct``.

    In JSON Lines there is an object for every line that is not blank.

    Args:
        name: what to call the system; None takes the file's name.
        allow_empty: take a line without words for a sentence that was deleted.

    Raises:
        InputError: not as many lines as sources, a line without words, or text that is not
            tokenized as the sources are.
        DataError: a line is not the JSON that ``gec correct`` writes for this source, or missing.
    """
    label = name or Path(path).name
    rows = read_lines(path)
    if not rows or not rows[0].startswith('{"'):
        check_parallel({"the gold file": sources, path: rows})
        check_fits(path, sources, rows, allow_empty=allow_empty)
        return System(label, tuple(Line(row) for row in rows), detailed=False)
    found: dict[int, Line] = {}
    for number, row in enumerate(rows, 1):
        try:
            place, line = _parse(json.loads(row), sources)
            if place in found:
                raise ValueError(f"a second object for line {place + 1}")
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path}:{number}: not what gec correct --tokenized --format jsonl writes for the "
                f"gold file's sentences ({type(error).__name__}: {error})"
            ) from None
        found[place] = line
    for place, source in enumerate(sources):
        if source.strip() and place not in found:
            raise DataError(f"{path} has no object for sentence {place + 1}: {source[:60]!r}")
    lines = tuple(found.get(place, Line(source)) for place, source in enumerate(sources))
    check_fits(path, sources, [line.text for line in lines], allow_empty=allow_empty)
    return System(label, lines, detailed=True)


def _parse(row: Any, sources: Sequence[str]) -> tuple[int, Line]:
    number, text = int(row["line"]), str(row["text"])
    if not 1 <= number <= len(sources):
        raise ValueError(f"line {number} of {len(sources)}")
    if text.split() != sources[number - 1].split():
        raise ValueError(f"its text is not sentence {number}; was the text tokenized?")
    parts = row["sentences"]
    return number - 1, Line(
        text=str(row["corrected"]),
        source=text,
        edits=tuple(
            ProposedEdit(
                int(e["start"]), int(e["end"]), str(e["replacement"]), float(e["confidence"])
            )
            for e in row["edits"]
        ),
        passes=sum(int(part["passes"]) for part in parts),
        tokens=sum(int(part["tokens"]) for part in parts),
        milliseconds=sum(float(part["milliseconds"]) for part in parts),
    )


def above(line: Line, threshold: float) -> str:
    """Return a line's output when its edits below ``threshold`` are left out."""
    if all(edit.confidence >= threshold for edit in line.edits):
        return line.text
    text = line.source
    for edit in sorted(line.edits, reverse=True):
        if edit.confidence >= threshold:
            text = text[: edit.start] + edit.replacement + text[edit.end :]
    return text


# -------------------------------------------------------------------------------- names and endings


def check_output(name: str) -> None:
    """Refuse to work for a file that cannot be written.

    Raises:
        ConfigError: there is no such folder.
    """
    if name != "-" and not Path(name).absolute().parent.is_dir():
        raise ConfigError(f"{name}: there is no such folder")


def output_format(args: argparse.Namespace, known: Sequence[str]) -> str:
    """Return ``--format``, or what the ending of ``--output`` says, else the first of ``known``."""
    ending = Path(args.output).suffix.removeprefix(".")
    chosen: str = args.format or (ending if ending in known else known[0])
    return chosen


def system_names(args: argparse.Namespace) -> list[str]:
    """Return ``--names``, or the names of the files; equal ones get numbers.

    Raises:
        ConfigError: not as many names as systems.
    """
    names = args.names.split(",") if args.names else [Path(name).name for name in args.hypotheses]
    if len(names) != len(args.hypotheses):
        raise ConfigError(f"{len(names)} names for {len(args.hypotheses)} systems")
    if len(set(names)) < len(names):
        names = [f"{name} ({number})" for number, name in enumerate(names, 1)]
    return names
