"""Word knowledge of the noise: inflections, confusions with counts, misspellings.

A lexicon is built once from the word lists. It consists of plain dicts, immutable by convention,
that can be pickled, so worker processes share one build.
"""

from __future__ import annotations

import lzma
import random
import re
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate
from pathlib import Path

from gec.models.training.noise.tables import (
    FUNCTION_WORDS,
    IRREGULAR_PLURALS,
    NOT_ADJECTIVES,
    NOT_NOUNS,
    NOT_VERBS,
    PREPOSITIONS,
    PROPER_NAMES,
    SUPERFLUOUS,
)
from gec.text.inflection import Inflections, regular

Weighted = tuple[tuple[str, ...], tuple[float, ...]]
"""Choices and their cumulative weights."""

_MIN_COUNT = 3
_TAGS = {"VBZ": "+s", "VBD": "+ed", "VBN": "+en", "VBG": "+ing"}
_MISSPELLING_LISTS = (
    ("codespell.tsv.xz", 1.0),
    ("wikipedia_common_misspellings.tsv.xz", 4.0),
    ("client9_misspell.tsv.xz", 0.5),
    ("typos_words.tsv.xz", 0.3),
)
_MIN_SHARE = 0.04


def weighted(counts: Mapping[str, float]) -> Weighted:
    """Return the choices that are drawn in proportion to their counts."""
    return tuple(counts), tuple(accumulate(counts.values()))


def draw(choices: Weighted, rng: random.Random) -> str:
    """Draw one of the choices by weight."""
    words, totals = choices
    return words[min(bisect(totals, rng.random() * totals[-1]), len(words) - 1)]


@dataclass(frozen=True)
class Lexicon:
    """The tables in which the error functions look up words; keys are lower case unless noted."""

    verbs: dict[str, dict[str, str]]
    """base -> marker -> form; every verb has "", "+s", "+ed", "+en" and "+ing"."""
    verb_of: dict[str, tuple[str, str]]
    """form -> (base, marker); a form with several readings has the likeliest one."""
    verbness: dict[str, float]
    """base -> share of its uses as a verb, 0 to 1, guessed from the counts of its forms."""
    plurals: dict[str, str]
    """singular noun -> plural."""
    singulars: dict[str, str]
    """plural noun -> singular."""
    comparisons: dict[str, tuple[str, str]]
    """comparative or superlative -> (adjective, marker)."""
    comparatives: dict[str, dict[str, str]]
    """adjective -> marker -> form."""
    adverbs: dict[str, str]
    """adjective -> adverb in -ly."""
    adjectives: dict[str, str]
    """adverb in -ly -> adjective."""
    confusions: dict[str, Weighted]
    """correct word -> other words that people wrote instead."""
    derivations: dict[str, Weighted]
    """correct word -> words of the same stem that people wrote instead: important -> importance."""
    prepositions: dict[str, Weighted]
    """correct preposition -> words that people wrote instead."""
    misspellings: dict[str, Weighted]
    """correct word -> its known misspellings."""
    missing: dict[str, float]
    """word -> weight with which people leave the word out."""
    extra: Weighted
    """Words that people add where no word belongs."""
    homophones: dict[str, tuple[str, ...]]
    names: frozenset[str]
    """Words with a fixed capital, as written: Monday, English."""
    common: frozenset[str]
    """Ordinary lower-case words."""

    def form(self, base: str, marker: str) -> str:
        """Return the form of a verb, e.g. "went" for "go" and "+ed"; other words stay."""
        forms = self.verbs.get(base)
        return forms[marker] if forms else base

    def is_name(self, word: str) -> bool:
        """Whether a capitalised word keeps its capital anywhere in a sentence."""
        return word[:1].isupper() and (word in self.names or word.lower() not in self.common)

    @classmethod
    def load(cls, lists_dir: Path, inflections: Inflections) -> Lexicon:
        """Read the word lists; the inflection table decides between readings of a form."""
        counts = {word: int(n) for word, n in _rows(lists_dir / "unigrams.tsv.xz", 2)}
        replaces = list(_replaces(lists_dir, counts))
        adverbs = _adverbs(counts)
        common = _common(lists_dir, counts, inflections, adverbs)
        verbs = _verbs(_lines(lists_dir / "verb-form-vocab.txt.xz"), counts)
        verb_of = _verb_readings(verbs, counts, inflections)
        plurals = _plurals(inflections, counts, verbs, common)
        comparisons = {
            form: (base, marker)
            for base, marker, form in inflections.entries()
            if marker in ("+er", "+est")
        }
        comparatives: dict[str, dict[str, str]] = defaultdict(dict)
        for form, (base, marker) in comparisons.items():
            comparatives[base][marker] = form
        stems = _Stems(
            verb_of, plurals, comparisons, dict(sorted(map(sorted, _variants(lists_dir))))
        )
        confusions, derivations, prepositions = _confusions(replaces, stems, common)
        return cls(
            verbs=verbs,
            verb_of=verb_of,
            verbness={base: _verbness(base, forms, counts) for base, forms in verbs.items()},
            plurals=plurals,
            singulars={plural: singular for singular, plural in plurals.items()},
            comparisons=comparisons,
            comparatives=dict(comparatives),
            adverbs=adverbs,
            adjectives={adverb: adjective for adjective, adverb in adverbs.items()},
            confusions=confusions,
            derivations=derivations,
            prepositions=prepositions,
            misspellings=_misspellings(lists_dir, counts),
            missing=_counted(lists_dir / "errorify_common_inserts.tsv.xz"),
            extra=weighted(
                {
                    word: n
                    for word, n in _counted(lists_dir / "errorify_common_deletes.tsv.xz").items()
                    if word in SUPERFLUOUS
                }
            ),
            homophones=_homophones(lists_dir, counts),
            names=PROPER_NAMES,
            common=common,
        )


