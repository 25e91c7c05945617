"""The non-autoregressive network as what drafts blocks for the decoding loop.

Shapes: B rows, k block size, T longest prefix and block, D width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from gec.errors import ModelError
from gec.models.engines.eager import EagerEngine, Encoded, Memory
from gec.models.engines.engine import padded
from gec.models.network.cache import Positions
from gec.models.network.nat import NatTransformer, block_mask, fed_states


class Reader(Protocol):
    """An engine that keeps what it made of the last sources (``RememberingEngine``).

    Attributes:
        network: its network, for the width.
    """

    network: Any

    def encoded(self, sources: Sequence[Sequence[int]]) -> Encoded:
        """Return the states of sources (ids without EOS)."""


@dataclass(slots=True)
class NatMemory:
    """The engine's memory, and how many prefix tokens of each row are cached, BOS included."""

    inner: Memory
    cached: list[int]


class TransformerBlocks:
    """Meets :class:`gec.decoding.drafters.nat.BlockModel` with a :class:`NatTransformer`.

    Args:
        verifier: whose states of the source are read where the drafter has no encoder.

    Raises:
        ModelError: it has no encoder and no (fitting) verifier is given.
    """

    def __init__(self, network: NatTransformer, verifier: Reader | None = None) -> None:
        self.network = network.eval()
        config = network.config
        self.bos_id, self.eos_id = config.bos_id, config.eos_id
        self.vocab_size, self.max_positions = config.vocab_size, config.max_positions
        self.block = network.nat.block
        self._engine = EagerEngine(network)  # its start, select and join are the drafter's too
        self._verifier = verifier if network.nat.shared_encoder else None
        if network.nat.shared_encoder:
            if verifier is None:
                raise ModelError("this drafter reads the verifier's encoder, and none is there")
            theirs = verifier.network.config.width
            if theirs != config.width:
                raise ModelError(f"the drafter is {config.width} wide, the verifier {theirs}")

    @torch.inference_mode()
    def start(self, sources: Sequence[Sequence[int]]) -> NatMemory:
        """Encode the sources, or take over the verifier's encoder output."""
        if self._verifier is None:
            inner = self._engine.start(sources)
            inner.caches += self.network.copied_source(self._engine.source_ids(sources))
        else:
            encoded = self._verifier.encoded(sources)
            caches = self.network.caches(encoded.states)
            inner = Memory(caches, encoded.lengths, encoded.mask)
        return NatMemory(inner, [0] * len(sources))

    @torch.inference_mode()
    def draft(
        self, memory: NatMemory, outputs: Sequence[Sequence[int]], k: int, verified: Any = None
    ) -> tuple[list[list[int]], list[list[float]]]:
        """Return the likeliest ids of each row's block, and their log-probabilities (nats)."""
        first = [self.bos_id] if self.network.nat.begins_with_bos else []
        prefixes = [[*first, *output] for output in outputs]
        if self.network.nat.causal_prefix:
            hidden = self._cached(memory, prefixes, k, verified)
        else:
            hidden = self._anew(memory, prefixes, k)
        logits = self.network.output(hidden).float()  # [B, k, V]
        best, tokens = self.network.likeliest(logits)  # [B, k]
        logprobs = best - logits.logsumexp(-1)
        # ids below 2**24 are exact in float32, so one transfer carries both
        found, sure = torch.stack([tokens.float(), logprobs]).tolist()
        return [[int(token) for token in row] for row in found], sure

    def _anew(self, memory: NatMemory, prefixes: list[list[int]], k: int) -> Tensor:
        tokens = self._blocks(prefixes, k)
        lengths = torch.tensor([len(prefix) for prefix in prefixes], device=tokens.device)
        return self.network.blocks(
            tokens, lengths, memory.inner.caches, memory.inner.source_mask, k
        )

    def _cached(
        self, memory: NatMemory, prefixes: list[list[int]], k: int, verified: Any
    ) -> Tensor:
        """Compute only what the rows gained since the last draft, and the block."""
        new = [prefix[start:] for prefix, start in zip(prefixes, memory.cached, strict=True)]
        tokens = self._blocks(new, k)
        width = tokens.shape[1]
        positions = Positions.of(list(memory.cached), width, tokens.device)
        starts = torch.tensor(memory.cached, device=tokens.device)
        lengths = torch.tensor([len(prefix) for prefix in prefixes], device=tokens.device)
        mask = block_mask(lengths, k, positions.end, causal_prefix=True)  # [B, 1, end, end]
        index = starts[:, None] + torch.arange(width, device=tokens.device)  # [B, width]
        rows = index.clamp_max(positions.end - 1)
        mask = mask.gather(2, rows[:, None, :, None].expand(-1, -1, -1, positions.end))
        positions = Positions(positions.index, positions.start, positions.end, mask, False)
        fed = None
        if self.network.nat.output_states and verified is not None:
            states = verified.output.read(max(map(len, prefixes)) - 1)
            fed = fed_states(states, lengths, index)
        hidden = self.network.decode_block(
            tokens, memory.inner.caches, positions, memory.inner.source_mask, fed
        )
        places = (lengths - starts)[:, None] + torch.arange(k, device=tokens.device)
        memory.cached = [len(prefix) for prefix in prefixes]
        return hidden.gather(1, places[..., None].expand(-1, -1, hidden.shape[-1]))

    @torch.inference_mode()
    def select(self, memory: NatMemory, rows: Sequence[int]) -> NatMemory:
        """Return the memory of the given rows."""
        inner = self._engine.select(memory.inner, rows)
        return NatMemory(inner, [memory.cached[row] for row in rows])

    @torch.inference_mode()
    def join(self, memory: NatMemory, other: NatMemory) -> NatMemory:
        """Return the memory of both memories' rows."""
        return NatMemory(self._engine.join(memory.inner, other.inner), memory.cached + other.cached)

    def _blocks(self, prefixes: Sequence[Sequence[int]], k: int) -> Tensor:
        """Return [B, longest + k] ids: prefix, k MASKs, padding."""
        network = self.network
        rows = [[*prefix, *[network.mask_id] * k] for prefix in prefixes]
        return padded(rows, network.config.pad_id, network.device)
