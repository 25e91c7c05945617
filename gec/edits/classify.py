"""Classify edits: ERRANT's types by closed word lists and suffixes, without a tagger."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gec.edits.messages import describe
from gec.edits.typography import blanks_before
from gec.edits.wordlists import (
    AUXILIARIES,
    HELPERS,
    SUFFIXES,
    VERBS,
    WITH_IS,
    is_clitic,
    is_punctuation,
    letters,
    readings,
    same_lemma,
    similarity,
    word_class,
)


def classify(
    original: Sequence[str], replacement: Sequence[str], misspelt: Collection[str] = ()
) -> tuple[str, str]:
    """Return an ERRANT-like type and a message in plain English for one edit's words.

    This is the light version, which needs no tagger: it knows closed word lists and suffixes, and
    sees one edit alone. The exact classifier is ERRANT's, in ``gec.eval``. What only the sentence
    could tell is guessed: a lost or added final s is R:VERB:SVA for some 130 frequent verbs and
    R:NOUN:NUM for the rest; "to" is a preposition; an unknown word that replaces a similar one
    is R:SPELL, and so is one word for one of ``misspelt``, whatever the two look like. Raises
    ValueError if both sides are empty.
    """
    kind = kind_of(original, replacement, misspelt)
    return kind, describe(_shown(original), _shown(replacement), kind)


def kind_of(
    original: Sequence[str], replacement: Sequence[str], misspelt: Collection[str] = ()
) -> str:
    """Return the type alone; raises ValueError if both sides are empty."""
    if not original and not replacement:
        raise ValueError("an edit without words has no type")
    old, new = [w.lower() for w in original], [w.lower() for w in replacement]
    if len(old) == len(new) == 1 and original[0] in misspelt:
        return "R:SPELL"
    if old and new:
        return "R:" + _replaced(old, new)
    return ("U:" if old else "M:") + _category(old or new)


def _category(words: Sequence[str]) -> str:
    """Return the category that all of some inserted or deleted words share."""
    if all(map(is_punctuation, words)):
        return "PUNCT"
    if len(words) == 1 and words[0] == "'s":
        return "NOUN:POSS"
    names = {word_class(word) for word in words}
    return (names.pop() if len(names) == 1 else "") or "OTHER"


def _replaced(old: list[str], new: list[str]) -> str:
    if "".join(old).replace("-", "") == "".join(new).replace("-", ""):
        return "ORTH"
    if all(map(is_punctuation, old)) and all(map(is_punctuation, new)):
        return "PUNCT"
    if letters(old) == letters(new):
        if "'s" in old + new and not {*old, *new} & WITH_IS:
            return "NOUN:POSS"
        return "CONTR" if any(map(is_clitic, new)) else "PUNCT"
    if sorted(old) == sorted(new):
        return "WO"
    if len(old) == len(new) == 1:
        return _replaced_word(old[0], new[0])
    if old[-1] == new[-1]:  # Cat -> The cat
        return kind_of(old[:-1], new[:-1])[2:]
    if "'s" in old + new and same_lemma(old[0], new[0]):
        return "NOUN:POSS"
    bare = [[word for word in words if word not in HELPERS] for words in (old, new)]
    if all(len(words) <= 1 for words in bare) and (
        not any(bare) or (all(bare) and same_lemma(bare[0][0], bare[1][0]))
    ):
        if {"more", "most"} & {*old, *new}:
            return "ADJ:FORM"
        return "VERB:FORM" if "to" in old + new else "VERB:TENSE"
    category = _category(old)
    return category if category == _category(new) else "OTHER"


def _replaced_word(old: str, new: str) -> str:
    if old in AUXILIARIES and new in AUXILIARIES:
        (lemma, tense), (other, later) = AUXILIARIES[old], AUXILIARIES[new]
        if lemma != other or {tense, later} == {"present", "past"}:
            return "VERB:TENSE"
        return "VERB:SVA" if tense == later else "VERB:FORM"
    if (category := word_class(old)) and category == word_class(new):
        return category
    if inflected := _inflected(old, new):
        return inflected
    if word_class(old) and word_class(new):
        return "OTHER"
    heads = range(3, min(len(old), len(new)) + 1)
    if any(old[:n] == new[:n] and old[n:] in SUFFIXES and new[n:] in SUFFIXES for n in heads):
        return "MORPH"
    return "SPELL" if similarity(old, new) >= 0.5 and min(len(old), len(new)) > 2 else "OTHER"


def _inflected(old: str, new: str) -> str:
    """Return the category of a change from one form of a word to another; empty if it is none."""
    shared = {
        (base, frozenset((form, other)))
        for base, form in readings(old)
        for other_base, other in readings(new)
        if base == other_base
    }
    for base, forms in sorted(shared, key=lambda pair: (-len(pair[0]), sorted(pair[1]))):
        plain = {form.lower() for form in forms}
        if forms == plain and len(forms) == 1:
            continue  # studing, studying: a misspelt ending
        if plain == {"s"} or "S" in forms:
            return "NOUN:NUM" if "base" in forms else "NOUN:INFL"
        if plain == {"ed"} or (plain == {"ed", "en"} and "ed" in forms):
            return "VERB:INFL"
        if plain == {"base", "s"}:
            return "VERB:SVA" if base in VERBS else "NOUN:NUM"
        if plain & {"er", "est"}:
            return "MORPH" if base in VERBS else "ADJ:FORM"
        if "ing" in plain or "en" in plain:
            return "VERB:FORM"
        return "VERB:TENSE"
    return ""


def _shown(words: Sequence[str]) -> str:
    return "".join(
        " " * blank + word for word, blank in zip(words, blanks_before(words), strict=False)
    )
