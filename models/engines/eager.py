"""The Transformer as an engine, operation by operation: ragged rows over one truncatable cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gec.errors import ModelError
from gec.models.engines.engine import Block, key_mask, padded
from gec.models.engines.output_states import OutputStates
from gec.models.network.cache import LayerCache
from gec.models.network.transformer import Transformer


@dataclass(slots=True)
class Memory:
    """Caches of all decoder layers, the length of every row's source (EOS included), its mask.

    The mask is [B, 1, 1, S], True where a key may be seen; None when nothing is padded. ``output``
    is what a drafter reads of the outputs so far; None: there is none that does.
    """

    caches: list[LayerCache]
    lengths: list[int]
    source_mask: Tensor | None
    output: OutputStates | None = None


@dataclass(frozen=True, slots=True)
class Encoded:
    """The encoder's output [B, S, D], the lengths of the sources with EOS, and their mask."""

    states: Tensor
    lengths: list[int]
    mask: Tensor | None


class EagerEngine:
    """Meets :class:`gec.models.engines.engine.LayeredEngine` with a :class:`Transformer`."""

    def __init__(self, network: Transformer) -> None:
        self.network = network.eval()
        config = network.config
        self.bos_id, self.eos_id = config.bos_id, config.eos_id
        self.max_positions = config.max_positions

    def start(self, sources: Sequence[Sequence[int]]) -> Memory:
        """Encode the sources."""
        encoded = self.encoded(sources)
        return Memory(self.network.caches(encoded.states), encoded.lengths, encoded.mask)

    def encoded(self, sources: Sequence[Sequence[int]]) -> Encoded:
        """Encode the sources (ids without EOS)."""
        self._check_sources(sources)
        network = self.network
        tokens = self.source_ids(sources)  # [B, S]
        lengths = [len(source) + 1 for source in sources]
        mask = key_mask(lengths, tokens.shape[1], network.device)
        return Encoded(network.encode(tokens, mask), lengths, mask)

    def source_ids(self, sources: Sequence[Sequence[int]]) -> Tensor:
        """Return the sources with their EOS as ids [B, S]."""
        rows = [[*source, self.eos_id] for source in sources]
        return padded(rows, self.network.config.pad_id, self.network.device)

    def _check_sources(self, sources: Sequence[Sequence[int]]) -> None:
        """Raise ModelError for an id beyond the encoder's table, which may be the smaller one."""
        size = self.network.config.source_vocab_size
        if size is not None and max(map(max, filter(None, sources)), default=0) >= size:
            raise ModelError(f"the tokenizer gives ids that the encoder, of {size}, does not have")

    def run(self, memory: Memory, block: Block) -> Tensor:
        """Return the hidden states of a block that the output layer reads."""
        device = self.network.device
        return self.network.decode_block(
            block.ids(device), memory.caches, block.positions(device), memory.source_mask
        )

    def first(self, memory: Memory, block: Block, layers: int) -> Tensor:
        """Return the states of a block after the first ``layers`` layers."""
        network, positions = self.network, block.positions(self.network.device)
        x = network.embed_block(block.ids(network.device), positions)
        return network.decode_layers(x, memory.caches, positions, memory.source_mask, slice(layers))

    def rest(self, memory: Memory, block: Block, states: Tensor, layers: int) -> Tensor:
        """Run the other layers over the states after the first ``layers`` layers."""
        network, positions = self.network, block.positions(self.network.device)
        x = network.decode_layers(
            states, memory.caches, positions, memory.source_mask, slice(layers, None)
        )
        return network.final(x)

    def select(self, memory: Memory, rows: Sequence[int]) -> Memory:
        """Return the memory of the given rows."""
        index = torch.tensor(rows, device=self.network.device)
        for cache in memory.caches:
            cache.select(index)
        lengths = [memory.lengths[row] for row in rows]
        mask = memory.source_mask[index] if memory.source_mask is not None else None
        output = memory.output.select(index) if memory.output else None
        return Memory(memory.caches, lengths, mask, output)

    def join(self, memory: Memory, other: Memory) -> Memory:
        """Return the memory of both memories' rows."""
        for cache, more in zip(memory.caches, other.caches, strict=True):
            cache.join(more)
        lengths = memory.lengths + other.lengths
        width = memory.caches[0].source_keys.shape[1]
        mask = key_mask(lengths, width, self.network.device)
        output = memory.output.join(other.output) if memory.output and other.output else None
        return Memory(memory.caches, lengths, mask, output)


class RememberingEngine(EagerEngine):
    """An engine that keeps its last encoder output for a drafter that shares its encoder.

    The loop starts the same sources in the verifier and then in the drafter.

    Args:
        keeps_output: whether its memory keeps the states of outputs, too.
    """

    _last: tuple[list[tuple[int, ...]], Encoded] | None = None

    def __init__(self, network: Transformer, *, keeps_output: bool = False) -> None:
        super().__init__(network)
        self.keeps_output = keeps_output

    def start(self, sources: Sequence[Sequence[int]]) -> Memory:
        """Encode the sources."""
        memory = super().start(sources)
        if self.keeps_output:
            network = self.network
            memory.output = OutputStates.none(len(sources), network.config.width, network.device)
        return memory

    def run(self, memory: Memory, block: Block) -> Tensor:
        """Return the hidden states of a block that the output layer reads."""
        hidden = super().run(memory, block)
        if memory.output is not None:
            memory.output.write(block, hidden)
        return hidden

    def encoded(self, sources: Sequence[Sequence[int]]) -> Encoded:
        key = [tuple(source) for source in sources]
        last = self._last  # another thread may replace it at any time
        if last is None or last[0] != key:
            self._last = last = key, super().encoded(sources)
        return last[1]
