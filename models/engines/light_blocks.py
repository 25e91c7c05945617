"""The non-autoregressive network without torch: what drafts blocks for the loop, in C.

As :mod:`gec.models.engines.nat_blocks` has it: a MASK sees its row's prefix and all MASKs; with a
causal prefix the prefix sees no MASK and stays cached, so a draft computes only what the output
gained and the block. A drafter that shares the verifier's encoder reads nothing itself; one that
reads what the verifier made of the output finds it in the verifier's memory.

Shapes: B rows, k block size, D width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gec.errors import ModelError
from gec.models.engines.light import LightDecoder, LightScores, LightVerifier, Prefixed
from gec.models.native import threads
from gec.models.native.network import Memory, NativeNetwork
from gec.models.network.llama_config import LlamaConfig
from gec.models.network.nat_config import NatConfig
from gec.models.network.transformer_config import TransformerConfig

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class States:
    """What a verifier made of some sources.

    Attributes:
        sources: the sources.
        lengths: how many states each has.
        states: all of them, one after another, [N, D].
    """

    sources: list[tuple[int, ...]]
    lengths: list[int]
    states: Array


class _Remembering:
    """A verifier that keeps the states of its last sources for a drafter without an encoder.

    The loop starts the same sources in the verifier and then in the drafter.

    Attributes:
        keeps_output: whether its memory keeps the states of outputs, too.
    """

    network: NativeNetwork
    keeps_output = False
    _last: States | None = None

    def start(self, sources: Sequence[Sequence[int]]) -> Any:
        """Read the sources."""
        memory, self._last = self._read(sources)
        if self.keeps_output:
            nothing: Array = np.empty((0, self.network.width), np.float32)
            _rows(memory).states = [nothing] * len(sources)
        return memory

    def encoded(self, sources: Sequence[Sequence[int]]) -> States:
        """Return the states of sources."""
        last = self._last  # another thread may replace it at any time
        if last is not None and last.sources == [tuple(source) for source in sources]:
            return last
        return self._read(sources)[1]

    def _read(self, sources: Sequence[Sequence[int]]) -> tuple[Any, States]:
        raise NotImplementedError

    def _keep(self, memory: Any, scores: LightScores, starts: Sequence[int]) -> LightScores:
        """Keep the states of blocks that begin at ``starts``; return their scores."""
        if self.keeps_output:
            kept, at = _rows(memory).states, 0
            for row, length in enumerate(scores.lengths):
                before, new = kept[row][: starts[row]], scores.hidden[at : at + length]
                if missing := starts[row] - len(before):  # another verifier's passes kept nothing
                    before = np.pad(before, ((0, missing), (0, 0)))
                kept[row] = np.concatenate([before, new])
                at += length
        return scores


def _rows(memory: Any) -> Memory:
    """Return the rows of a verifier's memory."""
    rows: Memory = memory.rows if isinstance(memory, Prefixed) else memory
    return rows


