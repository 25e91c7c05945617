"""Drafting with a smaller model; with a drafter of its own it is itself a speculative decoder.

Leviathan et al. 2023, *Fast Inference from Transformers via Speculative Decoding*: a small model
draws the next tokens one after the other. Kim et al. 2023, *Speculative Decoding with Big Little
Decoder* (BiLD): it falls back to the large one where it is not sure.

A hierarchy nests drafters: ``SmallModelDrafter(medium, SmallModelDrafter(small))`` in front of a
large verifier. The same loop runs at every level (propose, verify, accept), so depth is free.

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
from typing import Any

import torch
from torch import Tensor

from gec.decoding.acceptance import Exact, Kept, Scores
from gec.decoding.decoder import Row, State
from gec.decoding.drafters import Drafter, NoDraft
from gec.decoding.model import Model
from gec.decoding.sampling import GREEDY, Sampling, speculate
from gec.decoding.trace import Pass
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


@dataclass(slots=True)
class DraftMemory:
    """What the small model's level remembers of every row.

    Attributes:
        memory: the model's.
        drafts: its drafter's.
        cached: the tokens, BOS first, that the model's memory holds.
        steps: the passes of the model.
        distributions: [B, T, V], what the tokens of the last drafts were drawn from.
    """

    memory: Any
    drafts: Any
    cached: list[list[int]]
    steps: list[tuple[Pass, ...]]
    distributions: Tensor | None = None


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

    def start(self, sources: Sequence[Sequence[int]]) -> DraftMemory:
        most = self.model.max_positions - 1
        memory = self.model.start([source[:most] for source in sources])
        none: tuple[Pass, ...] = ()
        empty: list[list[int]] = [[] for _ in sources]
        return DraftMemory(memory, self.drafter.start(sources), empty, [none] * len(sources))

    def propose(self, state: State) -> list[list[int]]:
        memory: DraftMemory = state.draft_memory
        memory.distributions = None
        level, open_rows = self._level(state)
        drawn: list[list[Tensor]] = [[] for _ in state.rows]
        while open_rows:
            self._step(level, memory, open_rows, drawn)
        memory.drafts = level.draft_memory
        drafts = []
        for number, (row, ours) in enumerate(zip(state.rows, level.rows, strict=True)):
            memory.steps[number] = ours.steps
            drafts.append(ours.tokens[len(row.tokens) :])
        if any(drawn):
            memory.distributions = _stack(drawn)
        return drafts

    def distributions(self, memory: DraftMemory) -> Tensor | None:
        return memory.distributions

    def select(self, memory: DraftMemory, rows: Sequence[int]) -> DraftMemory:
        return DraftMemory(
            self.model.select(memory.memory, rows),
            self.drafter.select(memory.drafts, rows),
            [memory.cached[row] for row in rows],
            [memory.steps[row] for row in rows],
        )

    def join(self, memory: DraftMemory, other: DraftMemory) -> DraftMemory:
        return DraftMemory(
            self.model.join(memory.memory, other.memory),
            self.drafter.join(memory.drafts, other.drafts),
            memory.cached + other.cached,
            memory.steps + other.steps,
        )

    def _level(self, state: State) -> tuple[State, set[int]]:
        """Return the loop's state at this level, and the rows that are to be drafted for."""
        memory: DraftMemory = state.draft_memory
        level = State(self.model, self.drafter, 0)
        level.memory, level.draft_memory = self._model_memory(state), memory.drafts
        for row, steps in zip(state.rows, memory.steps, strict=True):
            level.rows.append(
                Row(
                    row.sentence, row.source, self._limit(row), row.tokens,
                    steps=steps, stream=row.stream,
                )
            )  # fmt: skip
        open_rows = {i for i, row in enumerate(level.rows) if len(row.tokens) < row.limit}
        return level, open_rows

    def _model_memory(self, state: State) -> Any:
        """Return the model's memory, which another kind of drafter shares with the verifier."""
        return state.draft_memory.memory

    def _limit(self, row: Row) -> int:
        """Return how many tokens the row may have with its draft; the verifier adds one more."""
        most = min(row.limit - 1, self.model.max_positions)
        return min(most, len(row.tokens) + self.length(row))

    def _step(
        self, level: State, memory: DraftMemory, open_rows: set[int], drawn: list[list[Tensor]]
    ) -> None:
        """Make one pass: give every open row its tokens, and close those that end there."""
        rows = level.rows
        level.rows = [
            row if number in open_rows else self._parked(row, level.eos_id)
            for number, row in enumerate(rows)
        ]
        level.cached = [
            min(_common(cached, [level.bos_id, *row.tokens]), len(row.tokens))
            for cached, row in zip(memory.cached, level.rows, strict=True)
        ]
        scores = level.verify(self.drafter.propose(level))
        memory.cached = [
            [level.bos_id, *row.tokens, *(token for token in draft if token != level.eos_id)]
            for row, draft in zip(level.rows, scores.drafted, strict=True)
        ]
        kept, p = self._accept(level, scores)
        self.drafter.observe(level, kept)
        unsure = self._unsure(scores)
        for number in sorted(open_rows):
            row, choice = rows[number], kept[number]
            tokens = choice.tokens[: unsure[number]]
            ended = len(tokens) < len(choice.tokens)
            if tokens:
                made = Kept(number, tokens, choice.drafted, min(choice.accepted, len(tokens)))
                rows[number], hypothesis = row.extended(made, level.eos_id)
                ended = ended or hypothesis is not None
            if ended:
                open_rows.remove(number)
            if p is not None:
                drawn[number].append(p[number, : len(rows[number].tokens) - len(row.tokens)])
        level.rows = rows

    def _parked(self, row: Row, eos_id: int) -> Row:
        """Return a row that only keeps its place in a pass: nothing is drafted or drawn for it.

        It ends with a token that may be fed once more, at a place the model has.
        """
        tokens = row.tokens[:-1] if row.tokens and row.tokens[-1] == eos_id else row.tokens
        tokens = tokens[: self.model.max_positions - 1]
        return Row(row.sentence, row.source, len(tokens) + 1, tokens)

    def _accept(self, level: State, scores: Scores) -> tuple[list[Kept], Tensor | None]:
        """Return what the model makes of its drafter's drafts, and its distributions [B, T, V]."""
        if self.sampling.greedy:
            return Exact()(level, scores), None
        p = self.sampling(scores.logits)
        return speculate(level, scores, p), p

    def _unsure(self, scores: Scores) -> list[int]:
        """Return per row the first place where the model is not sure enough to go on alone."""
        rows, width = scores.drafts.shape
        if not self.fallback:
            return [width] * rows
        logits = scores.logits.float()
        sure = (logits.amax(-1) - logits.logsumexp(-1)).exp() >= self.fallback
        return sure.int().cumprod(1).sum(1).tolist()


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the length of the longest common prefix."""
    shorter = min(len(first), len(second))
    if first[:shorter] == second[:shorter]:
        return shorter
    return next(i for i in range(shorter) if first[i] != second[i])


def _stack(drawn: Sequence[Sequence[Tensor]]) -> Tensor:
    """Return [B, longest, V]; zeros behind a row's last distribution."""
    some = next(part for parts in drawn for part in parts)
    whole = [torch.cat(list(parts)) if parts else some[:0] for parts in drawn]
    return torch.nn.utils.rnn.pad_sequence(whole, batch_first=True)
