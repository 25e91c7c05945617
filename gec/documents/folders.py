"""Which files folders and patterns hold, without those that a .gitignore names."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


def walk(root: Path, wanted: Callable[[str], object], exclude: Sequence[str] = ()) -> Iterator[str]:
    """Yield the names of a folder's files, relative to it, that are ``wanted``.

    Files are left out that ``exclude`` or a .gitignore names. The .gitignore may stand in the
    folder, below it, or above it up to the top of the repository.
    """
    unwanted = patterns([".git/", *exclude])

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
    """Return the rules of the .gitignore files in the folders over one, the highest first.

    If they name the folder itself, there are none: whoever asks for the folder wants it.
    """
    found: list[tuple[Path, GitIgnoreSpec]] = []
    for above in folder.parents if not (folder / ".git").exists() else ():
        if (above / ".gitignore").is_file():
            found.insert(0, (above, _rules(above / ".gitignore")))
        if (above / ".git").exists():
            return [] if _ignored(folder, "/", found) else found
    return []  # no repository


def _rules(file: Path) -> GitIgnoreSpec:
    return patterns(file.read_text(encoding="utf-8", errors="replace").splitlines())


def patterns(lines: Iterable[str]) -> GitIgnoreSpec:
    """Return what matches the names that patterns, as in a .gitignore, match."""
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)


def _ignored(path: Path, slash: str, rules: Iterable[tuple[Path, GitIgnoreSpec]]) -> bool:
    """Whether the .gitignore files name a path; the nearest file that says anything decides."""
    verdict = False
    for folder, spec in rules:
        found = spec.check_file(path.relative_to(folder).as_posix() + slash)
        if found.include is not None:
            verdict = found.include
    return verdict


def expand(pattern: str) -> Iterator[str]:
    """Yield the files that match ``docs/**/*.md`` or the like, sorted; none that is ignored."""
    begin = fixed(pattern)
    ignored = _gitignored(begin.resolve())
    for name in sorted(glob.glob(pattern, recursive=True)):  # noqa: PTH207
        if Path(name).is_file() and not ignored(Path(name).relative_to(begin)):
            yield name


def fixed(pattern: str) -> Path:
    """Return the folders that a pattern begins with, up to its first star or bracket."""
    found = Path()
    for part in Path(pattern).parts[:-1]:
        if glob.has_magic(part):
            break
        found /= part
    return found


def _gitignored(top: Path) -> Callable[[PurePath], bool]:
    """Return a function that tells whether :func:`walk` would leave out a path below a folder."""

    @cache
    def rules(folder: Path) -> list[tuple[Path, GitIgnoreSpec]] | None:
        """Return the rules that hold in a folder; None if they name the folder."""
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
