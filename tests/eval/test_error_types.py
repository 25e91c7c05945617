"""Shares of error types in noise and in annotated text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gec.errors import DataError
from gec.eval.metrics.error_types import of_m2, of_pairs, table


def test_edits_of_pairs_are_counted_by_type() -> None:
    pairs = [
        ("She like cats .".split(), "She likes cats .".split()),
        ("She likes cats .".split(), "She likes cats .".split()),
        ("I saw cat .".split(), "I saw the cat .".split()),
    ]
    counts = of_pairs(pairs)
    assert counts.total() == 2
    assert counts["M:DET"] == 1


def test_only_the_first_annotator_counts_and_no_edit_that_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "gold.m2"
    path.write_text(
        "S I saw cat .\n"
        "A 2 2|||X|||the|||REQUIRED|||-NONE-|||0\n"
        "A 0 1|||X|||I|||REQUIRED|||-NONE-|||0\n"
        "A 2 3|||X|||cats|||REQUIRED|||-NONE-|||1\n\n"
        "S Good .\n"
        "A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0\n",
        encoding="utf-8",
    )
    assert of_m2(str(path)) == Counter({"M:DET": 1})


def test_a_malformed_m2_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gold.m2"
    path.write_text("S a b\nA 0 x|||X|||c|||REQUIRED|||-NONE-|||0\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"gold\.m2"):
        of_m2(str(path))


def test_the_table_gives_per_cent_by_the_first_column() -> None:
    columns = {"noise": Counter({"A": 3, "B": 1}), "dev": Counter({"B": 1, "C": 1})}
    lines = [line.split() for line in table(columns)]
    assert lines == [
        ["per", "cent", "noise", "dev"],
        ["edits", "4", "2"],
        ["A", "75.0", "0.0"],
        ["B", "25.0", "50.0"],
        ["C", "0.0", "50.0"],
    ]


def test_no_edit_at_all_is_no_division_by_zero() -> None:
    assert len(list(table({"noise": Counter()}))) == 2
