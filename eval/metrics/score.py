"""The common part of all scorers: signatures, results, reading files that are parallel by line.

A scorer is a function that takes lists and returns a frozen dataclass that implements
:class:`Score`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from gec import __version__
from gec.documents.essays import is_essays, parse
from gec.errors import ConfigError, GecError, InputError
from gec.files import Document, read_document

if TYPE_CHECKING:
    from gec.eval.metrics.significance import Significance
    from gec.eval.metrics.statistics import Statistics

NOT_M2 = "is this an M2 file? (HYP and GOLD swapped?)"


class Score(Protocol):
    """A result: its numbers, its settings, and the lines that the reference tool would print."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def signature(self) -> str:
        """The settings, e.g. ``m2|version:3.2|beta:0.5|max_unchanged_words:2|gec:0.1.0``."""

    def __str__(self) -> str:
        """Return the lines that the reference tool prints, without a last line break."""


class ReferenceExit(GecError):
    """Input on which the reference tool itself ends with an error, and its exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


@contextmanager
def as_reference(*errors: type[GecError]) -> Iterator[None]:
    """Raise these errors as :class:`ReferenceExit` with status 1, as Python's tracebacks do."""
    try:
        yield
    except errors as error:
        raise ReferenceExit(str(error)) from error


def signature(metric: str, /, **settings: object) -> str:
    """Return ``metric|name:value|...|gec:version``, with which others can reproduce a number.

    >>> signature("gleu", n=4, sampling="python2").rpartition("|")[0]
    'gleu|n:4|sampling:python2'
    """
    parts = [metric, *(f"{name}:{_plain(value)}" for name, value in settings.items())]
    return "|".join([*parts, f"gec:{__version__}"])


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def extended(made: str, settings: Mapping[str, object]) -> str:
    """Return a signature with more settings, before the version of this package.

    >>> extended("gleu|n:4|gec:0.1.0", {"samples": 1000, "seed": 0})
    'gleu|n:4|samples:1000|seed:0|gec:0.1.0'
    """
    front, bar, version = made.rpartition("|gec:")
    more = "".join(f"|{name}:{_plain(value)}" for name, value in settings.items())
    return f"{front}{more}{bar}{version}"


def show(score: Score, *, as_json: bool = False, significance: Significance | None = None) -> None:
    """Print a score on standard output; its signature goes to standard error, or into the JSON.

    Args:
        significance: intervals and tests, printed below the score or put into the JSON.

    Raises:
        ConfigError: a number is infinite or NaN, which JSON cannot hold.
    """
    made = score.signature
    if significance:
        made = extended(made, significance.settings)
    if as_json:
        print_json(as_fields(score, significance))
        return
    use_utf8()
    print(score)
    if significance:
        print(significance)
    print(made, file=sys.stderr)


def as_fields(score: Score, significance: Significance | None = None) -> dict[str, Any]:
    """Return the fields of a score for JSON."""
    fields = dataclasses.asdict(score)
    if significance:
        fields["signature"] = extended(score.signature, significance.settings)
        fields["significance"] = dataclasses.asdict(significance)
    return fields


def check_samples(samples: int) -> None:
    """Refuse a number of resamples that gives no interval.

    Raises:
        ConfigError: the number is negative or 1.
    """
    if samples < 0 or samples == 1:
        raise ConfigError(f"--samples must be 0 or at least 2, not {samples}")


def assessed(
    args: argparse.Namespace,
    statistics: Callable[[], Statistics],
    other: Callable[[], Statistics],
) -> Significance | None:
    """Return the intervals and tests of ``--samples`` and ``--paired``; None without either.

    Args:
        statistics: makes the statistics of the scored system.
        other: makes the statistics of the system that ``--paired`` names.

    Raises:
        ConfigError: a single resample, or another number of sentences.
    """
    check_samples(args.samples)
    if not (args.samples or args.paired):
        return None
    from gec.eval.metrics.significance import SAMPLES, assess

    name = Path(args.paired).name if args.paired else ""
    return assess(
        statistics(),
        other() if args.paired else None,
        name=name,
        samples=args.samples or SAMPLES,
        seed=args.seed,
    )


def print_json(value: object) -> None:
    """Print a value as JSON; errors as for :func:`show`."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    except ValueError:
        raise ConfigError(
            "a number of the result is infinite or undefined, which JSON cannot hold; "
            "leave out --json or choose other options"
        ) from None
    use_utf8()
    print(text)


def use_utf8() -> None:
    """Make standard output UTF-8, whatever the locale; a stream of text in memory stays."""
    if reconfigure := getattr(sys.stdout, "reconfigure", None):
        reconfigure(encoding="utf-8", errors="surrogateescape")  # names of files may be any bytes


def warn(message: str) -> None:
    """Print a warning on standard error."""
    print(f"gec: warning: {message}", file=sys.stderr)


def warn_of_bom(document: Document) -> None:
    """Warn of a file's byte order mark."""
    if document.bom:
        warn(f"{document.name}: begins with a byte order mark; remove it")


