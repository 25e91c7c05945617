"""Input-guided drafting: copy the source after a unique suffix match.

Ge et al. 2022, *Lossless Acceleration for Seq2seq Generation with Aggressive Decoding*,
Algorithm 1; first as shallow aggressive decoding in Sun et al. 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gec.decoding.drafters import Drafter

if TYPE_CHECKING:
    from gec.decoding.state import State


def unique_suffix_match(source: Sequence[int], output: Sequence[int]) -> int | None:
    """Return i such that a suffix of ``output`` ends at ``source[i]`` and nowhere else, or None.

    The suffix has length q + 1 with the smallest q >= 0 that makes it unique in the source.

    >>> unique_suffix_match([7, 8, 7, 9], [5, 9]), unique_suffix_match([7, 8, 7, 9], [8, 7])
    (3, 2)
    >>> unique_suffix_match([7, 7, 7], [7, 7]) is None
    True
    """
    ends = [i for i, token in enumerate(source) if token == output[-1]]
    q = 0
    while len(ends) > 1:
        q += 1
        if q == len(output):
            return None
        before = output[-1 - q]
        ends = [i for i in ends if i >= q and source[i - q] == before]
    return ends[0] if ends else None


class CopyDrafter(Drafter):
    """Drafts the rest of the source after the place where the output stands in it.

    Source and output are compared with BOS in front, so the first draft is the whole source. EOS
    after the source is part of the draft; a sentence that is copied to its end takes one pass.
    """

    def propose(self, state: State) -> list[list[int]]:
        drafts: list[list[int]] = []
        for row in state.rows:
            source = [state.bos_id, *row.source]
            end = unique_suffix_match(source, [state.bos_id, *row.tokens])
            drafts.append([] if end is None else [*source[end + 1 :], state.eos_id])
        return drafts
