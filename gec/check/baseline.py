"""Findings that are known: a check fails only where there are others.

A finding is recognised by its file, by what it would change and by the words around it in its
sentence, not by its place: text may be moved, wrapped anew or have its markup changed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from gec.errors import ConfigError, InputError
from gec.files import read_document, write_in_place

VERSION = 1
WORDS_AROUND = 4


@dataclass(frozen=True, slots=True, order=True)
class Known:
    """One finding as a baseline holds it; ``before`` and ``after`` are words joined by blanks."""

    original: str
    replacement: str
    before: str
    after: str


def known(text: str, start: int, end: int, replacement: str, span: tuple[int, int]) -> Known:
    """Describe the edit of ``text[start:end]``, which stands in a sentence at ``span``.

    >>> known("He is. She go to school.", 11, 13, "goes", (7, 24))
    Known(original='go', replacement='goes', before='She', after='to school.')
    """
    before = text[min(span[0], start) : start].split()[-WORDS_AROUND:]
    after = text[end : max(span[1], end)].split()[:WORDS_AROUND]
    original = " ".join(text[start:end].split())
    return Known(original, " ".join(replacement.split()), " ".join(before), " ".join(after))


class Baseline:
    """How often each finding of each file is known."""

    def __init__(self, files: Mapping[str, Counter[Known]] | None = None) -> None:
        self._files = dict(files or {})

    def new(self, file: str, findings: Iterable[Known]) -> list[bool]:
        """Return of each finding of a file whether it is new; of repeats the last ones are."""
        left = Counter(self._files.get(file, Counter()))
        verdicts = []
        for finding in findings:
            verdicts.append(left[finding] <= 0)
            left[finding] -= 1
        return verdicts

    def gone(self, file: str, findings: Iterable[Known]) -> int:
        """Return how many known findings of a file are there no more."""
        return (self._files.get(file, Counter()) - Counter(findings)).total()

    def replaced(self, files: Mapping[str, Counter[Known]], root: Path) -> Baseline:
        """Return it with other findings for some files, without files that do not exist."""
        kept = {name: found for name, found in self._files.items() if (root / name).is_file()}
        return Baseline({name: found for name, found in {**kept, **files}.items() if found})

    def __len__(self) -> int:
        return sum(found.total() for found in self._files.values())

    def to_json(self) -> str:
        """Return what :meth:`read` reads; sorted, so that versions of it can be compared."""
        names = [field.name for field in fields(Known)]
        files = {
            name: [
                {**dict(zip(names, astuple(finding), strict=True)), "count": count}
                for finding, count in sorted(found.items())
            ]
            for name, found in sorted(self._files.items())
        }
        document = {"version": VERSION, "files": files}
        return json.dumps(document, ensure_ascii=False, indent=1) + "\n"

    def write(self, path: str) -> None:
        """Write it in one step.

        Raises:
            InputError: it cannot be written.
        """
        try:
            Path(path).touch()
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
        write_in_place(path, self.to_json())

    @classmethod
    def read(cls, path: str) -> Baseline:
        """Read a baseline.

        Raises:
            InputError: it cannot be read.
            ConfigError: it is none.
        """
        try:
            document = json.loads(read_document(path).text)
        except json.JSONDecodeError as error:
            raise ConfigError(f"{path}: is no baseline: {error}") from None
        if not isinstance(document, dict) or "files" not in document:
            raise ConfigError(f"{path}: is no baseline; make one with --write-baseline")
        if document.get("version") != VERSION:
            raise ConfigError(
                f"{path}: is a baseline of version {document.get('version')!r}, not {VERSION}; "
                "make it again with --write-baseline"
            )
        try:
            return cls({name: _counter(found) for name, found in document["files"].items()})
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ConfigError(f"{path}: is damaged; make it again with --write-baseline") from None


def _counter(found: Iterable[Mapping[str, Any]]) -> Counter[Known]:
    counts: Counter[Known] = Counter()
    for entry in found:
        values = [entry[field.name] for field in fields(Known)]
        count = entry["count"]
        if not all(isinstance(value, str) for value in values) or type(count) is not int:
            raise ValueError
        counts[Known(*values)] += count
    return counts
