"""Early exit: a verifier whose first decoder layers draft, with the same output layer.

Kim et al. 2023, *Speculative Decoding with Big Little Decoder*, section 4.4. The network is trained
with the mean of the losses after an early layer and after the last (:class:`EarlyExitTrainee`).
Drafting runs the first layers only. The verifying pass takes over what they computed for a token,
its keys, values and hidden state, and begins with the layer after the exit.

Shapes: B rows, T block length, D model width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gec.decoding.model import Model
from gec.errors import ModelError
from gec.models.engines.verifier import Memory, TransformerVerifier
from gec.models.network.cache import PassingCache, Positions
from gec.models.network.transformer import Transformer, _biased


@dataclass(slots=True)
class ExitMemory:
    """The verifier's memory, and what the first layers have computed ahead of its next pass.

    Attributes:
        hidden: [B, length, D], hidden states after the exit by position.
        begins: for each row, the position of the first token with a hidden state, or -1.
        tokens: for each row, the tokens from there on that have a hidden state.
    """

    inner: Memory
    hidden: Tensor
    begins: list[int]
    tokens: list[list[int]]

    def ahead(self, row: int, start: int, block: Sequence[int]) -> int:
        """Return how many first tokens of a row's block, at ``start``, have a hidden state."""
        if self.begins[row] != start:
            return 0
        count = 0
        for mine, wanted in zip(self.tokens[row], block, strict=False):
            if mine != wanted:
                break
            count += 1
        return count


