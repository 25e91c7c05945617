"""How many tokens to draft: the gamma that the acceptance rate and the drafter's cost call for.

Leviathan et al. 2023, section 3.3: with acceptance rate a and a drafter whose pass costs c passes
of the verifier, gamma drafted tokens give (1 - a^(gamma + 1)) / (1 - a) tokens an iteration
(equation 1) for the price of gamma c + 1, and so the improvement of Theorem 3.8.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from gec.decoding.model import Model
from gec.decoding.state import Row
from gec.errors import ConfigError


def expected_tokens(rate: float, gamma: int) -> float:
    """Return the tokens an iteration gives on average.

    >>> expected_tokens(0.5, 0), expected_tokens(0.5, 2), expected_tokens(1.0, 3)
    (1.0, 1.75, 4.0)
    """
    return gamma + 1.0 if rate == 1 else (1 - rate ** (gamma + 1)) / (1 - rate)


def improvement(rate: float, cost: float, gamma: int) -> float:
    """Return by what factor ``gamma`` drafted tokens make decoding faster (below 1: slower).

    >>> improvement(0.8, 0.1, 0), round(improvement(0.8, 0.1, 5), 2)
    (1.0, 2.46)
    """
    return expected_tokens(rate, gamma) / (gamma * cost + 1)


def best_gamma(rate: float, cost: float, longest: int = 20) -> int:
    """Return the gamma from 0 to ``longest`` of the largest improvement; the smallest of equals.

    >>> best_gamma(0.8, 0.1), best_gamma(0.8, 0.5), best_gamma(0.3, 0.4)
    (6, 2, 0)
    """
    return max(range(longest + 1), key=lambda gamma: improvement(rate, cost, gamma))


@dataclass(frozen=True, slots=True)
class AdaptiveLength:
    """Chooses gamma for every pass of a row from what became of its drafts so far.

    The rate is estimated for each sentence alone, as the mean of a beta distribution: ``weight``
    drafted tokens at the ``prior`` rate, and those the verifier has judged. Neighbours in a batch
    therefore change nothing, in sampling either. A drafted token is judged until the first that
    does not stand.

    Attributes:
        cost: time of a drafter's pass in passes of the verifier (:func:`cost_ratio` measures it).
        prior: the rate to begin with, 0 to 1.
        weight: how many tokens the prior counts for.
        longest: the largest gamma.
    """

    cost: float
    prior: float = 0.75
    weight: float = 6.0
    longest: int = 20

    def __post_init__(self) -> None:
        if not 0 <= self.cost < math.inf:
            raise ConfigError(f"the cost ratio must be a number >= 0, not {self.cost}")
        if not 0 <= self.prior <= 1:
            raise ConfigError(f"the prior acceptance rate must lie from 0 to 1, not {self.prior}")
        if not 0 < self.weight < math.inf:
            raise ConfigError(f"the prior's weight must be above 0, not {self.weight}")
        if self.longest < 0:
            raise ConfigError(f"the largest gamma must be at least 0, not {self.longest}")

    def __call__(self, row: Row) -> int:
        return best_gamma(self.rate(row), self.cost, self.longest)

    def rate(self, row: Row) -> float:
        """Return the estimated acceptance rate."""
        accepted = sum(step.accepted for step in row.steps)
        rejected = sum(step.accepted < min(step.drafted, step.emitted) for step in row.steps)
        judged = accepted + rejected
        return (self.prior * self.weight + accepted) / (self.weight + judged)


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds of a one-token pass of the two models, medians."""

    small: float
    large: float

    @property
    def ratio(self) -> float:
        return self.small / self.large

    def warning(self) -> str | None:
        """Return a line for the user where the small model is the slower one."""
        if self.small < self.large:
            return None
        return (
            f"the drafting model takes {self.small:.2f} ms a pass, the verifier "
            f"{self.large:.2f} ms: drafting with it saves no time"
        )


def cost_ratio(
    small: Model, large: Model, *, length: int = 16, rows: int = 1, rounds: int = 15
) -> Timing:
    """Time one-token passes of both models in turn, after ``length`` tokens of source and output.

    Returns the medians of ``rounds`` passes. Results vary with the machine's load.
    """
    times: tuple[list[float], list[float]] = ([], [])
    memories = []
    for model in (small, large):
        room = min(length, model.max_positions - 2)
        word = [model.bos_id]  # the one id that every model can be fed
        memory = model.start([word * room] * rows)
        model.verify(memory, [word * (room + 1)] * rows, [0] * rows)
        memories.append((model, memory, word, room))
    for repeat in range(rounds + 2):
        for (model, memory, word, room), taken in zip(memories, times, strict=True):
            began = time.perf_counter()
            scores = model.verify(memory, [word] * rows, [room] * rows)
            scores.read(scores.best())  # which waits for the device
            if repeat >= 2:  # the first passes warm up
                taken.append(1000 * (time.perf_counter() - began))
    return Timing(*(statistics.median(taken) for taken in times))


def gamma_curves(
    rates: Sequence[float], costs: Sequence[float], longest: int = 20
) -> dict[str, list[tuple[float, float, float]]]:
    """Return per cost ratio the points (rate, best gamma, its improvement) of the curves."""
    return {
        f"c = {cost:g}": [
            (rate, float(gamma), improvement(rate, cost, gamma))
            for rate in rates
            for gamma in (best_gamma(rate, cost, longest),)
        ]
        for cost in costs
    }
