"""A verifier with extra heads for blockwise decoding, over any engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gec.errors import ModelError
from gec.models.engines.engine import Block, Engine
from gec.models.engines.scores import TorchScores
from gec.models.engines.verifier import scored, shares_memory
from gec.models.network.heads import Heads


@dataclass(slots=True)
class HeadsMemory:
    """The engine's memory, and the block that was scored last with its hidden states [N, D]."""

    inner: Any
    last: tuple[Block, Tensor] | None = None


class HeadsVerifier:
    """Meets :class:`gec.decoding.drafters.heads.HeadsModel`.

    Raises:
        ModelError: heads and network are not of one width.
    """

    def __init__(self, engine: Engine, heads: Heads) -> None:
        width = engine.network.config.width
        if heads.width != width:
            raise ModelError(f"heads of width {heads.width} on a verifier of {width}")
        self.engine, self.network, self.extra = engine, engine.network, heads.eval()
        self.bos_id, self.eos_id = engine.bos_id, engine.eos_id
        self.max_positions = engine.max_positions
        self.heads = heads.count

    def fits(self, model: object) -> bool:
        """Whether it can work in the memory of a verifier without heads."""
        return shares_memory(model, self.engine)

    def over(self, memory: Any) -> HeadsMemory:
        """Return a memory of its own around that of a verifier without heads."""
        return HeadsMemory(memory)

    @torch.inference_mode()
    def start(self, sources: Sequence[Sequence[int]]) -> HeadsMemory:
        """Encode the sources."""
        return HeadsMemory(self.engine.start(sources))

    @torch.inference_mode()
    def verify(
        self, memory: HeadsMemory, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> TorchScores:
        """Return the scores of a block, and keep its hidden states for ``propose``."""
        block = Block(tokens, starts)
        hidden = self.engine.run(memory.inner, block)
        memory.last = block, hidden.flatten(0, -2)
        return scored(self.engine, hidden, block)

    @torch.inference_mode()
    def propose(self, memory: HeadsMemory, places: Sequence[int], heads: int) -> list[list[int]]:
        """Return the ids of the first ``heads`` heads at place ``places[r]`` of row r's block."""
        assert memory.last is not None, "propose follows verify"
        block, hidden = memory.last
        # a draft accepted with its EOS has no place of its own
        index = [
            begin + min(place, length - 1)
            for begin, place, length in zip(block.begins, places, block.lengths, strict=True)
        ]
        states = hidden[torch.tensor(index, device=hidden.device)]  # [B, D]
        ahead = torch.stack([self.extra(states, head) for head in range(heads)], 1)  # [B, k, D]
        chosen: list[list[int]] = self.network.output(ahead).argmax(-1).tolist()
        return chosen

    @torch.inference_mode()
    def select(self, memory: HeadsMemory, rows: Sequence[int]) -> HeadsMemory:
        """Return the memory of the given rows."""
        return HeadsMemory(self.engine.select(memory.inner, rows))

    @torch.inference_mode()
    def join(self, memory: HeadsMemory, other: HeadsMemory) -> HeadsMemory:
        """Return the memory of both memories' rows."""
        return HeadsMemory(self.engine.join(memory.inner, other.inner))
