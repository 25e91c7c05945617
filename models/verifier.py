"""The Transformer as the decoding loop's verifier: ragged rows over one truncatable cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gec.models.transformer import LayerCache, Positions, Transformer


@dataclass(slots=True)
class Memory:
    """Caches of all decoder layers and the source mask [B, 1, 1, S], None if nothing is padded."""

    caches: list[LayerCache]
    source_mask: Tensor | None


class TransformerVerifier:
    """Meets :class:`gec.decoding.model.Model` with a :class:`Transformer` in evaluation mode."""

    def __init__(self, network: Transformer) -> None:
        self.network = network.eval()
        config = network.config
        self.bos_id, self.eos_id = config.bos_id, config.eos_id
        self.max_positions = config.max_positions
        self._pad_id = config.pad_id

    def start(self, sources: Sequence[Sequence[int]]) -> Memory:
        tokens = self._pad([[*source, self.eos_id] for source in sources])
        lengths = [len(source) + 1 for source in sources]
        mask = None
        if min(lengths) < max(lengths):  # by length: a source may hold any id, the pad's too
            places = torch.arange(tokens.shape[1], device=tokens.device)
            mask = (places < torch.tensor(lengths, device=tokens.device)[:, None])[:, None, None]
        return Memory(self.network.caches(self.network.encode(tokens, mask)), mask)

    def verify(
        self, memory: Memory, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> Tensor:
        block = self._pad(tokens)
        positions = Positions.of(list(starts), block.shape[1], block.device)
        hidden = self.network.decode_block(block, memory.caches, positions, memory.source_mask)
        return self.network.output(hidden)

    def select(self, memory: Memory, rows: Sequence[int]) -> Memory:
        index = torch.tensor(rows, device=self.network.device)
        for cache in memory.caches:
            cache.select(index)
        mask = memory.source_mask
        return Memory(memory.caches, mask[index] if mask is not None else None)

    def _pad(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Return [B, longest] ids."""
        width = max(map(len, rows))
        padded = [[*row, *[self._pad_id] * (width - len(row))] for row in rows]
        return torch.tensor(padded, device=self.network.device)
