"""Acceptance rules: how many drafted tokens stand, and the verifier's own next token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from gec.decoding.packing import Packing
from gec.errors import ConfigError

if TYPE_CHECKING:
    from gec.decoding.decoder import State


@dataclass(frozen=True, slots=True)
class Scores:
    """What one verification pass gave.

    Attributes:
        raw: the logits as the model gave them, [B, T, V], or packed [N, V].
        drafts: [B, T] the drafted token at that place, -1 beyond the draft; on the same device.
        drafted: the same drafts as lists.
        packing: how packed logits lie in [B, T]; None where they are padded.
    """

    raw: Tensor
    drafts: Tensor
    drafted: Sequence[Sequence[int]]
    packing: Packing | None = None

    @property
    def logits(self) -> Tensor:
        """[B, T, V]; position i of a row scores the token that follows its i-th block token."""
        return self.spread(self.raw)

    def spread(self, x: Tensor) -> Tensor:
        """Return [B, T, ...] of what was computed from ``raw``; zero in padding."""
        return x if self.packing is None else self.packing.spread(x)

    def gather(self, x: Tensor) -> Tensor:
        """Return [B, T, ...] in the layout of ``raw``."""
        return x if self.packing is None else self.packing.gather(x)


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
        _, best = best_of(scores.raw)
        best = scores.spread(best)
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
        top, best = best_of(scores.raw)
        drafts = scores.gather(scores.drafts)
        stands = best == drafts
        if self.tolerance:
            drafted = scores.raw.gather(-1, drafts.clamp_min(0)[..., None])[..., 0]
            stands |= (top.float() - drafted.float() <= self.tolerance) & (drafts >= 0)
        return _keep(state, scores, scores.spread(stands), scores.spread(best), self.logprobs)


@dataclass(frozen=True, slots=True)
class TopBeta:
    """A drafted token stands among the verifier's best ``beta``, at most ``tau`` nats behind.

    GAD++ (Ge et al. 2022, section 4.3), SpecDec++ (Xia et al. 2022, section 3.3), with the
    verifier's log-probability of the drafted token, as in the implementation they released.
    ``beta=1`` is :class:`Exact` but for ties, and so is ``tau=0``.
    """

    beta: int
    tau: float

    def __post_init__(self) -> None:
        check_beta_tau(self.beta, self.tau)

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        logits = scores.logits
        top, best = best_of(logits)
        drafted = _of_drafts(logits, scores.drafts)
        near = top.float() - drafted.float() <= self.tau
        stands = near & _among_best(logits, drafted, self.beta)
        return _keep(state, scores, stands | (best == scores.drafts), best, False)


@dataclass(frozen=True, slots=True)
class PaperTopBeta:
    """Equations (6) and (7) of Xia et al. 2022 as they are printed, with the drafter's certainty.

    A drafted token stands when the *drafter's* log-probability of it is at least the verifier's of
    its ``beta``-th best token, and at most ``tau`` below the verifier's of its best. The verifier's
    opinion of the drafted token itself does not enter: a sure drafter is trusted, and of an unsure
    one even the verifier's first choice is refused (and then decided by the verifier, which costs a
    pass). Raises ConfigError where the drafter has no log-probabilities of its drafts.
    """

    beta: int
    tau: float

    def __post_init__(self) -> None:
        check_beta_tau(self.beta, self.tau)

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        certainty = state.drafter.logprobs(state.draft_memory)
        if certainty is None:
            raise ConfigError(
                "PaperTopBeta compares the drafter's log-probabilities, and a "
                f"{type(state.drafter).__name__} has none: use a NatDrafter, or TopBeta"
            )
        logprobs = scores.logits.float().log_softmax(-1)
        beta = min(self.beta, logprobs.shape[-1])
        highest = logprobs.topk(beta, dim=-1).values  # [B, T, beta]
        drafted = torch.full_like(highest[..., 0], -torch.inf)
        for row, draft in enumerate(scores.drafted):
            sure = certainty[row][: len(draft)]
            drafted[row, : len(sure)] = torch.tensor(sure, device=drafted.device)
        stands = (drafted >= highest[..., -1]) & (highest[..., 0] - drafted <= self.tau)
        _, best = best_of(scores.logits)
        return _keep(state, scores, stands & (scores.drafts >= 0), best, False)


@dataclass(frozen=True, slots=True)
class TopK:
    """A drafted token stands among the verifier's best ``k`` (Stern et al. 2018, section 5.1)."""

    k: int

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"the best k: k must be at least 1, not {self.k}")

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        logits = scores.logits
        _, best = best_of(logits)
        stands = _among_best(logits, _of_drafts(logits, scores.drafts), self.k)
        return _keep(state, scores, stands | (best == scores.drafts), best, False)


