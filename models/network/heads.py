"""Extra heads on a verifier for blockwise parallel decoding (Stern et al. 2018).

Head j (from 1) predicts the token j places beyond the next one, from the decoder's hidden state
through a feed-forward layer of its own with a skip connection, then the verifier's own output
layer (section 6). Two things differ from the paper: the untouched verifier predicts the next token
itself, so the output is that of the verifier alone; and each head has its own layer rather than a
slice of one dense layer over all k, whose size grows with the square of k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gec.errors import ModelError
from gec.models.engines.verifier import Memory, TransformerVerifier
from gec.models.network.cache import Positions
from gec.models.network.transformer import Transformer


class Heads(nn.Module):
    """``count`` heads over hidden states of ``width``; a block has k = count + 1 tokens."""

    def __init__(self, count: int, width: int, hidden: int) -> None:
        super().__init__()
        if min(count, width, hidden) < 1:
            raise ModelError(f"heads need sizes of at least 1, not {(count, width, hidden)}")
        self.count, self.width, self.hidden = count, width, hidden
        self.norm = nn.LayerNorm(width)
        self.up = nn.ModuleList(nn.Linear(width, hidden) for _ in range(count))
        self.down = nn.ModuleList(nn.Linear(hidden, width) for _ in range(count))

    def forward(self, states: Tensor, head: int) -> Tensor:
        """Return the hidden states [..., D] of head ``head`` (from 0) for ``states`` [..., D]."""
        return states + self.down[head](F.relu(self.up[head](self.norm(states))))


@dataclass(slots=True)
class HeadsMemory:
    """The verifier's memory, and the hidden states [B, T, D] of the block that it scored last."""

    inner: Memory
    hidden: Tensor | None = None


class HeadsVerifier:
    """A verifier with heads; implements :class:`gec.decoding.drafters.heads.HeadsModel`."""

    def __init__(self, network: Transformer, heads: Heads) -> None:
        if heads.width != network.config.width:
            raise ModelError(
                f"heads of width {heads.width} on a verifier of {network.config.width}"
            )
        self._inner = TransformerVerifier(network)
        self.network, self.extra = network.eval(), heads.eval()
        self.bos_id, self.eos_id = self._inner.bos_id, self._inner.eos_id
        self.max_positions = self._inner.max_positions
        self.heads = heads.count

    def start(self, sources: Sequence[Sequence[int]]) -> HeadsMemory:
        """Encode the sources."""
        return HeadsMemory(self._inner.start(sources))

    def verify(
        self, memory: HeadsMemory, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> Tensor:
        """Return the logits [B, T, V] of a block, and keep its hidden states for ``propose``."""
        block = self._inner._pad(tokens)  # [B, T]
        positions = Positions.of(list(starts), block.shape[1], block.device)
        memory.hidden = self.network.decode_block(
            block, memory.inner.caches, positions, memory.inner.source_mask
        )
        return self.network.output(memory.hidden)

    def propose(self, memory: HeadsMemory, places: Sequence[int], heads: int) -> list[list[int]]:
        """Return the tokens of the first ``heads`` heads at place ``places[r]`` of row r's block.

        The result has B lists of ``heads`` ids.
        """
        assert memory.hidden is not None, "propose follows verify"
        last = memory.hidden.shape[1] - 1  # the place after an accepted EOS is not in the block
        index = torch.tensor([min(place, last) for place in places], device=memory.hidden.device)
        states = memory.hidden[torch.arange(len(places), device=index.device), index]  # [B, D]
        block = torch.stack([self.extra(states, head) for head in range(heads)], 1)  # [B, heads, D]
        chosen: list[list[int]] = self.network.output(block).argmax(-1).tolist()
        return chosen

    def select(self, memory: HeadsMemory, rows: Sequence[int]) -> HeadsMemory:
        """Return the memory of the given rows."""
        return HeadsMemory(self._inner.select(memory.inner, rows))

    def join(self, memory: HeadsMemory, other: HeadsMemory) -> HeadsMemory:
        """Return the memory of both memories' rows."""
        return HeadsMemory(self._inner.join(memory.inner, other.inner))
