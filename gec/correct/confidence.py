"""How sure an edit is: evidence from the decoder and a language model, made one probability.

The network's own probabilities say how it compares tokens, not how often its edits are right, and
they say it differently for every error type. A logistic regression on few features, fitted to
edits of development sets, makes one number of them that means what it says (Platt 1999).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from gec.errors import ConfigError

_LEAST = 1e-6  # probabilities are kept this far from 0 and 1
_MOST = 30.0  # nats of fluency, and log-odds, beyond which nothing changes
_SUREST = 15.0  # nats of an opinion, likewise
_GROWTH = 2  # words that an edit adds or takes away; of more the size tells enough


@dataclass(frozen=True, slots=True)
class Evidence:
    """One edit that the model proposed, and what is known of it.

    Attributes:
        start, end: places of the first source word and of the one after the last.
        replacement: the words put there.
        type: ERRANT's notation.
        probability: the least of the verifier's for the edit's target tokens.
        following: the verifier's for the token after them: that the edit ends there.
        spelling: the speller's confidence where it wrote the word, else 1.
        fluency: nats by which the n-gram model prefers the edited sentence; 0 without one.
        opinion: nats by which a second network prefers the edited sentence; 0 without one.
        others: how many more edits the model proposes in the same sentence.
        distance: how far the letters put there are from those replaced, as a share of the longer
            ones (optimal string alignment, 0 to 1); 0 where nothing is replaced.
    """

    start: int
    end: int
    replacement: tuple[str, ...]
    type: str
    probability: float
    following: float
    spelling: float = 1.0
    fluency: float = 0.0
    opinion: float = 0.0
    others: int = 0
    distance: float = 0.0

    def features(self) -> dict[str, float]:
        """Return the named numbers that :class:`Calibration` weighs."""
        operation = self.type[:1]
        new, old = len(self.replacement), self.end - self.start
        named = {
            self.type: 1.0,
            "probability": _logit(self.probability),
            f"probability {operation}": _logit(self.probability),
            "following": _logit(self.following),
            "growth": float(max(-_GROWTH, min(_GROWTH, new - old))),
            "size": math.log1p(new + old),
            "others": math.log1p(self.others),
            f"fluency {operation}": max(-_MOST, min(_MOST, self.fluency)),
        }
        if self.opinion:
            opinion = max(-_SUREST, min(_SUREST, self.opinion))
            named |= {"opinion": opinion, f"opinion {operation}": opinion}
        if operation == "R":
            named["distance"] = self.distance
        if self.type == "R:SPELL":
            named["distance R:SPELL"] = self.distance
        if self.spelling < 1:
            named["spelling"] = _logit(self.spelling)
            named["misspelt"] = 1.0
        return named


@dataclass(frozen=True, slots=True)
class Calibration:
    """Maps evidence to the probability that the edit is right; without weights, to the least one.

    Attributes:
        bias: the log-odds of an edit whose features are all 0.
        weights: by the name of a feature; features without one count nothing.
    """

    bias: float = 0.0
    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers = [self.bias, *self.weights.values()]
        if not all(isinstance(n, int | float) and math.isfinite(n) for n in numbers):
            raise ConfigError(f"bias and weights must be finite numbers, not {numbers}")

    def __call__(self, evidence: Evidence) -> float:
        if not self.weights:
            return min(evidence.probability, evidence.following) * evidence.spelling
        total = self.bias + sum(
            self.weights.get(name, 0.0) * value for name, value in evidence.features().items()
        )
        return 1 / (1 + math.exp(-max(-_MOST, min(_MOST, total))))


def _logit(probability: float) -> float:
    p = min(1 - _LEAST, max(_LEAST, probability))
    return math.log(p / (1 - p))
