"""How sure an edit is: evidence from the decoder, calibrated to a probability.

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


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one edit.

    Attributes:
        type: ERRANT's notation.
        probability: the least of the verifier's for the edit's target tokens.
        following: the verifier's for the token after them: that the edit ends there.
        spelling: the speller's confidence where it wrote the word, else 1.
        others: edits in the same sentence besides this one.
        words: length of the sentence.
        surprise: mean negative log-probability (nats) of the sentence's words outside the edits.
    """

    type: str
    probability: float
    following: float
    spelling: float
    others: int
    words: int
    surprise: float

    def features(self) -> dict[str, float]:
        """Return the named numbers that :class:`Calibration` weighs."""
        named = {
            "probability": _logit(self.probability),
            "following": _logit(self.following),
            "others": math.log1p(self.others),
            "words": math.log1p(self.words),
            "surprise": math.log(max(self.surprise, _LEAST)),
            self.type: 1.0,
        }
        if self.spelling < 1:
            named["spelling"] = _logit(self.spelling)
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
        weights = self.weights
        total = self.bias + sum(
            weights.get(name, 0.0) * value for name, value in evidence.features().items()
        )
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def _logit(probability: float) -> float:
    p = min(1 - _LEAST, max(_LEAST, probability))
    return math.log(p / (1 - p))
