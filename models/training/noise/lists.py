"""The word lists that the noise is made of, as rows."""

from __future__ import annotations

import lzma
from collections import Counter
from collections.abc import Iterator
from pathlib import Path


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a compressed word list."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n")


def read_rows(path: Path, columns: int) -> Iterator[list[str]]:
    """Yield the first columns of the lines that have so many."""
    for line in read_lines(path):
        fields = line.split("\t")
        if len(fields) >= columns:
            yield fields[:columns]


def read_counts(path: Path) -> dict[str, float]:
    """Return the single lower-case words of a count list, with their counts."""
    total: Counter[str] = Counter()
    for word, n in read_rows(path, 2):
        if word.isalpha():
            total[word if word == "I" else word.lower()] += int(n)
    return {word: float(n) for word, n in total.items()}


MISSPELLING_LISTS = (
    ("codespell.tsv.xz", 1.0),
    ("wikipedia_common_misspellings.tsv.xz", 4.0),
    ("client9_misspell.tsv.xz", 0.5),
    ("typos_words.tsv.xz", 0.3),
)
