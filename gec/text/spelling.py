"""Spelling as a layer before the model: a dictionary corrects the words that it does not have.

A noisy channel (Kernighan, Church and Gale 1990): the best suggestion maximises the logarithm of
the word's frequency less the cost of the slip. Lists of real misspellings are evidence, too.
"""

from __future__ import annotations

import gzip
import math
import re
import string
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rapidfuzz import process
from rapidfuzz.distance import OSA

from gec.errors import ModelError
from gec.untrusted import unzip_text

WORDS, MISSPELLINGS = "words.tsv.gz", "misspellings.tsv.gz"

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
        self._words = words
        self._misspellings = misspellings
        self._by_first: dict[str, list[str]] = defaultdict(list)
        for word, count in words.items():
            if count >= _RARE:
                self._by_first[word[:1]].append(word)
        self._cache: dict[tuple[str, bool], tuple[Suggestion, ...]] = {}

    def knows(self, word: str) -> bool:
        """Whether a word, in whatever case, is in the dictionary."""
        return word.lower() in self._words

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
            if place not in skip and self._is_misspelt(word, begins):
                interrupt()
                suggestions = self.suggest(word)
                right = 1 - sum(suggestion.confidence for suggestion in suggestions)
                if suggestions and suggestions[0].confidence > right:
                    best = suggestions[0]
                    found[place] = _in_case(best.word, word), best.confidence
            if word[:1].isalnum():
                begins = False
        return found

    def _is_misspelt(self, word: str, begins: bool) -> bool:
        if len(word) < 3 or not (word.isascii() and word.isalpha()) or self.knows(word):
            return False
        if word.islower() or (begins and word[1:].islower()):
            return True
        return word[1:].islower() and max(self._listed(word.lower()).values(), default=0) > 1

    def _listed(self, word: str) -> Mapping[str, int]:
        return self._misspellings.get(word, {})

    def _suggest(self, word: str, name: bool) -> tuple[Suggestion, ...]:
        scores = {near: self._frequency(near) - cost for near, cost in self._near(word)}
        for meant, lists in self._listed(word).items():
            score = scores.get(meant, self._frequency(meant.split()[0]) - _SLIPS[2])
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
        return math.log(self._words.get(word, 1))

    def _near(self, word: str) -> list[tuple[str, float]]:
        """Return the words within one or two slips, each with the cost of the slip."""
        most = 1 if len(word) <= _SHORT else 2
        found = process.extract(
            word, self._by_first[word[:1]], scorer=OSA.distance, score_cutoff=most, limit=None
        )
        near = [(other, int(distance)) for other, distance, _ in found]
        near += [(other, 1) for other in _other_first_letters(word) if other in self._words]
        return [(other, _cost(word, other, distance)) for other, distance in near]

    @classmethod
    def load(cls, folder: Path) -> Speller | None:
        """Read ``words.tsv.gz`` and ``misspellings.tsv.gz``; return None if both are missing.

        Raises:
            ModelError: a file is broken, or only one of the two is missing.
        """
        paths = folder / WORDS, folder / MISSPELLINGS
        if not any(path.exists() for path in paths):
            return None
        fields = "\t".join(_lines(paths[0], 2)).split("\t")
        words = dict(zip(fields[::2], map(int, fields[1::2]), strict=False))
        return cls(words, Misspellings(_lines(paths[1], 3)))

    def save(self, folder: Path) -> None:
        """Write the two files; the same dictionary gives the same bytes."""
        listed = sorted(
            (w, r, n) for w, rights in self._misspellings.items() for r, n in rights.items()
        )
        for name, rows in ((WORDS, sorted(self._words.items())), (MISSPELLINGS, listed)):
            text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
            (folder / name).write_bytes(gzip.compress(text.encode(), mtime=0))


class Misspellings(Mapping[str, Mapping[str, int]]):
    """A table of lines wrong TAB right TAB lists; a look-up parses only the rows that it needs.

    Dictionaries would take ten times the memory and a tenth of a second at every start.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = sorted(lines)  # cheap if they are sorted already

    def __getitem__(self, wrong: str) -> dict[str, int]:
        beginning = f"{wrong}\t"
        found = {}
        for at in range(bisect_left(self._lines, beginning), len(self._lines)):
            if not self._lines[at].startswith(beginning):
                break
            _, right, lists = self._lines[at].split("\t")
            found[right] = int(lists)
        if not found:
            raise KeyError(wrong)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(line.partition("\t")[0] for line in self._lines))

    def __len__(self) -> int:
        return sum(1 for _ in self)


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
    rest, letters = word[1:], string.ascii_lowercase
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
