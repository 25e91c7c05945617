"""gec bench --check-lossless: what is compared and explained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from gec.eval.benchmark.lossless import check_lossless
from gec.models.engines.scores import TorchScores

BOS, EOS, VOCABULARY = 1, 2, 12


class Upper:
    """Copies its source but writes 9 for 5. ``tie`` is what a 6 in the source loses in a block
    of more than one token, against the other choice 7, whose logit is ``runner_up``."""

    bos_id, eos_id, max_positions = BOS, EOS, 40

    def __init__(self, tie: float = 0.0, runner_up: float = 4.99999) -> None:
        self.tie, self.runner_up = tie, runner_up

    def start(self, sources: Sequence[Sequence[int]]) -> Any:
        return [[9 if token == 5 else token for token in source] + [EOS] for source in sources]

    def verify(
        self, memory: Any, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> TorchScores:
        width = max(map(len, tokens))
        logits = torch.zeros(len(tokens), width, VOCABULARY)
        for row, (target, start) in enumerate(zip(memory, starts, strict=True)):
            for column in range(width):
                token = target[min(start + column, len(target) - 1)]
                logits[row, column, token] = 5.0
                if token == 6:
                    logits[row, column, 7] = self.runner_up
                    if width > 1 and self.tie:
                        logits[row, column, 6] -= self.tie
        return TorchScores.padded(logits, [len(block) for block in tokens])

    def select(self, memory: Any, rows: Sequence[int]) -> Any:
        return [memory[row] for row in rows]


SOURCES = [[3, 4, 5, 8], [3, 4], [4, 6, 3, 8, 10]]


def test_lossless_where_nothing_differs() -> None:
    report = check_lossless(Upper(), SOURCES)
    assert report.lossless
    assert (report.sentences, report.changed, report.differences) == (3, 1, ())


def test_a_tie_is_found_and_counts_as_lossless() -> None:
    report = check_lossless(Upper(tie=2e-5), SOURCES)
    first = report.differences[0]
    assert (first.strategy, first.batch_size, first.sentence, first.position) == ("iad", 1, 2, 1)
    assert (first.greedy_token, first.other_token) == (6, 7)
    assert 0 < first.gap < 1e-4
    assert report.lossless


def test_a_real_difference_is_not_lossless() -> None:
    report = check_lossless(Upper(tie=1.0), SOURCES)
    assert not report.lossless


def test_a_tie_is_wider_in_int8() -> None:
    assert not check_lossless(Upper(tie=0.05, runner_up=4.97), SOURCES).lossless
    report = check_lossless(Upper(tie=0.05, runner_up=4.97), SOURCES, precision="int8")
    assert report.lossless
    assert 0.01 < report.differences[0].gap < 0.03
