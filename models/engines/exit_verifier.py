"""A verifier whose first decoder layers draft, over any engine that can stop behind a layer.

Kim et al. 2023, *Speculative Decoding with Big Little Decoder*, section 4.4. Drafting runs the
first layers only; what they compute for a token, its keys, its values and its hidden state, the
verifying pass takes over and begins with the layer behind the exit. How such a network is trained:
:mod:`gec.models.network.early_exit`.

Shapes: B rows, T block length, N tokens of all blocks, D model width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gec.decoding.model import Model
from gec.models.engines.engine import Block, LayeredEngine
from gec.models.engines.scores import TorchScores
from gec.models.engines.verifier import scored, shares_memory
from gec.models.network.early_exit import check_exit


@dataclass(slots=True)
class ExitMemory:
    """The engine's memory and what the first layers computed ahead of its next pass.

    Attributes:
        hidden: [B, length, D], hidden states behind the exit by position.
        begins: per row the position of its first token that was drafted over, or -1.
        tokens: per row the tokens from there on whose hidden states are there.
    """

    inner: Any
    hidden: Tensor
    begins: list[int]
    tokens: list[list[int]]

    def ahead(self, row: int, start: int, block: Sequence[int]) -> int:
        """Return how many tokens of a row's block, at ``start``, have their hidden state."""
        if self.begins[row] != start:
            return 0
        count = 0
        for mine, wanted in zip(self.tokens[row], block, strict=False):
            if mine != wanted:
                break
            count += 1
        return count

    def write(self, block: Block, states: Tensor) -> None:
        """Keep the states of a block, [B, T, D] or packed [N, D]."""
        length = max(start + n for start, n in zip(block.starts, block.lengths, strict=True))
        missing = length - self.hidden.shape[1]
        if missing > 0:
            rows, width = self.hidden.shape[0], states.shape[-1]
            more = states.new_zeros(rows, missing + 16, width)
            self.hidden = torch.cat([self.hidden.to(states.dtype), more], 1)
        self.hidden[self._places(block)] = states.flatten(0, -2)

    def read(self, block: Block) -> Tensor:
        """Return the states of a block in its layout."""
        states = self.hidden[self._places(block)]  # [N, D]
        return states if block.ragged else states.view(len(block.lengths), -1, states.shape[-1])

    def _places(self, block: Block) -> tuple[Tensor, Tensor]:
        """Return rows [N] and positions [N] of the block's tokens."""
        pairs = list(zip(block.starts, block.lengths, strict=True))
        rows = [row for row, (_, n) in enumerate(pairs) for _ in range(n)]
        places = [place for start, n in pairs for place in range(start, start + n)]
        both = torch.tensor([rows, places], device=self.hidden.device)
        return both[0], both[1]


class EarlyExitVerifier:
    """Meets :class:`gec.decoding.model.Model`; ``exit`` drafts with the first ``layers`` layers.

    Raises:
        ModelError: there is no layer behind the exit.
    """

    def __init__(self, engine: LayeredEngine, layers: int = 1) -> None:
        check_exit(engine.network.config, layers)
        self.engine, self.network, self.layers = engine, engine.network, layers
        self.bos_id, self.eos_id = engine.bos_id, engine.eos_id
        self.max_positions = engine.max_positions
        self.exit: Model = Exit(self)

    def fits(self, model: object) -> bool:
        """Whether it can work in the memory of a verifier without an exit."""
        return shares_memory(model, self.engine)

    def over(self, memory: Any) -> ExitMemory:
        """Return a memory of its own around that of a verifier without an exit."""
        return self._fresh(memory, len(memory.lengths))

    @torch.inference_mode()
    def start(self, sources: Sequence[Sequence[int]]) -> ExitMemory:
        """Encode the sources."""
        return self._fresh(self.engine.start(sources), len(sources))

    @torch.inference_mode()
    def verify(
        self, memory: ExitMemory, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> TorchScores:
        """Return the scores of a block, reusing what the exit has computed of it."""
        known = [memory.ahead(row, starts[row], block) for row, block in enumerate(tokens)]
        if any(count < len(block) for count, block in zip(known, tokens, strict=True)):
            # a block cannot be empty: a row without new tokens has its last computed again
            known = [min(n, len(block) - 1) for n, block in zip(known, tokens, strict=True)]
            rest = [block[n:] for n, block in zip(known, tokens, strict=True)]
            self.first_layers(memory, rest, [s + n for s, n in zip(starts, known, strict=True)])
        block = Block(tokens, starts)
        hidden = self.engine.rest(memory.inner, block, memory.read(block), self.layers)
        memory.begins = [-1] * len(tokens)
        return scored(self.engine, hidden, block)

    @torch.inference_mode()
    def first_layers(
        self, memory: ExitMemory, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> tuple[Block, Tensor]:
        """Run the first layers over a block; keep and return its states."""
        block = Block(tokens, starts)
        states = self.engine.first(memory.inner, block, self.layers)
        memory.write(block, states)
        return block, states

    @torch.inference_mode()
    def select(self, memory: ExitMemory, rows: Sequence[int]) -> ExitMemory:
        """Return the memory of the given rows."""
        return self._fresh(self.engine.select(memory.inner, rows), len(rows))

    @torch.inference_mode()
    def join(self, memory: ExitMemory, other: ExitMemory) -> ExitMemory:
        """Return the memory of both memories' rows."""
        rows = len(memory.begins) + len(other.begins)
        return self._fresh(self.engine.join(memory.inner, other.inner), rows)

    def _fresh(self, inner: Any, rows: int) -> ExitMemory:
        hidden = self.network.embedding.weight.new_zeros(rows, 0, self.network.config.width)
        return ExitMemory(inner, hidden, [-1] * rows, [[] for _ in range(rows)])


class Exit:
    """The first layers as a model that lives in the verifier's memory: it drafts."""

    def __init__(self, verifier: EarlyExitVerifier) -> None:
        self._verifier = verifier
        self.bos_id, self.eos_id = verifier.bos_id, verifier.eos_id
        self.max_positions = verifier.max_positions

    def start(self, sources: Sequence[Sequence[int]]) -> None:
        return None

    @torch.inference_mode()
    def verify(
        self, memory: ExitMemory, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> TorchScores:
        """Return the scores of the exit, and keep its states for the verifier."""
        verifier = self._verifier
        block, states = verifier.first_layers(memory, tokens, starts)
        for row, (fed, start) in enumerate(zip(tokens, starts, strict=True)):
            begin = memory.begins[row]
            if 0 <= begin <= start <= begin + len(memory.tokens[row]):
                memory.tokens[row] = [*memory.tokens[row][: start - begin], *fed]
            else:
                memory.begins[row], memory.tokens[row] = start, list(fed)
        return scored(verifier.engine, verifier.network.final(states), block)

    def select(self, memory: None, rows: Sequence[int]) -> None:
        return None

    def join(self, memory: None, other: None) -> None:
        return None
