"""Log-probabilities of the tokens that any acceptance rule keeps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from gec.decoding.acceptance import Acceptance, Conservative, Exact, Kept, Scores
from gec.decoding.beam import BeamSearch

if TYPE_CHECKING:
    from gec.decoding.state import State


@dataclass(frozen=True, slots=True)
class Probable:
    """Does as ``rule``, and says how probable the verifier finds each token that it keeps.

    That takes a second transfer a pass; rules that return log-probabilities themselves need none.
    """

    rule: Acceptance

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        kept = self.rule(state, scores)
        logits = scores.logits  # [B, T, V]
        width = logits.shape[1]  # at least as many as the tokens of any row
        padded = [[*choice.tokens, *[0] * (width - len(choice.tokens))] for choice in kept]
        parents = torch.tensor([choice.parent for choice in kept], device=logits.device)
        chosen = torch.tensor(padded, device=logits.device)[..., None]  # [B, T, 1]
        found = logits[parents].float().log_softmax(-1).gather(-1, chosen)[..., 0].tolist()
        return [
            replace(choice, logprobs=values[: len(choice.tokens)])
            for choice, values in zip(kept, found, strict=True)
        ]


def with_logprobs(rule: Acceptance) -> Acceptance:
    """Return a rule that keeps the same tokens, with their log-probabilities."""
    if isinstance(rule, Exact | Conservative):
        return replace(rule, logprobs=True)
    return rule if isinstance(rule, BeamSearch) else Probable(rule)