@dataclass(frozen=True, slots=True)
class Distance:
    """A drafted token stands when its id is at most ``epsilon`` from the verifier's choice.

    Stern et al. 2018, section 5.2: for ids with an order, such as the intensities of an image.
    """

    epsilon: int

    def __post_init__(self) -> None:
        if self.epsilon < 0:
            raise ConfigError(f"a distance must be at least 0, not {self.epsilon}")

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        _, best = best_of(scores.logits)
        near = (best - scores.drafts).abs() <= self.epsilon
        # EOS is no intensity: it neither stands in for a token nor is replaced by one
        special = (best == state.eos_id) | (scores.drafts == state.eos_id)
        stands = torch.where(special, best == scores.drafts, near & (scores.drafts >= 0))
        return _keep(state, scores, stands, best, False)


@dataclass(frozen=True, slots=True)
class AcceptAll:
    """Every draft stands unseen: the drafter decodes alone. Where it has none, the model's choice.

    The loop leaves the verifier the last place of an output, so at the length limit there is none.
    """

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        first = scores.logits[:, 0].argmax(-1).tolist()
        return [
            Kept(row, list(draft) or [first[row]], len(draft), len(draft))
            for row, draft in enumerate(scores.drafted)
        ]


def check_beta_tau(beta: int, tau: float) -> None:
    """Refuse what GAD++ has no meaning for."""
    if beta < 1 or not tau >= 0:
        raise ConfigError(f"beta must be at least 1 and tau at least 0, not {beta} and {tau}")


def _of_drafts(logits: Tensor, drafts: Tensor) -> Tensor:
    """Return the logits [B, T] of the drafted tokens, -inf beyond a draft."""
    picked = logits.gather(-1, drafts.clamp_min(0)[..., None])[..., 0]
    return picked.masked_fill(drafts < 0, -torch.inf)


def _among_best(logits: Tensor, drafted: Tensor, count: int) -> Tensor:
    """Mark [B, T] drafted tokens that fewer than ``count`` are better than; ties do not count."""
    better = (logits > drafted[..., None]).sum(-1)
    return (better < count) & drafted.isfinite()


def keep(state: State, scores: Scores, accepted: Tensor, decided: Tensor) -> list[Kept]:
    """Keep ``accepted`` [B] drafted tokens of each row, then ``decided`` [B] unless it ended."""
    kept = []
    for parent, (count, token) in enumerate(torch.stack([accepted, decided], 1).tolist()):
        draft = scores.drafted[parent]
        new = list(draft[:count])
        if not new or new[-1] != state.eos_id:
            new.append(token)
        kept.append(Kept(parent, new, len(draft), count))
    return kept


def best_of(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Return the largest logit [...] of [..., V] and the first id that has it.

    The same as ``max(-1)``, which on a CPU compares one number at a time: here the best of each
    group of ids is found first, which compares many.
    """
    vocabulary = logits.shape[-1]
    size = next((n for n in (64, 32, 16) if vocabulary % n == 0), None)
    if logits.device.type != "cpu" or size is None or logits.numel() <= vocabulary:
        top, best = logits.max(-1)
        return top, best
    groups = logits.reshape(*logits.shape[:-1], -1, size)
    group = groups.amax(-1).argmax(-1)
    inside = groups.gather(-2, group[..., None, None].expand(*group.shape, 1, size))[..., 0, :]
    top, place = inside.max(-1)
    return top, group * size + place


def _log_probabilities(logits: Tensor, tokens: Tensor) -> Tensor:
    """Return those [...] of tokens [...], some rows at a time: all of them take as much memory."""
    flat, wanted = logits.flatten(0, -2), tokens.flatten()[:, None]
    rows = zip(torch.split(flat, 256), torch.split(wanted, 256), strict=True)
    parts = [some.float().log_softmax(-1).gather(-1, these) for some, these in rows]
    return torch.cat(parts).view(tokens.shape)


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
        chosen = scores.gather(chosen.clamp_min(0))
        columns.append(scores.spread(_log_probabilities(scores.raw, chosen)))
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
