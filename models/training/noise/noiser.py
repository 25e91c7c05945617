"""Corrupts clean sentences in the way that learners of English write."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence

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
"""Functions that make one error of their kind at a random place; None if none is possible."""

DEFAULT_RATES: dict[str, float] = {
    "R:VERB:SVA": 2.5, "R:VERB:TENSE": 14.0, "R:VERB:FORM": 2.5, "R:VERB:INFL": 0.9,
    "M:VERB": 1.1, "U:VERB": 3.5, "M:DET": 2.5, "U:DET": 3.5, "R:DET": 1.5, "R:DET:ART": 3.0,
    "M:PREP": 1.2, "U:PREP": 4.2, "R:PREP": 1.7, "R:NOUN:NUM": 3.6, "R:NOUN:INFL": 3.0,
    "R:NOUN:POSS": 5.0, "M:PRON": 4.0, "U:PRON": 2.5, "R:PRON": 2.5, "R:ADJ": 3.0, "R:ADV": 2.0,
    "R:ADJ:FORM": 3.5, "R:OTHER": 1.8, "R:MORPH": 2.4, "M:OTHER": 0.6, "U:OTHER": 0.6,
    "R:WO": 5.0, "M:PUNCT": 2.3, "U:PUNCT": 1.1, "R:PUNCT": 0.9, "R:ORTH": 1.4, "R:CONTR": 2.5,
    "U:DUP": 0.05, "R:SPELL": 1.2,
}  # fmt: skip
"""Weights that give each type of error the share that it has in learners' text.

A type for which few sentences have a place is drawn more often. Shares over the English recipe's
mix of sources, in per cent: determiners 14, prepositions 12, punctuation 11, agreement 8, spelling
8, noun number 7, verb form 6, case and spacing 6, confused words 5, tense 4, derived words 3.
"""

_TYPICAL_LENGTH = 8


class Noiser:
    """Makes several errors in a sentence, their types drawn by rate.

    Args:
        lexicon: the word knowledge.
        rates: weight of each type of :data:`ERROR_TYPES`; a type without a weight is never made;
            empty means :data:`DEFAULT_RATES`.
        clean_share: probability of returning a sentence unchanged.
        mean_errors: mean number of errors after the first in a sentence of 8 words; the mean grows
            with the length.
        max_errors: the most errors in a sentence.

    Raises:
        ConfigError: a type is unknown, a rate is negative, or no rate is above zero.
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
            raise ConfigError(
                f"unknown error type {unknown[0]!r}, expected one of {[*ERROR_TYPES]}"
            )
        if any(rate < 0 for rate in rates.values()) or not any(rates.values()):
            raise ConfigError("error rates must not be negative, and one must be above zero")
        if not 0 <= clean_share <= 1 or mean_errors < 0 or max_errors < 1:
            raise ConfigError("expected 0 <= clean_share <= 1, mean_errors >= 0, max_errors >= 1")
        self.lexicon = lexicon
        self.clean_share = clean_share
        self.mean_errors = mean_errors
        self.max_errors = max_errors
        self._types = [ERROR_TYPES[name] for name, rate in rates.items() if rate]
        self._weights = [rate for rate in rates.values() if rate]
        self._order = range(len(self._types))

    def corrupt(self, words: Sequence[str], rng: random.Random) -> list[str]:
        """Return a copy with errors; without, by ``clean_share`` or if no error fits."""
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
        """Return the words with one error, its type drawn by rate; unfitting types drop out."""
        weights = self._weights.copy()
        for _ in weights:
            pick = rng.choices(self._order, weights)[0]
            changed = self._types[pick](words, rng, self.lexicon)
            if changed is not None:
                return changed
            weights[pick] = 0.0
        return words


def poisson(mean: float, rng: random.Random) -> int:
    """Return a number drawn from the Poisson distribution (Knuth's product of uniforms)."""
    limit, product, count = math.exp(-mean), rng.random(), 0
    while product > limit:
        product *= rng.random()
        count += 1
    return count
