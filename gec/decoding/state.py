"""What the loop knows of the outputs in the making: their rows and the memories of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gec.decoding.acceptance import Kept
from gec.decoding.drafters import Drafter
from gec.decoding.model import Model
from gec.decoding.scores import Scores
from gec.decoding.trace import Pass


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One decoded output.

    Attributes:
        tokens: the output ids, without BOS and EOS.
        truncated: the length limit was reached before the verifier ended the sentence.
        logprobs: log-probability (nats) of each token and of the EOS, where asked for.
        score: length-normalised log-probability in beam search, else 0.
        steps: the passes that made it.
    """

    tokens: tuple[int, ...]
    truncated: bool
    logprobs: tuple[float, ...]
    score: float
    steps: tuple[Pass, ...]


class Stream:
    """Random numbers that are seeded when the first is drawn: most rules never draw one."""

    def __init__(self, seed: str = "") -> None:
        self._seed = seed

    @cached_property
    def _random(self) -> random.Random:
        return random.Random(self._seed)

    def getrandbits(self, bits: int) -> int:
        """Return the next number of so many bits."""
        return self._random.getrandbits(bits)


@dataclass(slots=True)
class Row:
    """One output in the making. ``tokens`` has no BOS; ``limit`` counts tokens with EOS.

    ``stream`` holds the sentence's own random numbers: all that drafter and acceptance draw for it
    comes from there, so that its neighbours in a batch change nothing.
    """

    sentence: int
    source: Sequence[int]
    limit: int
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    score: float = 0.0
    steps: tuple[Pass, ...] = ()
    stream: Stream = field(default_factory=Stream)

    def extended(self, kept: Kept, eos_id: int) -> tuple[Row, Hypothesis | None]:
        """Return the row after ``kept``, and its hypothesis where that ends it."""
        new = kept.tokens[: self.limit - len(self.tokens)]
        tokens = self.tokens + new
        logprobs = self.logprobs + (kept.logprobs or [])[: len(new)]
        step = Pass(kept.drafted, min(kept.accepted, len(new)), len(new))
        row = Row(
            self.sentence, self.source, self.limit, tokens, logprobs, kept.score,
            (*self.steps, step), self.stream,
        )  # fmt: skip
        ended = tokens[-1] == eos_id
        if not ended and len(tokens) < self.limit:
            return row, None
        output = tuple(tokens[:-1] if ended else tokens)
        return row, Hypothesis(output, not ended, tuple(logprobs), kept.score, row.steps)


class State:
    """Live rows, the model's and the drafter's memories of them, and what is finished.

    Attributes:
        rows: the outputs in the making, in the order of the memories' rows.
        memory: the model's memory of the rows; None before the first :meth:`admit`.
        draft_memory: the drafter's.
        finished: per sentence its finished hypotheses.
        drafts: of each row's last draft what could stand, and so was scored.
    """

    def __init__(self, model: Model, drafter: Drafter, sentences: int) -> None:
        self.model, self.drafter = model, drafter
        self.bos_id, self.eos_id = model.bos_id, model.eos_id
        self.rows: list[Row] = []
        self.memory: Any = None
        self.draft_memory: Any = None
        self.finished: list[list[Hypothesis]] = [[] for _ in range(sentences)]
        self.drafts: list[Sequence[int]] = []

    def admit(self, rows: Sequence[Row]) -> None:
        """Start new rows behind the live ones.

        The model sees the beginning of a source that is longer than its positions.
        """
        sources = [row.source for row in rows]
        most = self.model.max_positions - 1
        memory = self.model.start([source[:most] for source in sources])
        draft_memory = self.drafter.start(sources)
        if self.rows:
            memory = self.model.join(self.memory, memory)
            draft_memory = self.drafter.join(self.draft_memory, draft_memory)
        self.memory, self.draft_memory = memory, draft_memory
        self.rows = [*self.rows, *rows]

    def held(self) -> list[int]:
        """Return how many of BOS and each row's tokens the model's memory holds.

        All but the row's last token, which are as many as there are tokens.
        """
        return [len(row.tokens) for row in self.rows]

    def verify(self, drafts: Sequence[Sequence[int]]) -> Scores:
        """Score every row's last token and draft, as far as it can stand, in one pass."""
        self.drafts = [self._cut(row, draft) for row, draft in zip(self.rows, drafts, strict=True)]
        lengths, starts = [len(row.tokens) for row in self.rows], self.held()
        blocks = []
        for row, draft, start in zip(self.rows, self.drafts, starts, strict=True):
            fed = draft[:-1] if draft and draft[-1] == self.eos_id else draft
            last = row.tokens[start - 1 :] if start else [self.bos_id, *row.tokens]
            blocks.append([*last, *fed])
        scores = self.model.verify(self.memory, blocks, starts)
        if starts == lengths:
            return scores
        return scores.after([n - s for n, s in zip(lengths, starts, strict=True)])

    def _cut(self, row: Row, draft: Sequence[int]) -> Sequence[int]:
        """Return a draft up to its first EOS, at which every output ends.

        No draft reaches beyond the row's limit either, hence none beyond the model's positions.
        """
        draft = draft[: row.limit - len(row.tokens) - 1]
        return draft[: draft.index(self.eos_id) + 1] if self.eos_id in draft else draft

    def advance(self, kept: Sequence[Kept]) -> None:
        """Give rows their tokens, retire finished ones, reorder the memories if rows changed."""
        rows, parents = [], []
        for choice in kept:
            row, hypothesis = self.rows[choice.parent].extended(choice, self.eos_id)
            if hypothesis is not None:
                self.finished[row.sentence].append(hypothesis)
            else:
                rows.append(row)
                parents.append(choice.parent)
        if rows and parents != list(range(len(self.rows))):
            self.select(parents)
        self.rows = rows

    def select(self, parents: Sequence[int]) -> None:
        """Keep the memories of only these rows, in this order; a row may repeat."""
        self.memory = self.model.select(self.memory, parents)
        self.draft_memory = self.drafter.select(self.draft_memory, parents)
