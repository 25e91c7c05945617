"""Times side by side: everything takes turns on the same work, and medians of rounds count.

All of ``gec bench`` is timed here. The work is cut into *turns*, and what is timed is a *way* to do
one. Every way does a turn before the next turn begins, ``rounds`` times over (A B A B ...), so that
whatever else the machine does falls on all of them alike.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from gec.eval.metrics.significance import Interval, bootstrap
from gec.eval.metrics.statistics import Numbers, Statistics
from gec.eval.metrics.statistics import ratio as quotients

ROUNDS = 3
WARM_UP = 8
"""Turns that every way does before any is timed, from the first turns to the last ones."""
PAUSE = 0.002
"""Seconds between ways: the idle threads of one engine spin for a while."""
REPORT = 30.0
"""Seconds between two lines of progress."""

Floats = NDArray[np.float64]
T = TypeVar("T")
R = TypeVar("R")
Way = Callable[[T], tuple[R, float]]
"""Does a turn; returns what came of it, and the seconds that count."""


@dataclass(frozen=True, slots=True)
class Times:
    """How long one way took.

    Attributes:
        seconds: [turns, rounds].
        sizes: [turns] what each turn holds, for example sentences.
    """

    seconds: Floats
    sizes: Floats

    @property
    def medians(self) -> Floats:
        """[turns] the median round of each turn, seconds."""
        return np.median(self.seconds, axis=1)

    @property
    def total(self) -> float:
        """All turns, seconds."""
        return float(self.medians.sum())

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


def take_turns(
    ways: Sequence[Way[T, R]],
    turns: Sequence[T],
    *,
    rounds: int = ROUNDS,
    warm_up: int = WARM_UP,
    pause: float = PAUSE,
    what: str = "",
    say: Callable[[str], None] | None = None,
) -> tuple[Floats, list[list[R]]]:
    """Time every way on every turn, after a warm-up.

    Args:
        warm_up: turns that each way does untimed, evenly spread.
        pause: seconds before each timed turn.
        what: what the lines of progress are about.
        say: gets such a line now and then; None writes it to standard error.

    Returns:
        The seconds, [ways, turns, rounds], and what came of the first round, [way][turn].
    """
    for way in ways:
        for turn in turns[:: max(1, len(turns) // max(1, warm_up))][:warm_up]:
            way(turn)
    seconds = np.zeros((len(ways), len(turns), rounds))
    first: list[list[R]] = [[] for _ in ways]
    progress = _Progress(what, len(turns), say)
    for place, turn in enumerate(turns):
        for repeat in range(rounds):
            for number, way in enumerate(ways):
                time.sleep(pause)
                result, seconds[number, place, repeat] = way(turn)
                if repeat == 0:
                    first[number].append(result)
        progress.step(place + 1)
    return seconds, first


def now() -> float:
    """Return the wall clock (s) after a GPU has done what it was given."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def timed(function: Callable[[T], R], clock: Callable[[], float] = now) -> Way[T, R]:
    """Return a way that calls a function and counts all of its time."""

    def way(turn: T) -> tuple[R, float]:
        began = clock()
        result = function(turn)
        return result, clock() - began

    return way


def ratio(slow: Times, fast: Times, *, samples: int = 1000, seed: int = 0) -> Interval:
    """Return how many times faster ``fast`` is, with a bootstrap interval over what was timed.

    Resampled are turns: sentences at batch size 1, groups of some batches above it.
    """
    medians = np.stack([slow.medians, fast.medians], axis=1)

    def quotient(sums: Numbers) -> Numbers:
        return quotients(sums[..., :1], sums[..., 1:])

    statistics = Statistics(medians, quotient, ("ratio",), "ratio")
    return bootstrap(statistics, samples=samples, seed=seed)["ratio"]


class _Progress:
    """Says now and then how far it is and how long it will take."""

    def __init__(self, what: str, steps: int, say: Callable[[str], None] | None) -> None:
        self.what, self.steps = what, steps
        self.say = say or (lambda line: print(line, file=sys.stderr, flush=True))
        self.began = self.told = time.monotonic()

    def step(self, done: int) -> None:
        moment = time.monotonic()
        if moment - self.told >= REPORT:
            self.told = moment
            left = (moment - self.began) / done * (self.steps - done) / 60
            self.say(f"{self.what}: {done} of {self.steps} turns, about {left:.0f} min left")
