"""Drafters propose the next tokens of every row; the verifier decides how many stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gec.decoding.decoder import State


class Drafter(Protocol):
    """Proposes a draft for every row; an empty draft makes the pass a plain greedy step."""

    def propose(self, state: State) -> list[list[int]]:
        """Return per row the tokens that may follow its output; EOS only as the last."""


class NoDraft:
    """The empty draft: ordinary left-to-right decoding."""

    def propose(self, state: State) -> list[list[int]]:
        return [[] for _ in state.rows]
