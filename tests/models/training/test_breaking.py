"""``gec data break``: the shipped corrector stands in for a breaker, which is a network as it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gec.cli import main
from gec.models.training import breaking
from gec.models.training.breaking import is_plausible

LINES = "She go to school every days .\n\nThey has two cat .\n" + "word " * 600 + "\n"


def broken(tmp_path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> list[list[str]]:
    file = tmp_path / "lines.txt"
    file.write_text(LINES, encoding="utf-8")
    assert main(["data", "break", str(file), "--model", "en", "--device", "cpu", *options]) == 0
    return [line.split("\t") for line in capsys.readouterr().out.splitlines()]


def test_pairs_are_drawn_by_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = broken(tmp_path, capsys, "--temperature", "2", "--seed", "2")
    assert [right for _, right in first] == [  # what is too long for the model is left out
        "She go to school every days .", "They has two cat .",
    ]  # fmt: skip
    assert first == broken(tmp_path, capsys, "--temperature", "2", "--seed", "2", "--batch-size=1")
    assert first != broken(tmp_path, capsys, "--temperature", "2", "--seed", "3")


@pytest.mark.parametrize(
    ("broken", "clean", "plausible"),
    [
        ("She go home .", "She goes home .", True),
        ("I recieved it .", "I received it .", True),
        ("They are are here .", "They are here .", True),
        ("respons auctionly for it", "responsible for it", False),
        ("a failed protomrant", "a failed prototype", False),
        ("the the Wembley", "the Wembley", True),  # a name of the sentence is no new word
        ("It 's 4.50 , -", "It is 5 .", True),  # numbers and marks are no words
        ("Definately not .", "Definitely not .", True),
        ("the boook and a failed book", "the book and a failed book", True),
    ],
)
def test_made_up_words_are_not_plausible(broken: str, clean: str, plausible: bool) -> None:
    known = {"she", "go", "home", "respons", "a", "failed"}
    assert is_plausible(broken.split(), clean.split(), known.__contains__) == plausible


def test_pairs_with_made_up_words_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(breaking, "is_plausible", lambda broken, clean, knows: knows("cat"))
    assert broken(tmp_path, capsys, "--temperature", "0")
    monkeypatch.setattr(breaking, "is_plausible", lambda broken, clean, knows: knows("xqzt"))
    assert not broken(tmp_path, capsys, "--temperature", "0")


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
