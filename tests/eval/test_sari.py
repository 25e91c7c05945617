"""SARI equals EASSE, in every mode.

Of the expected file the synthetic cases run here; the rows of "corpus" need the system outputs that
come with EASSE.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gec.cli import main
from gec.errors import ConfigError, InputError
from gec.eval.metrics.sari import sari

EXPECTED = Path(__file__).parent / "data" / "sari_expected" / "expected.json"
CASES: list[dict[str, Any]] = json.loads(EXPECTED.read_text("utf-8"))["synthetic"]
Capture = pytest.CaptureFixture[str]
File = Callable[..., str]


def test_all_cases_are_there() -> None:
    assert [case["name"] for case in CASES] == ["readme", "copy", "ref0", "empty", "one_word"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_expected_case(case: dict[str, Any]) -> None:
    score = sari(case["orig"], case["sys"], case["refs"])
    for name in ("add", "keep", "delete"):
        assert getattr(score, name) == pytest.approx(case[name], abs=1e-11)
    assert score.value == pytest.approx(case["sari"], abs=1e-11)
    paper = sari(case["orig"], case["sys"], case["refs"], paper_version=True)
    assert paper.value == pytest.approx(case["paper_version"], abs=1e-11)


def test_repeated_words_that_are_kept_once() -> None:
    """The trap: a word kept once and deleted once is a right deletion, not none."""
    score = sari(["a a"], ["a"], [["a"]])
    # n = 1: one a kept, one deleted, both as wanted; n = 2: "a a" deleted as wanted; no longer ones
    assert (score.add, score.keep, score.delete) == (0, 25, 50)
    assert score.value == 25


@pytest.mark.parametrize(
    ("options", "delete"),
    [
        # n = 1: P 1, R 1/2, F 2/3; n = 2: P, R and F 1; n = 3 and 4: 0
        ({}, (2 / 3 + 1) / 4),
        ({"f1_for_deletion": False}, 2 / 4),
        ({"paper_version": True}, 2 * 0.5 * 0.375 / 0.875),
        ({"paper_version": True, "f1_for_deletion": False}, 2 / 4),
    ],
)
def test_deletion_by_hand(options: dict[str, bool], delete: float) -> None:
    score = sari(["a b"], ["a"], [["c"]], **options)
    assert score.delete == pytest.approx(100 * delete)


def test_references_weigh_as_much_as_the_output() -> None:
    """Two of three references keep b: keeping it is right twice in three times."""
    score = sari(["b"], ["b"], [["b"], ["b"], ["c"]])
    precision, recall = 2 / 3, 1
    assert score.keep == pytest.approx(100 * 2 * precision * recall / (precision + recall) / 4)


def test_legacy_leaves_the_source_as_it_is() -> None:
    source, hypothesis, reference = ["The cat, black."], ["A cat, black."], ["the cat, BLACK."]
    by_hand = sari(
        source, ["A cat , black ."], [["the cat , BLACK ."]], tokenizer="none", lowercase=False
    )
    legacy = sari(source, hypothesis, [reference], legacy=True)
    assert (legacy.value, legacy.keep) == (by_hand.value, by_hand.keep)
    assert legacy.value != sari(source, hypothesis, [reference], lowercase=False).value
    assert "|lowercase:no|legacy:yes|" in legacy.signature


def test_lower_case() -> None:
    assert sari(["A b"], ["a B"], [["a b"]]).keep == 50
    assert sari(["A b"], ["a B"], [["a b"]], lowercase=False).keep == 0


@pytest.mark.parametrize(
    ("tokenizer", "tokens"),
    [
        ("13a", "say «x-y» , 1.5 - 2 times ."),
        ("intl", "say « x - y » , 1.5-2 times ."),
        ("none", "say «x-y», 1.5-2 times."),
    ],
)
def test_tokenizers_of_sacrebleu(tokenizer: str, tokens: str) -> None:
    """Tokens stay as they are, so what was tokenized before counts as the source unchanged."""
    source = ["say «x-y», 1.5-2 times."]
    assert sari(source, [tokens], [[tokens]], tokenizer=tokenizer).keep == 100
    others = sari(source, [tokens], [[tokens]], tokenizer="none").keep
    assert (others == 100) == (tokenizer == "none")


class FakeMoses:
    """With what matters of sacremoses: its releases since 0.1 hold rules as plain text."""

    MOSES_PENN_REGEXES_1 = ((re.compile(","), " ,"), ("[.]", "."))
    MOSES_PENN_REGEXES_2 = ((re.compile("b"), "c"),)

    def tokenize(self, text: str, return_str: bool, escape: bool) -> str:
        assert (return_str, escape) == (True, False)
        return text.replace(".", " .")

    def penn_tokenize(self, text: str, return_str: bool) -> str:
        assert return_str
        for rule, new in (*self.MOSES_PENN_REGEXES_1, *self.MOSES_PENN_REGEXES_2):
            text = rule.sub(new, text)  # type: ignore[union-attr]
        return text


@pytest.mark.parametrize("tokenizer", ["moses", "penn"])
def test_tokenizers_of_sacremoses(tokenizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sacremoses")
    module.MosesTokenizer = FakeMoses  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sacremoses", module)
    tokens = {"moses": "a, b .", "penn": "a , c."}[tokenizer]
    by_hand = sari([tokens], ["d"], [["a ,"]], tokenizer="none")
    score = sari(["a, b."], ["d"], [["a ,"]], tokenizer=tokenizer)
    assert (score.delete, score.keep) == (by_hand.delete, by_hand.keep)


def test_missing_or_unknown_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(ConfigError, match="tokenizer 'penn': the package 'sacremoses' is"):
        sari(["a"], ["a"], [["a"]], tokenizer="penn")
    with pytest.raises(ConfigError, match="one of 13a, intl, moses, penn, none, not 'x'"):
        sari(["a"], ["a"], [["a"]], tokenizer="x")


def test_wrong_lists() -> None:
    with pytest.raises(InputError, match="hypotheses has 2 lines, sources has 1"):
        sari(["a"], ["a", "b"], [["a"]])
    with pytest.raises(InputError, match="at least one reference"):
        sari(["a"], ["a"], [])
    with pytest.raises(InputError, match="no sentence to score"):
        sari([], [], [[]])


# ------------------------------------------------------------------------------------- the command


@pytest.fixture
def names(file: File) -> dict[str, Any]:
    case = CASES[0]

    def write(lines: list[str]) -> str:
        return file("".join(f"{line}\n" for line in lines))

    return {
        "hyp": write(case["sys"]),
        "src": write(case["orig"]),
        "refs": [write(lines) for lines in case["refs"]],
    }


def test_command(names: dict[str, Any], capsys: Capture) -> None:
    files = [names["hyp"], "-s", names["src"], "-r", *names["refs"]]
    assert main(["score", "sari", *files]) == 0
    out, err = capsys.readouterr()
    assert out == "{'sari': 33.175, 'sari_add': 6.25, 'sari_keep': 24.673, 'sari_del': 68.601}\n"
    assert err.startswith(
        "sari|references:3|tokenizer:13a|lowercase:yes|legacy:no|f1_for_deletion:yes"
        "|paper_version:no|gec:"
    )


@pytest.mark.parametrize(
    ("option", "keywords"),
    [
        (["--paper-version"], {"paper_version": True}),
        (["--legacy"], {"legacy": True}),
        (["--no-lowercase"], {"lowercase": False}),
        (["--precision-for-deletion"], {"f1_for_deletion": False}),
        (["--tokenizer", "none"], {"tokenizer": "none"}),
    ],
)
def test_options(
    option: list[str], keywords: dict[str, Any], names: dict[str, Any], capsys: Capture
) -> None:
    assert (
        main(["score", "sari", names["hyp"], "-s", names["src"], "-r", *names["refs"], *option])
        == 0
    )
    case = CASES[0]
    score = sari(case["orig"], case["sys"], case["refs"], **keywords)
    out, err = capsys.readouterr()
    assert (out, err) == (f"{score}\n", f"{score.signature}\n")
    assert score.signature != sari(case["orig"], case["sys"], case["refs"]).signature


def test_empty_lines_are_valid(names: dict[str, Any], file: File, capsys: Capture) -> None:
    files = [file("\n\n"), "-s", names["src"], "-r", *names["refs"]]
    assert main(["score", "sari", *files, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == pytest.approx(CASES[3]["sari"])


def test_wrong_files(names: dict[str, Any], file: File, capsys: Capture) -> None:
    def error(hypothesis: str, source: str, *references: str) -> str:
        assert main(["score", "sari", hypothesis, "-s", source, "-r", *references]) == 2
        return capsys.readouterr().err

    source, references = names["src"], names["refs"]
    longer, empty = file("a\nb\nc\n"), file("")
    assert f"{longer} has 3 lines, {source} has 2" in error(longer, source, *references)
    assert f"{longer} has 3 lines, {source} has 2" in error(names["hyp"], source, longer)
    assert "no sentence to score" in error(empty, empty, empty)
    assert "can be read only once" in error("-", "-", *references)
    assert "not UTF-8 at byte 0" in error(file(b"\xff\n"), source, *references)
