"""Which of several ways to decode the next pass takes: a bandit that can lose little.

All *arms* give the same output, so only time matters, and the first arm, greedy decoding, is what
the others are measured by. An arm costs seconds for each token of a row: what its passes take,
divided by the tokens that they give, and what it takes once for a sentence. Both are measured on
the passes that are made anyway. Two rules bound what is lost against greedy decoding by ``budget``,
a share of the time spent:

- another arm is tried for a few passes only if what this may lose, and what was lost by trying so
  far, is half of it at most, and no longer than until the next pass would lose more than four
  fifths. What an arm takes for a sentence is measured on one sentence before;
- an arm in use is given up for greedy decoding when it has become slower, or has lost a fifth.

An arm that was tried in vain is left alone for a while, twice as long every time, until trying it
takes next to nothing. So what is spent on trying is less the longer a run, and an arm that has
become better is noticed.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock

from gec.errors import ConfigError

EPISODE = 3
"""Passes for which an arm is tried; the first may have to catch up, hence medians of times."""
WINDOW = 16
"""Passes by which an arm is judged: the latest."""
FASTER = 0.95
"""An arm takes the place of another if it costs at most this share."""
PAUSE = 16
"""Passes for which an arm that was tried in vain is left alone at first."""
WORTH = 0.0025
"""The share of the time that trying one arm may take in a long run: the pauses' limit."""
STEADY, LONGEST = 4, 256
"""Passes of one arm between two looks at the others: at least, and at most."""
UNSEEN = 15
"""Passes of greedy decoding between two that are observed, for observing takes time, too."""
TRY, STOP, LOSE = 0.5, 0.8, 0.2
"""Shares of the budget: what trying may lose, when it stops, what arms in use may lose."""
UNMEASURED = 4
"""Passes of another arm in the beginning, before greedy decoding is measured."""
_LENGTH = 20.0  # tokens of an output, before one has ended