class RememberingVerifier(_Remembering, LightVerifier):
    """An encoder-decoder; the states are the encoder's output of a source and its EOS."""

    def _read(self, sources: Sequence[Sequence[int]]) -> tuple[Memory, States]:
        ended = [[*source, self.eos_id] for source in sources]
        states: Array = np.empty((sum(map(len, ended)), self.network.width), np.float32)
        memory = self.network.start(ended, self.threads, states)
        return memory, States([tuple(s) for s in sources], [len(row) for row in ended], states)

    def verify(
        self, memory: Any, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> LightScores:
        """Return the scores of a block."""
        return self._keep(memory, LightVerifier.verify(self, memory, tokens, starts), starts)


class RememberingDecoder(_Remembering, LightDecoder):
    """A decoder alone, which reads the sources when it starts.

    The states are those of its last layer, of all that stands before an output's first token.
    """

    def _read(self, sources: Sequence[Sequence[int]]) -> tuple[Prefixed, States]:
        memory: Prefixed = LightDecoder.start(self, sources)
        lengths = [len(prefix) for prefix in memory.prefixes]
        zeros = [0] * len(lengths)
        states = self.network.verify(memory.rows, memory.prefixes, zeros, self.threads)
        memory.cached = [True] * len(lengths)
        return memory, States([tuple(source) for source in sources], lengths, states)

    def verify(
        self, memory: Any, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> LightScores:
        """Return the scores of a block."""
        return self._keep(memory, LightDecoder.verify(self, memory, tokens, starts), starts)


def remembering_verifier(
    network: NativeNetwork, *, keeps_output: bool = False
) -> RememberingVerifier | RememberingDecoder:
    """Return the network as a verifier for a drafter without an encoder.

    ``keeps_output``: for one that reads the states of the output, too.
    """
    alone = isinstance(network.config, LlamaConfig)
    verifier = (RememberingDecoder if alone else RememberingVerifier)(network)
    verifier.keeps_output = keeps_output
    return verifier


@dataclass(slots=True)
class BlocksMemory:
    """The rows, and how many prefix tokens of each are cached, BOS included."""

    rows: Memory
    cached: list[int]


class LightBlocks:
    """Meets :class:`gec.decoding.drafters.nat.BlockModel` with a network in C.

    Args:
        verifier: whose states of the source are read if the drafter has no encoder.

    Raises:
        ModelError: it has no encoder, and no verifier, or none of its width, is given.
    """

    def __init__(
        self,
        network: NativeNetwork,
        nat: NatConfig,
        verifier: RememberingVerifier | RememberingDecoder | None = None,
    ) -> None:
        config = network.config
        assert isinstance(config, TransformerConfig)
        self.network, self.nat = network, nat
        self.bos_id, self.eos_id = config.bos_id, config.eos_id
        self.vocab_size, self.max_positions = config.vocab_size, config.max_positions
        self.block = nat.block
        self.mask_id = config.vocab_size if nat.mask_id is None else nat.mask_id
        self._said = np.array(nat.output_ids, np.int32)
        self._verifier = verifier if nat.shared_encoder else None
        if nat.shared_encoder:
            if verifier is None:
                raise ModelError("this drafter reads the verifier's encoder, and none is there")
            theirs = verifier.network.width
            if theirs != network.width:
                raise ModelError(f"the drafter is {network.width} wide, the verifier {theirs}")

    def start(self, sources: Sequence[Sequence[int]]) -> BlocksMemory:
        """Encode the sources, or take over the verifier's encoder output."""
        if self._verifier is None:
            ended = [[*source, self.eos_id] for source in sources]
            rows = self.network.start(ended, threads.count())
        else:
            read = self._verifier.encoded(sources)
            rows = self.network.start_encoded(read.lengths, read.states, threads.count())
        return BlocksMemory(rows, [0] * len(sources))

    def draft(
        self,
        memory: BlocksMemory,
        outputs: Sequence[Sequence[int]],
        k: int,
        verified: Any = None,
    ) -> tuple[list[list[int]], list[list[float]]]:
        """Return the likeliest ids of each row's block, and their log-probabilities (nats).

        A block ends where the positions do.
        """
        causal, first = self.nat.causal_prefix, [self.bos_id] * self.nat.begins_with_bos
        prefixes = [[*first, *output] for output in outputs]
        counts = [min(k, self.max_positions - len(prefix)) for prefix in prefixes]
        # a block cannot be empty: a row without new tokens and MASKs has its last computed again
        starts = [
            min(cached, len(prefix) - (count == 0)) if causal else 0
            for cached, prefix, count in zip(memory.cached, prefixes, counts, strict=True)
        ]
        blocks = [
            [*prefix[start:], *[self.mask_id] * count]
            for prefix, start, count in zip(prefixes, starts, counts, strict=True)
        ]
        seeing = counts if causal else [len(block) for block in blocks]
        states = None
        if self.nat.output_states:
            known = [len(prefix) for prefix in prefixes]
            states = self._fed(verified, starts, known, [len(block) for block in blocks])
        hidden = self.network.verify(
            memory.rows, blocks, starts, threads.count(), counts, seeing, states
        )
        memory.cached = [len(prefix) for prefix in prefixes]
        nothing: Array = np.full(len(hidden), -1, np.int32)
        best, _, log_sum, _ = self.network.best(hidden, nothing, threads.count())
        best = self._said[best] if len(self._said) else best
        ends = np.cumsum(counts)[:-1]
        tokens = [part.tolist() for part in np.split(best, ends)]
        return tokens, [part.tolist() for part in np.split(-log_sum, ends)]

    def _fed(
        self, verified: Any, starts: Sequence[int], ends: Sequence[int], lengths: Sequence[int]
    ) -> Array:
        """Return the verifier's states [N, D] for blocks at ``starts`` of prefixes up to ``ends``.

        What the verifier has not kept is zero: see :func:`gec.models.network.nat.fed_states`.
        """
        fed: Array = np.zeros((sum(lengths), self.network.width), np.float32)
        if verified is None:
            return fed
        at = 0
        for kept, start, end, length in zip(
            _rows(verified).states, starts, ends, lengths, strict=True
        ):
            first = max(start, 1)  # BOS gets nothing
            own = kept[first - 1 : end - 1]  # of the prefix
            fed[at + first - start : at + first - start + len(own)] = own
            if 2 <= end <= len(kept) + 1:
                fed[at + end - start : at + length] = kept[end - 2]
            at += length
        return fed

    def select(self, memory: BlocksMemory, rows: Sequence[int]) -> BlocksMemory:
        """Return the memory of the given rows."""
        self.network.select(memory.rows, rows)
        return BlocksMemory(memory.rows, [memory.cached[row] for row in rows])

    def join(self, memory: BlocksMemory, other: BlocksMemory) -> BlocksMemory:
        """Return the memory of both memories' rows."""
        self.network.join(memory.rows, other.rows)
        return BlocksMemory(memory.rows, memory.cached + other.cached)
