"""Drafting with extra heads on the verifier: one pass verifies a block and proposes the next.

Stern et al. 2018, *Blockwise Parallel Decoding for Deep Autoregressive Models*, section 4: with
scoring and proposal merged, m tokens take m/k + 1 passes at best.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from gec.decoding.drafters import Drafter
from gec.decoding.model import Model
from gec.errors import ConfigError

if TYPE_CHECKING:
    from gec.decoding.acceptance import Kept
    from gec.decoding.state import State


class HeadsModel(Model, Protocol):
    """A model whose extra head j predicts the token j places beyond the next one.

    Attributes:
        heads: how many extra heads there are; blocks have at most one token more.
    """

    heads: int

    def propose(self, memory: Any, places: Sequence[int], heads: int) -> list[list[int]]:
        """Return per row the choices of the first ``heads`` heads at a place of its last block.

        A place is an index into the block :meth:`verify` was last given; it must not have been
        followed by select or join.
        """


class HeadsDrafter(Drafter):
    """Proposes what the heads said where the last draft's acceptance ended; k - 1 tokens.

    With the verifier's own token that makes k tokens a pass. The first pass has no draft. Its
    memory is the next draft of every row.
    """

    def __init__(self, model: HeadsModel, k: int | None = None) -> None:
        self.model, self.k = model, model.heads + 1 if k is None else k
        if not 1 <= self.k <= model.heads + 1:
            raise ConfigError(
                f"k must be from 1 to {model.heads + 1}, as the bundle has {model.heads} extra "
                f"heads, not {k}"
            )

    def start(self, sources: Sequence[Sequence[int]]) -> list[list[int]]:
        return [[] for _ in sources]

    def propose(self, state: State) -> list[list[int]]:
        drafts: list[list[int]] = state.draft_memory
        return drafts

    def observe(self, state: State, kept: Sequence[Kept]) -> None:
        if self.k == 1:
            return
        places = [0] * len(state.rows)
        for choice in kept:
            places[choice.parent] = choice.accepted
        state.draft_memory = self.model.propose(state.memory, places, self.k - 1)

    def select(self, memory: list[list[int]], rows: Sequence[int]) -> list[list[int]]:
        return [memory[row] for row in rows]

    def join(self, memory: list[list[int]], other: list[list[int]]) -> list[list[int]]:
        return memory + other
