"""Drafting with a smaller model; with a drafter of its own it is itself a speculative decoder.

Leviathan et al. 2023, *Fast Inference from Transformers via Speculative Decoding*: a small model
draws the next tokens one after the other. Kim et al. 2023, *Speculative Decoding with Big Little
Decoder* (BiLD): it falls back to the large one where it is not sure.

A hierarchy nests drafters: ``SmallModelDrafter(medium, SmallModelDrafter(small))`` in front of a
large verifier. Every level takes the steps of :mod:`gec.decoding.loop` (propose, verify, accept)
over a state of its own, a :class:`Level`, so depth is free.

**Which q is right in a hierarchy.** The large model's rule needs, for every token of a draft, the
distribution of that token given what stands before it. Level by level: tokens that the small
model draws have its distribution q. The medium's rule keeps or redraws them such that each token
that leaves the medium has the medium's distribution m given what stands before (the proof is in
:mod:`gec.decoding.sampling`); this holds for those it accepted, the one it redrew and the one it
added. So the large model compares its p with m for *every* token of the draft. Comparing with q
for the tokens that the small model proposed would be wrong: given that the medium let them pass,
they no longer are distributed as q.

Where a draft ends may depend on anything known before the next token is drawn (its length, how
sure the model is there), never on the token itself: a token once drawn is proposed. Then, given
that there is a draft at a place, its token still has the distribution m.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gec.decoding.acceptance import Exact, Kept
from gec.decoding.drafters import Drafter, NoDraft
from gec.decoding.loop import step
from gec.decoding.model import Model
from gec.decoding.sampling import GREEDY, Sampling, speculate
from gec.decoding.scores import Part, Scores
from gec.decoding.state import Row, State
from gec.errors import ConfigError

Length = Callable[[Row], int]
"""How many tokens to draft for a row, 0 for none; may look at the passes made so far."""


@dataclass(frozen=True, slots=True)
class FixedLength:
    """Always ``gamma`` tokens."""

    gamma: int = 5

    def __post_init__(self) -> None:
        if self.gamma < 0:
            raise ConfigError(f"gamma must be at least 0, not {self.gamma}")

    def __call__(self, row: Row) -> int:
        return self.gamma


class Level(State):
    """The state of a drafting model, whose rows follow those of what it drafts for.

    A row that ends stays until the verifier's does: the model's memory has a place for it. It is
    *parked* meanwhile, which means that a pass feeds its last token once more and nothing else.

    Attributes:
        rows: what a pass is made of: rows that are drafted for, and parked ones.
        open: the numbers of the rows that are drafted for, in order.
        outputs: the verifier's rows, with the drafts behind their tokens.
        cached: per row the tokens, BOS first, that the model's memory holds.
        drawn: per row what its draft's tokens were drawn from, a part a pass.
    """

    def __init__(self, model: Model, drafter: Drafter, sources: Sequence[Sequence[int]]) -> None:
        super().__init__(model, drafter, 0)
        self.admit([Row(0, source, 0) for source in sources])
        self.outputs = self.rows
        self.open: list[int] = []
        self.cached: list[list[int]] = [[] for _ in sources]
        self.drawn: list[list[Part]] = []

    def follow(self, rows: Sequence[Row], limits: Sequence[int]) -> None:
        """Begin drafts behind the verifier's rows, of which each may grow to its limit."""
        self.outputs = [
            Row(row.sentence, row.source, limit, row.tokens, steps=mine.steps, stream=row.stream)
            for row, limit, mine in zip(rows, limits, self.outputs, strict=True)
        ]
        self.rows = [self._placed(row) for row in self.outputs]
        self.open = [i for i, row in enumerate(self.outputs) if self.rows[i] is row]
        self.drawn = [[] for _ in rows]

    def held(self) -> list[int]:
        return [
            min(_common(cached, [self.bos_id, *row.tokens]), len(row.tokens))
            for cached, row in zip(self.cached, self.rows, strict=True)
        ]

    def verify(self, drafts: Sequence[Sequence[int]]) -> Scores:
        scores = super().verify(drafts)
        self.cached = [
            [self.bos_id, *row.tokens, *(token for token in draft if token != self.eos_id)]
            for row, draft in zip(self.rows, self.drafts, strict=True)
        ]
        return scores

    def advance(self, kept: Sequence[Kept]) -> None:
        """Give open rows their tokens, and park those that end."""
        for number in self.open:
            row = self.rows[number]
            if len(row.tokens) < row.limit:
                row, _ = row.extended(kept[number], self.eos_id)
            self.outputs[number] = row
            self.rows[number] = self._placed(row)
        self.open = [i for i in self.open if self.rows[i] is self.outputs[i]]

    def select(self, parents: Sequence[int]) -> None:
        super().select(parents)
        self.rows = self.outputs = [self.outputs[row] for row in parents]
        self.cached = [self.cached[row] for row in parents]

    def join(self, other: Level) -> None:
        """Take in the rows of another level, which is consumed."""
        self.memory = self.model.join(self.memory, other.memory)
        self.draft_memory = self.drafter.join(self.draft_memory, other.draft_memory)
        self.rows = self.outputs = self.outputs + other.outputs
        self.cached = self.cached + other.cached

    def _placed(self, row: Row) -> Row:
        """Return the row if it can grow, else a parked one: nothing is drafted or drawn for it.

        A parked row ends with a token that may be fed once more, at a place the model has.
        """
        ended = len(row.tokens) > 0 and row.tokens[-1] == self.eos_id
        if not ended and len(row.tokens) < row.limit:
            return row
        tokens = row.tokens[:-1] if ended else row.tokens
        tokens = tokens[: self.model.max_positions - 1]
        return Row(row.sentence, row.source, len(tokens) + 1, tokens)


