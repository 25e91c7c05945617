"""Article and determiner errors."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from gec.models.training.noise.edits import Edit, apply_one, around, drop, is_word, lower, put, swap
from gec.models.training.noise.lexicon import Lexicon
from gec.models.training.noise.tables import (
    ARTICLES,
    AUXILIARIES,
    DO,
    FUNCTION_WORDS,
    MODALS,
    POSSESSIVES,
    PREPOSITIONS,
    PUNCTUATION,
    SUBJECTS,
    UNCOUNTABLE,
    word_set,
)

_SWAPS: dict[str, dict[str, float]] = {
    "a": {"the": 0.1},
    "an": {"a": 0.5, "the": 0.1},
    "the": {"a": 0.08},
    "this": {"these": 0.6},
    "these": {"this": 1.2},
    "that": {"those": 0.1},
    "those": {"that": 0.8},
    "much": {"many": 1.0},
    "many": {"much": 1.2},
    "few": {"little": 0.8},
    "fewer": {"less": 0.8},
    "less": {"fewer": 0.2},
    "some": {"any": 0.2},
    "any": {"some": 0.4},
    "every": {"all": 0.6},
    "all": {"every": 0.3},
    "another": {"other": 1.0},
    "other": {"another": 0.4, "others": 0.3},
    "my": {"me": 0.15},
    "your": {"you": 0.5},
    "his": {"him": 0.2, "her": 0.05},
    "their": {"they": 0.3, "his": 0.05},
    "our": {"us": 0.15},
    "its": {"his": 0.2},
}
_NAMES_WITH_ARTICLE = word_set(
    """english french german spanish italian chinese japanese korean russian america england
    britain france germany spain italy china japan korea russia canada australia india
    mexico europe asia africa london paris tokyo boston christmas monday tuesday wednesday
    thursday friday saturday sunday"""
)
_USUAL_WITHOUT = word_set(
    """school work bed home church english japanese french german chinese life nature society
    people music football tennis soccer baseball breakfast lunch dinner"""
)


def missing(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """I have a dog -> I have dog."""
    return apply_one(words, rng, lexicon, _missing(words, lexicon))


def _missing(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    for i, before, word, after in around(low):
        if not is_word(after):
            continue
        if word in ("a", "an") and words[i] in ("a", "an", "A", "An"):
            yield drop(i, 0.4 if before == "such" else 1.0)
        elif word == "the":
            unsure = after in lexicon.singulars and before not in ("all", "one", "of")
            yield drop(i, 0.35 if unsure else 0.9)
        elif word in POSSESSIVES and i and word != "her":
            yield drop(i, 0.08)


def extra(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """in Japan -> in the Japan; information -> an information; play tennis -> play the tennis."""
    return apply_one(words, rng, lexicon, _extra(words, lexicon))


def _extra(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    for i, before, word, after in around(low):
        if not _opens_noun_phrase(before, i) or not is_word(word) or before in ARTICLES:
            continue
        if word in FUNCTION_WORDS and word not in ("most", "other"):
            continue
        if _verbal(before, word, lexicon):
            continue
        if i and lexicon.is_name(words[i]):
            yield put(i, "the", 0.5 if word in _NAMES_WITH_ARTICLE else 0.05)
        elif word in UNCOUNTABLE:
            yield put(i, "the", 0.4)
            yield put(i, "an" if word[0] in "aeiou" else "a", 0.8)
        elif word in _USUAL_WITHOUT:
            yield put(i, "the", 0.8)
        elif word in lexicon.singulars:
            if before in PREPOSITIONS or lexicon.verb_of.get(word, ("", ""))[1] != "+s":
                yield put(i, "the", 0.3)
                yield put(i, "an" if word[0] in "aeiou" else "a", 0.12)
        elif after in lexicon.singulars and word in lexicon.adverbs:
            yield put(i, "the", 0.2)
            yield put(i, "an" if word[0] in "aeiou" else "a", 0.3)


def _verbal(before: str, word: str, lexicon: Lexicon) -> bool:
    """Whether a word is likely a verb: it follows a subject, "to" or an auxiliary."""
    base, marker = lexicon.verb_of.get(word, ("", ""))
    if not base or marker not in ("", "+s") or lexicon.verbness.get(base, 0) < 0.1:
        return False
    return before == "to" or before in SUBJECTS or before in MODALS or before in DO


def _opens_noun_phrase(before: str, i: int) -> bool:
    if not i:
        return True
    return (
        before in PREPOSITIONS
        or (before in PUNCTUATION and before != "-")
        or (before not in FUNCTION_WORDS or before in AUXILIARIES or before in ("and", "or"))
    )


def wrong(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """an apple -> a apple; these books -> this books; much time -> many time."""
    return apply_one(words, rng, lexicon, _wrong(words, lexicon))


def _wrong(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    for i, _, word, after in around(low):
        if word not in _SWAPS or not _determines(low, i, after, lexicon):
            continue
        if word == "a" and words[i] == "A" and i:
            continue
        for new, weight in _SWAPS[word].items():
            yield swap(i, new, weight)


def _determines(low: Sequence[str], i: int, after: str, lexicon: Lexicon) -> bool:
    """Whether the word at i stands before a noun phrase."""
    if not is_word(after):
        return False
    if low[i] in ARTICLES or low[i] in POSSESSIVES:
        return True
    last = low[i + 2] if i + 2 < len(low) else ""
    noun = after in lexicon.plurals or after in lexicon.singulars or after in UNCOUNTABLE
    return noun or (
        after in lexicon.adverbs and (last in lexicon.plurals or last in lexicon.singulars)
    )


def a_or_an(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """an apple -> a apple; a university -> an university."""
    low = lower(words)
    edits = (
        swap(
            i, "a" if word == "an" else "an", 1.0 if word == "an" or after[:1] in "aeiouh" else 0.1
        )
        for i, _, word, after in around(low)
        if word in ("a", "an") and is_word(after) and (not i or words[i] == word)
    )
    return apply_one(words, rng, lexicon, edits)
