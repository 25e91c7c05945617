"""The shipped bundle end to end: lossless, better than copying, harmless, usable by the command."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

import gec
from gec.cli import main
from gec.correct.corrector import Corrector
from gec.correct.options import Options
from gec.eval.benchmark.lossless import check_lossless
from gec.eval.metrics.exact import score_exact

DATA = Path(__file__).parent.parent / "data"
EXAMPLE = "She go to school every day and have two book ."


@pytest.fixture(scope="module")
def corrector() -> Corrector:
    return gec.load("en")


def lines(name: str) -> list[str]:
    return (DATA / name).read_text(encoding="utf-8").splitlines()


def test_iad_is_greedy_token_for_token(corrector: Corrector) -> None:
    texts = [line.split("\t")[0] for line in lines("simple_errors.tsv")]
    texts += lines("simple_clean.txt") + lines("learner_sample.txt")
    sources = [corrector.subwords.encode(text.split()) for text in texts]
    report = check_lossless(corrector.model, sources, batch_sizes=(1, 32))
    assert report.sentences == 114
    assert report.changed >= 25  # something was there to lose
    assert report.lossless, report.describe(corrector.subwords)


def test_half_of_the_simple_errors_are_corrected(corrector: Corrector) -> None:
    score = score_exact(corrector, lines("simple_errors.tsv"))
    assert score.right + score.wrong == 50
    assert score.right >= 25, score


def test_no_correct_sentence_changes(corrector: Corrector) -> None:
    score = score_exact(corrector, lines("simple_clean.txt"))
    assert (score.changed, score.unchanged) == (0, 50), score.misses


def run(monkeypatch: pytest.MonkeyPatch, text: str, *options: str) -> int:
    stdin = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stdin)
    return main(["correct", *options])


@pytest.mark.parametrize("strategy", ["iad", "greedy", "beam"])
def test_command_corrects_standard_input(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], strategy: str
) -> None:
    assert run(monkeypatch, EXAMPLE + "\n", "--strategy", strategy) == 0
    out = capfdbinary.readouterr().out.decode()
    assert out.startswith("She goes to school every day")
    assert out.endswith(" .\n")


def test_command_finds_and_reports(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(monkeypatch, EXAMPLE, "--check", "--format", "json") == 1
    documents = json.loads(capfdbinary.readouterr().out)
    edit = documents[0]["edits"][0]
    assert (edit["original"], edit["replacement"]) == ("go", "goes")
    assert EXAMPLE[edit["start"] : edit["end"]] == "go"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "Der Hund hat die Katze gesehen und ist dann nach Hause gegangen.",
        "Le chat est sur la table et il ne veut pas en descendre.",
        "猫はテーブルの上にいます。",
        "Собака видела кошку и пошла домой.",
        "x" * 20_000,
        "\u0000\ud800 \u202e",
        "https://example.org/a?b=c `go have` user@example.org",
    ],
)
def test_what_is_not_english_prose_stays(corrector: Corrector, text: str) -> None:
    assert corrector.correct(text).text == text


def test_a_long_sentence_is_corrected_to_its_end(corrector: Corrector) -> None:
    text = "I like my town because it is quiet , and " * 30 + "she go to school every day ."
    correction = corrector.correct(text)
    assert correction.text.endswith("she goes to school every day .")
    assert not correction.warnings


NAMES = (
    "Last summer I was in Poland with Wojciech Szczęsny, Przemysław Kowalczyk, Agnieszka "
    "Wiśniewska, Małgorzata Dąbrowska, Krzysztof Zieliński, Katarzyna Szymańska, Zbigniew "
    "Lewandowski, Stanisław Wójcik, Bartłomiej Kamiński, Aleksandra Jabłońska and Władysław "
    "Nowicki, and they was very happy because they has seen many old towns and all the people in "
    "every city was very kind to us."
)


def test_names_that_the_model_cannot_spell_cost_no_correction_behind_them(
    corrector: Corrector,
) -> None:
    """It loses its way in them, and says anything of what follows."""
    found = corrector.correct(NAMES, Options(min_confidence=0.3))
    first, last = NAMES[: NAMES.index(" Nowicki")], found.text[found.text.index(" Nowicki") :]
    assert found.text.startswith(first)  # the names stay
    assert re.match(" Nowicki, and they were very happy because they (had seen|saw) many", last)
    assert not found.warnings


SENTENCES = """There are many cases.
However, the student do not know it.
They has to think about it.
In my country people likes to eat rice.
It was a nice trip.
She told me that her friends is coming.
My sister have two cat.
This is why he want to leave example.com for main.py and version 1.2.3 now.
We was in the U.S.A at 10.30 with 3.14 dollars, e.g. for a Ph.D. student.
But nobody know the answer.""".splitlines()


def test_a_paragraph_without_blanks_after_its_full_stops(corrector: Corrector) -> None:
    """It is corrected as its sentences are, and the blanks are put in."""
    glued = "".join(SENTENCES * 4)
    assert len(glued) > 1500
    found = corrector.correct(glued)
    assert found.text == corrector.correct(" ".join(SENTENCES * 4)).text
    assert len(found.sentences) == len(SENTENCES) * 4
    assert not found.warnings
    assert sum(edit.replacement == ". " for edit in found.edits) == len(SENTENCES) * 4 - 1
