"""Spelling as a layer before the model: a dictionary corrects the words that it does not have.

A noisy channel (Kernighan, Church and Gale 1990): the best suggestion maximises the logarithm of
the word's frequency less the cost of the slip. Lists of real misspellings are evidence, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from gec.errors import ModelError
from gec.text.remembered import Remembered
from gec.text.tables import Filter, Numbers, Strings, read_tables, write_tables
from gec.untrusted import unzip_text

WORDS, MISSPELLINGS = "words.tsv.gz", "misspellings.tsv.gz"
TABLES = "speller.bin"
"""The two files above as tables that need no parsing."""
_FORMAT = 1
_PARTS = "nsnsnsnssnn"
_MOST_BYTES = 64 << 20

# Costs in nats: of one slip and of two; of a wrong first or last letter, which are rarer than wrong
# letters inside.
_SLIPS = {1: 3.5, 2: 8.0}
_FIRST, _LAST = 2.5, 0.5
_TRANSPOSED, _DOUBLED = 1.0, 1.5  # likelier than other slips: hte, acomodate
_LISTED = 4.0  # gain of a listed misspelling; the logarithm of the number of lists is added
_APOSTROPHE = -6.5  # a contraction without its apostrophe is hardly ever anything else
_WITH_S = {f"{word}'s" for word in "he here how it let she that there what where who".split()}
# Scores of the hypothesis that an unknown word is right as it stands: as a term; as a name.
_TERM, _NAME = 2.0, 10.0
_RARE = 20  # words rarer than this many in a billion are known but not suggested
_FREQUENT = 0xFFFF  # counts above it take more than two bytes
_SHORT = 4  # words of at most so many letters are searched at distance 1 only
_TEMPERATURE = 2.0
_REMEMBERED = 50_000  # words whose suggestions are kept


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A word (or two, ``a lot``), and the probability that the writer meant it."""

    word: str
    confidence: float


