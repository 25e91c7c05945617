"""BLEU and chrF are sacrebleu's, with its signature inside ours."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF

from gec.cli import main
from gec.errors import ConfigError, InputError
from gec.eval.metrics.translation import bleu, chrf

Capture = pytest.CaptureFixture[str]
File = Callable[..., str]

HYPOTHESES = ["The cat sat on the mat.", "It rains, again.", "He went home early today.", ""]
FIRST = ["The cat is on the mat.", "It is raining again.", "He went home early today.", "Yes."]
SECOND = ["A cat sat on the mat.", "Again, it rains.", "Today he went home early.", ""]


def text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def test_bleu_by_hand() -> None:
    """Precisions 4/5, 3/4, 2/3 and 1/2, no brevity penalty."""
    score = bleu(["a b c d e"], [["a b c d f"]])
    assert score.value == pytest.approx(100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    assert (score.mean, score.margin) == (None, None)


def test_chrf_by_hand() -> None:
    """One of two letters is right, the bigram is not; longer n-grams are not there to count."""
    assert chrf(["ab"], [["ac"]]).value == pytest.approx(100 * 0.5 / 2)


@pytest.mark.parametrize("options", [{}, {"lowercase": True}, {"tokenize": "intl"}])
def test_bleu_is_sacrebleus(options: dict[str, Any]) -> None:
    metric = BLEU(**options)
    expected = metric.corpus_score(HYPOTHESES, [FIRST, SECOND], n_bootstrap=50)
    score = bleu(HYPOTHESES, [FIRST, SECOND], samples=50, **options)
    assert str(score) == str(expected)
    assert f"(μ = {score.mean:.2f} ± {score.margin:.2f})" in str(score)
    theirs = str(metric.get_signature()).replace("version:", "sacrebleu:")
    assert theirs.startswith("nrefs:2|bs:50|seed:")
    assert score.signature.startswith(f"bleu|{theirs}|gec:")


@pytest.mark.parametrize("word_order", [0, 2])
def test_chrf_is_sacrebleus(word_order: int) -> None:
    metric = CHRF(word_order=word_order)
    expected = metric.corpus_score(HYPOTHESES, [FIRST, SECOND])
    score = chrf(HYPOTHESES, [FIRST, SECOND], word_order=word_order)
    assert (score.value, score.name) == (expected.score, expected.name)
    assert f"|nw:{word_order}|" in score.signature
    assert f"|sacrebleu:{sacrebleu.__version__}|gec:" in score.signature


def test_a_second_reference_counts() -> None:
    one, both = bleu(HYPOTHESES, [FIRST]).value, bleu(HYPOTHESES, [FIRST, SECOND]).value
    assert one < both < 100
    assert bleu(FIRST, [HYPOTHESES, FIRST]).value == pytest.approx(100)


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
def test_command_prints_what_sacrebleu_prints(metric: str, file: File, capfd: Any) -> None:
    names = [file(text(lines)) for lines in (HYPOTHESES, FIRST, SECOND)]
    assert main(["score", metric, *names]) == 0
    out, err = capfd.readouterr()
    options = ["-i", names[0], "-m", metric, "-f", "text", "-w", "2"]
    theirs = subprocess.run(
        [sys.executable, "-m", "sacrebleu", *names[1:], *options],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    name, _, score = theirs.partition(" = ")  # "BLEU|nrefs:2|...|version:2.6.0 = 12.34 ..."
    assert out == f"{name.partition('|')[0]} = {score}"
    assert err.startswith(f"{metric}|nrefs:2|")


def test_options_of_the_commands(file: File, capsys: Capture) -> None:
    hypothesis, reference = file(text(HYPOTHESES)), file(text(FIRST))
    options = ["--tokenize", "char", "--lowercase", "--samples", "20", "--json"]
    assert main(["score", "bleu", hypothesis, reference, *options]) == 0
    score = json.loads(capsys.readouterr().out)
    expected = bleu(HYPOTHESES, [FIRST], tokenize="char", lowercase=True, samples=20)
    assert (score["value"], score["margin"]) == (expected.value, expected.margin)
    assert score["signature"] == expected.signature
    assert "|bs:20|seed:12345|case:lc|" in score["signature"]
    assert main(["score", "chrf", hypothesis, reference, "--word-order", "2"]) == 0
    assert capsys.readouterr().out == f"{chrf(HYPOTHESES, [FIRST], word_order=2)}\n"


def test_wrong_arguments() -> None:
    with pytest.raises(ConfigError, match="tokenize must be one of none, zh, 13a, intl, char"):
        bleu(["a"], [["a"]], tokenize="penn")
    with pytest.raises(ConfigError, match="a list of sentences is needed, not the string 'b'"):
        bleu(["a"], ["b"])
    with pytest.raises(ConfigError, match="--samples must be 0 or at least 2, not 1"):
        bleu(["a"], [["a"]], samples=1)
    with pytest.raises(ConfigError, match="word_order must be at least 0"):
        chrf(["a"], [["a"]], word_order=-1)
    with pytest.raises(InputError, match="no reference"):
        bleu(["a"], [])
    with pytest.raises(InputError, match="nothing to score"):
        chrf([], [[]])
    with pytest.raises(InputError, match="reference 1 has 1 lines, hypotheses has 2"):
        bleu(["a", "b"], [["a", "b"], ["a"]])


def test_wrong_files(file: File, capsys: Capture) -> None:
    hypothesis, shifted = file(text(HYPOTHESES)), file(text(["New first line.", *FIRST]))
    latin, empty = file(b"caf\xe9\n"), file("")

    def error(*names: str) -> str:
        assert main(["score", "bleu", *names]) == 2
        return capsys.readouterr().err

    assert f"{shifted} has 5 lines, {hypothesis} has 4; they look shifted from line" in error(
        hypothesis, shifted
    )
    assert f"{latin}: not UTF-8" in error(hypothesis, latin)
    assert "nothing to score" in error(empty, empty)
    assert "can be read only once" in error(hypothesis, "-", "-")
