"""Drafting whole blocks with a non-autoregressive network.

Ge et al. 2022, *Lossless Acceleration for Seq2seq Generation with Aggressive Decoding*, section
4 (generalized aggressive decoding, GAD); Xia et al. 2022, *Speculative Decoding* (SpecDec).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from gec.decoding.drafters import Drafter
from gec.decoding.scores import Scores
from gec.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from gec.decoding.model import Model
    from gec.decoding.state import State


class BlockModel(Protocol):
    """A network that predicts the next k tokens of every row at once.

    Attributes:
        bos_id, eos_id, vocab_size: must be the verifier's.
        max_positions: the most tokens a source or an output may have, BOS or EOS included.
        block: the largest k it was trained for.
    """

    bos_id: int
    eos_id: int
    vocab_size: int
    max_positions: int
    block: int

    def start(self, sources: Sequence[Sequence[int]]) -> Any:
        """Encode the sources (ids without BOS and EOS), a row each."""

    def draft(
        self, memory: Any, outputs: Sequence[Sequence[int]], k: int, verified: Any = None
    ) -> tuple[list[list[int]], list[list[float]]]:
        """Return the k likeliest tokens after each row's output, and their log-probabilities.

        Outputs have no BOS; each call's begin with those of the row's last call. ``verified`` is
        the verifier's memory of the rows, for a drafter that reads it; None: nobody verifies.
        """

    def select(self, memory: Any, rows: Sequence[int]) -> Any:
        """Return the memory with only these rows, in this order; a row may repeat.

        The argument is consumed: it may be changed, and nobody uses it again.
        """

    def join(self, memory: Any, other: Any) -> Any:
        """Return one memory: the rows of the first, then those of the second.

        Both arguments are consumed.
        """


@dataclass(slots=True)
class BlockMemory:
    """The network's memory, and per row the log-probabilities (nats) of its last draft."""

    network: Any
    logprobs: list[list[float]]


class NatDrafter(Drafter):
    """Drafts k tokens a pass; the loop takes them up to the first EOS.

    Args:
        sure: a draft ends before the first token whose probability, as the drafter has it, is
            lower: what is unlikely to stand would only make the pass longer.

    Raises:
        ConfigError: k is larger than the positions or the training allow.
        ModelError: the drafter does not fit the verifier.
    """

    def __init__(
        self,
        blocks: BlockModel,
        k: int | None = None,
        *,
        verifier: Model | None = None,
        sure: float = 0.0,
    ) -> None:
        self.blocks, self.k = blocks, blocks.block if k is None else k
        self._least = math.log(sure) if sure else -math.inf
        if not 1 <= self.k <= min(blocks.block, blocks.max_positions - 1):
            raise ConfigError(
                f"k must be from 1 to {min(blocks.block, blocks.max_positions - 1)}, for which "
                f"the drafter has been trained and has positions, not {k}"
            )
        if verifier is not None:
            _check_fit(blocks, verifier)

    def start(self, sources: Sequence[Sequence[int]]) -> BlockMemory:
        return BlockMemory(self.blocks.start(sources), [[] for _ in sources])

    def propose(self, state: State) -> list[list[int]]:
        memory: BlockMemory = state.draft_memory
        outputs = [row.tokens for row in state.rows]
        network = memory.network
        tokens, memory.logprobs = self.blocks.draft(network, outputs, self.k, state.memory)
        if self._least == -math.inf:
            return tokens
        counts = [self._sure(row) for row in memory.logprobs]
        memory.logprobs = [row[:n] for row, n in zip(memory.logprobs, counts, strict=True)]
        return [row[:n] for row, n in zip(tokens, counts, strict=True)]

    def _sure(self, logprobs: Sequence[float]) -> int:
        """Return how many tokens stand before the first one that is too unlikely."""
        few = (place for place, logprob in enumerate(logprobs) if logprob < self._least)
        return next(few, len(logprobs))

    def logprobs(self, memory: BlockMemory) -> list[list[float]]:
        return memory.logprobs

    def select(self, memory: BlockMemory, rows: Sequence[int]) -> BlockMemory:
        network = self.blocks.select(memory.network, rows)
        return BlockMemory(network, [memory.logprobs[row] for row in rows])

    def join(self, memory: BlockMemory, other: BlockMemory) -> BlockMemory:
        network = self.blocks.join(memory.network, other.network)
        return BlockMemory(network, memory.logprobs + other.logprobs)


class Unverified:
    """A model that scores nothing: with it and ``AcceptAll`` the drafter decodes alone."""

    def __init__(self, blocks: BlockModel) -> None:
        self.bos_id, self.eos_id = blocks.bos_id, blocks.eos_id
        self.max_positions = blocks.max_positions

    def start(self, sources: Sequence[Sequence[int]]) -> None:
        return None

    def verify(
        self, memory: None, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> Scores:
        from gec.decoding.numpy_scores import NumpyScores

        return NumpyScores.of([[[0.0]] * len(block) for block in tokens])

    def select(self, memory: None, rows: Sequence[int]) -> None:
        return None

    def join(self, memory: None, other: None) -> None:
        return None


def _check_fit(blocks: BlockModel, verifier: Model) -> None:
    """Refuse a drafter whose ids mean other tokens, or that has too few positions."""
    for name, kind in (("bos_id", "BOS"), ("eos_id", "EOS"), ("vocab_size", "vocabulary size")):
        mine, theirs = getattr(blocks, name), getattr(verifier, name, None)
        if theirs is not None and mine != theirs:
            raise ModelError(f"the drafter's {kind} is {mine}, the verifier's {theirs}")
    if blocks.max_positions < verifier.max_positions:
        raise ModelError(
            f"the drafter has {blocks.max_positions} positions, "
            f"the verifier {verifier.max_positions}: it needs as many"
        )
