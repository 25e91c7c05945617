"""Sampling: distributions, drawing from them, and speculative sampling's acceptance rule.

Leviathan et al. 2023, *Fast Inference from Transformers via Speculative Decoding*, Algorithm 1.
With the verifier's distribution p and the drafter's q, a drafted token x stands with probability
min(1, p(x) / q(x)); the first that does not is drawn anew from norm(max(0, p - q)); when all stand,
one more token is drawn from p. Every token then is distributed as if drawn from p:

    q(x) min(1, p(x) / q(x))  +  P(rejected) max(0, p(x) - q(x)) / sum max(0, p - q)
    =  min(q(x), p(x))  +  max(0, p(x) - q(x))  =  p(x),

because P(rejected) = 1 - sum min(p, q) = sum max(0, p - q). All that q must be is the distribution
of the drafted token given what stands before it; how the drafter came by the token is of no matter.

The arithmetic over the vocabulary is that of :class:`gec.decoding.scores.Distributions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gec.decoding.acceptance import Acceptance, Exact, Kept, keep
from gec.decoding.scores import Distributions, Scores
from gec.errors import ConfigError

if TYPE_CHECKING:
    from gec.decoding.state import Row, State

_STEPS = 48
"""Bits of a random number: u * total < total then holds in float64 for every u below 1."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How logits become the distribution that tokens are drawn from.

    Attributes:
        temperature: divides the logits; 0 puts all probability on the likeliest token.
        top_k: only the k likeliest tokens keep their probability; None keeps all.
        top_p: of these only the fewest whose probabilities sum to at least ``top_p`` (nucleus
            sampling, Holtzman et al. 2020); 1 keeps all.
        epsilon: tokens less likely than this keep none, but for the likeliest (epsilon sampling,
            Hewitt et al. 2022); 0 keeps all. It comes after ``top_k`` and before ``top_p``.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise ConfigError(f"temperature must be a number >= 0, not {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise ConfigError(f"top-k must be at least 1, not {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"top-p must be above 0 and at most 1, not {self.top_p}")
        if not 0 <= self.epsilon < 1:
            raise ConfigError(f"epsilon must be at least 0 and below 1, not {self.epsilon}")

    @property
    def greedy(self) -> bool:
        return self.temperature == 0


GREEDY = Sampling(temperature=0.0)


def uniform(row: Row) -> float:
    """Return the next number of a sentence's stream, from 0 to below 1."""
    return row.stream.getrandbits(_STEPS) / (1 << _STEPS)


@dataclass(frozen=True, slots=True)
class SpeculativeSampling:
    """Draws every token from the verifier's distribution, whatever the drafter proposes.

    ``state.drafter.distributions`` says what each drafted token was drawn from; a drafter that
    draws nothing (a copied source, say) chose its token with probability 1. Without drafts this is
    plain ancestral sampling, with temperature 0 greedy decoding.
    """

    sampling: Sampling = Sampling()

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        return speculate(state, scores.distribution(self.sampling))


def acceptance(sampling: Sampling) -> Acceptance:
    """Return the rule that gives each token as ``sampling`` says."""
    return Exact() if sampling.greedy else SpeculativeSampling(sampling)


def speculate(state: State, p: Distributions) -> list[Kept]:
    """Accept or redraw drafts by the verifier's distributions."""
    # numbers for every token of a row's own draft, and one to draw by: no more, no fewer
    chances = [
        [uniform(row) for _ in draft] for row, draft in zip(state.rows, state.drafts, strict=True)
    ]
    last = [uniform(row) for row in state.rows]
    drawn = state.drafter.distributions(state.draft_memory)
    return keep(state, p.speculate(state.drafts, drawn, chances, last))
