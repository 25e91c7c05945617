"""Beam search as an acceptance rule of the one loop: a row a hypothesis, caches reordered.

A sentence starts as one row and becomes up to ``size`` rows. It ends when ``size`` hypotheses are
finished; scores are log-probabilities (nats) divided by length ** length_penalty (Wu et al. 2016
without the constant; fairseq's rule), the EOS counted.

**Speculative beam search** is the same rule with drafts: every row's draft is scored in the one
pass, and the search takes as many steps as it has scores for. After a step whose live hypotheses
all follow the drafts of distinct rows the scores of the next step are there too; the first
hypothesis that leaves its draft ends the pass. Each step chooses among the candidates that plain
beam search would have, in the same order, so hypotheses and scores are the same for any drafter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from gec.decoding.acceptance import Kept
from gec.decoding.scores import Scores
from gec.decoding.state import State
from gec.errors import ConfigError

Candidates = Sequence[Sequence[tuple[float, int]]]
"""Per place of a row its best continuations: log-probability (nats) and id."""


@dataclass(frozen=True, slots=True)
class _Beam:
    """A live hypothesis within a pass: a row, and how far it has followed the row's draft."""

    row: int
    tokens: list[int]
    logprobs: list[float]
    score: float = 0.0

    def follows(self, draft: Sequence[int]) -> bool:
        """Is it the beginning of the row's draft? Then what comes after it has been scored."""
        return self.tokens == list(draft[: len(self.tokens)])


@dataclass(frozen=True, slots=True)
class BeamSearch:
    """Keeps the ``size`` best continuations of every sentence.

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
        values, tokens = scores.read(*scores.top(2 * self.size))
        best = [
            [list(zip(*place, strict=True)) for place in zip(*row, strict=True)]
            for row in zip(values, tokens, strict=True)
        ]
        rows_of: dict[int, list[int]] = defaultdict(list)
        for number, row in enumerate(state.rows):
            rows_of[row.sentence].append(number)
        kept: list[Kept] = []
        for numbers in rows_of.values():
            kept += self._search(state, state.drafts, numbers, best)
        return kept

    def _search(
        self,
        state: State,
        drafts: Sequence[Sequence[int]],
        numbers: Sequence[int],
        best: Sequence[Candidates],
    ) -> list[Kept]:
        """Take the steps of one sentence, whose rows are ``numbers``, that the pass has scored."""
        kept: list[Kept] = []
        live = [_Beam(number, [], []) for number in numbers]
        while True:
            ended, live = self._step(state, live, best, len(kept))
            kept += [_kept(beam, drafts) for beam in ended]
            if not all(beam.follows(drafts[beam.row]) for beam in live):
                return kept + [_kept(beam, drafts) for beam in live]
            if not live:
                return kept

    def _step(
        self, state: State, live: Sequence[_Beam], best: Sequence[Candidates], found: int
    ) -> tuple[list[_Beam], list[_Beam]]:
        """Return the hypotheses that a step of the search ends, and those that live on.

        ``found`` ones ended earlier in this pass.
        """
        totals = [sum(state.rows[beam.row].logprobs + beam.logprobs) for beam in live]
        candidates = sorted(
            (-(total + value), n, token, value)
            for n, (beam, total) in enumerate(zip(live, totals, strict=True))
            for value, token in best[beam.row][len(beam.tokens)]
        )[: 2 * self.size]
        first = state.rows[live[0].row]
        length = len(first.tokens) + len(live[0].tokens) + 1
        ended: list[_Beam] = []
        others: list[_Beam] = []
        for rank, (cost, n, token, value) in enumerate(candidates):
            beam = live[n]
            child = _Beam(
                beam.row,
                [*beam.tokens, token],
                [*beam.logprobs, value],
                -cost / length**self.length_penalty,
            )
            if token == state.eos_id:
                if rank < self.size:
                    ended.append(child)
            elif len(others) < self.size:
                others.append(child)
        room = self.size - len(state.finished[first.sentence]) - found
        if len(ended) >= room:
            return ended[:room], []
        if length == first.limit:  # all of them end here, truncated
            return [*ended, *others[: room - len(ended)]], []
        return ended, others


def _kept(beam: _Beam, drafts: Sequence[Sequence[int]]) -> Kept:
    draft = drafts[beam.row]
    accepted = len(beam.tokens) - (not beam.follows(draft))
    return Kept(beam.row, beam.tokens, len(draft), accepted, beam.logprobs, beam.score)
