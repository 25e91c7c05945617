"""Beam search as an acceptance rule of the one loop: a row a hypothesis, caches reordered.

A sentence starts as one row and becomes up to ``size`` rows. It ends when ``size`` hypotheses are
finished; scores are log-probabilities (nats) divided by length ** length_penalty (Wu et al. 2016
without the constant; fairseq's rule), the EOS counted.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import torch

from gec.decoding.acceptance import Kept, Scores
from gec.decoding.decoder import State
from gec.errors import ConfigError


@dataclass(frozen=True, slots=True)
class BeamSearch:
    """Keeps the ``size`` best continuations of every sentence; use it with an empty draft.

    Attributes:
        size: hypotheses kept a sentence, also the most returned (the n-best list).
        length_penalty: exponent of the length; 0 sums, 1 averages, more favours longer outputs.
    """

    size: int = 5
    length_penalty: float = 1.0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ConfigError(f"beam size must be at least 1, not {self.size}")

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        logprobs = scores.logits[:, 0].float().log_softmax(-1)
        width = min(2 * self.size, logprobs.shape[1])
        values, tokens = logprobs.topk(width, dim=-1)
        # ids below 2**24 are exact in float32, so one transfer carries both
        best = torch.stack([values, tokens.float()], -1).tolist()
        totals = [sum(row.logprobs) for row in state.rows]
        rows_of: dict[int, list[int]] = defaultdict(list)
        for number, row in enumerate(state.rows):
            rows_of[row.sentence].append(number)
        kept: list[Kept] = []
        for sentence, numbers in rows_of.items():
            candidates = sorted(
                (-(totals[n] + value), n, int(token), value)
                for n in numbers
                for value, token in best[n]
            )[: 2 * self.size]
            kept += self._choose(state, sentence, candidates)
        return kept

    def _choose(
        self, state: State, sentence: int, candidates: list[tuple[float, int, int, float]]
    ) -> list[Kept]:
        """Take finished hypotheses from the best ``size`` candidates, then ``size`` live ones."""
        ended: list[Kept] = []
        live: list[Kept] = []
        for rank, (cost, parent, token, value) in enumerate(candidates):
            length = len(state.rows[parent].tokens) + 1
            choice = Kept(
                parent, [token], logprobs=[value], score=-cost / length**self.length_penalty
            )
            if token == state.eos_id:
                if rank < self.size:
                    ended.append(choice)
            elif len(live) < self.size:
                live.append(choice)
        room = self.size - len(state.finished[sentence])
        if len(ended) >= room:
            return ended[:room]
        first = state.rows[candidates[0][1]]
        at_limit = len(first.tokens) + 1 == first.limit  # all of them end here, truncated
        return ended + (live[: room - len(ended)] if at_limit else live)
