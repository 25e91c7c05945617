"""Engines: what runs blocks of tokens through a network and returns hidden states.

An engine keeps what a pass needs of earlier ones (keys, values) and knows nothing of vocabularies:
a *head* reads its hidden states. Engines are :class:`gec.models.engines.eager.EagerEngine`
(PyTorch's operations, or the native ones that
:func:`gec.models.engines.inference.prepare` puts into a network),
:class:`gec.models.engines.graphs.GraphEngine` (CUDA graphs) and
:class:`gec.models.engines.llama_engine.LlamaEngine`. Heads are
:class:`gec.models.engines.verifier.Verifier` (the output layer),
:class:`gec.models.engines.heads_verifier.HeadsVerifier` (with extra heads) and
:class:`gec.models.engines.exit_verifier.EarlyExitVerifier`. Every engine serves the first two;
an early exit needs an engine that can stop behind a layer.

Shapes: B rows, T tokens of a block, N tokens of all blocks, D model width.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import torch
from torch import Tensor

from gec.models.engines.scores import first_places
from gec.models.network.cache import Positions


class Block:
    """The tokens that every row is fed in one pass, and how their states lie in one tensor.

    Rows of one length are [B, T, ...]; ragged ones are packed, [N, ...], one row after another.

    Attributes:
        tokens: of each row at least one.
        starts: how many tokens each row has before them.
        lengths: how many tokens there are of each row.
    """

    def __init__(self, tokens: Sequence[Sequence[int]], starts: Sequence[int]) -> None:
        self.tokens, self.starts = tokens, starts
        self.lengths = [len(row) for row in tokens]
        self.ragged = len(set(self.lengths)) > 1

    @cached_property
    def begins(self) -> list[int]:
        """Where each row's first state is among the N."""
        return first_places(self.lengths)

    def ids(self, device: torch.device) -> Tensor:
        """Return the tokens, [B, T] or packed [N]."""
        if self.ragged:
            return torch.tensor([token for row in self.tokens for token in row], device=device)
        return torch.tensor(self.tokens, device=device)

    def positions(self, device: torch.device) -> Positions:
        """Return where the tokens stand in their rows."""
        if self.ragged:
            return Positions.pack(self.starts, self.lengths, device)
        return Positions.of(self.starts, self.lengths[0], device)


class Engine(Protocol):
    """Runs blocks of tokens through a network in evaluation mode.

    Its methods are called in ``torch.inference_mode``, which heads enter.

    Attributes:
        network: whose ``output`` maps hidden states to logits.
        bos_id, eos_id, max_positions: as of :class:`gec.decoding.model.Model`.
    """

    network: Any
    bos_id: int
    eos_id: int
    max_positions: int

    def start(self, sources: Sequence[Sequence[int]]) -> Any:
        """Encode the sources (ids without BOS and EOS), a row each; return the memory of them."""

    def run(self, memory: Any, block: Block) -> Tensor:
        """Return the hidden states that the output layer reads, [B, T, D] or packed [N, D]."""

    def select(self, memory: Any, rows: Sequence[int]) -> Any:
        """Return the memory with only these rows, in this order; the argument is consumed."""

    def join(self, memory: Any, other: Any) -> Any:
        """Return the rows of both memories; both arguments are consumed."""


class LayeredEngine(Engine, Protocol):
    """An engine that can stop behind a decoder layer and go on from there."""

    def first(self, memory: Any, block: Block, layers: int) -> Tensor:
        """Return the states behind the first ``layers`` layers, [B, T, D] or packed [N, D]."""

    def rest(self, memory: Any, block: Block, states: Tensor, layers: int) -> Tensor:
        """Run the layers behind the first ``layers`` over their states of a block.

        Returns what :meth:`Engine.run` returns.
        """


def padded(rows: Sequence[Sequence[int]], fill: int, device: torch.device) -> Tensor:
    """Return [B, longest] ids; shorter rows end with ``fill``."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows], device=device)


def key_mask(lengths: Sequence[int], width: int, device: torch.device) -> Tensor | None:
    """Return [B, 1, 1, width], True where a source of ``lengths[r]`` keys has one; None: all have.

    Lengths decide, as a source may hold any id, the pad's too.
    """
    if min(lengths) == width:
        return None
    places = torch.arange(width, device=device)
    return (places < torch.tensor(lengths, device=device)[:, None])[:, None, None]
