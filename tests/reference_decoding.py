"""The decoding algorithms as their papers write them: one sentence, no cache, nothing clever.

``scores(source, output)`` returns the logits [V] of the token after ``output``; all ids without
BOS. The engine must give the same outputs in the same passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

Scores = Callable[[Sequence[int], Sequence[int]], Tensor]
BOS, EOS = 1, 2


@dataclass(frozen=True)
class Output:
    """Tokens without EOS; passes as (drafted, accepted, emitted), the EOS counted."""

    tokens: tuple[int, ...]
    truncated: bool
    passes: tuple[tuple[int, int, int], ...]


def greedy(scores: Scores, source: Sequence[int], limit: int) -> Output:
    """Take the likeliest token until EOS or until there are ``limit`` tokens."""
    output: list[int] = []
    while len(output) < limit:
        output.append(int(scores(source, output).argmax()))
        if output[-1] == EOS:
            return Output(tuple(output[:-1]), False, ((0, 0, 1),) * len(output))
    return Output(tuple(output), True, ((0, 0, 1),) * limit)


def aggressive(scores: Scores, source: Sequence[int], limit: int, tolerance: float = 0.0) -> Output:
    """Input-guided aggressive decoding, Algorithm 1 of Ge et al. 2022, with one token's limit.

    x is the source and y the output, both after BOS, x with the sentinel at its end.
    """
    x = [BOS, *source, EOS]
    y = [BOS]
    passes: list[tuple[int, int, int]] = []
    while y[-1] != EOS and len(y) - 1 < limit:
        draft = _rest_of_source(x, y)[: limit - (len(y) - 1) - 1]
        accepted, emitted = 0, 0
        bifurcated = False
        for token in draft:  # the paper verifies all of them in parallel
            logits = scores(source, y[1:])
            best = int(logits.argmax())
            stands = token == best
            if not stands and tolerance > 0:
                stands = float(logits[best] - logits[token]) <= tolerance
            if not stands:
                y.append(best)
                emitted += 1
                bifurcated = True
                break
            y.append(token)
            accepted += 1
            emitted += 1
        if not bifurcated and y[-1] != EOS:  # the whole draft stands: the verifier goes on
            y.append(int(scores(source, y[1:]).argmax()))
            emitted += 1
        passes.append((len(draft), accepted, emitted))
    ended = y[-1] == EOS
    return Output(tuple(y[1:-1] if ended else y[1:]), not ended, tuple(passes))


def _rest_of_source(x: list[int], y: list[int]) -> list[int]:
    """Return what follows the only place in x where y[-1-q:] stands, for the least such q."""
    q = 0
    while q < len(y):
        suffix = y[len(y) - 1 - q :]
        places = [i for i in range(q, len(x) - 1) if x[i - q : i + 1] == suffix]
        if len(places) == 1:
            return x[places[0] + 1 :]
        if not places:
            return []
        q += 1
    return []


@dataclass(frozen=True)
class Beam:
    tokens: tuple[int, ...]
    truncated: bool
    score: float


def beam_search(
    scores: Scores, source: Sequence[int], limit: int, size: int, length_penalty: float
) -> list[Beam]:
    """Beam search by fairseq's rules, best hypothesis first.

    Of the 2 x size best continuations those ending in EOS are finished if they are among the best
    ``size``; the best ``size`` others live on; the search ends with ``size`` finished ones.
    """
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    finished: list[Beam] = []
    for length in range(1, limit + 1):
        candidates = []
        for total, tokens in live:
            logprobs = scores(source, tokens).float().log_softmax(-1).tolist()
            candidates += [(total + p, (*tokens, token)) for token, p in enumerate(logprobs)]
        candidates = sorted(candidates, key=lambda c: -c[0])[: 2 * size]
        live = []
        for rank, (total, tokens) in enumerate(candidates):
            score = total / length**length_penalty
            if tokens[-1] != EOS and len(live) < size:
                live.append((total, tokens))
            elif tokens[-1] == EOS and rank < size and len(finished) < size:
                finished.append(Beam(tokens[:-1], False, score))
        if len(finished) == size:
            break
        if length == limit:
            room = size - len(finished)
            finished += [
                Beam(tokens, True, p / length**length_penalty) for p, tokens in live[:room]
            ]
    return sorted(finished, key=lambda beam: (beam.truncated, -beam.score))
