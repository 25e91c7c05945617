"""Whether a sentence is English."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

from gec.text.remembered import Remembered
from gec.text.words import Word

# Words frequent in English and in no other language below; enough of them end the search early.
_ENGLISH = frozenset(
    """
    the and that this these those they them their you your it its she are were been being have
    having with from my our not because about would could should cannot there where which when
    what who why how n't 's 'm 're 've 'll does did doing some any many much very more than then
    go going people think know want like make good time
    """.split()
)


@cache
def _function_words() -> tuple[frozenset[str], list[frozenset[str]]]:
    """Return the English function words, and those of each other language."""
    from gec.text.stop_words import STOP_WORDS  # few texts need them

    others = [words for language, words in STOP_WORDS.items() if language != "en"]
    return STOP_WORDS["en"] | _ENGLISH, others


@lru_cache(maxsize=2**16)
def _letters(word: str) -> tuple[int, int]:
    """Return how many letters a word has, and how many of them are Latin."""
    if word.isascii() and word.isalpha():  # as most are
        return len(word), len(word)
    letters = [c for c in word if c.isalpha()]
    return len(letters), sum(c < "\u0250" or "\u1e00" <= c <= "\u1eff" for c in letters)


def _vote(form: str) -> int:
    """Return a word's vote: one word in six that is frequent in English outvotes the others."""
    if not (form[0].isalpha() or form[0] == "'"):
        return 0
    return 5 if form.lower() in _ENGLISH else -1


_votes = Remembered(_vote)


def looks_english(words: Sequence[Word]) -> bool:
    """Whether a sentence may be English; the corrector leaves other sentences alone.

    A sentence is foreign if most of its letters are not Latin, or if function words of one other
    European language (spaCy's stop words) clearly outnumber the English ones. Short or undecided
    sentences, and learners' English, count as English.
    """
    forms = [word.text for word in words if not word.protected]
    if not "".join(forms).isascii():
        letters = [_letters(form) for form in forms]
        if sum(latin for _, latin in letters) * 2 < sum(all_ for all_, _ in letters):
            return False
    if sum(map(_votes.__getitem__, forms)) >= 0:
        return True
    forms = [form for form in forms if _votes[form]]
    known = sum(_votes[form] > 0 for form in forms)
    forms[0] = forms[0].lower()  # other capital letters are names: Rio de Janeiro, Buenos Aires
    english, others = _function_words()
    foreign = {form for form in forms if form not in english}
    most = max(len(foreign & words) for words in others)
    if len(forms) < 4:  # too short to count shares: no English function word, two foreign ones
        return most < 2 or len(foreign) < len(set(forms))
    return most < 2 or most * 4 < len(forms) or most <= known * 2
