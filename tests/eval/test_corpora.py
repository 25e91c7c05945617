"""The scorers on whole corpora, which are too large or not free to stand in this repository.

The folder is ``$GEC_DATA_DIR``, or ``../shared/data`` beside the repository. Where it is, these
tests run; only where it is not are they skipped, and pytest's summary says so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gec.cli import main

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


@pytest.mark.parametrize("split", ["G", "S"])
def test_cweb_against_itself(split: str, capsys: Capture) -> None:
    gold = str(DATA / f"english/dev/cweb/CWEB-{split}.dev.m2")
    assert main(["errant", "compare", "-hyp", gold, "-ref", gold, "--json"]) == 0
    score = json.loads(capsys.readouterr().out)
    assert score["tp"] > 500
    assert (score["fp"], score["fn"], score["f"]) == (0, 0, 1.0)
