"""Corrupt clean sentences the way learners of English write them."""

from __future__ import annotations

import math
import random
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

from gec.errors import ConfigError
from gec.models.training.noise import (
    adjectives,
    determiners,
    nouns,
    orthography,
    prepositions,
    pronouns,
    punctuation,
    spelling,
    verbs,
    words,
)
from gec.models.training.noise.lexicon import Lexicon

ErrorType = Callable[[list[str], random.Random, Lexicon], list[str] | None]

ERROR_TYPES: dict[str, ErrorType] = {
    "R:VERB:SVA": verbs.agreement,
    "R:VERB:TENSE": verbs.tense,
    "R:VERB:FORM": verbs.form,
    "R:VERB:INFL": verbs.inflection,
    "M:VERB": verbs.missing,
    "U:VERB": verbs.extra,
    "M:DET": determiners.missing,
    "U:DET": determiners.extra,
    "R:DET": determiners.wrong,
    "R:DET:ART": determiners.a_or_an,
    "M:PREP": prepositions.missing,
    "U:PREP": prepositions.extra,
    "R:PREP": prepositions.wrong,
    "R:NOUN:NUM": nouns.number,
    "R:NOUN:INFL": nouns.inflection,
    "R:NOUN:POSS": nouns.possessive,
    "M:PRON": pronouns.missing,
    "U:PRON": pronouns.extra,
    "R:PRON": pronouns.wrong,
    "R:ADJ": adjectives.adjective,
    "R:ADV": adjectives.adverb,
    "R:ADJ:FORM": adjectives.comparison,
    "R:OTHER": words.confusable,
    "R:MORPH": words.derived,
    "M:OTHER": words.missing,
    "U:OTHER": words.extra,
    "R:WO": words.order,
    "M:PUNCT": punctuation.missing,
    "U:PUNCT": punctuation.extra,
    "R:PUNCT": punctuation.wrong,
    "R:ORTH": orthography.case,
    "R:CONTR": orthography.contraction,
    "U:DUP": orthography.doubled,
    "R:SPELL": spelling.spelling,
}
"""Functions that make one error of their kind at a random place; None where none is possible."""

DEFAULT_RATES: dict[str, float] = {
    "R:VERB:SVA": 8, "R:VERB:TENSE": 7, "R:VERB:FORM": 7, "R:VERB:INFL": 1, "M:VERB": 2.5,
    "U:VERB": 1.5, "M:DET": 8, "U:DET": 4, "R:DET": 2, "R:DET:ART": 1.5, "M:PREP": 3.5,
    "U:PREP": 2.5, "R:PREP": 6.5, "R:NOUN:NUM": 8, "R:NOUN:INFL": 1, "R:NOUN:POSS": 1,
    "M:PRON": 1.2, "U:PRON": 0.6, "R:PRON": 1.5, "R:ADJ": 1, "R:ADV": 1, "R:ADJ:FORM": 1,
    "R:OTHER": 5, "R:MORPH": 2, "M:OTHER": 1.5, "U:OTHER": 0.8, "R:WO": 2.5, "M:PUNCT": 7,
    "U:PUNCT": 2.5, "R:PUNCT": 2, "R:ORTH": 6, "R:CONTR": 1.2, "U:DUP": 0.6, "R:SPELL": 8,
}  # fmt: skip
"""Shares of the types in learners' text, in per cent, after JFLEG, CoNLL and W&I."""

_TYPICAL_LENGTH = 8
_TRIES = 8


class Noiser:
    """Makes several errors in a sentence, their types drawn by rate.

    Args:
        lexicon: the word knowledge.
        rates: weight of each type of :data:`ERROR_TYPES`; types not named are not made; empty
            means :data:`DEFAULT_RATES`.
        clean_share: probability of returning a sentence unchanged.
        mean_errors: mean number of errors after the first in a sentence of 8 words; it grows
            with the length.
        max_errors: the most errors in a sentence.

    Raises:
        ConfigError: an unknown type, a negative rate, or none above zero.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        rates: Mapping[str, float],
        *,
        clean_share: float,
        mean_errors: float,
        max_errors: int = 5,
    ) -> None:
        rates = rates or DEFAULT_RATES
        unknown = sorted(set(rates) - set(ERROR_TYPES))
        if unknown:
            raise ConfigError(f"unknown error type {unknown[0]!r}, expected one of {[*ERROR_TYPES]}")
        if any(rate < 0 for rate in rates.values()) or not any(rates.values()):
            raise ConfigError("error rates must not be negative, and one must be above zero")
        if not 0 <= clean_share <= 1 or mean_errors < 0 or max_errors < 1:
            raise ConfigError("expected 0 <= clean_share <= 1, mean_errors >= 0, max_errors >= 1")
        self.lexicon = lexicon
        self.clean_share = clean_share
        self.mean_errors = mean_errors
        self.max_errors = max_errors
        self._types = [ERROR_TYPES[name] for name, rate in rates.items() if rate]
        self._totals = list(accumulate(rate for rate in rates.values() if rate))

    def corrupt(self, words: Sequence[str], rng: random.Random) -> list[str]:
        """Return the words with errors, or as they are by ``clean_share`` or where none fits."""
        clean = list(words)
        if not clean or rng.random() < self.clean_share:
            return clean
        result = clean
        for _ in range(self._error_count(len(clean), rng)):
            result = self._one_error(result, rng)
        return result if result != clean else self._one_error(clean, rng)

    def _error_count(self, length: int, rng: random.Random) -> int:
        mean = self.mean_errors * length / _TYPICAL_LENGTH
        return min(1 + poisson(mean, rng), self.max_errors)

    def _one_error(self, words: list[str], rng: random.Random) -> list[str]:
        for _ in range(_TRIES):
            pick = bisect(self._totals, rng.random() * self._totals[-1])
            changed = self._types[min(pick, len(self._types) - 1)](words, rng, self.lexicon)
            if changed is not None:
                return changed
        return words


def poisson(mean: float, rng: random.Random) -> int:
    """Draw from the Poisson distribution (Knuth's product of uniforms)."""
    limit, product, count = math.exp(-mean), rng.random(), 0
    while product > limit:
        product *= rng.random()
        count += 1
    return count
