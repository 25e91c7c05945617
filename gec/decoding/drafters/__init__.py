"""Drafters propose the next tokens of every row; the verifier decides how many stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gec.decoding.acceptance import Kept
    from gec.decoding.scores import Part
    from gec.decoding.state import State


class Drafter:
    """Proposes a draft for every row; an empty draft makes the pass a plain greedy step.

    A drafter with a network of its own keeps what it needs between passes (encoder output,
    caches, the distributions it sampled from) in a *memory*, ``state.draft_memory``. The loop
    treats it as the model's: made when sentences start, joined when more start, and reordered with
    the rows. A drafter without one overrides only :meth:`propose`.
    """

    def start(self, sources: Sequence[Sequence[int]]) -> Any:
        """Return the memory of new rows, one a source (ids without BOS and EOS)."""
        return None

    def propose(self, state: State) -> Sequence[Sequence[int]]:
        """Return per row the tokens that may follow its output; the loop drops what follows EOS."""
        raise NotImplementedError

    def observe(self, state: State, kept: Sequence[Kept]) -> None:
        """See what the acceptance rule kept of the last drafts, before the state advances."""

    def distributions(self, memory: Any) -> Sequence[Sequence[Part]] | None:
        """Return per row what the tokens of its last draft were drawn from; None: not drawn.

        A row's parts are of its tokens in their order, as many tokens as each part has places.
        """
        return None

    def logprobs(self, memory: Any) -> Sequence[Sequence[float]] | None:
        """Return per row the log-probabilities (nats) of its last draft; None: there are none."""
        return None

    def select(self, memory: Any, rows: Sequence[int]) -> Any:
        """Return the memory with only these rows, in this order; a row may repeat.

        The argument is consumed: it may be changed, and nobody uses it again.
        """
        return memory

    def join(self, memory: Any, other: Any) -> Any:
        """Return one memory: the rows of the first, then those of the second.

        Both arguments are consumed.
        """
        return memory


class NoDraft(Drafter):
    """The empty draft: ordinary left-to-right decoding."""

    def propose(self, state: State) -> list[list[int]]:
        return [[] for _ in state.rows]
