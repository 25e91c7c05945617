"""Pronoun errors."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gec.models.training.noise.edits import Edit, apply_one, around, drop, is_word, lower, put, swap
from gec.models.training.noise.lexicon import Lexicon
from gec.models.training.noise.tables import (
    AUXILIARIES,
    PERSONS,
    PREPOSITIONS,
    PUNCTUATION,
    SUBJECTS,
    word_set,
)

_SWAPS: dict[str, dict[str, float]] = {
    "i": {"me": 0.03}, "he": {"him": 0.1}, "she": {"her": 0.1}, "we": {"us": 0.06},
    "they": {"them": 0.15, "it": 0.05}, "me": {"I": 0.3, "my": 0.05}, "him": {"he": 0.4},
    "us": {"we": 0.4}, "them": {"they": 0.5, "it": 0.3}, "it": {"its": 0.03, "they": 0.03},
    "who": {"which": 0.7, "whom": 0.1},
    "which": {"who": 0.2}, "whose": {"who": 0.6, "which": 0.2}, "whom": {"who": 0.1},
    "mine": {"my": 0.8}, "yours": {"your": 0.8}, "ours": {"our": 0.8}, "theirs": {"their": 0.8},
    "himself": {"hisself": 0.3, "him": 0.4}, "themselves": {"themself": 0.4, "them": 0.4,
    "theirselves": 0.2}, "myself": {"me": 0.4}, "herself": {"her": 0.3},
    "ourselves": {"ourself": 0.5, "us": 0.3}, "yourself": {"you": 0.2},
}  # fmt: skip
_JOINTS = word_set("because when if that so and but although while")
_DUMMY = word_set("is was will 's would seems rains takes looks")


def wrong(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """with him -> with he; the man who -> the man which."""
    return apply_one(words, rng, lexicon, _wrong(words))


def _wrong(words: list[str]) -> Iterator[Edit]:
    for i, before, word, after in around(lower(words)):
        if after.startswith("'") or word not in _SWAPS or (word == "which" and before != ","):
            continue
        if word == "i" and words[i] != "I":
            continue
        if word == "who" and (not i or before in PUNCTUATION):
            continue
        for new, weight in _SWAPS[word].items():
            yield swap(i, new, weight)


def missing(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """It is raining -> Is raining; I like it -> I like."""
    return apply_one(words, rng, lexicon, _missing(words, lexicon))


def _missing(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    for i, before, word, after in around(low):
        if word == "it" and after in _DUMMY and not after.startswith("'"):
            yield drop(i, 1.0)
        elif word in ("it", "them", "me", "him") and before in lexicon.verb_of:
            if after in PUNCTUATION or after in PREPOSITIONS:
                yield drop(i, 0.7 if word in ("it", "them") else 0.2)
        elif word in SUBJECTS and before in _JOINTS and low[0] != word:
            if after in AUXILIARIES and not after.startswith("'"):
                yield drop(i, 0.3)
        elif word in ("who", "which", "that") and before in lexicon.plurals:
            marker = lexicon.verb_of.get(after, ("", ""))[1]
            yield drop(i, 0.5 if after in AUXILIARIES or marker in ("+s", "+ed") else 0.0)


def extra(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """Tom went -> Tom he went; the book that I bought -> the book that I bought it."""
    return apply_one(words, rng, lexicon, _extra(words, lexicon))


def _extra(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    for i, before, word, after in around(low):
        finite = word in AUXILIARIES or lexicon.verb_of.get(word, ("", ""))[1] in ("+s", "+ed")
        if not i or not finite or not is_word(word):
            continue
        if i > 1 and low[i - 2] == "the" and before in lexicon.singulars:
            yield put(i, "they", 0.5)
        elif i > 1 and low[i - 2] in ("the", "this", "my") and before in lexicon.plurals:
            if before in PERSONS:
                yield put(i, "he", 0.25)
                yield put(i, "she", 0.25)
            else:
                yield put(i, "it", 0.4)
        elif i == 1 and lexicon.is_name(words[0]):
            yield put(i, "he", 0.1)
            yield put(i, "she", 0.1)
        if (
            i > 2
            and before in SUBJECTS
            and low[i - 2] in ("that", "which")
            and after in PUNCTUATION
        ):
            yield put(i + 1, "it", 1.5)