def _lines(path: Path) -> Iterator[str]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n")


def _rows(path: Path, columns: int) -> Iterator[list[str]]:
    for line in _lines(path):
        fields = line.split("\t")
        if len(fields) >= columns:
            yield fields[:columns]


def _counted(path: Path) -> dict[str, float]:
    """Return the single lower-case words of a count list, with their counts."""
    total: Counter[str] = Counter()
    for word, n in _rows(path, 2):
        if word.isalpha():
            total[word if word == "I" else word.lower()] += int(n)
    return {word: float(n) for word, n in total.items()}


def _variants(lists_dir: Path) -> set[frozenset[str]]:
    """Return the pairs of British and American spellings of one word."""
    pairs = set()
    for line in _lines(lists_dir / "varcon.txt.xz"):
        spellings = re.findall(r": ([a-z]+)(?= |$)", line) if not line.startswith("#") else []
        for left in spellings:
            pairs |= {frozenset((left, right)) for right in spellings if left != right}
    return pairs


def _replaces(lists_dir: Path, counts: Mapping[str, int]) -> Iterator[tuple[str, str, int]]:
    """Yield (correct, written, count) of real words that are not two spellings of one word."""
    variants = _variants(lists_dir)
    for right, wrong, n in _rows(lists_dir / "errorify_common_replaces.tsv.xz", 3):
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


def _common(
    lists_dir: Path,
    counts: Mapping[str, int],
    inflections: Inflections,
    adverbs: Mapping[str, str],
) -> frozenset[str]:
    """Return the words that are written without a capital; the word counts do not tell."""
    upper: Counter[str] = Counter()
    plain: Counter[str] = Counter()
    for right, _, n in _rows(lists_dir / "errorify_common_replaces.tsv.xz", 3):
        (plain if right.islower() else upper)[right.lower()] += int(n)
    common = {word for word, n in plain.items() if 3 * n >= upper[word]}
    for name, _ in _MISSPELLING_LISTS:
        common |= {right for _, right in _rows(lists_dir / name, 2) if right.islower()}
    for line in _lines(lists_dir / "verb-form-vocab.txt.xz"):
        common |= {form for form in line.partition(":")[0].split("_") if form.islower()}
    for base, _, form in inflections.entries():  # names hardly have a plural
        if counts.get(form, 0) > 0.02 * counts.get(base, 0):
            common |= {base, form}
    common |= {*adverbs, *adverbs.values()}
    seen = {word for word in common if word.isalpha() and counts.get(word, 0) >= 5}
    named = {word for word, n in upper.items() if n > 9 * plain[word] and not word.endswith("ly")}
    named |= {name.lower() for name in PROPER_NAMES}
    return frozenset((seen - named) | FUNCTION_WORDS)


def _verbs(lines: Iterable[str], counts: Mapping[str, int]) -> dict[str, dict[str, str]]:
    candidates: dict[str, dict[str, dict[str, int]]] = {}
    for line in lines:
        words, _, tags = line.partition(":")
        base, _, form = words.partition("_")
        left, _, right = tags.partition("_")
        if left != "VB" or right not in _TAGS or not (base + form).isalpha():
            continue
        if not base.islower() or base in NOT_VERBS or counts.get(base, 0) < 3:
            continue
        slots = candidates.setdefault(base, {})
        slots.setdefault(_TAGS[right], {})[form] = counts.get(form, 0)
    verbs = {}
    for base, slots in candidates.items():
        forms = {marker: max(slot, key=lambda f: (slot[f], f)) for marker, slot in slots.items()}
        if counts.get(forms.get("+ing", ""), 0) < 2 and counts.get(forms.get("+ed", ""), 0) < 2:
            continue
        past = forms.get("+ed") or regular(base, "+ed")
        verbs[base] = {
            "": base,
            "+s": forms.get("+s") or regular(base, "+s"),
            "+ed": past,
            "+en": forms.get("+en", past),
            "+ing": forms.get("+ing") or regular(base, "+ing"),
        }
    return verbs


