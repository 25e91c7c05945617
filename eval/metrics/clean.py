"""Needless changes of correct text.

In correct text every change is needless. A change is a run of words that the cheapest alignment
(fewest words first, then fewest runs) does not keep; blanks separate words, so in tokenized text
punctuation marks are words, too.

>>> needless(["She has left ."], ["She left ."]).per_1000_words
333.3333333333333
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gec.errors import InputError
from gec.eval.metrics.m2 import GoldSentence, match_sentence
from gec.eval.metrics.score import (
    assessed,
    check_parallel,
    once,
    read_lines,
    show,
    signature,
    use_utf8,
)
from gec.eval.metrics.statistics import Numbers, Statistics, ratio
from gec.eval.metrics.system_edits import read_output


@dataclass(frozen=True, slots=True)
class CleanScore:
    """What a system changed in text that has no error.

    Attributes:
        untouched: share of the sentences that the system left alone.
        sentences: number of changes of every sentence.
    """

    per_1000_words: float
    untouched: float
    changes: int
    words: int
    changed: int
    sentences: tuple[int, ...]
    signature: str

    def __str__(self) -> str:
        total = len(self.sentences)
        return (
            f"needless changes: {self.changes} in {self.words} words, "
            f"{self.per_1000_words:.2f} per 1,000\n"
            f"sentences changed: {self.changed} of {total} ({100 * self.changed / total:.2f} %)"
        )


def needless(hypotheses: Sequence[str], sources: Sequence[str]) -> CleanScore:
    """Return what a system changed in correct sentences; an example is at the top of the module.

    Raises:
        InputError: there is no word, or the numbers of sentences differ.
    """
    statistics = needless_statistics(hypotheses, sources)
    changes, words, changed, _ = statistics.rows.sum(axis=0).astype(int).tolist()
    untouched, fewer = statistics.printed.tolist()
    each = tuple(statistics.rows[:, 0].astype(int).tolist())
    return CleanScore(abs(fewer), untouched, changes, words, changed, each, statistics.signature)


def needless_statistics(hypotheses: Sequence[str], sources: Sequence[str]) -> Statistics:
    """Return changes by sentence, for significance.

    The changes in 1,000 words are negative, because a greater score must be better.
    """
    check_parallel([("sources", sources), ("hypotheses", hypotheses)])
    if not any(source.split() for source in sources):
        raise InputError("no word to score")
    rows = [_changes(*pair) for pair in zip(sources, hypotheses, strict=True)]
    names = ("untouched", "minus_per_1000_words")
    return Statistics(np.array(rows), _clean, names, "minus_per_1000_words", signature("clean"))


def _changes(source: str, hypothesis: str) -> tuple[int, int, int, int]:
    words = source.split()
    count = 0
    if words != hypothesis.split():
        (match,) = match_sentence(hypothesis, GoldSentence(source, {0: ()}), max_unchanged_words=0)
        count = len(match.proposed)
    return count, len(words), count > 0, 1


def _clean(sums: Numbers) -> Numbers:
    changes, words, changed, sentences = (sums[..., i] for i in range(4))
    untouched = 1 - ratio(changed, sentences)
    return np.stack([untouched, -1000 * ratio(changes, words)], axis=-1)


def main(args: argparse.Namespace) -> int:
    """``gec score clean HYP SOURCE``"""
    once([args.hypothesis, args.source, args.paired])
    use_utf8()
    sources = read_lines(args.source)

    def lines(name: str) -> list[str]:
        return read_output(args, name, args.source, sources)

    hypotheses = lines(args.hypothesis)
    significance = assessed(
        args,
        lambda: needless_statistics(hypotheses, sources),
        lambda: needless_statistics(lines(args.paired), sources),
    )
    show(needless(hypotheses, sources), as_json=args.json, significance=significance)
    return 0
