"""The Transformer as the decoding loop's verifier: ragged rows over one truncatable cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gec.errors import ModelError
from gec.models.network.cache import LayerCache, Positions
from gec.models.network.transformer import Transformer


@dataclass(slots=True)
class Memory:
    """Caches of all decoder layers, the length of every row's source (EOS included), its mask.

    The mask is [B, 1, 1, S], True where a key may be seen; None when nothing is padded.
    """

    caches: list[LayerCache]
    lengths: list[int]
    source_mask: Tensor | None


def check_computed(hidden: Tensor) -> None:
    """Raise ModelError where a CPU computed NaN or infinity; a GPU would have to be waited for."""
    if hidden.is_cpu and not hidden.sum().isfinite():
        raise ModelError("the model computes NaN: its weights are too large or broken")


class TransformerVerifier:
    """Meets :class:`gec.decoding.model.Model` with a :class:`Transformer` in evaluation mode."""

    def __init__(self, network: Transformer) -> None:
        self.network = network.eval()
        config = network.config
        self.bos_id, self.eos_id = config.bos_id, config.eos_id
        self.max_positions = config.max_positions
        self._pad_id = config.pad_id

    def start(self, sources: Sequence[Sequence[int]]) -> Memory:
        self._check_sources(sources)
        tokens = self._pad([[*source, self.eos_id] for source in sources])
        lengths = [len(source) + 1 for source in sources]
        mask = self._mask(lengths, tokens.shape[1])
        return Memory(self.network.caches(self.network.encode(tokens, mask)), lengths, mask)

    def _check_sources(self, sources: Sequence[Sequence[int]]) -> None:
        """Raise ModelError for an id beyond the encoder's table, which may be the smaller one."""
        size = self.network.config.source_vocab_size
        if size is not None and max(map(max, filter(None, sources)), default=0) >= size:
            raise ModelError(f"the tokenizer gives ids that the encoder, of {size}, does not have")

    def verify(
        self, memory: Memory, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> Tensor:
        block = self._pad(tokens)
        positions = Positions.of(starts, block.shape[1], block.device)
        return self._logits(memory, block, positions)

    def verify_packed(
        self, memory: Memory, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> Tensor:
        device = self.network.device
        block = torch.tensor([token for row in tokens for token in row], device=device)
        positions = Positions.pack(starts, [len(row) for row in tokens], device)
        return self._logits(memory, block, positions)

    def _logits(self, memory: Memory, block: Tensor, positions: Positions) -> Tensor:
        hidden = self.network.decode_block(block, memory.caches, positions, memory.source_mask)
        check_computed(hidden)
        return self.network.output(hidden)

    def select(self, memory: Memory, rows: Sequence[int]) -> Memory:
        index = torch.tensor(rows, device=self.network.device)
        for cache in memory.caches:
            cache.select(index)
        lengths = [memory.lengths[row] for row in rows]
        mask = memory.source_mask
        return Memory(memory.caches, lengths, mask[index] if mask is not None else None)

    def join(self, memory: Memory, other: Memory) -> Memory:
        for cache, more in zip(memory.caches, other.caches, strict=True):
            cache.join(more)
        lengths = memory.lengths + other.lengths
        width = memory.caches[0].source_keys.shape[1]
        return Memory(memory.caches, lengths, self._mask(lengths, width))

    def _mask(self, lengths: Sequence[int], width: int) -> Tensor | None:
        """Mark the keys of each source by its length: it may hold any id, the pad's too."""
        if min(lengths) == width:
            return None
        places = torch.arange(width, device=self.network.device)
        ends = torch.tensor(lengths, device=self.network.device)
        return (places < ends[:, None])[:, None, None]

    def _pad(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Return [B, longest] ids."""
        width = max(map(len, rows))
        padded = [[*row, *[self._pad_id] * (width - len(row))] for row in rows]
        return torch.tensor(padded, device=self.network.device)
