"""The one decoding loop: draft, verify, accept.

Greedy, beam search, aggressive and speculative decoding differ only in the drafter and the
acceptance rule they put in::

    while waiting or state.rows:
        state.admit(waiting)               # encode; empty caches; one row a sentence
        drafts = drafter.propose(state)
        scores = verify(state, drafts)     # ONE pass over the last token and the draft of every row
        kept = acceptance(state, scores)
        state.advance(kept)                # truncate caches, retire finished rows

Waiting sentences take the places of finished ones while the others go on (continuous batching), so
that one heavily edited sentence does not hold up the rest of its batch.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gec.decoding.acceptance import Acceptance, Exact, Kept, Scores
from gec.decoding.drafters import Drafter, NoDraft
from gec.decoding.model import Model, PackedModel
from gec.decoding.packing import Packing
from gec.decoding.trace import Pass
from gec.errors import ConfigError, InputError


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
    stream: random.Random = field(default_factory=lambda: random.Random(0))

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
        cached: how many of BOS and a row's tokens the memory holds, one number a row; None means
            all but each row's last token, as after every :meth:`advance`.
    """

    def __init__(self, model: Model, drafter: Drafter, sentences: int) -> None:
        self.model, self.drafter = model, drafter
        self.bos_id, self.eos_id = model.bos_id, model.eos_id
        self.rows: list[Row] = []
        self.memory: Any = None
        self.draft_memory: Any = None
        self.finished: list[list[Hypothesis]] = [[] for _ in range(sentences)]
        self.cached: list[int] | None = None

    def admit(self, rows: Sequence[Row]) -> None:
        """Start new rows behind the live ones."""
        sources = [row.source for row in rows]
        memory, draft_memory = self.model.start(sources), self.drafter.start(sources)
        if self.rows:
            memory = self.model.join(self.memory, memory)
            draft_memory = self.drafter.join(self.draft_memory, draft_memory)
        self.memory, self.draft_memory = memory, draft_memory
        self.rows = [*self.rows, *rows]

    def verify(self, drafts: Sequence[Sequence[int]]) -> Scores:
        """Score every row's last token and draft, as far as it can stand, in one pass."""
        drafts = [self._cut(row, draft) for row, draft in zip(self.rows, drafts, strict=True)]
        # BOS and all tokens but the last are as many as there are tokens
        lengths = [len(row.tokens) for row in self.rows]
        starts = self.cached or lengths
        blocks = []
        for row, draft, start in zip(self.rows, drafts, starts, strict=True):
            fed = draft[:-1] if draft and draft[-1] == self.eos_id else draft
            last = row.tokens[start - 1 :] if start else [self.bos_id, *row.tokens]
            blocks.append([*last, *fed])
        packing = None
        if starts != lengths:
            logits = self.model.verify(self.memory, blocks, starts)
            logits = _after(logits, [n - s for n, s in zip(lengths, starts, strict=True)])
            self.cached = None
        elif len(set(map(len, blocks))) > 1 and isinstance(self.model, PackedModel):
            logits = self.model.verify_packed(self.memory, blocks, starts)
            packing = Packing.of([len(block) for block in blocks], logits.device)
        else:
            logits = self.model.verify(self.memory, blocks, starts)
        width = logits.shape[1] if packing is None else packing.longest
        padded = [[*draft, *[-1] * (width - len(draft))] for draft in drafts]
        return Scores(logits, torch.tensor(padded, device=logits.device), drafts, packing)

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
            self.memory = self.model.select(self.memory, parents)
            self.draft_memory = self.drafter.select(self.draft_memory, parents)
        self.rows = rows


def _after(logits: Tensor, counts: Sequence[int]) -> Tensor:
    """Return [B, T, V] without the first ``counts[r]`` places of each row r."""
    width = logits.shape[1] - min(counts)
    index = torch.arange(width, device=logits.device)
    places = (torch.tensor(counts, device=logits.device)[:, None] + index).clamp_max(
        logits.shape[1] - 1
    )
    return logits.gather(1, places[..., None].expand(-1, -1, logits.shape[2]))


@dataclass(frozen=True, slots=True)
class LengthLimit:
    """At most ``ratio`` x source length + ``extra`` output tokens (EOS included)."""

    ratio: float = 1.5
    extra: int = 20

    def __post_init__(self) -> None:
        if not (self.ratio >= 0 and self.extra >= 1):
            raise ConfigError(
                f"a length limit needs a ratio of at least 0 and an extra of at least 1, "
                f"not {self.ratio} and {self.extra}"
            )

    def __call__(self, source: Sequence[int]) -> int:
        return int(self.ratio * len(source)) + self.extra


class Decoder:
    """Decodes batches of sources with one model, drafter and acceptance rule."""

    def __init__(
        self,
        model: Model,
        drafter: Drafter | None = None,
        acceptance: Acceptance | None = None,
        *,
        limit: LengthLimit | None = None,
        seed: int = 0,
    ) -> None:
        self.model = model
        self.drafter = drafter or NoDraft()
        self.acceptance = acceptance or Exact()
        self.limit = limit or LengthLimit()
        self.seed = seed

    def decode(
        self, sources: Sequence[Sequence[int]], *, batch_size: int = 32
    ) -> list[list[Hypothesis]]:
        """Decode token id sequences (no BOS, no EOS); the results are in the order of the sources.

        Sources of like length are decoded together, shortest first; which ones share a pass changes
        no token but for floating-point ties.

        Returns:
            Per source its hypotheses, best first: one, or up to the beam size in beam search.

        Raises:
            InputError: a source has more tokens than the model has positions.
            ConfigError: batch_size < 1.
        """
        if batch_size < 1:
            raise ConfigError(f"batch_size must be at least 1, not {batch_size}")
        longest = self.model.max_positions - 1
        for number, source in enumerate(sources):
            if len(source) > longest:
                raise InputError(
                    f"source {number} has {len(source)} tokens, the model takes {longest}: split it"
                )
        streams = _streams(self.seed, sources)
        waiting = [
            Row(
                number,
                sources[number],
                min(self.limit(sources[number]), self.model.max_positions),
                stream=streams[number],
            )
            for number in sorted(range(len(sources)), key=lambda i: len(sources[i]))
        ]
        finished = self._decode(waiting, batch_size)
        return [sorted(found, key=lambda h: (h.truncated, -h.score)) for found in finished]

    @torch.inference_mode()
    def _decode(self, rows: Sequence[Row], batch_size: int) -> list[list[Hypothesis]]:
        """Decode the rows in their order, at most ``batch_size`` sentences at a time."""
        state = State(self.model, self.drafter, len(rows))
        waiting = deque(rows)
        while waiting or state.rows:
            live = len({row.sentence for row in state.rows})
            # few at a time would make encoder passes over few sentences
            if waiting and 2 * live <= batch_size:
                count = min(batch_size - live, len(waiting))
                state.admit([waiting.popleft() for _ in range(count)])
            scores = state.verify(self.drafter.propose(state))
            kept = self.acceptance(state, scores)
            self.drafter.observe(state, kept)
            state.advance(kept)
        return state.finished


def _streams(seed: int, sources: Sequence[Sequence[int]]) -> list[random.Random]:
    """Return one stream of random numbers a source, seeded by itself and by nothing around it.

    Where a source stands among how many others makes no difference; equal ones are told apart.
    """
    seen: Counter[tuple[int, ...]] = Counter()
    streams = []
    for source in map(tuple, sources):
        seen[source] += 1
        streams.append(random.Random(f"{seed} {seen[source]} {source}"))
    return streams
