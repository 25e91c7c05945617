"""Whether a text is English, for clients that ask the server to detect the language."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from gec.text.language import looks_english
from gec.text.words import split_words

LEAST_WORDS = 5
"""Shorter texts are English unless they are clearly another language."""
FUNCTION_WORDS = 0.2
"""The least share of English function words in English prose; in learners' it is about 0.4."""
KNOWN_WORDS = 0.75
"""The least share of dictionary words in English without function words, such as a list."""


def foreign(text: str, knows: Callable[[str], bool] | None = None) -> float:
    """Return 0 if a text is or may be English; otherwise the confidence, up to 1, that it is not.

    A text is English if it has neither another script nor the function words of another language
    (:func:`gec.text.language.looks_english`), and if enough of its words are English function
    words or known to the dictionary (``knows``). The time is linear in the length of the text.
    """
    words = split_words(text)
    forms = [word.text.lower() for word in words if word.text[0].isalpha()]
    functional = sum(form in _function_words() for form in forms) / max(1, len(forms))
    if looks_english(words):
        if len(forms) < LEAST_WORDS or functional >= FUNCTION_WORDS:
            return 0.0
        if knows is not None and sum(map(knows, forms)) >= KNOWN_WORDS * len(forms):
            return 0.0
    return round(1 - functional / 2, 3)


@cache
def _function_words() -> frozenset[str]:
    from gec.text.stop_words import STOP_WORDS

    return STOP_WORDS["en"]
