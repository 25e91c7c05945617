"""The engine without torch: whole passes in C (:mod:`gec.models.native.network`) for the loop.

It gives for a token the same bits in any block, batch and number of threads. They are those that
the kernels give one by one under torch (:mod:`gec.models.engines.inference`), as the operations and
their order are the same, but for two things: activations other than ReLU, which are torch's own
there, and log-probabilities, whose sums over the vocabulary run in another order. Both agree to
1e-5.

Logits are not stored. A pass keeps the hidden states [N, D] that the output layer reads, and what a
rule asks for is computed then: the likeliest token with its log-probability in one walk over the
output layer. Only sampling and ranks need all logits.

Shapes: B rows, N places of all rows, D width, V vocabulary.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gec.decoding.numpy_scores import NumpyDistributions, NumpyScores
from gec.decoding.sampling import Sampling
from gec.decoding.scores import Rows
from gec.errors import ModelError
from gec.models.native import threads
from gec.models.native.network import Memory, NativeNetwork
from gec.models.network.llama_config import LlamaConfig
from gec.models.network.transformer_config import TransformerConfig

Array = NDArray[Any]


def light_verifier(network: NativeNetwork) -> LightVerifier:
    """Return the network as the loop's model, without the prefixes its settings name."""
    return (LightDecoder if isinstance(network.config, LlamaConfig) else LightVerifier)(network)