class Speller:
    """Knows words, their frequencies and common misspellings.

    Args:
        words: by lower-case word: occurrences in a billion words.
        misspellings: by lower-case misspelling: by correction: number of lists with the pair.
    """

    def __init__(
        self, words: Mapping[str, int], misspellings: Mapping[str, Mapping[str, int]]
    ) -> None:
        self._words = words if isinstance(words, Words) else Words.of(words)
        self._misspellings = misspellings
        if not isinstance(misspellings, Misspellings):
            self._misspellings = Misspellings.of(misspellings, self._words)
        self._near_words: dict[tuple[str, int], list[str]] = {}
        self._cache: dict[tuple[str, bool], tuple[Suggestion, ...]] = {}
        self._suspect = Remembered(self._is_suspect, _REMEMBERED)

    def knows(self, word: str) -> bool:
        """Whether a word, in whatever case, is in the dictionary."""
        return word.lower() in self._words

    def meant(self, word: str, *, lists: int = 1) -> str | None:
        """Return what most lists of misspellings say that a word stands for; None if few have it.

        ``lists``: so many must have it.
        """
        found = self._listed(word.lower())
        best = max(found, key=lambda meant: (found[meant], self._frequency(meant)), default=None)
        return best if best is not None and found[best] >= lists else None

    def suggest(self, word: str) -> tuple[Suggestion, ...]:
        """Return the lower-case words that an unknown word may stand for, the likeliest first.

        Their confidences and the probability that the word is right as it stands, which is not
        in the result, add up to 1. A known or empty word has no suggestions.
        """
        if not word or self.knows(word):
            return ()
        key = word.lower(), word[:1].isupper()
        found = self._cache.get(key)
        if found is None:
            found = self._suggest(*key)
            if len(self._cache) >= _REMEMBERED:
                self._cache.clear()
            self._cache[key] = found
        return found

    def suspects(self, words: Iterable[str]) -> bool:
        """Whether any of some words is one that :meth:`correct` may correct."""
        return any(map(self._suspect.__getitem__, words))

    def correct(
        self,
        words: Sequence[str],
        skip: Collection[int] = (),
        *,
        interrupt: Callable[[], None] = lambda: None,
    ) -> dict[int, tuple[str, float]]:
        """Return {place: (correction, confidence)} for the misspelt words of one sentence.

        Left alone are the places in ``skip``, words with other characters than English letters,
        of one or two letters, in capitals, and capitalised words inside the sentence (names),
        unless several lists hold them as misspellings. ``interrupt`` is called before each search
        for suggestions, which takes a millisecond; an exception that it raises ends the work.
        """
        found: dict[int, tuple[str, float]] = {}
        begins = True
        for place, word in enumerate(words):
            if self._suspect[word] and self._is_misspelt(word, begins) and place not in skip:
                interrupt()
                suggestions = self.suggest(word)
                right = 1 - sum(suggestion.confidence for suggestion in suggestions)
                if suggestions and suggestions[0].confidence > right:
                    best = suggestions[0]
                    found[place] = _in_case(best.word, word), best.confidence
            if word[:1].isalnum():
                begins = False
        return found

    def _is_suspect(self, word: str) -> bool:
        """Whether a word of English letters is unknown."""
        return len(word) >= 3 and word.isascii() and word.isalpha() and not self.knows(word)

    def _is_misspelt(self, word: str, begins: bool) -> bool:
        """Whether a suspect is no name and no abbreviation by its capitals."""
        if word.islower() or (begins and word[1:].islower()):
            return True
        return word[1:].islower() and max(self._listed(word.lower()).values(), default=0) > 1

    def _listed(self, word: str) -> Mapping[str, int]:
        return self._misspellings.get(word, {})

    def _suggest(self, word: str, name: bool) -> tuple[Suggestion, ...]:
        scores = {near: self._frequency(near) - cost for near, cost in self._near(word)}
        for meant, lists in self._listed(word).items():
            score = scores.get(meant, self._frequency(meant.partition(" ")[0]) - _SLIPS[2])
            if meant.replace("'", "") == word and (meant[-2:] != "'s" or meant in _WITH_S):
                score = self._frequency(meant) - _APOSTROPHE
            scores[meant] = score + _LISTED + math.log(lists)
        ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:8]
        right = _NAME if name and not self._listed(word) else _TERM
        most = max([right, *(score for _, score in ranked)])
        weights = [math.exp((score - most) / _TEMPERATURE) for _, score in ranked]
        total = sum(weights) + math.exp((right - most) / _TEMPERATURE)
        return tuple(
            Suggestion(meant, weight / total)
            for (meant, _), weight in zip(ranked, weights, strict=True)
        )

    def _frequency(self, word: str) -> float:
        return math.log(self._words.count(word) or 1)

    def _near(self, word: str) -> list[tuple[str, float]]:
        """Return the words within one or two slips, each with the cost of the slip."""
        near = neighbours(word, self._beginning, self._words)
        return [(other, _cost(word, other, distance)) for other, distance in near]

    def _beginning(self, first: str, length: int) -> list[str]:
        key = first, length
        if key not in self._near_words:
            self._near_words[key] = self._words.beginning(first, length)
        return self._near_words[key]

    @classmethod
    def load(cls, folder: Path) -> Speller | None:
        """Read ``speller.bin``, or ``words.tsv.gz`` and ``misspellings.tsv.gz``; None without any.

        Raises:
            ModelError: a file is broken, or only one of the last two is missing.
        """
        if (folder / TABLES).exists():
            parts = read_tables(folder / TABLES, _FORMAT, _PARTS, _MOST_BYTES)
            words = Words(
                cast(Numbers, parts[0]),
                cast(list[Strings], parts[1:7:2]),
                cast(list[Numbers], parts[2:7:2]),
            )
            return cls(words, Misspellings(words, *cast(_Listed, tuple(parts[7:]))))
        paths = folder / WORDS, folder / MISSPELLINGS
        if not any(path.exists() for path in paths):
            return None
        fields = "\t".join(_lines(paths[0], 2)).split("\t")
        counts = dict(zip(fields[::2], map(int, fields[1::2]), strict=False))
        listed: dict[str, dict[str, int]] = {}
        for line in _lines(paths[1], 3):
            wrong, right, lists = line.split("\t")
            listed.setdefault(wrong, {})[right] = int(lists)
        return cls(counts, listed)

    def pack(self, folder: Path) -> None:
        """Write ``speller.bin``; the same dictionary gives the same bytes."""
        words = [self._words.filter.bits, *(part for tier in self._words.tiers for part in tier)]
        assert isinstance(self._misspellings, Misspellings)
        write_tables(folder / TABLES, _FORMAT, [*words, *self._misspellings.parts])

    def save(self, folder: Path) -> None:
        """Write the two text files; the same dictionary gives the same bytes."""
        import gzip

        (folder / TABLES).unlink(missing_ok=True)
        listed = sorted(
            (w, r, n) for w, rights in self._misspellings.items() for r, n in rights.items()
        )
        for name, rows in ((WORDS, sorted(self._words.items())), (MISSPELLINGS, listed)):
            text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
            (folder / name).write_bytes(gzip.compress(text.encode(), mtime=0))


