"""Word errors: confusables, derived forms, missing and superfluous words, word order."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from gec.models.training.noise.choices import draw
from gec.models.training.noise.edits import Edit, apply_one, around, drop, is_word, lower, put, swap
from gec.models.training.noise.lexicon import Lexicon
from gec.models.training.noise.tables import (
    ARTICLES,
    AUXILIARIES,
    CONJUNCTIONS,
    DETERMINERS,
    MID_ADVERBS,
    PREPOSITIONS,
    PUNCTUATION,
    QUESTION_WORDS,
    SUBJECTS,
    word_set,
)

_CONFUSABLES: dict[str, dict[str, float]] = {
    "than": {"then": 2.0}, "then": {"than": 0.8}, "their": {"there": 1.5}, "there": {"their": 1.0},
    "its": {"it 's": 2.0}, "your": {"you 're": 1.0}, "whose": {"who 's": 1.5},
    "too": {"to": 1.5}, "to": {"too": 0.1}, "two": {"to": 0.2},
    "lose": {"loose": 2.0}, "loose": {"lose": 1.0}, "affect": {"effect": 1.5},
    "effect": {"affect": 1.5}, "accept": {"except": 1.0}, "advice": {"advise": 1.5},
    "advise": {"advice": 1.5}, "quite": {"quiet": 1.0}, "quiet": {"quite": 1.0},
    "weather": {"whether": 0.7}, "whether": {"weather": 1.0}, "where": {"were": 0.7},
    "were": {"where": 0.4}, "of": {"off": 0.1}, "off": {"of": 0.5},
    "know": {"now": 0.3}, "knew": {"new": 0.5}, "new": {"knew": 0.2}, "here": {"hear": 0.4},
    "hear": {"here": 1.0}, "passed": {"past": 1.0}, "past": {"passed": 0.7},
    "peace": {"piece": 0.7}, "piece": {"peace": 0.7}, "live": {"life": 0.8, "leave": 0.4},
    "life": {"live": 1.0}, "leave": {"live": 0.6}, "believe": {"belief": 0.7},
    "choose": {"chose": 0.8}, "chose": {"choose": 0.6}, "breathe": {"breath": 1.0},
    "though": {"thought": 0.4}, "thought": {"though": 0.5}, "through": {"thought": 0.2},
    "say": {"tell": 0.5}, "said": {"told": 0.6}, "told": {"said": 1.0}, "tell": {"say": 0.8},
    "make": {"do": 0.7}, "made": {"did": 0.4}, "fun": {"funny": 0.5},
    "principal": {"principle": 1.0}, "principle": {"principal": 1.0},
    "could": {"can": 0.2}, "would": {"will": 0.2}, "success": {"succeed": 0.7},
    "succeed": {"success": 1.0}, "lend": {"borrow": 0.8}, "borrow": {"lend": 0.8},
    "rise": {"raise": 0.6}, "raise": {"rise": 0.6}, "desert": {"dessert": 0.5},
    "during": {"while": 0.5}, "while": {"during": 0.3}, "ago": {"before": 0.7},
    "what": {"which": 0.05, "that": 0.05}, "how": {"what": 0.1},
    "people": {"peoples": 0.2}, "remember": {"remind": 0.4},
    "died": {"dead": 0.8}, "dead": {"died": 0.6}, "teach": {"learn": 0.4},
}  # fmt: skip
_SHORT_FORMS = {
    ("it", "'s"): "its",
    ("you", "'re"): "your",
    ("they", "'re"): "their",
    ("who", "'s"): "whose",
}


def confusable(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """than -> then; it 's -> its; and other words that people often confuse."""
    return apply_one(words, rng, lexicon, _confusable(words, rng, lexicon))


