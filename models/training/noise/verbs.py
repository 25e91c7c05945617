"""Verb errors: agreement, tense, form, missing and superfluous verbs, regularised irregulars."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from gec.models.training.noise.edits import Edit, apply_one, around, drop, is_word, lower, put, swap
from gec.models.training.noise.lexicon import Lexicon
from gec.models.training.noise.tables import (
    BE,
    DETERMINERS,
    DO,
    FUNCTION_WORDS,
    HAVE,
    MID_ADVERBS,
    MODALS,
    OBJECTS,
    OTHER_PERSONS,
    PREPOSITIONS,
    PUNCTUATION,
    SUBJECTS,
    THIRD_PERSON,
    word_set,
)
from gec.text.inflection import regular

_AGREEMENT = {
    "is": {"are": 1.0}, "are": {"is": 1.0}, "am": {"is": 0.6, "are": 0.4}, "was": {"were": 1.0},
    "were": {"was": 1.0}, "has": {"have": 1.0}, "have": {"has": 1.0}, "does": {"do": 1.0},
    "do": {"does": 1.0},
}  # fmt: skip
_STRONG_PAST_CUES = word_set("yesterday ago last")
_FUTURE_CUES = word_set("tomorrow next soon tonight later")
_HABIT_CUES = word_set("every always usually often now today sometimes never")
_PERFECT_CUES = word_set("since already yet ever never just recently")
_CLAUSE_STARTS = word_set("if when unless until before after")
_LIKE_GERUND = word_set(
    """enjoy finish avoid mind keep stop suggest consider practise practice imagine miss
    dislike admit deny recommend risk"""
)
_LIKE_INFINITIVE = word_set(
    """want decide hope plan need learn agree refuse promise expect offer manage choose seem
    fail afford pretend wish"""
)
_BARE_HEADS = word_set("let lets letting make makes made making")
_BE_BEFORE = word_set("agree depend happen die appear want like need know think work")
_AFTER_NOUN = word_set("is are was were has have 's")
_PAST_BE = {"was": "is", "were": "are", "had": "have", "did": "do"}


def _subject(low: Sequence[str], i: int) -> int:
    """Return the index of the word before i, adverbs and negations skipped; -1 if there is none."""
    j = i - 1
    while j >= 0 and (low[j] in MID_ADVERBS or (low[j].endswith("ly") and len(low[j]) > 4)):
        j -= 1
    return j


def _person(words: Sequence[str], low: Sequence[str], i: int, lexicon: Lexicon) -> str:
    """Tell the person, "3" or "other", of the subject right before i; "" if there is none."""
    j = _subject(low, i)
    if j < 0:
        return ""
    word = low[j]
    if word in OTHER_PERSONS or (word in ("these", "those", "people")):
        return "other"
    if word in THIRD_PERSON or word in ("who", "which", "this", "that"):
        return "3"
    if lexicon.is_name(words[j]):
        return "3" if not (j and low[j - 1] == "and") else "other"
    if word in FUNCTION_WORDS or not is_word(word):
        return ""
    if word in lexicon.singulars:
        return "other"
    if word in lexicon.plurals:
        return "3"
    return ""


def agreement(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """He goes -> He go; They are -> They is."""
    return apply_one(words, rng, lexicon, _agreement(words, lexicon))


def _agreement(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    wish = "if" in low or "wish" in low or "wishes" in low
    for i, before, word, after in around(low):
        if word in _AGREEMENT:
            if word in ("have", "do") and not _finite_auxiliary(words, low, i, lexicon):
                continue
            if (wish and word in ("were", "was")) or (word == "does" and before == "who"):
                continue
            if word == "are" and before == "you" and after in PUNCTUATION:
                continue
            for new, weight in _AGREEMENT[word].items():
                yield swap(i, new, weight)
            continue
        base, marker = lexicon.verb_of.get(word, ("", ""))
        if not base or marker not in ("", "+s") or (words[i] != word and i):
            continue
        person = _person(words, low, i, lexicon)
        sure = _subject(low, i) >= 0 and low[_subject(low, i)] in SUBJECTS
        if not person or (not sure and lexicon.verbness.get(base, 0) < 0.3):
            continue
        if after in _AFTER_NOUN and not sure and word in lexicon.plurals:
            continue
        if marker == "+s" and person == "3":
            yield swap(i, base, 1.0 if sure else 0.7)
        present = lexicon.form(base, "+ed") != base
        if not marker and person == "other" and present and _finite(low, i):
            yield swap(i, lexicon.form(base, "+s"), 0.7 if sure else 0.5)


def _finite(low: Sequence[str], i: int) -> bool:
    """Whether the verb at i follows its subject and no auxiliary before the subject governs it."""
    j = _subject(low, i)
    head = low[max(j - 3, 0) : j]
    return not any(w in DO or w in MODALS or w in _BARE_HEADS or w == "n't" for w in head)


def _finite_auxiliary(words: Sequence[str], low: Sequence[str], i: int, lexicon: Lexicon) -> bool:
    j = _subject(low, i)
    before = low[j] if j >= 0 else ""
    if before in ("to", "n't", "not") or before in MODALS or before in DO:
        return False
    if i + 1 < len(low) and low[i + 1] in SUBJECTS:
        return True
    if low[i] == "do" and not before:
        return False
    return bool(_person(words, low, i, lexicon)) and _finite(low, i)


def tense(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """Yesterday I went -> Yesterday I go; only if another word tells the right tense."""
    return apply_one(words, rng, lexicon, _tense(words, lexicon))


def _tense(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    present = set(low)
    pasts = [i for i in range(len(low)) if _is_past(low, i, lexicon)]
    strong = not present.isdisjoint(_STRONG_PAST_CUES) or any(
        w.isdigit() and len(w) == 4 and w[:2] in ("17", "18", "19", "20") for w in low
    )
    cued = strong or len(pasts) > 1
    for i in pasts if cued else ():
        yield from _past_to_present(words, low, i, strong, lexicon)
    perfect = not present.isdisjoint(_PERFECT_CUES) or ("for" in present and "years" in present)
    habit = not present.isdisjoint(_HABIT_CUES)
    future = not present.isdisjoint(_FUTURE_CUES)
    will = "will" in present or "'ll" in present
    for i, before, word, after in around(low):
        base, marker = lexicon.verb_of.get(after, ("", ""))
        if word in ("have", "has", "'ve") and perfect and base and marker in ("+ed", "+en"):
            third = word == "has"
            for new in (lexicon.form(base, "+s" if third else ""), lexicon.form(base, "+ed")):
                yield Edit(i, i + 2, (new,), 0.8)
        if word in ("will", "'ll") and future and base and not marker and before in SUBJECTS:
            yield Edit(i, i + 2, (lexicon.form(base, "+s" if before in THIRD_PERSON else ""),))
            yield Edit(i, i + 2, ("would", after), 0.3)
        if word not in SUBJECTS or not base or marker not in ("", "+s"):
            continue
        if will and before in _CLAUSE_STARTS and base not in ("have", "do"):
            yield Edit(i + 1, i + 2, ("will", base), 0.6)
        if habit and not pasts and _finite(low, i + 1):
            yield swap(i + 1, lexicon.form(base, "+ed"), 0.2)


def _is_past(low: Sequence[str], i: int, lexicon: Lexicon) -> bool:
    """Whether the word at i is a finite past verb, not a participle."""
    word = low[i]
    if word in _PAST_BE:
        return True
    if lexicon.verb_of.get(word, ("", ""))[1] != "+ed":
        return False
    j = _subject(low, i)
    before = low[j] if j >= 0 else ""
    return not (
        before in BE
        or before in HAVE
        or before in DETERMINERS
        or before in PREPOSITIONS
        or before in ("get", "got", "gets")
    )


def _past_to_present(
    words: Sequence[str], low: Sequence[str], i: int, strong: bool, lexicon: Lexicon
) -> Iterator[Edit]:
    word = low[i]
    third = _person(words, low, i, lexicon) == "3"
    if word in _PAST_BE:
        new = _PAST_BE[word]
        yield swap(i, {"have": "has", "do": "does"}.get(new, new) if third else new)
        return
    base = lexicon.verb_of[word][0]
    yield swap(i, base, 0.7 if third else 1.0)
    if third:
        yield swap(i, lexicon.form(base, "+s"), 0.6)
    if strong:
        yield Edit(i, i + 1, ("has" if third else "have", lexicon.form(base, "+en")), 0.25)


def form(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """to go -> to going; can sing -> can sings; enjoys swimming -> enjoys to swim."""
    return apply_one(words, rng, lexicon, _form(words, lexicon))


def _form(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    for i, before, word, _ in around(low):
        base, marker = lexicon.verb_of.get(word, ("", ""))
        if not base or not i or words[i] != word:
            continue
        governor = _governor(low, i)
        if marker == "+ing":
            yield from _gerund_edits(low, i, before, base, lexicon)
        elif marker in ("+ed", "+en") and governor in HAVE and governor != "having":
            yield from _unless_same(i, word, {base: 0.5, lexicon.form(base, "+ed"): 0.6})
            yield swap(i, lexicon.form(base, "+ing"), 0.1)
        elif marker in ("+ed", "+en") and governor in BE:
            yield from _unless_same(i, word, {base: 0.6, lexicon.form(base, "+ed"): 0.5})
            yield swap(i, lexicon.form(base, "+ing"), 0.1)
        elif not marker:
            yield from _bare_edits(low, i, before, base, governor, lexicon)


def _governor(low: Sequence[str], i: int) -> str:
    """Return the auxiliary before i; adverbs, negation or a pronoun subject may stand between."""
    j = i - 1
    while j >= 0 and (low[j] in MID_ADVERBS or low[j] == "n't"):
        j -= 1
    if j > 0 and low[j] in SUBJECTS and (low[j - 1] in DO or low[j - 1] in MODALS):
        j -= 1
    return low[j] if j >= 0 else ""


def _unless_same(i: int, word: str, news: dict[str, float]) -> Iterator[Edit]:
    for new, weight in news.items():
        if new != word:
            yield swap(i, new, weight)


def _gerund_edits(
    low: Sequence[str], i: int, before: str, base: str, lexicon: Lexicon
) -> Iterator[Edit]:
    head = lexicon.verb_of.get(before, ("", ""))[0]
    if head in _LIKE_GERUND:
        yield swap(i, base, 0.7)
        yield Edit(i, i + 1, ("to", base), 1.2)
    elif before in BE:
        yield swap(i, base, 0.7)
    elif before == "to":
        yield swap(i, base, 1.5)
    elif before in PREPOSITIONS and lexicon.verbness.get(base, 0) > 0.3:
        yield swap(i, base, 1.0)
        yield Edit(i, i + 1, ("to", base), 0.2)


def _bare_edits(
    low: Sequence[str], i: int, before: str, base: str, governor: str, lexicon: Lexicon
) -> Iterator[Edit]:
    s, past, ing = (lexicon.form(base, m) for m in ("+s", "+ed", "+ing"))
    if before == "to" and lexicon.verbness.get(base, 0) > 0.25:
        yield swap(i, ing, 0.5)
        yield swap(i, s, 0.25)
        yield from _unless_same(i, base, {past: 0.35})
        head = lexicon.verb_of.get(low[i - 2], ("", ""))[0] if i > 1 else ""
        if head in _LIKE_INFINITIVE:
            yield Edit(i - 1, i + 1, (base,), 0.7)
            yield Edit(i - 1, i + 1, (ing,), 0.5)
    elif governor in MODALS and governor != "'d":
        yield swap(i, s, 0.5)
        yield Edit(i, i + 1, ("to", base), 0.35)
        yield swap(i, ing, 0.2)
        yield from _unless_same(i, base, {past: 0.4})
    elif governor in DO:
        yield swap(i, s, 0.6 if governor == "does" else 0.15)
        yield from _unless_same(i, base, {past: 1.0 if governor == "did" else 0.1})
        yield swap(i, ing, 0.1)
    elif i > 1 and low[i - 2] in _BARE_HEADS and before in OBJECTS and before != "it":
        yield Edit(i, i + 1, ("to", base), 1.0)
        yield swap(i, ing, 0.3)


def missing(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """He is happy -> He happy; I have seen -> I seen."""
    return apply_one(words, rng, lexicon, _missing(words, lexicon))


def _missing(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    for i, before, word, after in around(low):
        if not after or not is_word(after) or after == "n't":
            continue
        if word in ("is", "are", "am", "was", "were", "be", "been"):
            yield drop(i, 0.5 if i == 0 else 1.0)
        elif word in ("'s", "'m", "'re"):
            if before in SUBJECTS or before in ("that", "there", "what", "where", "who"):
                yield drop(i, 0.6)
        elif word in ("have", "has", "'ve", "had"):
            marker = lexicon.verb_of.get(after, ("", ""))[1]
            if marker == "+en" or after == "been":
                yield drop(i, 0.8)
        elif word in ("do", "does", "did") and i and after in SUBJECTS:
            yield drop(i, 0.8)
        elif word == "will" and "tomorrow" in low:
            yield drop(i, 0.3)


def extra(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """I agree -> I am agree; It happened -> It was happened; You can go -> You can be go."""
    return apply_one(words, rng, lexicon, _extra(words, lexicon))


def _extra(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    low = lower(words)
    be = {"i": "am", "he": "is", "she": "is", "it": "is"}
    for i, before, word, _ in around(low):
        base, marker = lexicon.verb_of.get(word, ("", ""))
        if not base or not i or words[i] != word:
            continue
        usual = 1.0 if base in _BE_BEFORE else 0.25
        if before in SUBJECTS and _finite(low, i) and base not in ("have", "do"):
            if marker in ("", "+s"):
                yield put(i, be.get(before, "are" if before in OTHER_PERSONS else "is"), usual)
            elif marker == "+ed":
                yield put(i, "was" if before in be else "were", usual)
        elif before in MODALS and not marker and base not in ("have", "like", "power"):
            yield put(i, "be", 0.2)


def inflection(words: list[str], rng: random.Random, lexicon: Lexicon) -> list[str] | None:
    """went -> goed; stopped -> stoped; studies -> studys."""
    return apply_one(words, rng, lexicon, _inflection(words, lexicon))


def _inflection(words: list[str], lexicon: Lexicon) -> Iterator[Edit]:
    for i, word in enumerate(lower(words)):
        base, marker = lexicon.verb_of.get(word, ("", ""))
        if not marker or base in ("have", "do", "bear"):
            continue
        for new, weight in _naive(base, marker):
            if new != word and new not in lexicon.common:
                yield swap(i, new, weight)


def _naive(base: str, marker: str) -> Iterator[tuple[str, float]]:
    """Yield forms by the plain rule, without any spelling rule, and with a wrong doubling."""
    if marker == "+s":
        yield base + "s", 0.5
        return
    yield regular(base, marker), 1.0
    if base.endswith("y") and marker != "+ing":
        yield base + "ed", 0.7
    if base.endswith("e") and marker == "+ing":
        yield base + "ing", 0.15
        if base[-2] in "mnt":
            yield base[:-1] + base[-2] + "ing", 0.4
