"""Read the model's output for a window: its words, how sure it is of each, and its edits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gec.correct.plan import Job, model_words
from gec.correct.result import ENDLESS, TOO_LONG, Warning
from gec.decoding.decoder import Hypothesis
from gec.edits.align import align
from gec.edits.edits import WordEdit
from gec.text.subwords import WordCodec
from gec.text.words import Word

LOST_WORDS = 8
"""The model has lost its way if it does not end, or if it does not come back to so many of the last
words. A window of at least twice as many is decoded again in halves then."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The model's output for words ``start`` to ``end`` of a sentence.

    Attributes:
        start, end: the first word that the output is for, and the one after the last.
        whole: the sentence ends with it.
        words: the output's words.
        spans: the tokens of all words that the model wrote, ``words`` and those behind them.
        logprobs: of all tokens and EOS.
        edits: from the sentence's words (not the window's) to the output's.
        respelt: the places of the words that the speller replaced, with its confidences.
    """

    start: int
    end: int
    whole: bool
    words: list[str]
    spans: Sequence[tuple[str, int, int]]
    logprobs: Sequence[float]
    edits: list[WordEdit]
    respelt: dict[int, float]

    def probability(self, first: int, last: int) -> float:
        """Return the least probability of the tokens of some words; without words 1."""
        spans = self.spans[first:last]
        return min((math.exp(min(self.logprobs[a:b])) for _, a, b in spans), default=1.0)

    def entry(self, place: int) -> float:
        """Return the probability of a word's first token, behind the last word EOS's."""
        return math.exp(self.logprobs[self.spans[place][1] if place < len(self.spans) else -1])

    def missing(self) -> int:
        """Return how many words at the end the output does not follow.

        They are those behind the last three that are the same in both, if most of them changed.
        """
        if not self.edits:
            return 0
        at, changed = self.end, 0
        for edit in reversed(self.edits):
            if at - edit.source_end >= 3:
                break
            at, changed = edit.source_start, changed + edit.source_end - edit.source_start
        return self.end - at if 2 * changed > self.end - at else 0


@dataclass(frozen=True, slots=True)
class Done:
    """A window after the decoder."""

    job: Job
    hypothesis: Hypothesis
    reading: Reading
    seconds: float

    @property
    def lost(self) -> bool:
        """Whether the model did not come to the window's end, so that halves may do better."""
        if len(self.job.words) < 2 * LOST_WORDS:
            return False
        return self.hypothesis.truncated or self.reading.missing() >= LOST_WORDS

    @property
    def unchanged(self) -> bool:
        """Whether the window is a whole sentence in which the model changes nothing."""
        reading = self.reading
        return reading.start == 0 and reading.whole and not reading.edits


def read(job: Job, hypothesis: Hypothesis, subwords: WordCodec) -> Reading:
    """Take the output for a window to pieces; of one without end, what follows the source."""
    lost = hypothesis.truncated
    if not lost and not job.respelt and tuple(hypothesis.tokens) == job.ids:  # as most are
        return Reading(job.start, job.end, job.whole, [], [], [], [], {})
    spans = subwords.decode_spans(hypothesis.tokens)
    seen, words = model_words(job.words), [word for word, _, _ in spans]
    first, last = _followed(seen, words) if lost else (len(seen), len(words))
    return Reading(
        job.start,
        job.places[first] if first < len(seen) else job.end,
        job.whole and not lost,
        words[:last],
        spans,
        hypothesis.logprobs,
        [job.place(edit) for edit in align(seen[:first], words[:last])],
        {job.places[i]: confidence for i, (_, confidence) in job.respelt.items()},
    )


def _followed(source: Sequence[str], output: Sequence[str]) -> tuple[int, int]:
    """Return how many words of an output without end follow the source, and how many of that.

    It is where the words that agree most outnumber those that do not, so the last ones agree.

    >>> _followed("he go home with it".split(), "he goes home with of of of of".split())
    (4, 4)
    """
    best = (0, 0, 0)  # agreeing less others, and the least output that has as many
    row = [-j for j in range(len(output) + 1)]
    for i, word in enumerate(source, 1):
        above, row = row, [-i]
        for j, other in enumerate(output, 1):
            row.append(max(above[j - 1] + (1 if word == other else -1), above[j] - 1, row[-1] - 1))
        j = max(range(len(row)), key=lambda place: (row[place], -place))
        best = max(best, (row[j], i, j), key=lambda found: (found[0], -found[2]))
    return best[1:]


Share = tuple[Reading, int, int]
"""What the model says of a sentence, and the places between which its edits may begin."""


def shares(readings: Iterable[Reading]) -> list[Share]:
    """Divide a sentence among the readings of it; :func:`_boundary` cuts what two overlap.

    A window that was cut out of a sentence says nothing of the places where it was cut, and one
    inside another nothing at all.
    """
    ordered: list[Reading] = []
    for reading in sorted(readings, key=lambda reading: (reading.start, -reading.end)):
        if reading.start < reading.end and not (ordered and reading.end <= ordered[-1].end):
            ordered.append(reading)
    begins = [reading.start + (reading.start > 0) for reading in ordered]
    ends = [reading.end + reading.whole for reading in ordered]
    for place, (left, right) in enumerate(pairwise(ordered)):
        if right.start <= left.end:
            ends[place] = begins[place + 1] = _boundary(left, right)
    found = []
    at = 0
    for reading, begin, end in zip(ordered, begins, ends, strict=True):
        begin, at = max(begin, at), max(begin, at, end)
        found.append((reading, begin, at))
    return found


def _boundary(left: Reading, right: Reading) -> int:
    """Return the word of two windows' overlap from which on the right one speaks.

    It is as near to the middle as neither has an edit: two alignments may place one and the same
    change before a word or after it, and it must be made once.
    """
    touched = {
        place
        for reading in (left, right)
        for edit in reading.edits
        for place in range(edit.source_start, edit.source_end + 1)
    }
    middle = (right.start + left.end) // 2
    overlap = range(right.start, left.end + 1)
    return min(overlap, key=lambda p: (p in touched, abs(p - middle)))


def unread(
    words: Sequence[Word], spoken: Sequence[Share], done: Sequence[Done]
) -> Iterator[Warning]:
    """Yield a warning for every part of a sentence of which the model says nothing."""
    at, behind = 0, len(words) + 1
    for begin, end in [*((begin, end) for _, begin, end in spoken), (behind, behind)]:
        if at < begin:
            first, last = words[min(at, len(words) - 1)], words[min(begin, len(words)) - 1]
            lost = any(
                one.hypothesis.truncated and one.job.start < begin and at <= one.job.end
                for one in done
            )
            yield Warning(first.start, last.end, ENDLESS if lost else TOO_LONG)
        at = max(at, end)
