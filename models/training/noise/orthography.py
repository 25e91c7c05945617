"""Case, spacing, hyphen and apostrophe errors, and doubled words."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gec.models.training.noise.edits import Edit, apply_one, around, is_word, lower, put, swap
from gec.models.training.noise.lexicon import Lexicon
from gec.models.training.noise.tables import FUNCTION_WORDS, word_set

_SPLITS = {
    "tomorrow": "to morrow", "today": "to day", "everyone": "every one", "sometimes": "some times",
    "something": "some thing", "everything": "every thing", "anything": "any thing",
    "cannot": "can not", "myself": "my self", "himself": "him self", "themselves": "them selves",
    "without": "with out", "another": "an other", "into": "in to", "maybe": "may be",
    "everybody": "every body", "someone": "some one", "anyone": "any one", "weekend": "week end",
    "however": "how ever", "homework": "home work", "classroom": "class room",
    "nowadays": "now a days", "already": "all ready", "together": "to gether",
    "although": "al though",
    "newspaper": "news paper", "everywhere": "every where", "bedroom": "bed room",
    "football": "foot ball", "birthday": "birth day", "outside": "out side", "inside": "in side",
}  # fmt: skip
_JOINS = {
    ("a", "lot"): "alot", ("every", "day"): "everyday", ("in", "fact"): "infact",
    ("at", "least"): "atleast", ("as", "well"): "aswell", ("each", "other"): "eachother",
    ("in", "front"): "infront", ("of", "course"): "ofcourse", ("may", "be"): "maybe",
    ("no", "one"): "noone", ("high", "school"): "highschool", ("any", "more"): "anymore",
    ("even", "though"): "eventhough", ("some", "times"): "sometimes", ("thank", "you"): "thankyou",
    ("all", "right"): "alright", ("so", "far"): "sofar", ("all", "ready"): "already",
    ("ice", "cream"): "icecream", ("living", "room"): "livingroom", ("good", "night"): "goodnight",
}  # fmt: skip
_AFTER_APOSTROPHE = word_set("'s 'm 're 've 'll 'd n't ’s ’m ’re ’ve ’ll ’d n’t")


def case(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """Monday -> monday; I -> i; lower-case first word; to morrow; alot."""
    return apply_one(words, rng, lexicon, _orthography(words, lexicon), exact_case=True)


def _orthography(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    for i, before, word, after in around(low):
        written = words[i]
        if i == 0 and written[:1].isupper() and is_word(written):
            yield swap(0, word, 0.4)
        elif written == "I":
            yield swap(i, "i", 0.8)
        elif written in lexicon.names:
            yield swap(i, word, 1.5)
        elif written == word and word in lexicon.plurals and len(word) > 3:
            yield swap(i, word.capitalize(), 0.02)
        if word in _SPLITS:
            yield Edit(i, i + 1, tuple(_recase(_SPLITS[word], written).split()), 0.7)
        if (word, after) in _JOINS:
            yield Edit(i, i + 2, (_recase(_JOINS[word, after], written),), 1.0)
        if "-" in word[1:-1] and all(is_word(part) for part in written.split("-")):
            yield Edit(i, i + 1, tuple(written.split("-")), 0.7)
            yield swap(i, written.replace("-", ""), 0.3)
        elif before in lexicon.adverbs and word in lexicon.plurals and after in lexicon.plurals:
            yield Edit(i - 1, i + 1, (words[i - 1] + "-" + words[i],), 0.05)


def _recase(new: str, like: str) -> str:
    return new.capitalize() if like[:1].isupper() else new


def contraction(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """do n't -> dont; I 'm -> Im; only the apostrophe is lost."""
    return apply_one(words, rng, lexicon, _contraction(words), exact_case=True)


def _contraction(words: list[str]) -> Iterator[Edit]:
    for i, word in enumerate(words):
        if word.lower() not in _AFTER_APOSTROPHE or not i or not is_word(words[i - 1]):
            continue
        before, bare = words[i - 1], word.replace("'", "").replace("’", "")
        if bare.lower() in ("s", "d") and before.lower() not in _CONTRACTING:
            continue
        weight = (
            0.5
            if before.lower() in ("it", "she", "we", "he", "i") and bare in ("ll", "d", "s")
            else 1.0
        )
        yield Edit(i - 1, i + 1, (before + bare,), weight)


_CONTRACTING = word_set("he she it that what there who where let here how")


def doubled(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """the -> the the."""
    low = lower(words)
    edits = (
        put(i + 1, word, 1.0 if word in FUNCTION_WORDS else 0.1)
        for i, _, word, after in around(low)
        if is_word(word) and word not in ("that", "had") and word != after
        and (words[i] == word or (word in FUNCTION_WORDS and word != "i"))
    )  # fmt: skip
    return apply_one(words, rng, lexicon, edits, exact_case=True)
