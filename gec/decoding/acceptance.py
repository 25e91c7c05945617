"""Acceptance rules: how many drafted tokens stand, and the verifier's own next token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from gec.errors import ConfigError

if TYPE_CHECKING:
    from gec.decoding.decoder import State


@dataclass(frozen=True, slots=True)
class Scores:
    """What one verification pass gave.

    Attributes:
        logits: [B, T, V]; position i of a row scores the token that follows its i-th block token.
        drafts: [B, T] the drafted token at that place, -1 beyond the draft; on the same device.
        drafted: the same drafts as lists.
    """

    logits: Tensor
    drafts: Tensor
    drafted: Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Kept:
    """One row of the next state: its parent row and the tokens that follow the parent's."""

    parent: int
    tokens: list[int]
    drafted: int = 0
    accepted: int = 0
    logprobs: list[float] | None = None
    score: float = 0.0


class Acceptance(Protocol):
    """Decides which tokens every row gains. One device-to-host transfer a call."""

    def __call__(self, state: State, scores: Scores) -> list[Kept]: ...


@dataclass(frozen=True, slots=True)
class Exact:
    """Top-1 acceptance: a drafted token stands when it is the verifier's first choice.

    With it any drafter gives token for token the greedy output (Ge et al. 2022, section 3).

    Attributes:
        logprobs: also return the log-probability (nats) of every token kept.
    """

    logprobs: bool = False

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        best = scores.logits.argmax(-1)
        return _keep(state, scores, best == scores.drafts, best, self.logprobs)


@dataclass(frozen=True, slots=True)
class Conservative:
    """A drafted token also stands when the verifier prefers another by at most ``tolerance`` nats.

    With the copy drafter this is conservative IAD: fewer and surer corrections, and fewer passes.
    ``tolerance=0`` is :class:`Exact`.
    """

    tolerance: float
    logprobs: bool = False

    def __post_init__(self) -> None:
        if not self.tolerance >= 0:
            raise ConfigError(f"tolerance must be a number of nats >= 0, not {self.tolerance}")

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        top, best = scores.logits.max(-1)
        stands = best == scores.drafts
        if self.tolerance:
            drafts = scores.drafts.clamp_min(0)[..., None]
            behind = top.float() - scores.logits.gather(-1, drafts)[..., 0].float()
            stands |= (behind <= self.tolerance) & (scores.drafts >= 0)
        return _keep(state, scores, stands, best, self.logprobs)


def _keep(state: State, scores: Scores, stands: Tensor, best: Tensor, logprobs: bool) -> list[Kept]:
    """Keep each row's drafts up to the bifurcation, then the verifier's choice there."""
    accepted = stands.int().cumprod(1).sum(1, keepdim=True)  # [B, 1]
    last = best.shape[1] - 1
    # a row is accepted beyond its last score only when the draft ended with EOS
    decided = best.gather(1, accepted.clamp_max(last))
    columns = [accepted, decided]
    if logprobs:
        place = torch.arange(last + 1, device=best.device)
        chosen = torch.where(place < accepted, scores.drafts, best)
        picked = scores.logits.gather(-1, chosen.clamp_min(0)[..., None])[..., 0].float()
        columns.append(picked - scores.logits.float().logsumexp(-1))
        # ids and counts below 2**24 are exact in float32, so one tensor carries all
        columns = [column.float() for column in columns]
    kept = []
    for parent, (row, draft) in enumerate(
        zip(torch.cat(columns, 1).tolist(), scores.drafted, strict=True)
    ):
        count = int(row[0])
        tokens = list(draft[:count])
        if not tokens or tokens[-1] != state.eos_id:
            tokens.append(int(row[1]))
        probabilities = row[2 : 2 + len(tokens)] if logprobs else None
        kept.append(Kept(parent, tokens, len(draft), count, probabilities))
    return kept