class SmallModelDrafter(Drafter):
    """Drafts what ``model`` decodes, one token a pass or with the help of a ``drafter``.

    Sources and outputs beyond the small model's positions cost drafts, never correctness: it sees
    the beginning of such a source, and drafts nothing behind its last position.

    Args:
        model: the smaller model; it shares the verifier's vocabulary.
        drafter: what drafts for the smaller model; the default lets it go token by token.
        length: how many tokens to draft for a row.
        sampling: how to draw; greedily by default. Exact with any, best with the verifier's.
        fallback: end a draft where the model's likeliest token has less probability than this, 0
            to 1 (alpha_FB of Kim et al. 2023): the verifier decides there.

    Raises:
        ConfigError: ``fallback`` is out of range.
    """

    def __init__(
        self,
        model: Model,
        drafter: Drafter | None = None,
        *,
        length: Length | None = None,
        sampling: Sampling = GREEDY,
        fallback: float = 0.0,
    ) -> None:
        if not 0 <= fallback <= 1:
            raise ConfigError(f"the fallback threshold must lie from 0 to 1, not {fallback}")
        self.model = model
        self.drafter = drafter or NoDraft()
        self.length = length or FixedLength()
        self.sampling = sampling
        self.fallback = fallback

    def start(self, sources: Sequence[Sequence[int]]) -> Level:
        return Level(self.model, self.drafter, sources)

    def propose(self, state: State) -> list[list[int]]:
        level: Level = state.draft_memory
        level.follow(state.rows, [self._limit(row) for row in state.rows])
        while level.open:
            step(level, self._accept)
        return [
            ours.tokens[len(row.tokens) :]
            for row, ours in zip(state.rows, level.outputs, strict=True)
        ]

    def distributions(self, memory: Level) -> list[list[Part]] | None:
        return memory.drawn if any(memory.drawn) else None

    def select(self, memory: Level, rows: Sequence[int]) -> Level:
        memory.select(rows)
        return memory

    def join(self, memory: Level, other: Level) -> Level:
        memory.join(other)
        return memory

    def _limit(self, row: Row) -> int:
        """Return how many tokens the row may have with its draft; the verifier adds one more."""
        most = min(row.limit - 1, self.model.max_positions)
        return min(most, len(row.tokens) + self.length(row))

    def _accept(self, level: Level, scores: Scores) -> list[Kept]:
        """Return what the model makes of its drafter's drafts.

        If it is not sure enough to go on alone at some place of a row, the row's limit lies there.
        """
        p = None if self.sampling.greedy else scores.distribution(self.sampling)
        kept = Exact()(level, scores) if p is None else speculate(level, p)
        sure = self._sure(scores)
        for number in level.open:
            row, gained = level.rows[number], len(kept[number].tokens)
            if sure[number] < gained:
                row.limit = min(row.limit, len(row.tokens) + sure[number])
            if p is not None:
                count = min(gained, row.limit - len(row.tokens))
                level.drawn[number].append(p.part(number, count))
        return kept

    def _sure(self, scores: Scores) -> list[int]:
        """Return per row how many places the model is sure enough of to go on alone."""
        if not self.fallback:
            return list(scores.lengths)
        [certainty] = scores.read(scores.certainty())
        return [
            next((i for i, p in enumerate(row) if not p >= self.fallback), len(row))
            for row in certainty
        ]


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the length of the longest common prefix."""
    shorter = min(len(first), len(second))
    if first[:shorter] == second[:shorter]:
        return shorter
    return next(i for i in range(shorter) if first[i] != second[i])