class EarlyExitVerifier:
    """A verifier whose ``exit`` drafts with the first ``layers`` layers.

    Implements :class:`gec.decoding.model.Model`, as ``exit`` does.

    Raises:
        ModelError: there is no layer after the exit.
    """

    def __init__(self, network: Transformer, layers: int = 1) -> None:
        if not 1 <= layers < network.config.decoder_layers:
            raise ModelError(
                f"an early exit must lie behind decoder layer 1 to "
                f"{network.config.decoder_layers - 1}, not {layers}"
            )
        self._inner = TransformerVerifier(network)
        self.network, self.layers = network, layers
        self.bos_id, self.eos_id = self._inner.bos_id, self._inner.eos_id
        self.max_positions = self._inner.max_positions
        self.exit: Model = Exit(self)

    def start(self, sources: Sequence[Sequence[int]]) -> ExitMemory:
        """Encode the sources."""
        return self._fresh(self._inner.start(sources))

    def verify(
        self, memory: ExitMemory, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> Tensor:
        """Return the logits [B, T, V] of a block, reusing what the exit has computed of it."""
        known = [memory.ahead(row, starts[row], block) for row, block in enumerate(tokens)]
        if any(count < len(block) for count, block in zip(known, tokens, strict=True)):
            # a block cannot be empty: a row without new tokens computes its last token again
            known = [min(n, len(block) - 1) for n, block in zip(known, tokens, strict=True)]
            rest = [block[n:] for n, block in zip(known, tokens, strict=True)]
            self.first_layers(memory, rest, [s + n for s, n in zip(starts, known, strict=True)])
        positions = Positions.of(list(starts), max(map(len, tokens)), self.network.device)
        x = memory.hidden[_rows(memory.hidden), _places(positions, memory.hidden)]  # [B, T, D]
        logits = self.head(self._run(x, memory, positions, slice(self.layers, None)))
        memory.begins = [-1] * len(tokens)
        return logits

    def first_layers(
        self, memory: ExitMemory, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> Tensor:
        """Run the first layers over a block; store and return the hidden states [B, T, D]."""
        block = self._inner._pad(tokens)
        positions = Positions.of(list(starts), block.shape[1], block.device)
        index = positions.index.clamp_max(self.max_positions - 1)
        x = self._run(
            self.network._embed(block, index, "decoder"), memory, positions, slice(self.layers)
        )
        missing = positions.end - memory.hidden.shape[1]
        if missing > 0:
            grown = (len(tokens), missing + 16, x.shape[2])
            memory.hidden = torch.cat([memory.hidden.to(x.dtype), x.new_zeros(grown)], 1)
        memory.hidden[_rows(x), _places(positions, memory.hidden)] = x
        return x

    def head(self, hidden: Tensor) -> Tensor:
        """Return the logits [..., V] for hidden states [..., D] of any layer."""
        return exit_logits(self.network, hidden)

    def _run(self, x: Tensor, memory: ExitMemory, positions: Positions, layers: slice) -> Tensor:
        network, inner = self.network, memory.inner
        if network.config.positions == "relative":
            positions = _biased(positions, network.decoder_bias, network.config)
        for layer, cache in zip(network.decoder[layers], inner.caches[layers], strict=True):
            x = layer(x, cache, positions, inner.source_mask)
        return x

    def select(self, memory: ExitMemory, rows: Sequence[int]) -> ExitMemory:
        """Return the memory of the given rows, without anything computed ahead."""
        return self._fresh(self._inner.select(memory.inner, rows))

    def join(self, memory: ExitMemory, other: ExitMemory) -> ExitMemory:
        """Return the memory of both memories' rows, without anything computed ahead."""
        return self._fresh(self._inner.join(memory.inner, other.inner))

    def _fresh(self, inner: Memory) -> ExitMemory:
        rows = len(inner.lengths)
        width = self.network.config.width
        hidden = self.network.embedding.weight.new_zeros(rows, 0, width)
        return ExitMemory(inner, hidden, [-1] * rows, [[] for _ in range(rows)])


class Exit:
    """The first layers as a model that drafts; it uses the verifier's memory."""

    def __init__(self, verifier: EarlyExitVerifier) -> None:
        self._verifier = verifier
        self.bos_id, self.eos_id = verifier.bos_id, verifier.eos_id
        self.max_positions = verifier.max_positions

    def start(self, sources: Sequence[Sequence[int]]) -> None:
        """Return None: the exit has no memory of its own."""
        return None

    def verify(
        self, memory: ExitMemory, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> Tensor:
        """Return the logits [B, T, V] of a block; keep its hidden states for the verifier."""
        hidden = self._verifier.first_layers(memory, tokens, starts)
        for row, (block, start) in enumerate(zip(tokens, starts, strict=True)):
            begin = memory.begins[row]
            if 0 <= begin <= start <= begin + len(memory.tokens[row]):
                memory.tokens[row] = [*memory.tokens[row][: start - begin], *block]
            else:
                memory.begins[row], memory.tokens[row] = start, list(block)
        return self._verifier.head(hidden)

    def select(self, memory: None, rows: Sequence[int]) -> None:
        """Return None: the exit has no memory of its own."""
        return None

    def join(self, memory: None, other: None) -> None:
        """Return None: the exit has no memory of its own."""
        return None


class EarlyExitTrainee(nn.Module):
    """A Transformer in training that also predicts from its ``layers``-th decoder layer."""

    def __init__(self, network: Transformer, layers: int = 1) -> None:
        super().__init__()
        if not 1 <= layers < network.config.decoder_layers:
            raise ModelError(
                f"an early exit must lie behind decoder layer 1 to "
                f"{network.config.decoder_layers - 1}, not {layers}"
            )
        self.network, self.layers = network, layers

    def forward(self, source: Tensor, target_in: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits [N, V] of the first layers and of all layers.

        ``wanted`` [B, T] bool marks the N positions to score. The loss is the mean of both
        cross-entropies.
        """
        network = self.network
        mask = (source != network.config.pad_id)[:, None, None, :]
        caches = [PassingCache(cache) for cache in network.caches(network.encode(source, mask))]
        positions = Positions.of([0], target_in.shape[1], source.device)
        x = network._embed(target_in, positions.index, "decoder")  # [B, T, D]
        if network.config.positions == "relative":
            positions = _biased(positions, network.decoder_bias, network.config)
        early = x
        for number, (layer, cache) in enumerate(zip(network.decoder, caches, strict=True), 1):
            x = layer(x, cache, positions, mask)
            if number == self.layers:
                early = x
        return exit_logits(network, early[wanted]), exit_logits(network, x[wanted])


def exit_logits(network: Transformer, hidden: Tensor) -> Tensor:
    """Return logits [..., V] for hidden states [..., D] of any decoder layer.

    All layers share the norm and the output layer.
    """
    x = network.decoder_norm(hidden)
    if network.config.scale_output:
        x = x * network.config.width**-0.5
    return network.output(x)


def _rows(x: Tensor) -> Tensor:
    return torch.arange(x.shape[0], device=x.device)[:, None]


def _places(positions: Positions, hidden: Tensor) -> Tensor:
    """Return the block's positions [1 or B, T], none beyond the end of ``hidden``."""
    index = positions.index if positions.index.dim() == 2 else positions.index[None]
    return index.clamp_max(hidden.shape[1] - 1)
