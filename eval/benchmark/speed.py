"""Decoding time side by side: same sentences, contenders taking turns, medians of rounds.

Only encoding and decoding are timed; splitting text into subwords and back is not. Sentences are
sorted by length and cut into *turns*: one batch, or with larger batches a few of them, so that an
engine that fills its batches up from what waits can do so. Every contender decodes a turn before
the next turn begins, ``rounds`` times over (A B A B ...), so that whatever else the machine does
falls on all of them alike.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gec.eval.benchmark.contenders import Answer, Contender, Ids, batches
from gec.eval.compare.significance import Interval

ROUNDS = 3
WARM_UP = 8
"""Turns that every contender decodes before any is timed, from short sentences to long ones."""
BATCHES = 4
"""Batches a turn, where a batch is more than one sentence."""
PAUSE = 0.002
"""Seconds between contenders: the idle threads of one engine spin for a while."""
REPORT = 30.0
"""Seconds between two lines of progress."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Timing:
    """One contender at one batch size.

    Attributes:
        seconds: [turns, rounds].
        sizes: [turns] sentences of each turn.
        sources, outputs: in the order they were decoded.
        passes: decoder passes a sentence, NaN where nobody counted.
        accepted: share of the drafted tokens that stood, NaN without drafts.
    """

    engine: str
    strategy: str
    precision: str
    batch_size: int
    seconds: Floats
    sizes: Floats
    sources: list[Ids]
    outputs: list[Ids]
    passes: float
    accepted: float

    @property
    def name(self) -> str:
        return f"{self.engine} {self.strategy} {self.precision}"

    @property
    def medians(self) -> Floats:
        """[turns] the median round of each turn, seconds."""
        return np.median(self.seconds, axis=1)

    @property
    def milliseconds(self) -> float:
        """A sentence, on average over the sentences."""
        return float(1000 * self.medians.sum() / self.sizes.sum())

    @property
    def quartiles(self) -> tuple[float, float]:
        """Milliseconds a sentence that a quarter and three quarters of the turns stay below."""
        low, high = np.quantile(1000 * self.medians / self.sizes, [0.25, 0.75])
        return float(low), float(high)

    @property
    def unsteadiness(self) -> float:
        """How far the slowest round is above the fastest, as a share of the median one."""
        rounds = self.seconds.sum(axis=0)
        return float((rounds.max() - rounds.min()) / np.median(rounds))


def measure(
    contenders: Sequence[Contender],
    sources: Sequence[Ids],
    batch_size: int,
    *,
    rounds: int = ROUNDS,
    pause: float = PAUSE,
    say: Callable[[str], None] | None = None,
) -> list[Timing]:
    """Time every contender on every turn, after a warm-up.

    Args:
        say: gets a line of progress now and then; None writes it to standard error.
    """
    ordered = sorted(sources, key=len)
    turns = list(batches(ordered, batch_size * (BATCHES if batch_size > 1 else 1)))
    for contender in contenders:
        for turn in turns[:: max(1, len(turns) // WARM_UP)][:WARM_UP]:
            contender.decode(turn, batch_size)
    seconds = np.zeros((len(contenders), len(turns), rounds))
    first: list[list[Answer]] = [[] for _ in contenders]
    progress = _Progress(f"batch size {batch_size}", len(turns), say)
    for place, turn in enumerate(turns):
        for repeat in range(rounds):
            for number, contender in enumerate(contenders):
                time.sleep(pause)
                answer = contender.decode(turn, batch_size)
                seconds[number, place, repeat] = answer.seconds
                if repeat == 0:
                    first[number].append(answer)
        progress.step(place + 1)
    sizes = np.array([len(turn) for turn in turns], dtype=np.float64)
    return [
        _timing(contender, batch_size, seconds[number], sizes, list(ordered), first[number])
        for number, contender in enumerate(contenders)
    ]


def _timing(
    contender: Contender,
    batch_size: int,
    seconds: Floats,
    sizes: Floats,
    sources: list[Ids],
    answers: Sequence[Answer],
) -> Timing:
    counted = [answer.passes for answer in answers if answer.passes is not None]
    drafted = sum(answer.drafted for answer in answers)
    return Timing(
        contender.engine,
        contender.strategy,
        contender.precision,
        batch_size,
        seconds,
        sizes,
        sources,
        [output for answer in answers for output in answer.outputs],
        sum(counted) / len(sources) if counted else np.nan,
        sum(answer.accepted for answer in answers) / drafted if drafted else np.nan,
    )


def ratio(slow: Timing, fast: Timing, *, samples: int = 1000, seed: int = 0) -> Interval:
    """Return how many times faster ``fast`` is, with a bootstrap interval over what was timed.

    Resampled are turns: sentences at batch size 1, groups of some batches above it.
    """
    a, b = slow.medians, fast.medians
    # how often each turn is drawn, as many draws as there are turns
    counts = np.random.default_rng(seed).multinomial(len(a), [1 / len(a)] * len(a), size=samples)
    drawn = (counts @ a) / (counts @ b)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Interval(float(a.sum() / b.sum()), float(low), float(high))


class _Progress:
    """Says now and then how far it is and how long it will take."""

    def __init__(self, what: str, steps: int, say: Callable[[str], None] | None) -> None:
        self.what, self.steps = what, steps
        self.say = say or (lambda line: print(line, file=sys.stderr, flush=True))
        self.began = self.told = time.monotonic()

    def step(self, done: int) -> None:
        now = time.monotonic()
        if now - self.told >= REPORT:
            self.told = now
            left = (now - self.began) / done * (self.steps - done) / 60
            self.say(f"{self.what}: {done} of {self.steps} turns, about {left:.0f} min left")
