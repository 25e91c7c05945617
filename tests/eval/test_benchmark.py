"""gec bench: what is counted, compared and explained. Nothing here asserts a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from gec.errors import ConfigError, InputError
from gec.eval.benchmark import read_sentences
from gec.eval.benchmark.lossless import check_lossless
from gec.eval.benchmark.speed import measure, table

BOS, EOS, VOCABULARY = 1, 2, 12


class Upper:
    """Copies its source but writes 9 for 5. ``tie`` is what a 6 in the source loses in a block
    of more than one token, against the other choice 7."""

    bos_id, eos_id, max_positions = BOS, EOS, 40

    def __init__(self, tie: float = 0.0) -> None:
        self.tie = tie

    def start(self, sources: Sequence[Sequence[int]]) -> Any:
        return [[9 if token == 5 else token for token in source] + [EOS] for source in sources]

    def verify(self, memory: Any, tokens: Sequence[Sequence[int]], starts: Sequence[int]) -> Tensor:
        width = max(map(len, tokens))
        logits = torch.zeros(len(tokens), width, VOCABULARY)
        for row, (target, start) in enumerate(zip(memory, starts, strict=True)):
            for column in range(width):
                token = target[min(start + column, len(target) - 1)]
                logits[row, column, token] = 5.0
                if token == 6:
                    logits[row, column, 7] = 4.99999
                    if width > 1 and self.tie:
                        logits[row, column, 6] -= self.tie
        return logits

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


def test_passes_are_counted() -> None:
    greedy, iad = measure(Upper(), SOURCES, rounds=1)
    # greedy: every output token and EOS; iad: one pass, and one more for the sentence with a 5
    assert greedy.passes_per_sentence == pytest.approx((5 + 3 + 6) / 3)
    assert iad.passes_per_sentence == pytest.approx((3 + 1 + 1) / 3)
    assert greedy.speedup == 1.0
    assert "iad" in table([greedy, iad])


def test_unknown_strategy() -> None:
    with pytest.raises(ConfigError, match="unknown strategy 'magic'"):
        measure(Upper(), SOURCES, strategies=["magic"])


def test_reads_lines_and_m2(tmp_path: Path) -> None:
    plain, m2, empty = tmp_path / "a.txt", tmp_path / "a.m2", tmp_path / "b.txt"
    plain.write_text("a b .\n\nc .\n")
    m2.write_text("S a b .\nA 0 1|||R:OTHER|||x|||REQUIRED|||-NONE-|||0\n\nS c .\n")
    empty.write_text("\n")
    assert read_sentences(str(plain)) == read_sentences(str(m2)) == [["a", "b", "."], ["c", "."]]
    with pytest.raises(InputError, match="no sentence"):
        read_sentences(str(empty))
