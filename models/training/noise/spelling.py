"""Spelling errors: known misspellings, else slips of finger, ear and doubling."""

from __future__ import annotations

import random
from collections.abc import Callable

from gec.models.training.noise.choices import draw
from gec.models.training.noise.edits import apply_one, is_word, swap
from gec.models.training.noise.lexicon import Lexicon

_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEAR = {
    key: row[max(i - 1, 0) : i] + row[i + 1 : i + 2]
    for row in _KEYBOARD
    for i, key in enumerate(row)
}
_SOUNDS = (
    ("ie", "ei"), ("ei", "ie"), ("ph", "f"), ("tion", "sion"), ("ance", "ence"), ("ence", "ance"),
    ("ent", "ant"), ("ant", "ent"), ("able", "ible"), ("ible", "able"), ("ough", "ogh"),
    ("ight", "igth"), ("ck", "k"), ("qu", "q"), ("ea", "ee"), ("ee", "ea"), ("ou", "o"),
    ("wh", "w"), ("kn", "n"), ("er", "ar"), ("ary", "ery"), ("or", "er"), ("i", "e"), ("e", "i"),
    ("a", "e"), ("s", "c"), ("c", "s"), ("c", "k"), ("v", "b"), ("l", "r"), ("r", "l"), ("y", "i"),
    ("ful", "full"), ("ely", "ly"), ("ally", "aly"), ("u", "o"), ("ai", "a"), ("au", "a"),
)  # fmt: skip
_DOUBLES = frozenset("bdfglmnprst")


def spelling(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """because -> becuase; in words of four letters and more that are not names."""
    places = [
        (i, word.lower())
        for i, word in enumerate(words)
        if len(word) > 3 and is_word(word) and word.isascii() and word.lower() in lexicon.common
        and word not in lexicon.names
    ]  # fmt: skip
    if not places:
        return None
    weights = [len(word) * (2.0 if word in lexicon.misspellings else 1.0) for _, word in places]
    i, word = rng.choices(places, weights)[0]
    if word in lexicon.misspellings and rng.random() < 0.75:
        new = draw(lexicon.misspellings[word], rng)
    else:
        new = misspell(word, rng)
    if new == word or new in lexicon.common:
        return None
    return apply_one(words, rng, lexicon, [swap(i, new)])


def misspell(word: str, rng: random.Random) -> str:
    """Make one slip in a lower-case word; return the word itself if the slip finds no place."""
    slips: tuple[Callable[[str, random.Random], str], ...] = (_sound, _doubling, _drop, _swap, _key)
    return rng.choices(slips, (4, 3, 2, 2, 1))[0](word, rng)


def _sound(word: str, rng: random.Random) -> str:
    found = [(old, new) for old, new in _SOUNDS if old in word[1:]]
    if not found:
        return word
    old, new = rng.choices(found, [len(old) ** 2 for old, _ in found])[0]
    at = word.index(old, 1)
    return word[:at] + new + word[at + len(old) :]


def _doubling(word: str, rng: random.Random) -> str:
    pairs = [i for i in range(1, len(word)) if word[i] == word[i - 1]]
    if pairs:
        i = rng.choice(pairs)
        return word[:i] + word[i + 1 :]
    singles = [i for i in range(1, len(word) - 1) if word[i] in _DOUBLES]
    if not singles:
        return word
    i = rng.choice(singles)
    return word[:i] + word[i] + word[i:]


def _drop(word: str, rng: random.Random) -> str:
    i = rng.randrange(1, len(word))
    return word[:i] + word[i + 1 :]


def _swap(word: str, rng: random.Random) -> str:
    i = rng.randrange(1, len(word) - 1)
    return word[:i] + word[i + 1] + word[i] + word[i + 2 :]


def _key(word: str, rng: random.Random) -> str:
    i = rng.randrange(1, len(word))
    return word[:i] + rng.choice(_NEAR.get(word[i], word[i])) + word[i + 1 :]
