"""Words and their forms: verbs, plurals, adverbs, and which words are ordinary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from pathlib import Path

from gec.models.training.noise.lists import MISSPELLING_LISTS, read_lines, read_rows
from gec.models.training.noise.tables import (
    FUNCTION_WORDS,
    IRREGULAR_PLURALS,
    NOT_ADJECTIVES,
    NOT_NOUNS,
    NOT_VERBS,
    PROPER_NAMES,
)
from gec.text.inflection import Inflections, regular

_TAGS = {"VBZ": "+s", "VBD": "+ed", "VBN": "+en", "VBG": "+ing"}


def common_words(
    lists_dir: Path,
    counts: Mapping[str, int],
    inflections: Inflections,
    adverbs: Mapping[str, str],
) -> frozenset[str]:
    """Return the words that are written without a capital; the word counts do not tell."""
    upper: Counter[str] = Counter()
    plain: Counter[str] = Counter()
    for right, _, n in read_rows(lists_dir / "errorify_common_replaces.tsv.xz", 3):
        (plain if right.islower() else upper)[right.lower()] += int(n)
    common = {word for word, n in plain.items() if 3 * n >= upper[word]}
    for name, _ in MISSPELLING_LISTS:
        common |= {right for _, right in read_rows(lists_dir / name, 2) if right.islower()}
    for line in read_lines(lists_dir / "verb-form-vocab.txt.xz"):
        common |= {form for form in line.partition(":")[0].split("_") if form.islower()}
    for base, _, form in inflections.entries():  # names hardly have a plural
        if counts.get(form, 0) > 0.02 * counts.get(base, 0):
            common |= {base, form}
    common |= {*adverbs, *adverbs.values()}
    seen = {word for word in common if word.isalpha() and counts.get(word, 0) >= 5}
    named = {word for word, n in upper.items() if n > 9 * plain[word] and not word.endswith("ly")}
    named |= {name.lower() for name in PROPER_NAMES}
    return frozenset((seen - named) | FUNCTION_WORDS)


def verbs_of(lines: Iterable[str], counts: Mapping[str, int]) -> dict[str, dict[str, str]]:
    """Return base -> marker -> form of the verbs that occur; the most frequent form wins."""
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


def verb_readings(
    verbs: Mapping[str, Mapping[str, str]], counts: Mapping[str, int], inflections: Inflections
) -> dict[str, tuple[str, str]]:
    """Return form -> (base, marker); the inflection table decides, else the more frequent verb."""
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


def verbness_of(base: str, forms: Mapping[str, str], counts: Mapping[str, int]) -> float:
    """Return the share of a word's uses as a verb: nouns seldom take -ed and -ing."""
    plain = counts.get(base, 0) + 2 * counts.get(forms["+s"], 0)
    inflected = counts.get(forms["+ing"], 0) + counts.get(forms["+ed"], 0)
    return min(1.0, 1.5 * inflected / (plain + inflected + 1)) if forms["+ed"] != base else 0.8


def plurals_of(
    inflections: Inflections,
    counts: Mapping[str, int],
    verbs: Mapping[str, Mapping[str, str]],
    common: Container[str],
) -> dict[str, str]:
    """Return singular -> plural of the ordinary nouns."""
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


def adverbs_of(counts: Mapping[str, int]) -> dict[str, str]:
    """Return adjective -> adverb in -ly of those that occur often enough."""
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