class LightVerifier:
    """Meets :class:`gec.decoding.model.Model` with an encoder-decoder in C."""

    def __init__(self, network: NativeNetwork) -> None:
        config = network.config
        self.network, self.config = network, config
        self.bos_id, self.eos_id = config.bos_id, config.eos_id
        self.max_positions = config.max_positions

    @property
    def threads(self) -> int:
        """How many threads of a CPU compute."""
        return threads.count()

    def start(self, sources: Sequence[Sequence[int]]) -> Any:
        """Encode the sources."""
        assert isinstance(self.config, TransformerConfig)
        size = self.config.source_vocab_size
        if size is not None and max(map(max, filter(None, sources)), default=0) >= size:
            raise ModelError(f"the tokenizer gives ids that the encoder, of {size}, does not have")
        return self.network.start([[*source, self.eos_id] for source in sources], self.threads)

    def verify(
        self, memory: Any, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> LightScores:
        """Return the scores of a block."""
        hidden = self.network.verify(memory, tokens, starts, self.threads)
        return LightScores.of(self.network, hidden, tokens, self.eos_id)

    def select(self, memory: Any, rows: Sequence[int]) -> Any:
        """Return the memory of the given rows."""
        self.network.select(memory, rows)
        return memory

    def join(self, memory: Any, other: Any) -> Any:
        """Return the memory of both memories' rows."""
        self.network.join(memory, other)
        return memory


@dataclass(slots=True)
class Prefixed:
    """Rows of a decoder alone; per row what stands before its output, and whether it is cached."""

    rows: Memory
    prefixes: list[list[int]]
    cached: list[bool]


class LightDecoder(LightVerifier):
    """Meets :class:`gec.decoding.model.Model` with a decoder alone in C.

    Rows are laid out as in :mod:`gec.models.engines.llama_engine`.

    Attributes:
        most_tokens: of sources together: twice as many are hardly faster, as a row's source is read
            in the pass that verifies it, and their cache holds 45 KiB a token of source and output
            with 30 layers and 3 heads of 64.
    """

    most_tokens = 160

    def __init__(self, network: NativeNetwork) -> None:
        super().__init__(network)
        assert isinstance(network.config, LlamaConfig)
        config = network.config
        *self._between, self.bos_id = config.separator
        # source and output share the positions, each may have half of them
        self.max_positions = (config.max_positions - len(config.separator)) // 2

    def start(self, sources: Sequence[Sequence[int]]) -> Prefixed:
        """Lay the sources out."""
        prefixes = [[self.config.bos_id, *source, *self._between] for source in sources]
        rows = self.network.start(len(sources), self.threads)
        return Prefixed(rows, prefixes, [False] * len(sources))

    def verify(
        self, memory: Prefixed, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> LightScores:
        """Return the scores of a block."""
        blocks, places = [], []
        for row, (block, start) in enumerate(zip(tokens, starts, strict=True)):
            prefix = memory.prefixes[row]
            blocks.append(block if memory.cached[row] else [*prefix, *block])
            places.append(len(prefix) + start if memory.cached[row] else start)
            memory.cached[row] = True
        wanted = [len(block) for block in tokens]
        hidden = self.network.verify(memory.rows, blocks, places, self.threads, wanted)
        return LightScores.of(self.network, hidden, tokens, self.eos_id)

    def select(self, memory: Prefixed, rows: Sequence[int]) -> Prefixed:
        """Return the memory of the given rows."""
        self.network.select(memory.rows, rows)
        return Prefixed(
            memory.rows,
            [memory.prefixes[row] for row in rows],
            [memory.cached[row] for row in rows],
        )

    def join(self, memory: Prefixed, other: Prefixed) -> Prefixed:
        """Return the memory of both memories' rows."""
        self.network.join(memory.rows, other.rows)
        prefixes, cached = memory.prefixes + other.prefixes, memory.cached + other.cached
        return Prefixed(memory.rows, prefixes, cached)


@dataclass(frozen=True, slots=True)
class _Summary:
    """Of every place, each [N]."""

    best: Array  # the likeliest ids
    largest: Array  # their logits
    log_sum: Array  # the logarithm of the sum of e^(logit - largest)
    wanted: Array  # ids, -1 for none
    logit: Array  # theirs


class LightScores:
    """Meets :class:`gec.decoding.scores.Scores`; a column is an array [N] or [N, k].

    Args:
        hidden: what the output layer reads, [N, D], the rows' places one after another.
        lengths: how many places each row has.
        expected: ids [N] that a rule will ask for: a walk over the output layer takes them along.
    """

    def __init__(
        self, network: NativeNetwork, hidden: Array, lengths: Sequence[int], expected: Array
    ) -> None:
        self.lengths, self.hidden = lengths, hidden
        self._network, self._expected = network, expected
        self._found: _Summary | None = None

    @classmethod
    def of(
        cls, network: NativeNetwork, hidden: Array, blocks: Sequence[Sequence[int]], eos_id: int
    ) -> LightScores:
        """Return the scores of blocks; after each token the block's next one is expected."""
        lengths = [len(block) for block in blocks]
        expected = array("i", chain.from_iterable((*block[1:], eos_id) for block in blocks))
        return cls(network, hidden, lengths, np.array(expected, np.int32))

    def best(self) -> Array:
        return self._summary().best

    def behind(self, tokens: Rows) -> Array:
        ids = self._column(tokens)
        found = self._summary(ids)
        return np.where(ids < 0, np.float32(np.inf), found.largest - found.logit)

    def rank(self, tokens: Rows) -> Array:
        return self._all().rank(tokens)

    def logprobs(self, *tokens: Rows | Array) -> list[Array]:
        return [self._logprobs(t if isinstance(t, np.ndarray) else self._column(t)) for t in tokens]

    def certainty(self) -> Array:
        found: Array = np.exp(-self._summary().log_sum)
        return found

    def top(self, count: int) -> list[Array]:
        ids, logits = self._network.top(self.hidden, count, threads.count())
        found = self._summary()
        return [(logits - found.largest[:, None]) - found.log_sum[:, None], ids]

    def read(self, *columns: Array) -> list[list[list[Any]]]:
        return [[*self._rows(column.tolist())] for column in columns]

    def distribution(self, sampling: Sampling) -> NumpyDistributions:
        return self._all().distribution(sampling)

    def after(self, counts: Sequence[int]) -> LightScores:
        places = np.arange(len(self.hidden)).tolist()
        rows = [row[n:] for row, n in zip(self._rows(places), counts, strict=True)]
        return self._some([i for row in rows for i in row], [len(row) for row in rows])

    def at(self, places: Sequence[int]) -> LightScores:
        every = self._rows(np.arange(len(self.hidden)).tolist())
        chosen = [row[place] for row, place in zip(every, places, strict=True)]
        return self._some(chosen, [1] * len(chosen))

    def _some(self, index: Sequence[int], lengths: Sequence[int]) -> LightScores:
        return LightScores(self._network, self.hidden[index], lengths, self._expected[index])

    @property
    def raw(self) -> Array:
        """All logits [N, V], computed anew."""
        return self._network.logits(self.hidden, threads.count())

    def _all(self) -> NumpyScores:
        return NumpyScores(self.raw, self.lengths)

    def _summary(self, ids: Array | None = None) -> _Summary:
        """Return what one walk over the output layer finds, with the logits of some ids."""
        found = self._found
        if found is not None and (ids is None or bool(((ids < 0) | (ids == found.wanted)).all())):
            return found
        wanted = self._expected
        if ids is not None and not bool(((ids < 0) | (ids == wanted)).all()):
            wanted = ids
        best, largest, log_sum, logit = self._network.best(self.hidden, wanted, threads.count())
        self._found = _Summary(best, largest, log_sum, wanted, logit)
        return self._found

    def _logprobs(self, ids: Array) -> Array:
        found = self._summary()
        if ids is found.best:  # their logits are the largest
            return -found.log_sum
        found = self._summary(np.asarray(ids, np.int32))
        return (found.logit - found.largest) - found.log_sum

    def _column(self, tokens: Rows) -> Array:
        """Return ids [N], -1 where a place has none."""
        pairs = zip(self.lengths, tokens, strict=True)
        padded = chain.from_iterable((*row, *(-1,) * (n - len(row))) for n, row in pairs)
        return np.array(array("i", padded), np.int32)

    def _rows(self, flat: list[Any]) -> Iterator[list[Any]]:
        """Yield the places of each row."""
        begin = 0
        for length in self.lengths:
            yield flat[begin : begin + length]
            begin += length
