"""Decoding time side by side: same sentences, contenders taking turns.

Only encoding and decoding are timed; splitting text into subwords and back is not. Sentences are
sorted by length and cut into turns: one batch, or with larger batches a few of them, so that an
engine that fills its batches up from what waits can do so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gec.eval.benchmark.contenders import Answer, Contender, Ids, batches
from gec.eval.benchmark.harness import PAUSE, ROUNDS, Times, Way, take_turns

BATCHES = 4
"""Batches a turn, where a batch is more than one sentence."""


@dataclass(frozen=True, slots=True)
class Timing(Times):
    """One contender at one batch size.

    Attributes:
        sources, outputs: in the order they were decoded.
        passes: decoder passes a sentence, NaN where nobody counted.
        accepted: share of the drafted tokens that stood, NaN without drafts.
    """

    engine: str
    strategy: str
    precision: str
    batch_size: int
    sources: list[Ids]
    outputs: list[Ids]
    passes: float
    accepted: float

    @property
    def name(self) -> str:
        return f"{self.engine} {self.strategy} {self.precision}"


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
    seconds, answers = take_turns(
        [_way(contender, batch_size) for contender in contenders],
        turns,
        rounds=rounds,
        pause=pause,
        what=f"batch size {batch_size}",
        say=say,
    )
    sizes = np.array([len(turn) for turn in turns], dtype=np.float64)
    return [
        _timing(contender, batch_size, Times(own, sizes), list(ordered), given)
        for contender, own, given in zip(contenders, seconds, answers, strict=True)
    ]


def _way(contender: Contender, batch_size: int) -> Way[Sequence[Ids], Answer]:
    """Return a way that counts what the contender says it took."""

    def decode(turn: Sequence[Ids]) -> tuple[Answer, float]:
        answer = contender.decode(turn, batch_size)
        return answer, answer.seconds

    return decode


def _timing(
    contender: Contender,
    batch_size: int,
    times: Times,
    sources: list[Ids],
    answers: Sequence[Answer],
) -> Timing:
    counted = [answer.passes for answer in answers if answer.passes is not None]
    drafted = sum(answer.drafted for answer in answers)
    return Timing(
        times.seconds,
        times.sizes,
        contender.engine,
        contender.strategy,
        contender.precision,
        batch_size,
        sources,
        [output for answer in answers for output in answer.outputs],
        sum(counted) / len(sources) if counted else np.nan,
        sum(answer.accepted for answer in answers) / drafted if drafted else np.nan,
    )
