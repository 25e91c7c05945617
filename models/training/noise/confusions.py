"""What people wrote for a word: other words, misspellings, sound-alikes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from gec.models.training.noise.choices import Weighted, weighted
from gec.models.training.noise.lists import MISSPELLING_LISTS, read_lines, read_rows
from gec.models.training.noise.tables import FUNCTION_WORDS, PREPOSITIONS

_MIN_COUNT = 3
_MIN_SHARE = 0.04


def spelling_variants(lists_dir: Path) -> set[frozenset[str]]:
    """Return the pairs of British and American spellings of one word."""
    pairs = set()
    for line in read_lines(lists_dir / "varcon.txt.xz"):
        spellings = re.findall(r": ([a-z]+)(?= |$)", line) if not line.startswith("#") else []
        for left in spellings:
            pairs |= {frozenset((left, right)) for right in spellings if left != right}
    return pairs


def replacements(lists_dir: Path, counts: Mapping[str, int]) -> Iterator[tuple[str, str, int]]:
    """Yield (correct, written, count) of real words that are not two spellings of one word."""
    variants = spelling_variants(lists_dir)
    for right, wrong, n in read_rows(lists_dir / "errorify_common_replaces.tsv.xz", 3):
        right, wrong = right.lower(), wrong.lower()
        if (
            int(n) >= _MIN_COUNT
            and right.isalpha()
            and wrong.isalpha()
            and right != wrong
            and counts.get(right, 0) >= 5
            and counts.get(wrong, 0) >= 5
            and frozenset((right, wrong)) not in variants
        ):
            yield right, wrong, int(n)


@dataclass(frozen=True)
class Stems:
    """What tells whether two words are forms of one."""

    verb_of: Mapping[str, tuple[str, str]]
    plurals: Mapping[str, str]
    comparisons: Mapping[str, tuple[str, str]]
    variants: Mapping[str, str]

    def same_word(self, left: str, right: str) -> bool:
        """Whether two words are inflections or spelling variants of one another."""
        if self.plurals.get(left) == right or self.plurals.get(right) == left:
            return True
        return self._base(left) == self._base(right)

    def _base(self, word: str) -> str:
        base = (self.comparisons.get(word) or self.verb_of.get(word) or (word, ""))[0]
        return self.variants.get(base, base)


def confusions_of(
    replaces: Iterable[tuple[str, str, int]], stems: Stems, common: Container[str]
) -> tuple[dict[str, Weighted], dict[str, Weighted], dict[str, Weighted]]:
    """Return the counted replacements by kind: words, words of one stem, prepositions."""
    words: dict[str, dict[str, float]] = defaultdict(dict)
    derived: dict[str, dict[str, float]] = defaultdict(dict)
    prepositions: dict[str, dict[str, float]] = defaultdict(dict)
    for right, wrong, n in replaces:
        if right in PREPOSITIONS and wrong in PREPOSITIONS:
            kind = prepositions
        elif (
            right in FUNCTION_WORDS
            or wrong in FUNCTION_WORDS
            or not _alike(right, wrong)
            or right not in common
            or wrong not in common
            or stems.same_word(right, wrong)
        ):
            continue
        elif len(right) > 4 and len(wrong) > 4 and right[:4] == wrong[:4]:
            if wrong.startswith(right) and wrong[len(right) :] in common:
                continue  # hair, hairstyle
            kind = derived
        elif right.endswith(wrong) or wrong.endswith(right):
            continue  # like, dislike: another meaning
        else:
            kind = words
        kind[right][wrong] = kind[right].get(wrong, 0.0) + n
    return _usual(words), _usual(derived), _usual(prepositions)


def _alike(left: str, right: str) -> bool:
    """Whether two words look alike; other replacements are a matter of style or content."""
    return SequenceMatcher(None, left, right, autojunk=False).ratio() >= 0.66


def _usual(kinds: Mapping[str, Mapping[str, float]]) -> dict[str, Weighted]:
    """Return the replacements without those that are a small share of a word's replacements."""
    usual = {}
    for word, counts in kinds.items():
        least = _MIN_SHARE * sum(counts.values())
        usual[word] = weighted({wrong: n for wrong, n in counts.items() if n >= least})
    return usual


def misspellings_of(lists_dir: Path, counts: Mapping[str, int]) -> dict[str, Weighted]:
    """Return the misspellings that are not words themselves; learners' misspellings weigh most."""
    found: dict[str, dict[str, float]] = defaultdict(dict)

    def add(wrong: str, right: str, weight: float) -> None:
        wrong, right = wrong.lower(), right.lower()
        known = counts.get(right, 0)
        if not wrong.isalpha() or not right.isalpha() or known < 3:
            return
        if wrong != right and counts.get(wrong, 0) * 50 < known:
            found[right][wrong] = found[right].get(wrong, 0.0) + weight

    for name, weight in MISSPELLING_LISTS:
        for wrong, rights in read_rows(lists_dir / name, 2):
            if "," not in rights.rstrip(", "):
                add(wrong, rights.strip(", "), weight)
    for _, _, wrong, kind, right in read_rows(lists_dir / "toefl_spell_annotations.tsv.xz", 5):
        if kind == "M":
            add(wrong, right, 10.0)
    for right, wrong, n in read_rows(lists_dir / "errorify_common_replaces.tsv.xz", 3):
        if len(right) > 3 and int(n) >= 2 and wrong.lower() not in counts:
            add(wrong, right, 3.0 * int(n))
    return {word: weighted(forms) for word, forms in found.items()}


def homophones_of(lists_dir: Path, counts: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Return words that sound alike; nobody writes a rare word for a frequent one by mistake."""
    variants = spelling_variants(lists_dir)
    found: dict[str, set[str]] = defaultdict(set)
    for line in read_lines(lists_dir / "homophones_cmudict.tsv.xz"):
        group = [word for word in line.split("\t") if counts.get(word, 0) >= 30 and len(word) > 2]
        for word in group:
            if word not in FUNCTION_WORDS:
                found[word] |= {
                    other
                    for other in group
                    if other != word
                    and counts[other] > 0.04 * counts[word]
                    and frozenset((other, word)) not in variants
                    and re.sub(r"(.)\1", r"\1", other) != re.sub(r"(.)\1", r"\1", word)
                }
    return {word: tuple(sorted(others)) for word, others in found.items() if others}
