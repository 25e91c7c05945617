"""Adjective and adverb errors."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gec.models.training.noise.edits import Edit, apply_one, around, lower, swap
from gec.models.training.noise.lexicon import Lexicon
from gec.models.training.noise.tables import BE, DETERMINERS, word_set

_PARTICIPLES = word_set(
    """interest bore excite surprise tire disappoint confuse frighten amaze frustrate embarrass
    annoy shock satisfy relax fascinate depress"""
)
_BEFORE_DEGREE = word_set("the is are was")
_KEPT = word_set(
    "dead just able ready personal sick great sure new glad old cool cold hot warm kind nice sorry"
)
_SENSES = word_set("feel feels felt look looks looked seem seems seemed sound sounds smells tastes")
_BEFORE_IDIOMS = word_set("at do had n't 'd no any sooner")
_DEGREES = word_set("very so too really quite more most")


def adjective(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """is beautiful -> is beautifully; I am interested -> I am interesting."""
    return apply_one(words, rng, lexicon, _adjective(words, lexicon))


def _adjective(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    for i, before, word, after in around(low):
        base, marker = lexicon.verb_of.get(word, ("", ""))
        if base in _PARTICIPLES and marker in ("+ed", "+ing"):
            if before in BE or before in _DEGREES or before in _SENSES:
                yield swap(i, lexicon.form(base, "+ing" if marker == "+ed" else "+ed"), 2.0)
            continue
        if (word not in lexicon.adverbs and word != "good") or word in _KEPT or after == "of":
            continue
        attribute = before in DETERMINERS and after in lexicon.plurals
        if before in BE or before in _SENSES or before in _DEGREES or attribute:
            yield swap(
                i, "well" if word == "good" else lexicon.adverbs[word], 0.1 if attribute else 0.8
            )


def adverb(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """speaks well -> speaks good; runs quickly -> runs quick."""
    return apply_one(words, rng, lexicon, _adverb(words, lexicon))


def _adverb(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    for i, before, word, after in around(lower(words)):
        if not i:
            continue
        if word == "well" and before not in ("as", ",") and before not in BE and after != "as":
            yield swap(i, "good")
        elif word in lexicon.adjectives:
            yield swap(i, lexicon.adjectives[word])


def comparison(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """taller -> more tall, more taller; the tallest -> the most tall, the taller."""
    return apply_one(words, rng, lexicon, _comparison(words, lexicon))


def _comparison(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    for i, before, word, after in around(lower(words)):
        if word in lexicon.comparisons and before not in _BEFORE_IDIOMS:
            if word in ("later", "stranger") or after == "off":
                continue
            base, marker = lexicon.comparisons[word]
            degree, other = ("more", "+est") if marker == "+er" else ("most", "+er")
            yield Edit(i, i + 1, (degree, word), 0.8)
            if word not in ("better", "best", "worse", "worst"):
                yield Edit(i, i + 1, (degree, base), 1.0)
            yield swap(i, lexicon.comparatives[base].get(other, word), 0.4)
            if after == "than":
                yield swap(i, base, 0.7)
            if base in ("good", "bad"):
                yield swap(i, base + ("er" if marker == "+er" else "est"), 0.2)
        elif word in ("more", "most") and before in _BEFORE_DEGREE and after in lexicon.adverbs:
            yield swap(i, "most" if word == "more" else "more", 0.4)
