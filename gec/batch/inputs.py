"""The files that a run corrects: names, patterns and folders become tasks."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from gec.batch.pipeline import Task
from gec.batch.streams import STANDARD, is_url, without_compression
from gec.errors import ConfigError, InputError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from gec.batch.blocks import Format

KINDS = {
    ".txt": "lines", ".tok": "lines",
    ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet",
    ".md": "markdown", ".markdown": "markdown",
    ".rst": "rst",
    ".html": "html", ".htm": "html", ".xhtml": "html",
    ".tex": "latex", ".ltx": "latex",
} | dict.fromkeys(
    (
        ".py", ".pyi", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".java", ".kt", ".scala", ".js",
        ".mjs", ".ts", ".tsx", ".jsx", ".go", ".rs", ".swift", ".rb", ".php", ".pl", ".lua", ".r",
        ".jl", ".sh", ".sql", ".toml", ".yaml", ".yml", ".css", ".scss", ".hs", ".ml", ".ex",
    ),
    "code",
)  # fmt: skip
"""Formats by suffix, in lower case and without the suffix of a compression."""

MakeFormat = Callable[[str | None, str], "Format"]
"""Makes the format of a file from the kind that its suffix names (or None) and its name."""


def kind_of(name: str) -> str | None:
    """Return the kind of format that a file's suffix names, or None if the suffix is unknown."""
    return KINDS.get(PurePath(without_compression(name)).suffix.lower())


def find(
    inputs: Sequence[str],
    output: str,
    make: MakeFormat,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> list[Task]:
    """Return a task for every input file, in the order of the inputs and of the names in folders.

    A folder gives its files whose format is known by suffix (with ``include``: the files that
    match), except those that a .gitignore or ``exclude`` names; a pattern (``docs/**/*.md``) gives
    the files that it matches, with the same exceptions. If there is one input file, ``output`` is
    a file, unless it is a folder or ends with a slash. Otherwise ``output`` is a folder, in which
    the files lie as they do in the input folders.

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
            chosen = _spec(include).match_file if include else kind_of
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


def walk(root: Path, wanted: Callable[[str], object], exclude: Sequence[str] = ()) -> Iterator[str]:
    """Yield the names, relative to ``root``, of the folder's files that are ``wanted``.

    Files that ``exclude`` or a .gitignore names are left out; a .gitignore counts in the folder,
    below it, and above it up to the top of the repository.
    """
    unwanted = _spec([".git/", *exclude])

    def inside(folder: Path, ignored: list[tuple[Path, GitIgnoreSpec]]) -> Iterator[str]:
        rules = folder / ".gitignore"
        if rules.is_file():
            ignored = [*ignored, (folder, _rules(rules))]
        for path in sorted(folder.iterdir()):
            name = path.relative_to(top).as_posix()
            slash = "/" if path.is_dir() else ""
            if unwanted.match_file(name + slash) or _ignored(path, slash, ignored):
                continue
            if path.is_dir():
                if not path.is_symlink():  # links may lead in a circle
                    yield from inside(path, ignored)
            elif path.is_file() and wanted(name):
                yield name

    top = root.resolve()
    return inside(top, _ignored_above(top))


def _ignored_above(folder: Path) -> list[tuple[Path, GitIgnoreSpec]]:
    """Return the rules of the .gitignore files in the folders above one, the highest first.

    If the rules name the folder itself, there are none: a user who names the folder wants it.
    """
    found: list[tuple[Path, GitIgnoreSpec]] = []
    for above in folder.parents if not (folder / ".git").exists() else ():
        if (above / ".gitignore").is_file():
            found.insert(0, (above, _rules(above / ".gitignore")))
        if (above / ".git").exists():
            return [] if _ignored(folder, "/", found) else found
    return []  # no repository


def _rules(file: Path) -> GitIgnoreSpec:
    return _spec(file.read_text(encoding="utf-8", errors="replace").splitlines())


def _spec(lines: Iterable[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)


def _ignored(path: Path, slash: str, rules: Iterable[tuple[Path, GitIgnoreSpec]]) -> bool:
    """Whether the .gitignore files name a path; the nearest file decides."""
    verdict = False
    for folder, spec in rules:
        found = spec.check_file(path.relative_to(folder).as_posix() + slash)
        if found.include is not None:
            verdict = found.include
    return verdict


def _matching(
    pattern: str, include: Sequence[str], exclude: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the files that match, with their names relative to the pattern's fixed beginning."""
    fixed = _fixed(pattern)
    wanted = _spec(include) if include else None
    unwanted = _spec(exclude)
    for name in expand(pattern):
        inner = Path(name).relative_to(fixed).as_posix()
        chosen = (wanted is None or wanted.match_file(inner)) and not unwanted.match_file(inner)
        if chosen:
            yield name, inner


def expand(pattern: str) -> Iterator[str]:
    """Yield the files that match a pattern (``docs/**/*.md``), sorted, unless git ignores them."""
    fixed = _fixed(pattern)
    ignored = _gitignored(fixed.resolve())
    for name in sorted(glob.glob(pattern, recursive=True)):  # noqa: PTH207
        if Path(name).is_file() and not ignored(Path(name).relative_to(fixed)):
            yield name


def _fixed(pattern: str) -> Path:
    """Return the folder that a pattern begins with, up to the first wildcard."""
    fixed = Path()
    for part in Path(pattern).parts[:-1]:
        if glob.has_magic(part):
            break
        fixed /= part
    return fixed


def _gitignored(top: Path) -> Callable[[PurePath], bool]:
    """Return a function that says whether :func:`walk` of ``top`` would ignore a path below it."""

    @cache
    def rules(folder: Path) -> list[tuple[Path, GitIgnoreSpec]] | None:
        """Return the rules that hold in a folder, or None if they name the folder."""
        found = _ignored_above(top) if folder == top else rules(folder.parent)
        if found is None or (folder != top and _ignored(folder, "/", found)):
            return None
        own = folder / ".gitignore"
        return [*found, (folder, _rules(own))] if own.is_file() else found

    def ignored(inner: PurePath) -> bool:
        path = top / inner
        found = rules(path.parent)
        return found is None or _ignored(path, "", found)

    return ignored


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
