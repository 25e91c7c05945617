"""Preposition errors."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from gec.models.training.noise.edits import Edit, apply_one, around, drop, is_word, lower, put, swap
from gec.models.training.noise.lexicon import Lexicon
from gec.models.training.noise.tables import (
    AUXILIARIES,
    DETERMINERS,
    OBJECTS,
    PREPOSITIONS,
    PUNCTUATION,
    word_set,
)

_DROPPED = {
    "to": 1.0, "in": 0.8, "of": 0.8, "for": 0.8, "at": 0.8, "on": 0.8, "with": 0.5, "about": 0.5,
    "from": 0.4, "by": 0.3, "since": 0.1, "during": 0.1,
}  # fmt: skip
_DIRECT = {
    "discuss": "about", "enter": "into", "marry": "with", "visit": "to", "contact": "with",
    "reach": "to", "attend": "to", "answer": "to", "ask": "to", "call": "to", "tell": "to",
    "lack": "of", "emphasize": "on", "mention": "about", "join": "to", "resemble": "to",
    "affect": "on", "access": "to", "obey": "to", "approach": "to", "request": "for",
    "consider": "about", "explain": "about", "help": "to", "thank": "to", "order": "for",
    "face": "with", "leave": "from", "watch": "at", "influence": "on", "support": "to",
}  # fmt: skip
_NO_PREPOSITION = word_set("home here there abroad downtown upstairs downstairs everywhere")
_MOVES = word_set("go come get return arrive travel drive walk run move study live")
_TIMES = word_set("week month year night time summer winter spring day morning evening afternoon")
_RARE = word_set("as behind near towards until till")


def wrong(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """at home -> in home; depends on -> depends of; by the counts of people's errors."""
    low = lower(words)
    places = [
        i for i in range(len(low)) if low[i] in lexicon.prepositions and _governs(low, i, lexicon)
    ]
    if not places:
        return None
    weights = [0.2 if low[i] in _RARE else 1.0 for i in places]
    i = rng.choices(places, weights)[0]
    choices, totals = lexicon.prepositions[low[i]]
    new = rng.choices(choices, cum_weights=totals)[0]
    return apply_one(words, rng, lexicon, [swap(i, new)])


def _governs(low: Sequence[str], i: int, lexicon: Lexicon) -> bool:
    """Whether the word at i is a preposition before a noun phrase, not "to go" or "as soon as"."""
    after = low[i + 1] if i + 1 < len(low) else ""
    if after in PUNCTUATION:
        return low[i] not in ("as", "since", "before", "after", "to")
    if not is_word(after) and not after[:1].isdigit():
        return False
    if low[i] == "to":
        base, marker = lexicon.verb_of.get(after, ("", "-"))
        if after == "be" or (not marker and lexicon.verbness.get(base, 0) > 0.05):
            return False
    return after not in ("i", "he", "she", "we", "they") and not (low[i] == "as" and i)


def missing(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """listen to music -> listen music."""
    low = lower(words)
    edits = (
        drop(i, _DROPPED[word] * (0.3 if i == 0 else 1.0))
        for i, _, word, after in around(low)
        if word in _DROPPED and is_word(after) and _governs(low, i, lexicon)
    )
    return apply_one(words, rng, lexicon, edits)


def extra(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """go home -> go to home; discuss it -> discuss about it; last week -> in last week."""
    return apply_one(words, rng, lexicon, _extra(words, lexicon))


def _extra(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    for i, before, word, after in around(low):
        if not i or before in PREPOSITIONS:
            continue
        verb = lexicon.verb_of.get(before, ("", ""))[0]
        opens = word in DETERMINERS or word in OBJECTS or lexicon.is_name(words[i])
        plain = word in DETERMINERS and word not in ("that", "what", "which", "enough", "no")
        if word in _NO_PREPOSITION and verb in _MOVES:
            yield put(i, "to" if verb not in ("study", "live") else "in", 2.0)
        elif verb in _DIRECT and opens:
            yield put(i, _DIRECT[verb], 2.0)
        elif word in ("last", "next", "every", "this") and after in _TIMES and before != "the":
            yield put(i, "on" if after in ("day", "morning", "night") else "in", 1.5)
        elif verb and plain and before not in AUXILIARIES and lexicon.verbness[verb] > 0.3:
            for new in ("to", "for", "of", "about", "with"):
                yield put(i, new, 0.03)
