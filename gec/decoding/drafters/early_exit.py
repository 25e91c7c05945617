"""Drafting with the verifier's own first layers (Kim et al. 2023, section 4.4).

The drafting network is the beginning of the verifying one, so it needs no memory of its own: it
works in the verifier's, and what it computed for a draft's tokens the verifying pass takes over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gec.decoding.drafters.small_model import Level, SmallModelDrafter
from gec.decoding.model import Model

if TYPE_CHECKING:
    from gec.decoding.state import State


class ExitModel(Model, Protocol):
    """A verifier with an early exit.

    Attributes:
        exit: its first layers, which work in its memory.
    """

    exit: Model


class EarlyExitDrafter(SmallModelDrafter):
    """A small model that is a part of the verifier: ``model`` reads and writes its memory.

    ``model.start``, ``select`` and ``join`` have nothing to do; the verifier's do it.
    """

    def propose(self, state: State) -> list[list[int]]:
        level: Level = state.draft_memory
        level.memory = state.memory
        # every pass of the verifier goes through the first layers: they are never behind
        level.cached = [[state.bos_id, *row.tokens][: len(row.tokens)] for row in state.rows]
        return super().propose(state)