class Words(Mapping[str, int]):
    """Words and how often they occur in a billion: the rare ones, the frequent ones, the others.

    Each kind is a table of its own, so that frequent words alone take four bytes for their number.
    The filter knows most strings that are no words, of which the speller tries fifty for each word.
    """

    def __init__(self, bits: Numbers, words: Sequence[Strings], counts: Sequence[Numbers]) -> None:
        try:
            self.filter = Filter(bits)
        except ValueError as error:
            raise ModelError(f"{TABLES}: {error}") from error
        self.tiers = [*zip(words, counts, strict=True)]
        if any(len(strings) != len(numbers) for strings, numbers in self.tiers):
            raise ModelError(f"{TABLES} has not one count for each word")
        frequent = zip(*self.tiers[-1], strict=True)  # few, and most of every text
        self._frequent = {word: count or 1 for word, count in frequent}
        self._found: dict[str, int] = {}

    @classmethod
    def of(cls, words: Mapping[str, int]) -> Words:
        """Return the tables of some words; the empty word is none."""
        tiers: list[dict[str, int]] = [{}, {}, {}]
        for word, count in words.items():
            if word:
                tiers[(count >= _RARE) + (count > _FREQUENT)][word] = count
        strings = [Strings.of(tier) for tier in tiers]
        numbers = [
            Numbers.of(tier[word] for word in table)
            for tier, table in zip(tiers, strings, strict=True)
        ]
        return cls(Filter.of(words.keys()).bits, strings, numbers)

    def beginning(self, first: str, length: int) -> list[str]:
        """Return the words that may be suggested, of a first letter and a length."""
        return [word for table, _ in self.tiers[1:] for word in table.beginning(length, first)]

    def __getitem__(self, word: str) -> int:
        count = self.count(word)
        if not count:
            raise KeyError(word)
        return count

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.count(word) > 0

    def count(self, word: str) -> int:
        """Return how often a word occurs, 0 for an unknown one."""
        count = self._frequent.get(word)
        if count is None:
            count = self._found.get(word)
        if count is None:
            if not self.filter.may_have(word):
                return 0
            if len(self._found) >= _REMEMBERED:
                self._found.clear()
            count = self._found[word] = self._search(word)
        return count

    def _search(self, word: str) -> int:
        for table, counts in self.tiers[-2::-1]:
            if (place := table.find(word)) is not None:
                return counts[place] or 1
        return 0

    def __iter__(self) -> Iterator[str]:
        return (word for table, _ in self.tiers for word in table)

    def __len__(self) -> int:
        return sum(len(table) for table, _ in self.tiers)


_Listed = tuple[Strings, Strings, Numbers, Numbers]


