"""Sampling: distributions, drawing from them, and speculative sampling's acceptance rule.

Leviathan et al. 2023, *Fast Inference from Transformers via Speculative Decoding*, Algorithm 1.
With the verifier's distribution p and the drafter's q, a drafted token x stands with probability
min(1, p(x) / q(x)); the first that does not is drawn anew from norm(max(0, p - q)); when all stand,
one more token is drawn from p. Every token then is distributed as if drawn from p:

    q(x) min(1, p(x) / q(x))  +  P(rejected) max(0, p(x) - q(x)) / sum max(0, p - q)
    =  min(q(x), p(x))  +  max(0, p(x) - q(x))  =  p(x),

because P(rejected) = 1 - sum min(p, q) = sum max(0, p - q). All that q must be is the distribution
of the drafted token given what stands before it; how the drafter came by the token is of no matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gec.decoding.acceptance import Acceptance, Exact, Kept, Scores, keep
from gec.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from gec.decoding.decoder import Row, State

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
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise ConfigError(f"temperature must be a number >= 0, not {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise ConfigError(f"top-k must be at least 1, not {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"top-p must be above 0 and at most 1, not {self.top_p}")

    @property
    def greedy(self) -> bool:
        return self.temperature == 0

    def __call__(self, logits: Tensor) -> Tensor:
        """Return probabilities [..., V] of logits [..., V], at least in float32."""
        logits = logits if logits.dtype == torch.float64 else logits.float()
        if self.greedy:
            best = logits.argmax(-1, keepdim=True)
            return torch.zeros_like(logits).scatter(-1, best, 1.0)
        # the largest logit as the origin, lest a small temperature makes infinities
        logits = (logits - logits.amax(-1, keepdim=True)) / self.temperature
        if self.top_k is not None and self.top_k < logits.shape[-1]:
            kept = logits.topk(self.top_k, -1)
            logits = torch.full_like(logits, -torch.inf).scatter(-1, kept.indices, kept.values)
        probabilities = logits.softmax(-1)
        return probabilities if self.top_p == 1 else self._nucleus(probabilities)

    def _nucleus(self, probabilities: Tensor) -> Tensor:
        ordered, index = probabilities.sort(dim=-1, descending=True, stable=True)
        before = ordered.cumsum(-1) - ordered  # the likeliest has nothing before it: it stays
        ordered = ordered.masked_fill(before >= self.top_p, 0.0)
        ordered = ordered / ordered.sum(-1, keepdim=True)
        return torch.zeros_like(probabilities).scatter(-1, index, ordered)


GREEDY = Sampling(temperature=0.0)


def uniform(row: Row) -> float:
    """Return the next number of a sentence's stream, from 0 to below 1."""
    return row.stream.getrandbits(_STEPS) / (1 << _STEPS)


def draw(weights: Tensor, uniforms: Tensor) -> Tensor:
    """Return [B] ids drawn from weights [B, V] (they need not sum to 1) by inversion.

    ``uniforms`` [B] lie in [0, 1). Ids of weight 0 are never drawn.
    """
    cumulative = weights.double().cumsum(-1)
    aims = uniforms[:, None].double() * cumulative[:, -1:]
    # the first id whose cumulated weight lies above the aim; an id of weight 0 never is the first
    return torch.searchsorted(cumulative, aims, right=True)[:, 0]


@dataclass(frozen=True, slots=True)
class SpeculativeSampling:
    """Draws every token from the verifier's distribution, whatever the drafter proposes.

    ``state.drafter.distributions`` says what each drafted token was drawn from; a drafter that
    draws nothing (a copied source, say) chose its token with probability 1. Without drafts this is
    plain ancestral sampling, with temperature 0 greedy decoding.
    """

    sampling: Sampling = Sampling()

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        return speculate(state, scores, self.sampling(scores.logits))


def acceptance(sampling: Sampling) -> Acceptance:
    """Return the rule that gives each token as ``sampling`` says."""
    return Exact() if sampling.greedy else SpeculativeSampling(sampling)


def speculate(state: State, scores: Scores, p: Tensor) -> list[Kept]:
    """Accept or redraw drafts by the verifier's distributions p [B, T, V]."""
    width = p.shape[1]
    q = _drafted_from(state, scores, p)
    # numbers for every token of a row's own draft, and one to draw by: no more, no fewer
    numbers = [[uniform(row) for _ in draft] for row, draft in _rows(state, scores)]
    chances = [[*row, *[1.0] * (width - len(row))] for row in numbers]
    last = [uniform(row) for row, _ in _rows(state, scores)]
    u = torch.tensor(chances, dtype=torch.float64, device=p.device)
    v = torch.tensor(last, dtype=torch.float64, device=p.device)

    tokens = scores.drafts.clamp_min(0)[..., None]
    # u < p(x) / q(x); beyond the draft q is 0 and p >= 0, hence the second condition
    stands = u * q.gather(-1, tokens)[..., 0] < p.gather(-1, tokens)[..., 0]
    stands &= scores.drafts >= 0
    accepted = stands.int().cumprod(1).sum(1)  # [B]
    place = accepted.clamp_max(width - 1)[:, None, None].expand(-1, 1, p.shape[2])
    p, q = p.gather(1, place)[:, 0], q.gather(1, place)[:, 0]
    rest = (p - q).clamp_min(0)  # beyond the draft q is 0: p itself
    # p and q the same but for rounding leave nothing
    rest = torch.where(rest.sum(-1, keepdim=True) > 0, rest, p)
    decided = draw(rest, v)
    return keep(state, scores, accepted, decided)


def _rows(state: State, scores: Scores) -> Sequence[tuple[Row, Sequence[int]]]:
    return list(zip(state.rows, scores.drafted, strict=True))


def _drafted_from(state: State, scores: Scores, p: Tensor) -> Tensor:
    """Return q [B, T, V]: what each drafted token was drawn from; zeros beyond the draft."""
    q = torch.zeros_like(p)
    drawn = state.drafter.distributions(state.draft_memory)
    if drawn is None:
        q.scatter_(-1, scores.drafts.clamp_min(0)[..., None], 1.0)
    elif drawn.shape[2] != p.shape[2]:
        raise ModelError(
            f"the drafter has a vocabulary of {drawn.shape[2]} tokens, the verifier one of "
            f"{p.shape[2]}: they must share it"
        )
    else:
        width = min(p.shape[1], drawn.shape[1])
        q[:, :width] = drawn[:, :width].to(p.dtype)
    return q.masked_fill_((scores.drafts < 0)[..., None], 0.0)
