"""Log-probabilities of the tokens that any acceptance rule keeps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gec.decoding.acceptance import Acceptance, Conservative, Exact, Kept
from gec.decoding.beam import BeamSearch
from gec.decoding.scores import Scores

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
        rows: list[list[int]] = [[] for _ in state.rows]
        for choice in kept:
            rows[choice.parent] = choice.tokens
        [found] = scores.read(*scores.logprobs(rows))
        return [
            replace(choice, logprobs=found[choice.parent][: len(choice.tokens)]) for choice in kept
        ]


def with_logprobs(rule: Acceptance) -> Acceptance:
    """Return a rule that keeps the same tokens, with their log-probabilities."""
    if isinstance(rule, Exact | Conservative):
        return replace(rule, logprobs=True)
    return rule if isinstance(rule, BeamSearch) else Probable(rule)