def _verb_readings(
    verbs: Mapping[str, Mapping[str, str]], counts: Mapping[str, int], inflections: Inflections
) -> dict[str, tuple[str, str]]:
    readings: dict[str, tuple[str, str]] = {}
    for base, forms in verbs.items():
        for marker in ("", "+s", "+ed", "+en", "+ing"):
            form = forms[marker]
            rival = readings.get(form)
            if form in FUNCTION_WORDS and form not in ("have", "do"):
                continue
            if rival is None or (rival[0] != base and counts[base] > counts[rival[0]]):
                readings[form] = (base, marker)
    for base, marker, form in inflections.entries():
        if base in verbs and verbs[base].get(marker) == form:
            readings[form] = (base, marker)
    return readings


def _verbness(base: str, forms: Mapping[str, str], counts: Mapping[str, int]) -> float:
    """Return the share of a word's uses as a verb: nouns seldom take -ed and -ing."""
    plain = counts.get(base, 0) + 2 * counts.get(forms["+s"], 0)
    inflected = counts.get(forms["+ing"], 0) + counts.get(forms["+ed"], 0)
    return min(1.0, 1.5 * inflected / (plain + inflected + 1)) if forms["+ed"] != base else 0.8


def _plurals(
    inflections: Inflections,
    counts: Mapping[str, int],
    verbs: Mapping[str, Mapping[str, str]],
    common: Container[str],
) -> dict[str, str]:
    plurals = dict(IRREGULAR_PLURALS)
    irregular = set(IRREGULAR_PLURALS.values())
    for base, marker, form in inflections.entries():
        if marker == "+s" and len(base) > 2 and base not in NOT_NOUNS and form not in irregular:
            plurals.setdefault(base, form)
    for base, n in counts.items():
        if n < 20 or len(base) < 3 or base in NOT_NOUNS or base in plurals or base in irregular:
            continue
        plural = regular(base, "+s")
        fits = base not in verbs or verbs[base]["+s"] == plural
        if fits and not base.endswith("s") and 0.05 * n < counts.get(plural, 0) < 10 * n:
            plurals[base] = plural
    return {
        singular: plural
        for singular, plural in plurals.items()
        if singular in common and singular not in FUNCTION_WORDS and plural not in FUNCTION_WORDS
    }


def _adverbs(counts: Mapping[str, int]) -> dict[str, str]:
    adverbs = {}
    for word, n in counts.items():
        if n < 30 or len(word) < 3 or word in NOT_ADJECTIVES or word.endswith("ly"):
            continue
        if word.endswith("le"):
            adverb = word[:-1] + "y"
        elif word.endswith("ic"):
            adverb = word + "ally"
        else:
            adverb = (word[:-1] + "i" if word.endswith("y") else word) + "ly"
        if counts.get(adverb, 0) >= 15 and adverb not in NOT_ADJECTIVES:
            adverbs[word] = adverb
    return adverbs


@dataclass(frozen=True)
class _Stems:
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


def _confusions(
    replaces: Iterable[tuple[str, str, int]], stems: _Stems, common: Container[str]
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


def _misspellings(lists_dir: Path, counts: Mapping[str, int]) -> dict[str, Weighted]:
    """Return the misspellings that are not words themselves; learners' misspellings weigh most."""
    found: dict[str, dict[str, float]] = defaultdict(dict)

    def add(wrong: str, right: str, weight: float) -> None:
        wrong, right = wrong.lower(), right.lower()
        known = counts.get(right, 0)
        if not wrong.isalpha() or not right.isalpha() or known < 3:
            return
        if wrong != right and counts.get(wrong, 0) * 50 < known:
            found[right][wrong] = found[right].get(wrong, 0.0) + weight

    for name, weight in _MISSPELLING_LISTS:
        for wrong, rights in _rows(lists_dir / name, 2):
            if "," not in rights.rstrip(", "):
                add(wrong, rights.strip(", "), weight)
    for _, _, wrong, kind, right in _rows(lists_dir / "toefl_spell_annotations.tsv.xz", 5):
        if kind == "M":
            add(wrong, right, 10.0)
    for right, wrong, n in _rows(lists_dir / "errorify_common_replaces.tsv.xz", 3):
        if len(right) > 3 and int(n) >= 2 and wrong.lower() not in counts:
            add(wrong, right, 3.0 * int(n))
    return {word: weighted(forms) for word, forms in found.items()}


def _homophones(lists_dir: Path, counts: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Return words that sound alike; nobody writes a rare word for a frequent one by mistake."""
    variants = _variants(lists_dir)
    found: dict[str, set[str]] = defaultdict(set)
    for line in _lines(lists_dir / "homophones_cmudict.tsv.xz"):
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
