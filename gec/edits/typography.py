"""English typography: the blanks between words, and whether a sentence is tokenized."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gec.edits.wordlists import is_clitic
from gec.text.words import Word

_CLOSE_LEFT = frozenset(") ] } , . ; : ? ! ... % ''".split(" "))
_CLOSE_RIGHT = frozenset("( [ { $ £ € #".split(" "))


def blanks_before(words: Sequence[str]) -> list[bool]:
    """Return for each word whether a blank stands before it, and for the end."""
    blanks = []
    open_quotes: set[str] = set()
    close = True  # no blank before the first
    for i, word in enumerate(words):
        if word.isalnum():  # as most; clitics have an apostrophe
            blanks.append(not close)
            close = False
            continue
        close_left, close_right = word in _CLOSE_LEFT or is_clitic(word), word in _CLOSE_RIGHT
        if word == "/":
            close_left = close_right = True
        elif word in open_quotes or (word == "'" and i and words[i - 1].endswith("s")):
            open_quotes.discard(word)
            close_left = True
        elif word in ('"', "'"):
            open_quotes.add(word)
            close_right = True
        blanks.append(not (close or close_left))
        close = close_right
    return [*blanks, True]


def is_spaced(words: Sequence[Word]) -> bool:
    """Whether punctuation is set off by blanks, as in tokenized text.

    Periods, commas and clitics tell. Question marks and the like, which some people write so, tell
    only if there is none of the others.
    """
    strong = weak = 0
    for before, word in pairwise(words):
        if word.text.isalnum():
            continue
        vote = 1 if before.end < word.start else -1
        if word.text in (".", ",", ")") or is_clitic(word.text):
            strong += vote
        elif word.text in ("?", "!", ";", ":"):
            weak += vote
    return (strong or weak) > 0


def is_break(gap: str) -> bool:
    return len((gap + "x").splitlines()) > 1
