"""The protocol a model must meet to be decoded: start, verify, select, join.

A model only scores blocks of tokens; it never decides. What it keeps between passes (encoder
output, key/value caches) is opaque to the loop and called its *memory*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from gec.decoding.scores import Scores


class Model(Protocol):
    """A conditional language model over token ids.

    Attributes:
        bos_id, eos_id: the ids that begin and end a sentence.
        max_positions: the most tokens a source or an output may have, BOS or EOS included.
    """

    bos_id: int
    eos_id: int
    max_positions: int

    def start(self, sources: Sequence[Sequence[int]]) -> Any:
        """Encode the sources (ids without BOS and EOS, any of them may be empty), a row each."""

    def verify(self, memory: Any, tokens: Sequence[Sequence[int]], starts: Sequence[int]) -> Scores:
        """Score a block of tokens of every row in one pass.

        Args:
            tokens: for row r the tokens that follow its first ``starts[r]`` ones, at least one.
                Rows may differ in length.
            starts: how many tokens of each row the cache holds and shall keep; what an earlier,
                rejected draft left beyond is dropped.

        Returns:
            The scores of the token that follows each token of each block.
        """

    def select(self, memory: Any, rows: Sequence[int]) -> Any:
        """Return the memory with only these rows, in this order; a row may repeat.

        The argument is consumed: it may be changed, and nobody uses it again.
        """

    def join(self, memory: Any, other: Any) -> Any:
        """Return one memory: the rows of the first, then those of the second.

        Both arguments are consumed.
        """