def _confusable(words: list[str], rng: random.Random, lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    for i, _, word, after in around(low):
        if i and words[i] != word:
            continue
        for new, weight in _CONFUSABLES.get(word, {}).items():
            if not (word == "to" and after == "'s") and after != "'s" and after != "'re":
                yield Edit(i, i + 1, tuple(new.split()), weight)
        if (word, after) in _SHORT_FORMS:
            yield Edit(i, i + 2, (_SHORT_FORMS[word, after],), 1.5)
        if word in ("would", "could", "should", "must", "might") and after == "have":
            yield swap(i + 1, "of", 0.7)
        if word in lexicon.confusions and word not in AUXILIARIES:
            yield swap(i, draw(lexicon.confusions[word], rng), 0.25)
        for new in lexicon.homophones.get(word, ()):
            yield swap(i, new, 0.15)
        if word == "much" and lexicon.comparisons.get(after, ("", ""))[1] == "+er":
            yield swap(i, "very", 1.0)


def derived(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """important -> importance; success -> successful: the right stem, the wrong word class."""
    edits = (
        swap(i, draw(lexicon.derivations[word], rng))
        for i, word in enumerate(lower(words))
        if word in lexicon.derivations and (words[i] == word or not i)
    )
    return apply_one(words, rng, lexicon, edits)


def missing(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """Leave out a function word, with the frequency with which people do."""
    low = lower(words)
    edits = (
        drop(i, lexicon.missing[word] / 4000)
        for i, _, word, after in around(low)
        if word in _MISSING and word in lexicon.missing and is_word(after)
    )
    return apply_one(words, rng, lexicon, edits)


_MISSING = word_set(
    "and or but because although if when until than as to there will would up out what so"
)


def extra(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """Put in a function word that does not belong there."""
    low = lower(words)
    edits = list(_doubly(low))
    places = [i for i in range(1, len(words)) if is_word(low[i]) and is_word(low[i - 1])]
    if places:
        i, new = rng.choice(places), draw(lexicon.extra, rng)
        if new not in (low[i], low[i - 1]) and low[i] not in lexicon.verb_of:
            edits.append(put(i, new, 0.0 if low[i] in SUBJECTS or low[i] in DETERMINERS else 0.1))
    return apply_one(words, rng, lexicon, edits)


def _doubly(low: Sequence[str]) -> Iterator[Edit]:
    """Although ..., but ...; many of people; I very like it; I know that what it is."""
    for i, before, word, after in around(low):
        if before == "," and word in SUBJECTS and low[0] in ("although", "though", "because", "if"):
            yield put(i, {"because": "so", "if": "then"}.get(low[0], "but"), 1.0)
        elif word in ("like", "love", "hate", "want", "enjoy") and before in SUBJECTS:
            yield put(i, "very", 0.4)
        elif before in ("many", "several", "both") and is_word(word) and word not in ARTICLES:
            if word not in ("of", "more"):
                yield put(i, "of", 0.5)
        elif word in QUESTION_WORDS and word != "which" and before in ("know", "understand", "see"):
            yield put(i, "that", 0.3)
        elif word == "to" and before in ("money", "time", "order", "school") and is_word(after):
            yield put(i, "for", 0.3)


def order(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """What are you doing? -> What you are doing?; I like it very much -> I like very much it."""
    return apply_one(words, rng, lexicon, _order(words, lexicon))


def _order(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    for i, before, word, after in around(low):
        if not is_word(after) or "n't" in (word, after) or word[:1] in "'’":
            continue
        flipped = (words[i + 1], words[i])
        flip = Edit(i, i + 2, flipped)
        if word in AUXILIARIES and after in SUBJECTS and before in QUESTION_WORDS:
            yield flip._replace(weight=1.5)
        elif (
            word in SUBJECTS and after in ("is", "are", "was", "were") and before in QUESTION_WORDS
        ):
            yield flip._replace(weight=1.0)
        elif word in AUXILIARIES and after in MID_ADVERBS and after not in ("not", "n't", "only"):
            yield flip._replace(weight=0.7)
        elif word in MID_ADVERBS and word not in ("not", "only", "even", "just") and i:
            if after in lexicon.verb_of and before in SUBJECTS:
                yield flip._replace(weight=0.7)
        elif after == "enough" and word in lexicon.adverbs:
            yield flip._replace(weight=1.0)
        elif word in ("it", "them", "him", "her", "english") and low[i + 1 : i + 3] in _ADVERBIALS:
            yield Edit(i, i + 3, (words[i + 1], words[i + 2], words[i]), 1.0)
        elif (
            before in lexicon.verb_of
            and word in ("up", "out", "off", "on")
            and after in ("it", "them")
        ):
            yield flip._replace(weight=0.2)
        elif word in lexicon.adverbs and after in lexicon.plurals and before in ARTICLES:
            yield flip._replace(weight=0.06)
        elif is_word(word) and i and not _fixed(word, after):
            yield flip._replace(weight=0.01)


_ADVERBIALS: tuple[list[str], ...] = (["very", "much"], ["very", "well"], ["so", "much"])


def _fixed(word: str, after: str) -> bool:
    """Whether nobody flips a pair of words, or everybody may: articles, prepositions, adverbs."""
    return any(
        w in ARTICLES
        or w in PREPOSITIONS
        or w in PUNCTUATION
        or w in CONJUNCTIONS
        or w[-2:] == "ly"
        for w in (word, after)
    )
