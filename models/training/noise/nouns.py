"""Noun errors: number, irregular plurals, possessives."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from gec.models.training.noise.edits import Edit, apply_one, around, drop, is_word, lower, swap
from gec.models.training.noise.lexicon import Lexicon
from gec.models.training.noise.tables import (
    ARTICLES,
    DETERMINERS,
    FUNCTION_WORDS,
    IRREGULAR_PLURALS,
    PLURAL_DETERMINERS,
    POSSESSIVES,
    PREPOSITIONS,
    SINGULAR_DETERMINERS,
    UNCHANGED_PLURALS,
    UNCOUNTABLE,
    word_set,
)
from gec.text.inflection import regular

_UNCUED = 0.2
_PLURAL_VERBS = word_set("are were have do")
_SINGULAR_VERBS = word_set("is was has does")
_DOUBLE_PLURALS = {p: p + "s" for p in IRREGULAR_PLURALS.values() if not p.endswith("s")}


def number(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """two books -> two book; a book -> a books; information -> informations."""
    return apply_one(words, rng, lexicon, _number(words, lexicon))


def _number(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    for i, before, word, after in around(low):
        if words[i] != word and (i or lexicon.is_name(words[i])):
            continue
        if word in UNCOUNTABLE:
            if _nominal(low, i, lexicon) and not word.endswith("s"):
                yield swap(i, regular(word, "+s"), 0.8)
        elif word in lexicon.singulars and word != "people":
            if before not in ("he", "she", "it") and _nominal(low, i, lexicon):
                cued = _plural_cue(low, i) or after in _PLURAL_VERBS
                yield swap(i, lexicon.singulars[word], 1.0 if cued else _UNCUED)
        elif i and word in lexicon.plurals and after not in lexicon.plurals:
            near = before in DETERMINERS or after in _SINGULAR_VERBS
            weight = 0.7 if _singular_cue(low, i) else _UNCUED / 2 if near else _UNCUED / 6
            if _nominal(low, i, lexicon):
                yield swap(i, lexicon.plurals[word], weight)


def _nominal(low: Sequence[str], i: int, lexicon: Lexicon) -> bool:
    """Whether the word at i is used as a noun: after a determiner, number or adjective."""
    word = low[i]
    before = low[i - 1] if i else ""
    base = lexicon.verb_of.get(word, ("", ""))[0]
    if before in DETERMINERS or before.isdigit():
        return True
    if base and lexicon.verbness.get(base, 0) > 0.15:
        return False
    return before not in FUNCTION_WORDS or before in PREPOSITIONS


def _plural_cue(low: Sequence[str], i: int) -> bool:
    """Whether a number or plural determiner stands within three words before i, or "one of"."""
    for j in range(i - 1, max(i - 4, -1), -1):
        if low[j] in PLURAL_DETERMINERS or (low[j].isdigit() and low[j] != "1"):
            return True
        if low[j] == "of":
            return j > 0 and low[j - 1] in ("one", "some", "many", "most", "kinds", "lot", "lots")
        if low[j] in SINGULAR_DETERMINERS:
            return False
    return False


def _singular_cue(low: Sequence[str], i: int) -> bool:
    return any(low[j] in SINGULAR_DETERMINERS for j in range(max(i - 2, 0), i))


def inflection(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """children -> childs, childrens; knives -> knifes; countries -> countrys; sheep -> sheeps."""
    return apply_one(words, rng, lexicon, _inflection(words, lexicon))


def _inflection(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    for i, word in enumerate(low):
        if word in UNCHANGED_PLURALS and (not i or low[i - 1] not in ("to", "i", "we")):
            yield swap(i, word if word.endswith("s") else regular(word, "+s"))
        if word in _DOUBLE_PLURALS and word != "people":
            yield swap(i, _DOUBLE_PLURALS[word])
        singular = lexicon.singulars.get(word)
        if not singular or singular == "person" or not _nominal(low, i, lexicon):
            continue
        if word in IRREGULAR_PLURALS.values():
            yield swap(i, regular(singular, "+s"))
        if word.endswith("es") and word != singular + "s":
            yield swap(i, singular + ("s" if not singular.endswith("s") else ""), 0.7)
        elif word.endswith("s") and singular.endswith(("o", "y", "h")):
            yield swap(i, singular + "es", 0.05)


def possessive(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """Tom 's book -> Tom book, Toms book."""
    return apply_one(words, rng, lexicon, _possessive(words, lexicon))


def _possessive(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    for i, before, word, after in around(low):
        if not before or before in FUNCTION_WORDS or not is_word(before) or not is_word(after):
            continue
        if word in ("'s", "’s") and _owned(words, low, i + 1, lexicon):
            yield drop(i, 0.8)
            yield Edit(i - 1, i + 1, (words[i - 1] + "s",), 1.0)
        elif word in ("'", "’") and before in lexicon.singulars and after in lexicon.plurals:
            yield drop(i)
            yield Edit(i - 1, i + 1, (lexicon.singulars[before], "'s"), 0.4)


def _owned(words: Sequence[str], low: Sequence[str], i: int, lexicon: Lexicon) -> bool:
    """Whether a noun phrase starts at i, so that 's before it does not mean "is" or "has"."""
    word = low[i]
    if word in FUNCTION_WORDS or word in ARTICLES or word in POSSESSIVES or word.endswith("ing"):
        return False
    if lexicon.verb_of.get(word, ("", ""))[1] in ("+ed", "+en"):
        return False
    return word in lexicon.plurals or word in lexicon.singulars or word in UNCOUNTABLE
