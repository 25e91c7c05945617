"""The scorers on whole corpora, which are too large or not free to stand in this repository.

The folder is ``$GEC_DATA_DIR``, or ``../shared/data`` beside the repository. Where it is, these
tests run; only where it is not are they skipped, and pytest's summary says so.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import errant
import pytest
from errant.commands import compare_m2, parallel_to_m2

from gec.cli import main
from gec.eval.metrics.pipeline import SHIPPED, load_pipeline

HERE = Path(__file__).parent
DATA = Path(os.environ.get("GEC_DATA_DIR", HERE.parents[2] / "shared" / "data"))
COPIES = HERE / "data"

pytestmark = pytest.mark.skipif(
    not DATA.is_dir() and "GEC_DATA_DIR" not in os.environ,
    reason="no data folder: set GEC_DATA_DIR to run the scorers on whole corpora",
)
Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("tool", ["m2scorer", "errant", "gleu", "sari"])
def test_the_cases_here_are_those_of_the_data_folder(tool: str) -> None:
    """What the test files of each scorer run is all there is: no case is missing or altered."""
    name = f"{tool}_expected"
    ours = json.loads((COPIES / name / "expected.json").read_text(encoding="utf-8"))
    theirs = json.loads((DATA / "scoring" / name / "expected.json").read_text(encoding="utf-8"))
    assert ours == theirs
    for path in (DATA / "scoring" / name / "cases").glob("*"):
        assert (COPIES / name / "cases" / path.name).read_bytes() == path.read_bytes()


def test_the_source_of_conll_2013_unchanged(file: Callable[..., str], capsys: Capture) -> None:
    gold = DATA / "english/dev/conll13/original.official-preprocessed.m2"
    lines = gold.read_text(encoding="utf-8").splitlines(keepends=True)
    source = file("".join(line[2:] for line in lines if line.startswith("S ")))
    assert main(["score", "m2", "--json", source, str(gold)]) == 0
    score = json.loads(capsys.readouterr().out)
    assert (score["correct"], score["proposed"], score["gold"]) == (0, 0, 3462)
    assert (score["precision"], score["recall"], score["f"]) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize(("sampling", "score"), [("python2", "0.382146"), ("python3", "0.381965")])
def test_the_source_of_jfleg_unchanged(sampling: str, score: str, capsys: Capture) -> None:
    """The numbers are the original script's under Python 2.7.18 and 3.10.13."""
    folder = DATA / "english/dev/jfleg"
    references = [str(folder / f"dev.ref{n}") for n in range(4)]
    source = str(folder / "dev.src")
    options = ["-s", source, "-r", *references, "--sampling", sampling]
    assert main(["score", "gleu", *options, "--hyp", source]) == 0
    assert f"'{score}'" in capsys.readouterr().out


# JFLEG's sentences as a spelling corrector left them, and as its first annotator did: outputs with
# hundreds and with thousands of corrections. The counts are those of m2scorer's functions, the
# means and deviations those of gleu.py.
SPELLED, FIRST = "dev.spellchecked.src", "dev.ref0"


@pytest.mark.parametrize(
    ("output", "version", "correct", "proposed", "gold", "f"),
    [
        (SPELLED, "3.2", 337, 546, 2200, "0.3844"),
        (SPELLED, "2016", 337, 546, 2200, "0.3844"),
        (FIRST, "3.2", 3033, 3252, 3217, "0.9347"),
        (FIRST, "2016", 3045, 3258, 3219, "0.9369"),
    ],
)
def test_m2_of_outputs_with_many_corrections(
    output: str, version: str, correct: int, proposed: int, gold: int, f: str, capsys: Capture
) -> None:
    files = [str(DATA / "english/dev/jfleg" / name) for name in (output, "dev.ref.m2")]
    assert main(["score", "m2", *files, "--json", "--version", version]) == 0
    score = json.loads(capsys.readouterr().out)
    assert (score["correct"], score["proposed"], score["gold"]) == (correct, proposed, gold)
    assert f"{score['f']:.4f}" == f


@pytest.mark.parametrize(
    ("output", "references", "sampling", "mean", "std"),
    [
        (SPELLED, (0, 1, 2, 3), "python2", "0.434434", "0.009350"),
        (SPELLED, (0, 1, 2, 3), "python3", "0.434253", "0.009212"),
        (FIRST, (1, 2, 3), "python2", "0.557264", "0.006433"),
        (FIRST, (1, 2, 3), "python3", "0.557593", "0.006890"),
    ],
)
def test_gleu_of_outputs_with_many_corrections(
    output: str, references: tuple[int, ...], sampling: str, mean: str, std: str, capsys: Capture
) -> None:
    folder = DATA / "english/dev/jfleg"
    options = ["-s", str(folder / "dev.src"), "--sampling", sampling]
    options += ["-r", *(str(folder / f"dev.ref{n}") for n in references)]
    assert main(["score", "gleu", str(folder / output), *options]) == 0
    assert f"['{mean}', '{std}', " in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("output", [SPELLED, FIRST])
def test_errant_of_outputs_with_many_corrections(
    output: str, file: Callable[..., str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The package's own commands, run here over the same pipeline, find the same counts."""
    names = ["dev.src", output, "dev.ref1", "dev.ref2"]
    texts = [(DATA / "english/dev/jfleg" / name).read_text("utf-8") for name in names]
    heads = ["".join(text.splitlines(keepends=True)[:200]) for text in texts]
    source, system, *references = (file(head) for head in heads)

    annotator = errant.load("en", load_pipeline(SHIPPED))

    def run(command: Any, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["errant", *arguments])
        with mock.patch("errant.load", return_value=annotator):
            command.main()
        return capsys.readouterr().out

    run(parallel_to_m2, "-orig", source, "-cor", system, "-out", "hyp.m2")
    run(parallel_to_m2, "-orig", source, "-cor", *references, "-out", "ref.m2")
    theirs = run(compare_m2, "-hyp", "hyp.m2", "-ref", "ref.m2", "-cat", "3")
    given = ["errant", system, "ref.m2", "-cat", "3", "--spacy-model", SHIPPED]
    assert main(["score", *given]) == 0
    ours = capsys.readouterr().out
    assert ours == theirs
    tp, fp, fn = (int(n) for n in ours.splitlines()[-3].split()[:3])
    assert min(tp, fp, fn) > 40


@pytest.mark.parametrize("split", ["G", "S"])
def test_cweb_against_itself(split: str, capsys: Capture) -> None:
    gold = str(DATA / f"english/dev/cweb/CWEB-{split}.dev.m2")
    assert main(["errant", "compare", "-hyp", gold, "-ref", gold, "--json"]) == 0
    score = json.loads(capsys.readouterr().out)
    assert score["tp"] > 500
    assert (score["fp"], score["fn"], score["f"]) == (0, 0, 1.0)
