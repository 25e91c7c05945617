"""``gec data break``: the shipped corrector stands in for a breaker, which is a network as it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gec.cli import main

LINES = "She go to school every days .\n\nThey has two cat .\n" + "word " * 600 + "\n"


def broken(tmp_path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> list[list[str]]:
    file = tmp_path / "lines.txt"
    file.write_text(LINES, encoding="utf-8")
    assert main(["data", "break", str(file), "--model", "en", "--device", "cpu", *options]) == 0
    return [line.split("\t") for line in capsys.readouterr().out.splitlines()]


def test_pairs_are_drawn_by_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = broken(tmp_path, capsys, "--temperature", "2", "--seed", "1")
    assert [right for _, right in first] == [  # what is too long for the model is left out
        "She go to school every days .", "They has two cat .",
    ]  # fmt: skip
    assert first == broken(tmp_path, capsys, "--temperature", "2", "--seed", "1", "--batch-size=1")
    assert first != broken(tmp_path, capsys, "--temperature", "2", "--seed", "2")


def test_temperature_0_is_greedy_and_the_speller_is_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [pair] = broken(tmp_path, capsys, "--temperature", "0", "--limit", "1")
    assert pair[0].startswith("She goes to school")


def test_shares_of_error_types(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = broken(tmp_path, capsys, "--temperature", "0", "--stats")
    assert rows[0][0].split() == ["per", "cent", "broken"]


def test_a_bad_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("A .\n", encoding="utf-8")
    assert main(["data", "break", str(file), "--model", "en", "--top-p", "0"]) == 2
    assert "top-p: must be above 0" in capsys.readouterr().err
