"""The cost model of drafting: from what a pass and a draft take, to what drafting gains.

A pass over the last token and k drafted ones takes v(k), drafting them d(k), and E(k) tokens come
of it. Greedy decoding takes v(0) for every token, so drafting makes decoding

    E(k) v(0) / (v(k) + d(k))

times as fast. That is Theorem 3.8 of Leviathan et al. 2023 (:mod:`gec.decoding.lengths`) without
its assumption that a pass takes the same for one token and for k: on a CPU it does not. Where
sentences are known, what they take once counts, too: the verifier's encoder, and the drafter's.

E(k) is either that of an acceptance rate, the same at every place (equation 1 there), or what was
counted while drafts were verified (:func:`counted`).
"""

from __future__ import annotations

import random
import statistics
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gec.decoding.lengths import expected_tokens
from gec.decoding.model import Model
from gec.decoding.trace import Pass

DRAFTED = (0, 1, 2, 4, 8, 16, 32)
"""How many drafted tokens passes are measured with."""

Tokens = Callable[[int], float]
"""From k drafted tokens to the tokens that a pass gives on average, the verifier's own included."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Milliseconds by the number of drafted tokens; between measured numbers a straight line."""

    points: Mapping[int, float]

    def __call__(self, k: int) -> float:
        """Return the time for k tokens.

        >>> Curve({0: 1.0, 4: 3.0})(1), Curve({0: 1.0, 4: 3.0})(6), Curve({1: 2.0})(5)
        (1.5, 4.0, 2.0)
        """
        known = sorted(self.points)
        if len(known) == 1:
            return self.points[known[0]]
        place = min(max(bisect_left(known, k), 1), len(known) - 1)
        left, right = known[place - 1], known[place]
        share = (k - left) / (right - left)
        return max(0.0, self.points[left] + share * (self.points[right] - self.points[left]))


@dataclass(frozen=True, slots=True)
class Drafting:
    """What a drafter costs.

    Attributes:
        name: the drafter's.
        time: ms to draft k tokens behind the outputs.
        longest: the most tokens it drafts.
        start: ms that it takes for a sentence, once.
    """

    name: str
    time: Callable[[int], float]
    longest: int = 32
    start: float = 0.0


@dataclass(frozen=True, slots=True)
class Sentence:
    """A typical one: ms of the verifier's encoder, and output tokens with EOS."""

    encode: float
    tokens: float


def geometric(rate: float) -> Tokens:
    """Return the tokens a pass of an acceptance rate.

    >>> geometric(0.5)(0), geometric(0.5)(2)
    (1.0, 1.75)
    """
    return lambda k: expected_tokens(rate, k)


def survival(steps: Iterable[Pass]) -> list[float]:
    """Return the shares of drafts whose first 1, 2, ... tokens stand (Kaplan and Meier 1958).

    A draft that stands whole tells nothing of the place behind it.

    >>> survival([Pass(2, 0, 1), Pass(2, 1, 2), Pass(2, 2, 3), Pass(1, 1, 2)])
    [0.75, 0.375]
    """
    steps = list(steps)
    shares, share = [], 1.0
    for place in range(max((step.drafted for step in steps), default=0)):
        tried = sum(step.drafted > place and step.accepted >= place for step in steps)
        stood = sum(step.drafted > place and step.accepted > place for step in steps)
        share *= stood / tried if tried else 0.0
        shares.append(share)
    return shares


def counted(steps: Iterable[Pass]) -> Tokens:
    """Return the tokens a pass that passes with drafts gave.

    >>> counted([Pass(2, 0, 1), Pass(2, 1, 2), Pass(2, 2, 3), Pass(1, 1, 2)])(1)
    1.75
    """
    shares = survival(steps)
    return lambda k: 1.0 + sum(shares[:k])


def speedup(
    verify: Curve, drafting: Drafting, tokens: Tokens, k: int, sentence: Sentence | None = None
) -> float:
    """Return by what factor k drafted tokens a pass make decoding faster (below 1: slower).

    >>> speedup(Curve({0: 1.0, 4: 1.5}), Drafting("free", lambda k: 0.0), geometric(0.5), 2)
    1.4
    """
    if k == 0:
        return 1.0
    drafted = (verify(k) + drafting.time(k)) / tokens(k)
    if sentence is None:
        return verify(0) / drafted
    once, length = sentence.encode, sentence.tokens
    return (once + length * verify(0)) / (once + drafting.start + length * drafted)


def best(
    verify: Curve, drafting: Drafting, tokens: Tokens, sentence: Sentence | None = None
) -> tuple[int, float]:
    """Return the k of the largest speed-up, 0 where drafting does not pay, and that speed-up."""
    gains = [
        speedup(verify, drafting, tokens, k, sentence) for k in range(min(32, drafting.longest) + 1)
    ]
    k = max(range(len(gains)), key=gains.__getitem__)
    return k, gains[k]


def needed(
    verify: Curve, drafting: Drafting, target: float = 1.0, sentence: Sentence | None = None
) -> float | None:
    """Return the least acceptance rate whose best k exceeds a speed-up; None: no rate does.

    >>> round(needed(Curve({0: 1.0, 32: 1.0}), Drafting("half", lambda k: 0.5 * k)), 3)
    0.5
    """

    def reaches(rate: float) -> bool:
        return best(verify, drafting, geometric(rate), sentence)[1] > target

    if not reaches(1.0):
        return None
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


# --------------------------------------------------------------------------------- measurements


def take_turns(
    ways: Mapping[int, Callable[[], object]],
    *,
    rounds: int = 9,
    before: Callable[[], object] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Curve:
    """Time each way once a round, after one round that warms up; return the medians (ms).

    What is called ``before`` each is not timed. Every round has another order, so that what comes
    again and again on a shared machine does not meet the same way every time.
    """
    taken: dict[int, list[float]] = {k: [] for k in ways}
    order = random.Random(0)
    for repeat in range(rounds + 1):
        for k, way in order.sample(list(ways.items()), len(ways)):
            if before is not None:
                before()
            began = clock()
            way()
            if repeat:
                taken[k].append(1000 * (clock() - began))
    return Curve({k: statistics.median(found) for k, found in taken.items()})


def pass_times(
    model: Model,
    drafted: Sequence[int] = DRAFTED,
    *,
    prefix: int = 16,
    source: int = 16,
    rows: int = 1,
    rounds: int = 9,
    before: Callable[[], object] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Curve:
    """Time passes over the last token and k drafted ones, after ``prefix`` tokens of output.

    What is called ``before`` each is not timed.
    Numbers of drafted tokens that the model has no positions for are left out.
    """
    word = [model.bos_id]  # the one id that every model can be fed
    prefix = max(0, min(prefix, model.max_positions - 2))
    memory = model.start([word * min(source, model.max_positions - 1)] * rows)
    model.verify(memory, [word * (prefix + 1)] * rows, [0] * rows)

    def way(k: int) -> Callable[[], object]:
        def verify() -> None:
            scores = model.verify(memory, [word * (k + 1)] * rows, [prefix] * rows)
            scores.read(scores.best())  # which waits for the device

        return verify

    fitting = [k for k in drafted if prefix + k + 1 <= model.max_positions]
    return take_turns({k: way(k) for k in fitting}, rounds=rounds, before=before, clock=clock)
