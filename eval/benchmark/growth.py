"""What a word costs as a text grows from a sentence to a book: the whole Corrector."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gec.correct.corrector import Corrector
from gec.eval.benchmark.harness import ROUNDS, Times, take_turns, timed
from gec.eval.benchmark.pages import markdown

SMALLEST, FACTOR = 20, 5


@dataclass(frozen=True, slots=True)
class GrowthPoint:
    """One text: its words, the sentences they stand in, the median of seconds to correct it."""

    words: int
    sentences: int
    seconds: float

    @property
    def milliseconds(self) -> float:
        """A word."""
        return 1000 * self.seconds / self.words


def sizes(most: int) -> list[int]:
    """Return the lengths in words that are timed.

    >>> sizes(1000), sizes(10)
    ([20, 100, 500, 1000], [10])
    """
    steps = (SMALLEST * FACTOR**power for power in itertools.count())
    return [*itertools.takewhile(lambda words: words < most, steps), most]


def text_of(sentences: Sequence[Sequence[str]], words: int) -> tuple[str, int]:
    """Return whole sentences, from the first on and round again, of at least ``words`` words."""
    lines: list[str] = []
    count = 0
    for sentence in itertools.cycle(sentences):
        lines.append(" ".join(sentence))
        count += len(sentence)
        if count >= words:
            return "\n".join(lines) + "\n", count
    raise AssertionError("cycle of nothing")


def measure_growth(
    corrector: Corrector, sentences: Sequence[Sequence[str]], most: int, *, rounds: int = ROUNDS
) -> list[GrowthPoint]:
    """Correct texts of growing length, after a warm-up with the shortest."""
    texts = [text_of(sentences, words) for words in sizes(most)]

    def corrected(text: str) -> int:
        return len(corrector.correct(text).sentences)

    seconds, [counts] = take_turns(
        [timed(corrected)], [text for text, _ in texts], rounds=rounds, warm_up=1, what="growth"
    )
    words = [count for _, count in texts]
    medians = Times(seconds[0], np.array(words, dtype=np.float64)).medians.tolist()
    return [GrowthPoint(*each) for each in zip(words, counts, medians, strict=True)]


def growth_table(points: Sequence[GrowthPoint]) -> str:
    head = ("words", "sentences", "seconds", "ms/word")
    rows = [
        (f"{p.words:,}", f"{p.sentences:,}", f"{p.seconds:.2f}", f"{p.milliseconds:.2f}")
        for p in points
    ]
    return markdown(head, rows, left=0)
