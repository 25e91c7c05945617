"""Rounds: a corrected sentence is read again, because some errors show only when others are gone.

A round decodes what the round before wrote, so each of them costs nothing where that changed
nothing. The last output is the correction; each round gives exactly what greedy decoding of its
source gives. (Several rounds of inference: Ge et al. 2018, *Fluency Boost Learning and Inference*.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gec.decoding.decoder import Hypothesis
from gec.edits.align import align

DecodeAll = Callable[[Sequence[tuple[int, ...]]], Sequence[Hypothesis]]


def in_rounds(
    decode: DecodeAll, sources: Sequence[tuple[int, ...]], rounds: int, longest: int
) -> list[Hypothesis]:
    """Decode sources (ids without BOS and EOS), and what came of them, until nothing changes.

    Args:
        rounds: at most so many, at least 1.
        longest: tokens of the longest source that ``decode`` takes; no longer output is read again.
    """
    read, found = list(sources), list(decode(sources))
    changed = range(len(found))
    for _ in range(rounds - 1):
        changed = [
            i
            for i in changed
            if not found[i].truncated
            and found[i].tokens != read[i]
            and 0 < len(found[i].tokens) <= longest
        ]
        if not changed:
            break
        for i, later in zip(changed, decode([found[i].tokens for i in changed]), strict=True):
            read[i] = found[i].tokens
            if not later.truncated:  # one that lost its way says nothing
                found[i] = merged(found[i], later)
    return found


def merged(earlier: Hypothesis, later: Hypothesis) -> Hypothesis:
    """Return what a later round made of an earlier one's output.

    A token that both wrote is as probable as in the round that doubts it more. The earlier passes
    count, and none of the tokens is theirs.
    """
    logprobs = list(later.logprobs)
    if earlier.logprobs and logprobs:
        ends = [(len(earlier.tokens), len(later.tokens)), *_same(earlier.tokens, later.tokens)]
        for old, new in ends:  # the first is EOS, which both wrote
            logprobs[new] = min(logprobs[new], earlier.logprobs[old])
    passes = [replace(step, accepted=0, emitted=0) for step in earlier.steps]
    return replace(later, logprobs=tuple(logprobs), steps=(*later.steps, *passes))


def _same(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    """Return the places of the tokens that stayed, in both.

    >>> _same([1, 2, 3, 4], [1, 3, 5, 4])
    [(0, 0), (2, 1), (3, 3)]
    """
    pairs, at, there = [], 0, 0
    edits = align([str(token) for token in old], [str(token) for token in new])
    for begin, end, new_begin, new_end in [
        *((e.source_start, e.source_end, e.target_start, e.target_end) for e in edits),
        (len(old), len(old), len(new), len(new)),
    ]:
        pairs += zip(range(at, begin), range(there, new_begin), strict=True)
        at, there = end, new_end
    return pairs
