"""What a recipe's sources hold: clean sentences, real corrections, counted words."""

from __future__ import annotations

import lzma
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gec.errors import DataError
from gec.models.training.recipe import Source
from gec.text.words import tokenize_line

_FIRST_NAMES = {
    "Tom": """Tom John Peter Paul David Michael James Robert Daniel Mark George Kevin Ali Ahmed Omar
    Carlos Juan Pedro Luis Marco Ivan Igor Hans Kenji Hiroshi Wei Chen Raj Arjun Samuel Eric Jack
    Henry Oscar Felix Leo Adam Simon Martin Thomas Andrew Brian Steve Nick Alex Max""".split(),
    "Mary": """Mary Anna Maria Susan Linda Sarah Emma Julia Laura Alice Kate Jane Helen Lucy Sophie
    Fatima Leila Yuki Mei Ling Priya Elena Olga Ingrid Carmen Rosa Clara Nina Eva Ruth Amy Emily
    Grace Chloe Lisa Karen Nancy Sandra Diana Irene Marta Sonia Hannah Rachel""".split(),
}
_EDIT = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")
_READABLE = re.compile(r"[A-Za-z0-9\"'][\x20-\x7e‘’“”–—…é]*[.!?][\"'”’)]?")


def open_text(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, ``.xz`` or plain, without their line ends."""
    try:
        with (
            lzma.open(path, "rt", encoding="utf-8")
            if path.suffix == ".xz"
            else path.open(encoding="utf-8") as file
        ):
            for line in file:
                yield line.rstrip("\r\n")
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path}: {error}") from error


def clean_sentences(
    lines: Iterable[str], source: Source, rng: random.Random
) -> Iterator[list[str]]:
    """Yield the words of the usable lines, with other first names if ``source`` says so."""
    for line in lines:
        line = line.strip()
        if not _READABLE.fullmatch(line) or line.count('"') % 2:
            continue
        words = tokenize_line(line)
        if not source.words[0] <= len(words) <= source.words[1]:
            continue
        if source.vary_names:
            new = {old: rng.choice(names) for old, names in _FIRST_NAMES.items()}
            words = [new.get(word, word) for word in words]
        yield words


def clean_pairs(path: Path, source: Source) -> Iterator[tuple[list[str], list[str], str]]:
    """Yield (wrong, right, repository) of the usable lines; those of two columns have none."""
    for number, line in enumerate(open_text(path), 1):
        columns = line.split("\t")
        if len(columns) == 2:
            columns += ["", ""]
        if len(columns) < 4:
            raise DataError(f"{path}:{number}: expected wrong, right, types, repository: {line!r}")
        texts, types = columns[:2], columns[2].replace(",", " ").split()
        if types and source.skip_types and all(kind in source.skip_types for kind in types):
            continue
        if not all(_READABLE.fullmatch(text.strip()) for text in texts):
            continue
        wrong, right = map(tokenize_line, texts)
        if wrong != right and source.words[0] <= len(right) <= source.words[1]:
            yield wrong, right, columns[3]


def marked_pairs(lines: Iterable[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield (wrong, right) words of lines with ``[wrong|right]``; ``#`` and blank lines are none.

    >>> list(marked_pairs(["# level=B1", "I [has|have] [a |]two cats."]))[0][0]
    ['I', 'has', 'a', 'two', 'cats', '.']
    """
    for line in lines:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        wrong, right = (
            tokenize_line(" ".join(_EDIT.sub(side, text).split())) for side in (r"\1", r"\2")
        )
        if wrong and right:
            yield wrong, right


def corrections(source: Source, data_dir: Path) -> Iterator[tuple[list[str], list[str], str]]:
    """Yield (wrong, right, repository or "") of a source of pairs or of marked sentences."""
    for path in source.paths(data_dir):
        if source.format == "pairs":
            yield from clean_pairs(path, source)
        else:
            low, high = source.words
            pairs = marked_pairs(open_text(path))
            yield from ((w, r, "") for w, r in pairs if low <= len(r) <= high)


def word_counts(path: Path) -> dict[str, int]:
    """Read a table of words and their counts; a line without a count raises DataError."""
    counts = {}
    for number, line in enumerate(open_text(path), 1):
        word, _, count = line.partition("\t")
        if not count.isdecimal():
            raise DataError(f"{path}:{number}: expected word TAB count: {line!r}")
        counts[word] = int(count)
    return counts
