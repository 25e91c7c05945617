"""A decoder-only network as an engine.

The network reads ``BOS source separator output EOS`` as one row. The loop knows nothing of it: what
it takes for BOS is the separator's last token, and the row's first block is put behind BOS and
source here. So the first pass is prefill and verification at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from gec.models.engines.eager import Encoded
from gec.models.engines.engine import Block, key_mask
from gec.models.engines.output_states import OutputStates
from gec.models.network.cache import Positions, SelfCache
from gec.models.network.llama import Llama


@dataclass(slots=True)
class Memory:
    """Caches of all layers; per row what stands before its output, and whether it is cached.

    ``output`` is what a drafter reads of the outputs so far; None: there is none that does.
    """

    caches: list[SelfCache]
    prefixes: list[list[int]]
    cached: list[bool]
    output: OutputStates | None = None


class LlamaEngine:
    """Meets :class:`gec.models.engines.engine.Engine` with a :class:`Llama`."""

    def __init__(self, network: Llama) -> None:
        self.network = network.eval()
        config = network.config
        self._before = [config.bos_id]
        *self._between, self.bos_id = config.separator
        self.eos_id = config.eos_id
        # source and output share the positions, each may have half of them
        self.max_positions = (config.max_positions - len(config.separator)) // 2

    def start(self, sources: Sequence[Sequence[int]]) -> Memory:
        """Encode the sources."""
        prefixes = [[*self._before, *source, *self._between] for source in sources]
        return Memory(self.network.caches(len(sources)), prefixes, [False] * len(sources))

    def run(self, memory: Memory, block: Block) -> Tensor:
        """Return the hidden states of a block that the output layer reads."""
        rows, places, wanted = [], [], []
        for row, (tokens, start) in enumerate(zip(block.tokens, block.starts, strict=True)):
            prefix = memory.prefixes[row]
            before = [] if memory.cached[row] else prefix
            rows.append([*before, *tokens])
            places.append(len(prefix) + start - len(before))
            wanted += [False] * len(before) + [True] * len(tokens)
            memory.cached[row] = True
        device = self.network.device
        positions = Positions.pack(places, [len(row) for row in rows], device)
        packed = torch.tensor([token for row in rows for token in row], device=device)
        mask = torch.tensor(wanted, device=device)
        hidden = self.network.decode_block(packed, memory.caches, positions, mask)  # [N, D]
        return hidden if block.ragged else hidden.view(len(rows), -1, hidden.shape[-1])

    def select(self, memory: Memory, rows: Sequence[int]) -> Memory:
        """Return the memory of the given rows."""
        index = torch.tensor(rows, device=self.network.device)
        for cache in memory.caches:
            cache.select(index)
        return Memory(
            memory.caches,
            [memory.prefixes[row] for row in rows],
            [memory.cached[row] for row in rows],
            memory.output.select(index) if memory.output else None,
        )

    def join(self, memory: Memory, other: Memory) -> Memory:
        """Return the memory of both memories' rows."""
        for cache, more in zip(memory.caches, other.caches, strict=True):
            cache.join(more)
        prefixes, cached = memory.prefixes + other.prefixes, memory.cached + other.cached
        output = memory.output.join(other.output) if memory.output and other.output else None
        return Memory(memory.caches, prefixes, cached, output)


class RememberingLlamaEngine(LlamaEngine):
    """An engine that reads sources when it starts, and keeps their states for a drafter.

    The loop starts the same sources in the verifier and then in the drafter, whose attention to the
    source reads what the verifier's last layer made of it. A source has as many states as it has
    tokens, and those of what stands around it before the separator's last token.

    Args:
        keeps_output: whether its memory keeps the states of outputs, too.
    """

    _last: tuple[list[tuple[int, ...]], Encoded] | None = None

    def __init__(self, network: Llama, *, keeps_output: bool = False) -> None:
        super().__init__(network)
        self.keeps_output = keeps_output

    def start(self, sources: Sequence[Sequence[int]]) -> Memory:
        """Read the sources."""
        memory, encoded = self._read(sources)
        self._last = [tuple(source) for source in sources], encoded
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

    @torch.inference_mode()
    def encoded(self, sources: Sequence[Sequence[int]]) -> Encoded:
        """Return the last states of the sources [B, S, D]."""
        last = self._last  # another thread may replace it at any time
        if last is not None and last[0] == [tuple(source) for source in sources]:
            return last[1]
        return self._read(sources)[1]

    def _read(self, sources: Sequence[Sequence[int]]) -> tuple[Memory, Encoded]:
        memory = super().start(sources)
        lengths = [len(prefix) for prefix in memory.prefixes]
        memory.cached = [True] * len(lengths)
        # what stands before the output has places below its first one
        block = Block(memory.prefixes, [-length for length in lengths])
        states = self.run(memory, block)
        if block.ragged:
            states = pad_sequence(list(torch.split(states, lengths)), batch_first=True)  # [B, S, D]
        return memory, Encoded(states, lengths, key_mask(lengths, max(lengths), states.device))
