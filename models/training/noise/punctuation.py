"""Punctuation errors, among them sentences run together."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gec.models.training.noise.edits import Edit, apply_one, around, drop, is_word, lower, put, swap
from gec.models.training.noise.lexicon import Lexicon
from gec.models.training.noise.tables import (
    AUXILIARIES,
    CONJUNCTIONS,
    FUNCTION_WORDS,
    QUESTION_WORDS,
)

_END = frozenset(".?!")


def missing(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """Drop a comma or the final full stop."""
    last = len(words) - 1
    edits = (
        drop(i, 1.0 if word == "," else 0.2)
        for i, word in enumerate(words)
        if (word == "," and 0 < i < last) or (word in ".?" and i == last and last)
    )
    return apply_one(words, rng, lexicon, edits)


def extra(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """Put a comma before a conjunction, after a subject or after an opening word."""
    return apply_one(words, rng, lexicon, _extra(words, lexicon))


def _extra(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    for i, before, word, after in around(lower(words)):
        if not i or not is_word(before) or not is_word(word) or not after:
            continue
        if word in ("that", "because", "if", "when", "than", "who"):
            yield put(i, ",", 1.0)
        elif word in ("and", "or"):
            yield put(i, ",", 0.5)
        elif before in ("and", "but", "because", "so", "although", "then"):
            yield put(i, ",", 0.4)
        elif before in lexicon.plurals and (word in AUXILIARIES or word in ("in", "for", "to")):
            yield put(i, ",", 0.3)


def wrong(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """Where are you? -> Where are you.; It rained. We left. -> It rained, we left."""
    return apply_one(words, rng, lexicon, _wrong(words, lexicon), exact_case=True)


def _wrong(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    last = len(words) - 1
    low = lower(words)
    for i, word in enumerate(words):
        if i == last and not i:
            return
        if i == last:
            if word == "?":
                yield swap(i, ".", 0.8)
            elif word == ".":
                yield swap(i, ",", 0.04)
                yield swap(i, "?", 0.1 if low[0] in QUESTION_WORDS else 0.02)
        elif word == "." and is_word(words[i + 1]):
            after = words[i + 1]
            joined = after if lexicon.is_name(after) or after == "I" else after.lower()
            yield Edit(i, i + 2, (",", joined), 1.5)
            yield Edit(i, i + 2, (joined,), 0.7)
        elif word == "," and low[i + 1] in FUNCTION_WORDS and low[i + 1] in CONJUNCTIONS:
            yield Edit(i, i + 2, (".", words[i + 1].capitalize()), 0.4)
        elif word == ";":
            yield swap(i, ",", 1.0)
        elif word == ":":
            yield swap(i, ";", 0.3)
