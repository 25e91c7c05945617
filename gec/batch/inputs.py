"""The files that a run corrects: names, patterns and folders become tasks."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from gec.batch.pipeline import Task
from gec.batch.streams import STANDARD, is_url
from gec.documents.folders import expand, fixed, patterns, walk
from gec.documents.kinds import kind_of
from gec.errors import ConfigError, InputError

if TYPE_CHECKING:
    from gec.batch.blocks import Format

MakeFormat = Callable[[str | None, str], "Format"]
"""Makes the format of a file from the kind that its suffix names (or None) and its name."""


def find(
    inputs: Sequence[str],
    output: str,
    make: MakeFormat,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> list[Task]:
    """Return a task for every input file, in the order of the inputs and of the names in folders.

    A folder gives its files whose format is known by suffix (``include``: those that match), but
    none that its .gitignore files or ``exclude`` name. A pattern (``docs/**/*.md``) gives the files
    that it matches, with the same exceptions. If there is one input file, ``output`` is a
    file, unless it is a folder or ends with a slash. Otherwise ``output`` is a folder, in which the
    files lie as they do in the input folders.

    Raises:
        InputError: an input does not exist, or nothing matches.
        ConfigError: two inputs have the same output, or an output is an input.
    """
    found: list[tuple[str, str]] = []  # file, and its name in an output folder
    folders = False
    for name in inputs:
        if name == STANDARD or is_url(name):
            found.append((name, PurePath(name).name))
        elif Path(name).is_dir():
            folders = True
            chosen = patterns(include).match_file if include else kind_of
            own = walk(Path(name), chosen, [*exclude, *_output_inside(name, output)])
            found += [(str(Path(name, inner)), inner) for inner in own]
        elif not Path(name).exists() and glob.has_magic(name):
            folders = True
            found += _matching(name, include, exclude)
        else:
            found.append((name, PurePath(name).name))
    if not found:
        raise InputError(f"{', '.join(inputs)}: no files of a known format here")
    many = folders or len(found) > 1
    into = many or (output != STANDARD and (output.endswith("/") or Path(output).is_dir()))
    if many and output == STANDARD:
        raise ConfigError("several files need a folder as OUTPUT, not standard output")
    names = [str(Path(output, inner)) if into else output for _, inner in found]
    _refuse_clashes([name for name, _ in found], names)
    if into:
        _make_folders(names)
    return [
        Task(name, target, make(kind_of(target if name == STANDARD else name), name))
        for (name, _), target in zip(found, names, strict=True)
    ]


def _matching(
    pattern: str, include: Sequence[str], exclude: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the files that match, and their names below the pattern's fixed beginning."""
    begin = fixed(pattern)
    wanted = patterns(include) if include else None
    unwanted = patterns(exclude)
    for name in expand(pattern):
        inner = Path(name).relative_to(begin).as_posix()
        chosen = (wanted is None or wanted.match_file(inner)) and not unwanted.match_file(inner)
        if chosen:
            yield name, inner


def _output_inside(folder: str, output: str) -> list[str]:
    """Return a pattern for the output folder if it lies in the input folder."""
    try:
        inner = Path(output).resolve().relative_to(Path(folder).resolve())
    except ValueError:
        return []
    return [f"/{inner.as_posix()}/"] if inner.parts else []


def _refuse_clashes(inputs: Sequence[str], outputs: Sequence[str]) -> None:
    made: dict[str, str] = {}
    read = {os.path.realpath(name): name for name in inputs if name != STANDARD}
    for name, output in zip(inputs, outputs, strict=True):
        if output == STANDARD:
            continue
        if output in made:
            raise ConfigError(f"{made[output]} and {name} would both be written to {output}")
        made[output] = name
        if (same := read.get(os.path.realpath(output))) and not is_url(same):
            raise ConfigError(f"{output}: is an input; write to another file")


def _make_folders(names: Iterable[str]) -> None:
    for name in names:
        try:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{Path(name).parent}: cannot be made ({error.strerror or error})"
            ) from error
