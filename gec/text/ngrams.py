"""A word n-gram language model: a second opinion on an edit, for the price of a few lookups.

A backed-off model (Katz 1987) over lower-case words: the probability of the longest known n-gram,
times the back-off weights of the longer histories. The model has seen no errors and knows no
source sentence; it only says which of two wordings is commoner English (Bryant and Briscoe 2018).
"""

from __future__ import annotations

import json
import sys
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gec.errors import ModelError
from gec.untrusted import MEBIBYTE, parse_json, read_bytes

FILE = "ngrams.bin"
UNKNOWN, BEGIN, END = 0, 1, 2
FIRST_WORD = 3
MOST_WORDS = 2**16 - FIRST_WORD
STEP = 0.1  # nats of one unit of a stored number
_FORMAT = 1
_MOST_BYTES = 1024 * MEBIBYTE
_MOST_ORDERS = 8
_LONGEST_HEAD = 1 << 16  # bytes of the first line


@dataclass(frozen=True, slots=True)
class Level:
    """The n-grams of one order: sorted hashes; costs (-log p) and back-off costs in steps.

    The highest order has no back-off costs.
    """

    hashes: array[int]
    costs: array[int]
    backoffs: array[int]


def hashed(key: int) -> int:
    """Return the 32-bit hash of ``key``: an n-gram's 16-bit ids, the first word's highest."""
    return ((key * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF) >> 32


def normal_form(word: str) -> str:
    """Return the form that is counted: lower case, and "0" for every word with a digit."""
    return "0" if not word.isalpha() and any(c.isdigit() for c in word) else word.lower()


class NGrams:
    """Scores words in context.

    Args:
        words: the vocabulary in the order of its ids, which begin at 3.
        levels: orders 1, 2, ...; the hashes of order 1 are the ids themselves.
    """

    def __init__(self, words: Sequence[str], levels: Sequence[Level]) -> None:
        self.words = list(words)
        self.levels = list(levels)
        self._ids = {word: number for number, word in enumerate(words, FIRST_WORD)}

    def prefers(self, words: Sequence[str], start: int, end: int, other: Sequence[str]) -> float:
        """Return log p(words) - log p(words with ``other`` in place of start:end), in nats."""
        changed = [*words[:start], *other, *words[end:]]
        reach = len(self.levels) - 1  # so many words after the place have another history
        return self.logprob(words, start, end + reach) - self.logprob(
            changed, start, start + len(other) + reach
        )

    def logprob(self, words: Sequence[str], start: int = 0, end: int | None = None) -> float:
        """Return the log-probability (nats) of words start:end of a sentence.

        The end of the sentence counts as one more word. If ``end`` is None, all words count.
        """
        order = len(self.levels)
        ids = [BEGIN] * (order - 1)
        ids += [self._ids.get(normal_form(word), UNKNOWN) for word in words]
        ids.append(END)
        last = len(words) + 1 if end is None else min(end, len(words) + 1)
        return -STEP * sum(self._cost(ids[i : i + order]) for i in range(start, last))

    def _cost(self, ids: Sequence[int]) -> int:
        """Return the cost (in steps) of the last id after the ids before it."""
        cost = 0
        for order in range(len(ids), 1, -1):
            history, level = ids[-order:-1], self.levels[order - 1]
            if (place := _find(level, _hash([*history, ids[-1]]))) is not None:
                return cost + level.costs[place]
            below = self.levels[order - 2]
            if (place := _find(below, _hash(history))) is not None:
                cost += below.backoffs[place]
        return cost + self.levels[0].costs[ids[-1]]

    @classmethod
    def load(cls, folder: Path) -> NGrams | None:
        """Read ``ngrams.bin``; return None if the bundle has no such file.

        Raises:
            ModelError: the file is broken or of another format.
        """
        path = folder / FILE
        if not path.exists():
            return None
        content = memoryview(read_bytes(path, _MOST_BYTES))
        first_line = bytes(content[:_LONGEST_HEAD]).partition(b"\n")[0]
        try:
            about = parse_json(first_line.decode("utf-8"))
            if about["format"] != _FORMAT:
                raise ModelError(f"{path} has format {about['format']!r}, expected {_FORMAT}")
            begin, sizes = len(first_line) + 1, _sizes(about)
            end = begin + about["words"]
            text = bytes(content[begin:end]).decode("utf-8")
            words = text.split("\n") if text else []
            levels = _levels(content[end:], sizes)
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(f"cannot read {path}: {error}") from error
        if len(levels[0].costs) < FIRST_WORD + len(words):
            raise ModelError(f"{path} has fewer costs than words")
        return cls(words, levels)

    def save(self, folder: Path) -> None:
        """Write ``ngrams.bin``: a line of JSON, the words, then the arrays, little-endian."""
        words = "\n".join(self.words).encode()
        sizes = [len(level.hashes) for level in self.levels]
        head = {"format": _FORMAT, "words": len(words), "sizes": sizes}
        with (folder / FILE).open("wb") as file:
            file.write(json.dumps(head).encode() + b"\n" + words)
            for level in self.levels:
                for values in (level.hashes, level.costs, level.backoffs):
                    if sys.byteorder == "big":
                        values = array(values.typecode, values)
                        values.byteswap()
                    file.write(values.tobytes())


def _sizes(about: dict[str, Any]) -> list[int]:
    """Return the number of n-grams of each order by the file's head; ValueError, TypeError."""
    words, sizes = about["words"], about["sizes"]
    if not isinstance(sizes, list) or not 1 <= len(sizes) <= _MOST_ORDERS:
        raise ValueError(f"sizes must be 1 to {_MOST_ORDERS} numbers")
    if not all(type(n) is int and n >= 0 for n in (words, *sizes)):
        raise ValueError("words and sizes must be numbers of at least 0")
    return sizes


def _levels(content: memoryview, sizes: Sequence[int]) -> list[Level]:
    """Return the orders that a file's arrays hold; raises ValueError if the file ends early."""
    at, levels = 0, []
    for order, size in enumerate(sizes, 1):
        arrays = []
        for kind in "IBB" if order < len(sizes) else "IB":
            values = array(kind)
            end = at + size * values.itemsize
            if end > len(content):
                raise ValueError("it is cut short")
            values.frombytes(content[at:end])
            if sys.byteorder == "big":
                values.byteswap()
            arrays.append(values)
            at = end
        levels.append(Level(*arrays, *[array("B")] * (3 - len(arrays))))
    return levels


def _hash(ids: Sequence[int]) -> int:
    key = 0
    for number in ids:
        key = key << 16 | number
    return hashed(key) if len(ids) > 1 else key


def _find(level: Level, wanted: int) -> int | None:
    place = bisect_left(level.hashes, wanted)
    return place if place < len(level.hashes) and level.hashes[place] == wanted else None
