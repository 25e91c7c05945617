"""A word n-gram language model: a second opinion on an edit, for the price of a few lookups.

A backed-off model (Katz 1987) over lower-case words: the probability of the longest known n-gram,
times the back-off weights of the longer histories. The model has seen no errors and knows no
source sentence; it only says which of two wordings is commoner English (Bryant and Briscoe 2018).
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from gec.errors import ModelError
from gec.text.tables import Numbers, Strings, open_tables, parse_parts, write_tables
from gec.untrusted import MEBIBYTE

FILE = "ngrams.bin"
UNKNOWN, BEGIN, END = 0, 1, 2
FIRST_WORD = 3
MOST_WORDS = 2**16 - FIRST_WORD
STEP = 0.1  # nats of one unit of a stored number
_FORMAT = 2
_OLD_FORMAT = 1  # the words in the order of their ids, then the arrays; the head has other names
_MOST_BYTES = 1024 * MEBIBYTE
_MOST_ORDERS = 8
_NEAR = 2048  # places from where a hash is expected that are searched first
_REMEMBERED = 50_000  # words whose ids are kept


@dataclass(frozen=True, slots=True)
class Level:
    """The n-grams of one order: sorted hashes; costs (-log p) and back-off costs in steps.

    The highest order has no back-off costs.
    """

    hashes: Sequence[int]
    costs: Sequence[int]
    backoffs: Sequence[int]


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
        ids = {word: number for number, word in enumerate(words, FIRST_WORD) if word}
        table = Strings.of(ids)
        self._set(table, Numbers.of((ids[word] for word in table), "H"), levels)

    def _set(self, table: Strings, ids: Numbers, levels: Sequence[Level]) -> None:
        self._table, self._ids = table, ids
        self.levels = list(levels)
        self._known: dict[str, int] = {}
        self._find = lru_cache(maxsize=2**16)(self._search)  # histories come again and again
        self._masks = [(1 << 16 * order) - 1 for order in range(len(self.levels) + 1)]

    @property
    def words(self) -> list[str]:
        """The vocabulary in the order of its ids."""
        return [word for _, word in sorted(zip(self._ids, self._table, strict=True))]

    def __reduce__(self) -> tuple[Any, ...]:
        copies = [
            Level(array("I", level.hashes), array("B", level.costs), array("B", level.backoffs))
            for level in self.levels
        ]
        return NGrams, (self.words, copies)

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
        last = len(words) + 1 if end is None else min(end, len(words) + 1)
        first = max(0, start - order + 1)  # the first word that an n-gram here may hold
        ids = [BEGIN] * (order - 1 - start + first)
        ids += map(self._id, words[first:last])
        ids.append(END)
        cost = whole = 0
        for place, number in enumerate(ids[: last - start + order - 1], 1 - order):
            whole = (whole << 16 | number) & self._masks[-1]
            if place >= 0:
                cost += self._cost(whole)
        return -STEP * cost

    def _id(self, word: str) -> int:
        number = self._known.get(word)
        if number is None:
            place = self._table.find(normal_form(word))
            number = UNKNOWN if place is None else self._ids[place]
            if number >= len(self.levels[0].costs):  # in a broken file
                number = UNKNOWN
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[word] = number
        return number

    def _cost(self, whole: int) -> int:
        """Return the cost (in steps) of the last id of an n-gram after the ids before it."""
        cost = 0
        for order in range(len(self.levels), 1, -1):
            if (place := self._find(order, whole & self._masks[order])) is not None:
                return cost + self.levels[order - 1].costs[place]
            history = whole >> 16 & self._masks[order - 1]
            below = self.levels[order - 2]
            if order == 2:
                cost += below.backoffs[history]
            elif (place := self._find(order - 1, history)) is not None:
                cost += below.backoffs[place]
        return cost + self.levels[0].costs[whole & 0xFFFF]

    def _search(self, order: int, key: int) -> int | None:
        """Return the place of an n-gram; hashes lie about where they would if evenly spread."""
        hashes = self.levels[order - 1].hashes
        wanted, size = hashed(key), len(hashes)
        near = wanted * size >> 32
        low = near - _NEAR if near > _NEAR else 0
        place = bisect_left(hashes, wanted, low, min(size, near + _NEAR))
        if place < size and hashes[place] == wanted:
            return place
        if low < place < near + _NEAR:
            return None
        place = bisect_left(hashes, wanted)
        return place if place < size and hashes[place] == wanted else None

    @classmethod
    def load(cls, folder: Path) -> NGrams | None:
        """Read ``ngrams.bin``; return None if the bundle has no such file.

        Raises:
            ModelError: the file is broken or of another format.
        """
        path = folder / FILE
        if not path.exists():
            return None
        content, at, head = open_tables(path, _MOST_BYTES)
        if head.get("format") not in (_FORMAT, _OLD_FORMAT):
            raise ModelError(f"{path} has format {head.get('format')!r}, expected {_FORMAT}")
        try:
            return (
                cls._old(memoryview(content)[at:], head)
                if head["format"] == _OLD_FORMAT
                else cls._of(parse_parts(content, at, head.get("parts")))
            )
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(f"cannot read {path}: {error}") from error

    @classmethod
    def _of(cls, parts: Sequence[Strings | Numbers]) -> NGrams:
        """Return the model of a file's parts; ValueError if they are others than it has."""
        orders = len(parts) // 3
        kinds = [Strings] + [Numbers] * (3 * orders)
        if not 1 <= orders <= _MOST_ORDERS or [*map(type, parts)] != kinds:
            raise ValueError("its parts are not those of an n-gram model")
        table, ids, *arrays = parts
        assert isinstance(table, Strings)
        assert isinstance(ids, Numbers)
        levels = []
        for i in range(0, len(arrays), 3):
            numbers = [part.values for part in arrays[i : i + 3] if isinstance(part, Numbers)]
            if len({*map(len, numbers)}) != 1:
                raise ValueError("it has not one cost for each n-gram")
            levels.append(Level(*numbers, *[array("B")] * (3 - len(numbers))))
        if len(ids) != len(table) or len(levels[0].costs) < FIRST_WORD + len(table):
            raise ValueError("it has fewer costs than words")
        made = cls.__new__(cls)
        made._set(table, ids, levels)
        return made

    @classmethod
    def _old(cls, content: memoryview, head: Mapping[str, Any]) -> NGrams:
        """Return the model of a file of the first format; ValueError, KeyError, TypeError."""
        sizes = _sizes(head)
        text = content[: head["words"]].tobytes().decode("utf-8")
        words = text.split("\n") if text else []
        levels = _levels(content[head["words"] :], sizes)
        if len(levels[0].costs) < FIRST_WORD + len(words):
            raise ValueError("it has fewer costs than words")
        return cls(words, levels)

    def save(self, folder: Path) -> None:
        """Write ``ngrams.bin``; the same model gives the same bytes."""
        parts: list[Strings | Numbers] = [self._table, self._ids]
        for level in self.levels:
            parts += [Numbers.of(level.hashes, "I"), Numbers.of(level.costs, "B")]
            parts += [Numbers.of(level.backoffs, "B")] * (level is not self.levels[-1])
        write_tables(folder / FILE, _FORMAT, parts)


def _sizes(about: Mapping[str, Any]) -> list[int]:
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