def warn_of_outside(name: str, lines: Sequence[int]) -> None:
    """Warn of edits that lie outside their sentence; ``lines`` are their lines in the file."""
    if lines:
        warn(f"{name}: edits outside their sentence: {len(lines)}, the first in line {lines[0]}")


def once(names: Sequence[str | None]) -> None:
    """Refuse standard input if it is named twice.

    Raises:
        ConfigError: two files are standard input.
    """
    if names.count("-") > 1:
        raise ConfigError("standard input (-) can be read only once")


class EssayLines(list[str]):
    """The essays of a MultiGEC file, each as one line, with their ids."""

    def __init__(self, lines: Iterable[str], ids: Iterable[str]) -> None:
        super().__init__(lines)
        self.ids = tuple(ids)


def to_line(text: str) -> str:
    """Return an essay as one line, as in MultiGEC's conversion.

    Line breaks become tabs, and tabs become blanks.
    """
    return "\t".join(text.replace("\t", " ").splitlines())


def read_lines(name: str) -> list[str]:
    r"""Return a file's lines, split at ``\n`` (and ``\r\n``) only, without the line ends.

    In a file of MultiGEC's essays every essay becomes one line, see :func:`to_line`.

    Raises:
        InputError: the file is missing, unreadable or not UTF-8.
        DataError: two essays have the same id.
    """
    document = read_document(name)
    warn_of_bom(document)
    if is_essays(document.text):
        essays = parse(document.text, name)
        return EssayLines((to_line(essay.text) for essay in essays), (e.id for e in essays))
    lines = document.text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def write_text(name: str, parts: Iterable[str]) -> None:
    """Write to a file, or with ``-`` to standard output; UTF-8 whatever the locale.

    Raises:
        InputError: the file cannot be written.
    """
    if name == "-":
        use_utf8()
        sys.stdout.writelines(parts)
        return
    try:
        with Path(name).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(parts)
    except OSError as error:
        raise InputError(f"{name}: cannot be written ({error.strerror})") from error


def check_parallel(
    files: Mapping[str, Sequence[str]] | Sequence[tuple[str, Sequence[str]]],
) -> None:
    """Refuse files whose length differs from the first file's.

    Args:
        files: lines by name, or pairs of name and lines if a name may occur twice.

    Raises:
        InputError: the message has both counts and the first line that looks shifted, or the first
            essay that differs from the essay in the same place.
        ConfigError: a string stands in place of a list of lines.
    """
    pairs = list(files.items()) if isinstance(files, Mapping) else files
    for name, lines in pairs:
        if isinstance(lines, str):
            raise ConfigError(f"{name}: a list of sentences is needed, not the string {lines!r}")
    (first, lines), *others = pairs
    for name, other in others:
        if len(other) != len(lines):
            message = f"{name} has {len(other)} lines, {first} has {len(lines)}"
            raise InputError(message + shift(lines, other))
        if isinstance(lines, EssayLines) and isinstance(other, EssayLines):
            for one, two in zip(lines.ids, other.ids, strict=True):
                if one != two:
                    raise InputError(
                        f"{name} has essay {two} where {first} has {one}; put them in one order "
                        "with gec essays lines"
                    )


def check_corpus(
    metric: str,
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
) -> None:
    """Refuse what a metric over sources, outputs and references cannot score.

    Raises:
        InputError: no reference, no sentence, or lists of different lengths.
        ConfigError: a string instead of a list of sentences.
    """
    if not references:
        raise InputError(f"{metric} needs at least one reference")
    sets = [(f"reference {i}", lines) for i, lines in enumerate(references)]
    check_parallel([("sources", sources), ("hypotheses", hypotheses), *sets])
    if not sources:
        raise InputError("no sentence to score")


def read_corpus(source: str, references: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Read a file of sources and the files of its references.

    Raises:
        InputError: a file cannot be read, or they differ in length.
    """
    sources, sets = read_lines(source), [read_lines(name) for name in references]
    check_parallel([(source, sources), *zip(references, sets, strict=True)])
    return sources, sets


def shift(lines: Sequence[str], other: Sequence[str]) -> str:
    """Return the part of a message that names the shifted line; empty if no line looks shifted."""
    if (i := first_shifted(lines, other)) is None:
        return ""
    return (
        f"; they look shifted from line {i + 1} on: {_shorten(other[i])!r}"
        f" beside {_shorten(lines[i])!r}"
    )


def first_shifted(lines: Sequence[str], other: Sequence[str]) -> int | None:
    """Return the first index at which ``other`` resembles a neighbour of the line, not the line.

    None if there is no such line, for example if only the end is missing.
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
