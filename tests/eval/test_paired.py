"""``--samples`` and ``--paired`` of every scorer: rows sum to the score; what is printed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from gec.cli import main
from gec.errors import ConfigError
from gec.eval.metrics import errant, gleu, m2, sari, summarization, translation
from gec.eval.metrics.m2 import GoldEdit, GoldSentence
from gec.eval.metrics.statistics import Statistics

Capture = pytest.CaptureFixture[str]
File = Callable[..., str]

SOURCES = ["He go to school .", "It is fine .", "I has two cat here .", "She see him today ."] * 3
BETTER = ["He goes to school .", "It is fine .", "I have two cats here .", "She sees him ."] * 3
WORSE = ["He go to school .", "It was fine .", "I have two cat here .", "She see him today ."] * 3
OTHER = ["He went to school .", "It is fine .", "I had two cats here .", "She saw him today ."] * 3

GOLD = """S He go to school .
A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0
A 1 2|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||1

S It is fine .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0

S I has two cat here .
A 1 2|||R:VERB:SVA|||have|||REQUIRED|||-NONE-|||0
A 3 4|||R:NOUN:NUM|||cats|||REQUIRED|||-NONE-|||0

S She see him today .
A 1 2|||R:VERB:SVA|||sees|||REQUIRED|||-NONE-|||0