class Misspellings(Mapping[str, Mapping[str, int]]):
    """Misspellings: what was meant, and in how many lists.

    Args:
        words: what most corrections are; they are stored as places in its tables.
        rows: the misspellings, one with several corrections several times.
        others: the corrections that are no words, such as "a lot".
        rights: of each row the correction: a place in the words' tables and then in ``others``.
        lists: of each row the number of lists.
    """

    def __init__(
        self, words: Words, rows: Strings, others: Strings, rights: Numbers, lists: Numbers
    ) -> None:
        if not len(rows) == len(rights) == len(lists):
            raise ModelError(f"{TABLES} has not one correction for each misspelling")
        self.parts: _Listed = rows, others, rights, lists
        self._tables = [*(table for table, _ in words.tiers), others]

    @classmethod
    def of(cls, misspellings: Mapping[str, Mapping[str, int]], words: Words) -> Misspellings:
        """Return the tables of a mapping; a misspelling or a correction without letters is none."""
        pairs = [
            (len(wrong), wrong, right, lists)
            for wrong, rights in misspellings.items()
            for right, lists in rights.items()
            if wrong and right
        ]
        pairs.sort()
        places = {word: place for place, word in enumerate(words)}
        others = Strings.of({right for _, _, right, _ in pairs} - places.keys())
        places |= {right: place for place, right in enumerate(others, len(places))}
        return cls(
            words,
            Strings.of(wrong for _, wrong, _, _ in pairs),
            others,
            Numbers.of(places[right] for _, _, right, _ in pairs),
            Numbers.of(lists for _, _, _, lists in pairs),
        )

    def __getitem__(self, wrong: str) -> dict[str, int]:
        rows, _, rights, lists = self.parts
        at = rows.find(wrong)
        if at is None:
            raise KeyError(wrong)
        found = {}
        while at < len(rows) and rows[at] == wrong:
            found[self._correction(rights[at])] = lists[at] or 1
            at += 1
        return found

    def _correction(self, place: int) -> str:
        for table in self._tables:
            if place < len(table):
                return table[place]
            place -= len(table)
        raise ModelError(f"{TABLES} names a correction that it does not have")

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(self.parts[0]))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def neighbours(
    word: str,
    beginning: Callable[[str, int], Sequence[str]],
    known: Container[str],
    *,
    most: int = 2,
) -> list[tuple[str, int]]:
    """Return the words that are a few slips away from one, each with the number of slips.

    Short words and those with another first letter are at most one slip away, others ``most``.

    Args:
        beginning: returns the words with a first letter and of a length.
        known: all words.
    """
    process, distance_of = _fuzzy()
    most = 1 if len(word) <= _SHORT else most
    others: list[str] = []
    for length in range(len(word) - most, len(word) + most + 1):
        others += beginning(word[0], length)
    found = process.extract(word, others, scorer=distance_of, score_cutoff=most, limit=None)
    near = [(other, int(distance)) for other, distance, _ in found]
    return near + [(other, 1) for other in _other_first_letters(word) if other in known]


@cache
def _fuzzy() -> tuple[Any, Any]:
    """Return what compares words; importing it takes a tenth of a cold start."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    return process, OSA.distance


def _lines(path: Path, columns: int) -> list[str]:
    """Return the lines of a table whose last column is a number."""
    text = unzip_text(path)
    if text and not text.endswith("\n"):
        text += "\n"
    row = r"[^\t\n]*[^\s][^\t\n]*\t" * (columns - 1) + "[1-9][0-9]{0,17}"
    if re.fullmatch(f"(?:{row}\n)*", text) is None:
        for number, line in enumerate(text.split("\n"), 1):
            if re.fullmatch(row, line) is None:
                raise ModelError(
                    f"{path}:{number}: expected {columns} columns, a number in the last"
                )
    return text.split("\n")[:-1]


def _other_first_letters(word: str) -> set[str]:
    """Return the strings one slip away from ``word`` that begin with another letter."""
    rest, letters = word[1:], "abcdefghijklmnopqrstuvwxyz"
    near = {letter + rest for letter in letters} | {letter + word for letter in letters}
    near |= {rest, rest[:1] + word[:1] + word[2:]}
    return {other for other in near if other and other[0] != word[0]}


def _cost(word: str, other: str, distance: int) -> float:
    cost = _SLIPS[distance]
    cost += _FIRST * (other[0] != word[0]) + _LAST * (other[-1] != word[-1])
    cost -= _TRANSPOSED * (sorted(other) == sorted(word))
    cost -= _DOUBLED * (_undoubled(other) == _undoubled(word))
    return cost


def _undoubled(word: str) -> str:
    return re.sub(r"(.)\1", r"\1", word)


def _in_case(word: str, like: str) -> str:
    return word[:1].upper() + word[1:] if like[:1].isupper() else word
