"""Ids that a model's family puts before every source and every output.

BART reads ``<s> source </s>``; a BART whose first output token is forced writes ``</s> <s> ...``.
The decoding loop knows one first token, ``bos_id``; the others are put there here, for any model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gec.decoding.model import Model
from gec.decoding.scores import Scores
from gec.errors import ModelError
from gec.models.network.transformer_config import TransformerConfig


def prefixed(model: Model, config: TransformerConfig) -> Model:
    """Return the model behind the prefixes of a network's settings, itself where it has none.

    Raises:
        ModelError: the prefixes fill all of its positions.
    """
    prefixes = config.source_prefix, config.decoder_prefix
    if not any(prefixes):
        return model
    if max(map(len, prefixes)) > model.max_positions - 2:
        raise ModelError(
            f"the model's {model.max_positions} positions leave none beside its prefixes"
        )
    return Prefixed(model, *prefixes)


class Prefixed:
    """Meets :class:`gec.decoding.model.Model` by one that does, with ids before what it sees.

    Attributes:
        max_positions: the model's, less what the prefixes take.
    """

    def __init__(
        self, model: Model, source_prefix: Sequence[int], decoder_prefix: Sequence[int]
    ) -> None:
        self.model = model
        self.bos_id, self.eos_id = model.bos_id, model.eos_id
        self._source, self._decoder = list(source_prefix), list(decoder_prefix)
        self.max_positions = model.max_positions - max(len(self._source), len(self._decoder))

    @property
    def threads(self) -> int:
        """How many threads of a CPU compute."""
        return int(getattr(self.model, "threads", 1))

    def start(self, sources: Sequence[Sequence[int]]) -> Any:
        memory = self.model.start([[*self._source, *source] for source in sources])
        if self._decoder:  # into the cache, for good: no later start lies before it
            self.model.verify(memory, [self._decoder] * len(sources), [0] * len(sources))
        return memory

    def verify(self, memory: Any, tokens: Sequence[Sequence[int]], starts: Sequence[int]) -> Scores:
        fed = len(self._decoder)
        return self.model.verify(memory, tokens, [fed + start for start in starts])

    def select(self, memory: Any, rows: Sequence[int]) -> Any:
        return self.model.select(memory, rows)

    def join(self, memory: Any, other: Any) -> Any:
        return self.model.join(memory, other)