"""


def text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture
def files(file: File) -> dict[str, str]:
    contents = {"source": SOURCES, "better": BETTER, "worse": WORSE, "other": OTHER}
    names = {name: file(text(lines), name) for name, lines in contents.items()}
    return names | {"gold": file(GOLD * 3, "gold"), "short": file(text(WORSE[:-1]), "short")}


SCORERS = {
    "m2": ["score", "m2", "better", "gold"],
    "errant": ["score", "errant", "better", "gold", "--spacy-model", "en_pipeline"],
    "gleu": ["score", "gleu", "better", "-s", "source", "-r", "other", "better"],
    "sari": ["score", "sari", "better", "-s", "source", "-r", "other", "better"],
    "bleu": ["score", "bleu", "better", "other", "better"],
    "chrf": ["score", "chrf", "better", "other", "better"],
    "rouge": ["score", "rouge", "better", "other", "better"],
}
MAIN = {"m2": "f", "errant": "f", "rouge": "rougeL-F"}


@pytest.mark.parametrize("scorer", SCORERS)
def test_every_scorer_compares_with_another_system(
    scorer: str, files: dict[str, str], capsys: Capture
) -> None:
    """The better output wins; it does not differ from itself; a seed repeats."""
    command = SCORERS[scorer]

    def scored(*options: str) -> dict[str, Any]:
        assert main([*command, "--json", *options]) == 0
        return dict(json.loads(capsys.readouterr().out))

    plain = scored()
    assert "significance" not in plain
    found = scored("--paired", "worse", "--samples", "400", "--seed", "5")
    name = MAIN.get(scorer, scorer)
    test = found["significance"]["comparisons"][name]
    assert test["difference"]["value"] > 0
    assert test["p"] < 0.2
    interval = found["significance"]["intervals"][name]
    assert interval["low"] <= interval["value"] <= interval["high"]
    assert "|samples:400|seed:5|" in found["signature"]
    assert "|paired:worse|" in found["signature"]
    assert found == scored("--paired", "worse", "--samples", "400", "--seed", "5")
    same = scored("--paired", "better")["significance"]
    assert same["samples"] == 1000
    assert same["comparisons"][name]["p"] == same["comparisons"][name]["p_bootstrap"] == 1.0
    assert {key: found[key] for key in plain if key not in ("signature", "mean", "margin")} == {
        key: plain[key] for key in plain if key not in ("signature", "mean", "margin")
    }


@pytest.mark.parametrize("scorer", SCORERS)
def test_another_number_of_lines_is_refused(
    scorer: str, files: dict[str, str], capsys: Capture
) -> None:
    assert main([*SCORERS[scorer], "--paired", "short"]) in (1, 2)
    error = capsys.readouterr().err
    assert "11" in error
    assert "12" in error


@pytest.mark.parametrize("scorer", ["m2", "errant", "gleu", "sari"])
def test_samples_alone_add_intervals_below_the_score(
    scorer: str, files: dict[str, str], capsys: Capture
) -> None:
    assert main(SCORERS[scorer]) == 0
    before = capsys.readouterr().out
    assert main([*SCORERS[scorer], "--samples", "50"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(before)
    added = out.removeprefix(before).splitlines()
    assert added[0] == "95 % intervals from 50 resamples of the sentences:"
    assert any(line.startswith(MAIN.get(scorer, scorer)) for line in added[1:])
    assert "|samples:50|seed:0|" in err
    assert "paired" not in err
    assert main([*SCORERS[scorer], "--samples", "1"]) == 2
    assert "--samples must be 0 or at least 2, not 1" in capsys.readouterr().err


def test_errant_compare_takes_files_of_edits(files: dict[str, str], capsys: Capture) -> None:
    for name in ("better", "worse"):
        options = ["-orig", "source", "-cor", name, "-out", f"{name}.m2"]
        assert main(["errant", "parallel", *options, "--spacy-model", "en_pipeline"]) == 0
    command = ["errant", "compare", "-hyp", "better.m2", "-ref", "gold"]
    assert main([*command, "--paired", "worse.m2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["significance"]["comparisons"]["f"]["difference"]["value"] > 0.3
    assert found["significance"]["other"] == "worse.m2"


def test_gleu_of_sentences_has_no_interval(files: dict[str, str], capsys: Capture) -> None:
    assert main([*SCORERS["gleu"], "--sent", "--samples", "9"]) == 2
    assert "leave out --sent" in capsys.readouterr().err


def test_a_seed_that_would_do_nothing_is_refused(files: dict[str, str], capsys: Capture) -> None:
    assert main([*SCORERS["bleu"], "--samples", "9", "--seed", "3"]) == 2
    assert "SACREBLEU_SEED" in capsys.readouterr().err


def test_standard_input_only_once(files: dict[str, str], capsys: Capture) -> None:
    assert main(["score", "m2", "-", "gold", "--paired", "-"]) == 2
    assert "can be read only once" in capsys.readouterr().err


# ------------------------------------------------------- resampled rows are resampled sentences

# Single annotators, as where several are the choice is not repeated.
_GOLD = [
    GoldSentence(source, {0: [GoldEdit(1, 2, source.split()[1], (better.split()[1],))]})
    for source, better in zip(SOURCES, BETTER, strict=True)
]


def _m2(rows: Sequence[int]) -> tuple[Statistics, list[float]]:
    score = m2.score_m2([WORSE[i] for i in rows], [_GOLD[i] for i in rows])
    return m2.statistics(score), [score.precision, score.recall, score.f]


def _errant(rows: Sequence[int]) -> tuple[Statistics, list[float]]:
    def block(line: str) -> str:
        return f"S {line}\nA 1 2|||X|||{line[0]}|||REQUIRED|||-NONE-|||0\n"

    ours, theirs = (
        errant.parse_blocks("\n".join(block(lines[i][k:]) for i in rows), "x")
        for lines, k in ((WORSE, 0), (BETTER, 0))
    )
    score = errant.compare(ours, theirs)
    return errant.statistics(score), [score.precision, score.recall, score.f]


def _gleu(rows: Sequence[int]) -> tuple[Statistics, list[float]]:
    lists = [[lines[i] for i in rows] for lines in (SOURCES, BETTER, OTHER)]
    score = gleu.gleu(lists[0], lists[1], [lists[2]])
    return gleu.statistics(lists[0], lists[1], [lists[2]]), [score.estimates[0].mean]


def _sari(rows: Sequence[int]) -> tuple[Statistics, list[float]]:
    source, output, *references = ([x[i] for i in rows] for x in (SOURCES, WORSE, OTHER, BETTER))
    score = sari.sari(source, output, references)
    values = [score.value, score.add, score.keep, score.delete]
    return sari.statistics(source, output, references), values


def _bleu(rows: Sequence[int]) -> tuple[Statistics, list[float]]:
    lists = [[lines[i] for i in rows] for lines in (BETTER, OTHER)]
    return (
        translation.bleu_statistics(lists[0], [lists[1]]),
        [translation.bleu(lists[0], [lists[1]]).value],
    )


def _chrf(rows: Sequence[int]) -> tuple[Statistics, list[float]]:
    lists = [[lines[i] for i in rows] for lines in (BETTER, OTHER)]
    return (
        translation.chrf_statistics(lists[0], [lists[1]], word_order=2),
        [translation.chrf(lists[0], [lists[1]], word_order=2).value],
    )


def _rouge(rows: Sequence[int]) -> tuple[Statistics, list[float]]:
    lists = [[lines[i] for i in rows] for lines in (BETTER, OTHER)]
    score = summarization.rouge(lists[0], [lists[1]])
    return summarization.statistics(lists[0], [lists[1]]), list(score.values.values())


@pytest.mark.parametrize("measure", [_m2, _errant, _gleu, _sari, _bleu, _chrf, _rouge])
def test_scoring_resampled_rows_is_scoring_resampled_files(
    measure: Callable[[Sequence[int]], tuple[Statistics, list[float]]],
) -> None:
    whole, values = measure(range(12))
    assert whole.summed.tolist() == pytest.approx(values, abs=5e-5)  # ERRANT rounds to 4 decimals
    rng = np.random.default_rng(1)
    for _ in range(10):
        rows = rng.integers(12, size=12)
        _, values = measure(rows.tolist())
        found = whole.score(whole.rows[rows].sum(axis=0))
        assert found.tolist() == pytest.approx(values, abs=5e-5)
        zero = whole.score(np.zeros((2, whole.rows.shape[1]))) if measure is not _rouge else found
        assert np.isfinite(zero).all()


def test_gleu_rows_are_what_draws_of_references_average_to() -> None:
    references = [OTHER, BETTER, WORSE]
    found = gleu.statistics(SOURCES, BETTER, references)
    assert found["gleu"] == gleu.gleu(SOURCES, BETTER, references).estimates[0].mean
    each = [gleu.statistics(SOURCES, BETTER, [lines]).rows for lines in references]
    assert found.rows == pytest.approx(np.mean(each, axis=0))


def test_statistics_of_nothing_are_refused() -> None:
    from gec.eval.metrics.significance import bootstrap

    with pytest.raises(ConfigError, match="no sentence to resample"):
        bootstrap(m2.statistics(m2.score_m2([], [])))