@dataclass(slots=True)
class Arm:
    """What is known of a way to decode.

    Attributes:
        gains: tokens that recent passes gave, a row.
        seconds: of recent passes, a row, by the size of the batch (:func:`_size`).
        starts: seconds that it took for recent sentences, each once.
        passes, tokens, spent: all its passes, their tokens of all rows, their seconds.
        tries: how often it was tried.
        rests: by the size of the batch the number of the pass before which it is left alone, and
            how many passes that was.
    """

    name: str
    gains: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    seconds: dict[int, deque[float]] = field(default_factory=dict)
    starts: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    passes: int = 0
    tokens: int = 0
    spent: float = 0.0
    tries: int = 0
    rests: dict[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def gain(self) -> float:
        """Tokens that a pass gives a row, on average."""
        return statistics.fmean(self.gains) if self.gains else 1.0

    def rests_at(self, passes: int, size: int) -> bool:
        """Whether it is left alone at a number of passes, in batches of a size."""
        return passes < self.rests.get(size, (0, 0))[0]

    def rest(self, passes: int, size: int, longest: float) -> None:
        """Leave it alone for twice as long as before."""
        pause = int(min(2 * self.rests.get(size, (0, PAUSE / 2))[1], max(longest, 4 * PAUSE)))
        self.rests[size] = passes + pause, pause


class Bandit:
    """Chooses an arm for every pass, and learns what became of it. Safe for several threads.

    Args:
        names: of the arms, greedy decoding first.
        first: the arm to begin with.
        budget: the share of the time that may be lost against greedy decoding.
    """

    def __init__(self, names: Sequence[str], *, first: str = "", budget: float = 0.05) -> None:
        if not 0 <= budget <= 1:
            raise ConfigError(f"the budget must be a share from 0 to 1, not {budget}")
        self.arms = {name: Arm(name) for name in names}
        self.greedy = self.arms[names[0]]
        self.current = self.arms[first or names[0]]
        self.budget = budget
        self.passes, self.spent = 0, 0.0
        self.lost = 0.0  # of the arms in use: never below 0, as a gain is no leave to lose
        self.tried = 0.0  # by trying
        self._length = _LENGTH
        self._trying: tuple[Arm, int, float] | None = None  # passes left, lost so far
        self._looks: dict[int, int] = {}  # by size the pass before which there is nothing to see
        self._greedy: dict[int, float] = {}  # by size seconds of greedy decoding's pass, a row
        self._size = 1  # of the last batch
        self._lock = Lock()

    def choose(self, rows: int) -> str:
        """Return the arm of the next pass, of so many rows."""
        with self._lock:
            return self._choose(_size(rows)).name

    def unknown(self, rows: int) -> str | None:
        """Return an arm of which to measure what it takes for one sentence; None: not now."""
        with self._lock:
            size = _size(rows)
            if self._trying is not None or self.passes < self._looks.get(size, 0):
                return None
            unit = self._unit(size)
            if unit is None or self.tried + 2 * unit > self._allowed(TRY):
                return None
            return next((arm.name for arm in self._unknown()), None)

    def unseen(self, rows: int) -> int:
        """Return how many passes may be made without a word to the bandit: greedy ones."""
        steady = self.current is self.greedy and self._trying is None
        left = self._looks.get(_size(rows), 0) - self.passes
        return min(UNSEEN, left) if steady and left > 0 else 0

    def started(self, name: str, rows: int, seconds: float) -> None:
        """Learn what an arm took once for some sentences."""
        with self._lock:
            arm = self.arms[name]
            arm.starts.append(seconds / rows)
            arm.spent += seconds
            self.spent += seconds
            if self._trying is not None and self._trying[0] is arm:
                self._trying = arm, self._trying[1], self._trying[2] + seconds
            elif arm is not self.current:
                self.tried += seconds

    def ended(self, tokens: int) -> None:
        """Learn how long an output became."""
        self._length += 0.05 * (tokens - self._length)

    def learn(self, name: str, rows: int, seconds: float, tokens: int, unseen: int = 0) -> None:
        """Learn what a pass took, and how many tokens its rows gained in all.

        So many passes before it were ``unseen``, and alike.
        """
        with self._lock:
            arm, self._size = self.arms[name], _size(rows)
            size, times = self._size, unseen + 1
            arm.gains.append(tokens / rows)
            arm.seconds.setdefault(size, deque(maxlen=WINDOW)).append(seconds / rows)
            arm.passes += times
            arm.tokens += tokens * times
            arm.spent += seconds * times
            # an outlier, such as the first pass of a run, is no leave to lose
            if (known := self._greedy.get(size)) is not None:
                self.spent += times * (
                    min(seconds, 2 * known * rows) if arm is self.greedy else seconds
                )
            self.passes += times
            self._charge(arm, seconds, tokens, size)
            if self._trying is not None and self._trying[0] is arm:
                self._trying = arm, self._trying[1] - 1, self._trying[2]

    def cost(self, arm: Arm, rows: int = 1) -> float | None:
        """Return the seconds of a token of a row in batches of so many rows; None: unknown."""
        return self._cost(arm, _size(rows))

    # ------------------------------------------------------------------------------- choice

    def _choose(self, size: int) -> Arm:
        if self._trying is not None:
            arm, left, lost = self._trying
            made = EPISODE - left
            if not made or (left and self.tried + lost * (1 + 1 / made) <= self._allowed(STOP)):
                return arm
            self._end_trial(size)
        elif self.passes < self._looks.get(size, 0) and self.lost <= self._allowed(LOSE):
            return self.current
        if (seconds := self._seconds(self.greedy, size)) is not None:
            self._greedy[size] = seconds
        self._looks[size] = self.passes + STEADY
        self._check_current(size)
        self._promote(size)
        if (other := self._worth_a_try(size)) is not None:
            other.tries += 1
            self._trying = other, EPISODE, 0.0
            return other
        return self.current

    def _check_current(self, size: int) -> None:
        """Give the arm in use up if greedy decoding is faster."""
        ours, greedy = self._cost(self.current, size), self._cost(self.greedy, size)
        if self.current is self.greedy or ours is None or greedy is None:
            return
        if ours > greedy or self.lost > self._allowed(LOSE):
            self.current.rest(self.passes, size, 0)
            self.current = self.greedy

    def _promote(self, size: int) -> None:
        """Put the arm that costs least in use, if it costs clearly less."""
        known = [(self._cost(arm, size), arm) for arm in self.arms.values()]
        costs = [(cost, arm) for cost, arm in known if cost is not None and self._may(arm, size)]
        ours = self._cost(self.current, size)
        if ours is None or not costs:
            return
        least, arm = min(costs, key=lambda pair: pair[0])
        if least < FASTER * ours:
            self.current = arm

    def _may(self, arm: Arm, size: int) -> bool:
        """Whether an arm may be put in use: what was lost lately allows it."""
        lately = not arm.rests_at(self.passes, size) and self.lost <= self._allowed(LOSE)
        return arm is self.greedy or lately

    def _worth_a_try(self, size: int) -> Arm | None:
        """Return the arm that was tried least among those that may be tried."""
        found, unit = [], self._unit(size) or 0.0
        least = 2 * unit if next(self._unknown(), None) else math.inf
        for arm in self.arms.values():
            if arm is self.current or arm.rests_at(self.passes, size):
                continue
            if (expected := self._expected_loss(arm, size)) is None:
                continue
            least = min(least, expected)
            if self.tried + expected <= self._allowed(TRY):
                found.append((arm.tries, expected, arm))
        if self.current is self.greedy and not found:
            self._wait(size, least, unit)
        return min(found, key=lambda entry: entry[:2])[2] if found else None

    def _wait(self, size: int, least: float, unit: float) -> None:
        """Put the next look off until a loss can be afforded."""
        gained = TRY * self.budget * unit  # by each pass
        missing = self.tried + least - self._allowed(TRY)
        wait = missing / gained if gained and missing > 0 else STEADY
        self._looks[size] = self.passes + int(min(max(wait, STEADY), LONGEST))

    def _unknown(self) -> Iterator[Arm]:
        """Yield the arms of which nobody knows what they take for a sentence."""
        return (arm for arm in self.arms.values() if arm is not self.greedy and not arm.starts)

    def _expected_loss(self, arm: Arm, size: int) -> float | None:
        """Return the seconds that trying an arm may lose; None: too little is known yet."""
        ours, unit = self._cost(self.current, size), self._unit(size)
        if ours is None or unit is None:
            return None
        rows, cost = _most(size), self._cost(arm, size)
        start = statistics.fmean(arm.starts) * rows if arm.starts else 0.0
        if cost is not None:
            return start + EPISODE * arm.gain * rows * max(0.0, cost - ours)
        if arm is self.greedy:  # that by which the others are measured
            return 0.0 if self.current.passes >= UNMEASURED else None
        return start + EPISODE * unit if arm.starts else None  # as if it took twice as long

    def _unit(self, size: int) -> float | None:
        """Return the seconds of a pass of the arm in use."""
        seconds = self._seconds(self.current, size)
        return None if seconds is None else seconds * _most(size)

    def _end_trial(self, size: int) -> None:
        assert self._trying is not None
        arm, _, lost = self._trying
        self._trying = None
        self.tried += max(0.0, lost)
        ours, cost = self._cost(self.current, size), self._cost(arm, size)
        if ours is not None and cost is not None and cost < FASTER * ours:
            arm.rests.pop(size, None)
        else:
            unit = self._unit(size)
            arm.rest(self.passes, size, lost / (WORTH * unit) if unit else 0)

    # ---------------------------------------------------------------------------- accounts

    def _allowed(self, share: float) -> float:
        return share * self.budget * self.spent

    def _charge(self, arm: Arm, seconds: float, tokens: int, size: int) -> None:
        """Write down what is lost by a pass."""
        if self._trying is not None and self._trying[0] is arm:
            if (by := self._cost(self.current, size)) is not None:
                lost = self._trying[2] + seconds - tokens * by
                self._trying = *self._trying[:2], lost
        elif arm is not self.greedy and (by := self._greedy.get(size)) is not None:
            self.lost = max(0.0, self.lost + seconds - tokens * (by - self._once(arm)))

    def _cost(self, arm: Arm, size: int) -> float | None:
        if (seconds := self._seconds(arm, size)) is None:
            return None
        return seconds / arm.gain + self._once(arm)

    def _once(self, arm: Arm) -> float:
        """Return the seconds that an arm takes once for a sentence, for each of its tokens."""
        return statistics.fmean(arm.starts) / max(1.0, self._length) if arm.starts else 0.0

    def _seconds(self, arm: Arm, size: int) -> float | None:
        """Return the seconds of an arm's pass, a row; from other sizes as another arm's are."""
        if found := arm.seconds.get(size):
            return statistics.median(found)
        if not arm.seconds:
            return None
        near = min(arm.seconds, key=lambda other: abs(other - size))
        seconds = statistics.median(arm.seconds[near])
        for other in self.arms.values():
            if {near, size} <= other.seconds.keys():
                here, there = other.seconds[size], other.seconds[near]
                return seconds * statistics.median(here) / statistics.median(there)
        return seconds

    # ------------------------------------------------------------------------------ report

    def report(self) -> str:
        """Return one line: how many passes each arm made, and how fast it is beside greedy's."""
        base, found = self._cost(self.greedy, self._size), []
        for arm in sorted(self.arms.values(), key=lambda arm: -arm.passes):
            if not arm.passes:
                continue
            text = f"{arm.name} {arm.passes} of {self.passes} passes"
            cost = self._cost(arm, self._size)
            if arm is not self.greedy and base and cost:
                text += f" ({arm.gain:.2f} tokens a pass, {base / cost:.2f} x as fast as greedy)"
            found.append(text)
        untried = [arm.name for arm in self.arms.values() if not arm.passes]
        if untried:
            found.append(f"not tried in so short a time: {', '.join(untried)}")
        return "; ".join(found)


def _size(rows: int) -> int:
    """Return the size of a batch: 1 for one row, 2 for two or three, 3 for four to seven, ..."""
    return rows.bit_length()


def _most(size: int) -> int:
    """Return the most rows of a size.

    >>> _size(1), _most(1), _size(4), _most(3)
    (1, 1, 3, 7)
    """
    return (1 << size) - 1
