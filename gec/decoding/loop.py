"""The one decoding loop: draft, verify, accept.

Greedy, beam search, aggressive and speculative decoding differ only in the drafter and the
acceptance rule they put in::

    while waiting or state.rows:
        state.admit(waiting)               # encode; empty caches; one row a sentence
        drafts = drafter.propose(state)
        scores = verify(state, drafts)     # ONE pass over the last token and the draft of every row
        kept = acceptance(state, scores)
        state.advance(kept)                # truncate caches, retire finished rows

Waiting sentences take the places of finished ones while the others go on (continuous batching), so
that one heavily edited sentence does not hold up the rest of its batch.

A drafter with a model of its own takes the same steps over a state of its own, in ``propose``: see
:mod:`gec.decoding.drafters.small_model`. A hierarchy of drafters takes them at every level.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gec.decoding.acceptance import Kept
from gec.decoding.scores import Scores
from gec.decoding.state import State

AnyState = TypeVar("AnyState", bound=State)


def step(state: AnyState, acceptance: Callable[[AnyState, Scores], list[Kept]]) -> None:
    """Make one pass of the model over the state's rows: draft, verify, accept, advance.

    The state decides what becomes of a row that ends: a decoder's retires it, a drafter's keeps
    its place for as long as the verifier's row lives.
    """
    scores = state.verify(state.drafter.propose(state))
    kept = acceptance(state, scores)
    state.drafter.observe(state, kept)
    state.advance(kept)
