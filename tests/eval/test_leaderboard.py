"""The leaderboard: rankings, clusters, what is refused, and the three formats."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gec.cli import main
from gec.errors import ConfigError
from gec.eval.compare import leaderboard
from gec.eval.compare import ranking as ranking_module
from gec.eval.compare.board_metrics import METRICS, Metric, TestSet
from gec.eval.compare.ranking import default_samples, rank
from gec.eval.metrics.errant import Annotator, parse_blocks
from gec.eval.metrics.m2 import read_gold
from gec.eval.metrics.pipeline import load_pipeline
from gec.eval.metrics.statistics import Statistics, edit_statistics

Capture = pytest.CaptureFixture[str]
File = Callable[..., str]

COPIES = 10
SOURCES = ["He go to school .", "It is fine .", "I has two cat here .", "She see him ."] * COPIES
GOOD = ["He goes to school .", "It is fine .", "I have two cats here .", "She sees him ."] * COPIES
FAIR = ["He goes to school .", "It is fine .", "I have two cat here .", "She see him ."] * COPIES
BAD = ["He go to school !", "It was fine .", "I has the two cat here .", "She see it ."] * COPIES
GOLD = """S He go to school .
A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0

S It is fine .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0

S I has two cat here .
A 1 2|||R:VERB:SVA|||have|||REQUIRED|||-NONE-|||0
A 3 4|||R:NOUN:NUM|||cats|||REQUIRED|||-NONE-|||0

S She see him .
A 1 2|||R:VERB:SVA|||sees|||REQUIRED|||-NONE-|||0

"""


def text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture
def board(file: File, capsys: Capture) -> Callable[..., str]:
    """Write gold, systems and references; run the command; return what it printed."""
    file(GOLD * COPIES, "gold.m2")
    for name, lines in {"good": GOOD, "fair": FAIR, "again": FAIR, "bad": BAD}.items():
        file(text(lines), name)

    def run(*options: str, status: int = 0) -> str:
        given = ["--spacy-model", "en_pipeline", "--samples", "300", *options]
        systems = ["bad", "fair", "good", "again"]
        assert main(["leaderboard", "gold.m2", *systems, *given]) == status
        out, err = capsys.readouterr()
        return err if status else out

    return run


def test_systems_stand_in_clusters(board: Callable[..., str]) -> None:
    found = json.loads(board("--format", "json", "-r", "good"))
    assert [r["metric"] for r in found["rankings"]] == ["m2", "errant", "gleu", "sari"]
    assert found["settings"]["samples"] == 300
    for ranking in found["rankings"]:
        rows = [(row["system"], row["cluster"], row["ranks"]) for row in ranking["rows"]]
        assert rows == [
            ("good", 1, [1, 1]),
            ("fair", 2, [2, 3]),
            ("again", 2, [2, 3]),
            ("bad", 3, [4, 4]),
        ]
        assert (
            "|samples:300|seed:0|test:randomization|adjusted:holm|alpha:0.05|"
            in (ranking["signature"])
        )
        pairs = {(pair["system"], pair["other"]): pair for pair in ranking["pairs"]}
        assert len(pairs) == 6
        assert (pairs["fair", "again"]["p"], pairs["fair", "again"]["significant"]) == (1.0, False)
        assert pairs["good", "bad"]["p_adjusted"] == pytest.approx(6 / 301)
        assert all(pair["difference"]["value"] >= 0 for pair in pairs.values())


@pytest.mark.parametrize("test", ["randomization", "bootstrap"])
def test_the_tests_and_seeds(board: Callable[..., str], test: str) -> None:
    options = ["--format", "json", "--metrics", "m2", "--test", test]
    first, second = board(*options), board(*options)
    assert first == second
    other = json.loads(board(*options, "--seed", "1"))["rankings"][0]
    one = json.loads(first)["rankings"][0]
    assert one["rows"] != other["rows"]
    assert [row["system"] for row in one["rows"]] == [row["system"] for row in other["rows"]]


def test_scores_are_those_of_the_scorers(board: Callable[..., str], capsys: Capture) -> None:
    found = json.loads(board("--format", "json", "-r", "good", "fair"))
    scores = {
        ranking["metric"]: next(row for row in ranking["rows"] if row["system"] == "bad")["scores"]
        for ranking in found["rankings"]
    }

    def scored(*command: str) -> dict[str, float]:
        assert main(["score", *command, "--json"]) == 0
        return dict(json.loads(capsys.readouterr().out))

    assert scores["m2"]["f"]["value"] == scored("m2", "bad", "gold.m2")["f"]
    errant = scored("errant", "bad", "gold.m2", "--spacy-model", "en_pipeline")
    assert scores["errant"]["precision"]["value"] == pytest.approx(errant["precision"], abs=5e-5)
    sources = str(Path("source").absolute())
    Path("source").write_text(text(SOURCES), encoding="utf-8")
    gleu = scored("gleu", "bad", "-s", sources, "-r", "good", "fair")
    assert scores["gleu"]["gleu"]["value"] == gleu["estimates"][0]["mean"]  # type: ignore[index]
    sari = scored("sari", "bad", "-s", sources, "-r", "good", "fair")
    assert scores["sari"]["sari"]["value"] == sari["value"]


def test_text_has_a_line_between_clusters(board: Callable[..., str]) -> None:
    lines = board("--metrics", "m2", "--names", "worst,fair,best,twin").splitlines()
    assert lines[0] == "gold.m2: 40 sentences"
    assert lines[2].split() == ["ranks", "system", "M2", "f", "precision", "recall"]
    body = lines[3:]
    assert [bool(re.fullmatch("-+", line)) for line in body] == [
        True, False, True, False, False, True, False,
    ]  # fmt: skip
    assert body[1].split()[:3] == ["1", "best", "1.0000"]
    assert body[3].split()[:2] == ["2-3", "fair"]


def test_the_page_loads_nothing_and_escapes(board: Callable[..., str]) -> None:
    assert board("-o", "board.html", "--names", "<b>,$x,good,_y", "--metrics", "m2,errant") == ""
    html = Path("board.html").read_text(encoding="utf-8")
    assert html.count("<svg") == 1
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    assert not re.search(r"<script|<link|<img|<iframe|@import|\ssrc=", html)
    assert re.findall(r"(?:href=\"|url\()(?!#)", html) == []
    assert html.count('<tr class="first">') == 6  # three clusters of two metrics
    assert "m2|version:3.2" in html


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--metrics", "m2,bluej"], "no metric 'bluej'; choose among m2, errant, gleu, sari"),
        (["--metrics", "gleu"], "gleu needs references: name their files after -r"),
        (["--alpha", "1.5"], "--alpha must lie between 0 and 1, not 1.5"),
        (["--samples", "1"], "--samples must be 0 or at least 2, not 1"),
        (["--samples", "0"], "--samples must be at least 2"),
        (["--names", "a,b"], "2 names for 4 systems"),
        (["-o", "nowhere/board.html"], "there is no such folder"),
        (["-r", "gold.m2"], "gold.m2 has 130 lines, gold.m2 has 40"),
    ],
)
def test_usage(board: Callable[..., str], options: list[str], message: str) -> None:
    assert message in board(*options, status=2)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (GOOD[:-1], "odd has 39 lines, the gold file has 40"),
        ([*GOOD[:4], "", *GOOD[5:]], "odd, line 5: empty, but the sentence is 'He go to"),
        ([line.replace(" .", ".") for line in GOOD], "odd, line 1: not tokenized as the gold"),
        ([""] * 40, "odd, line 1: empty"),
    ],
)
def test_output_that_does_not_fit(
    file: File, capsys: Capture, lines: list[str], message: str
) -> None:
    file(GOLD * COPIES, "gold.m2")
    file(text(GOOD), "good")
    file(text(lines), "odd")
    assert main(["leaderboard", "gold.m2", "good", "odd", "--metrics", "m2"]) == 2
    assert message in capsys.readouterr().err


def test_one_system_is_no_ranking(file: File, capsys: Capture) -> None:
    assert main(["leaderboard", "gold.m2", "good"]) == 2
    assert "at least 2 systems" in capsys.readouterr().err


def test_too_few_resamples_for_holm_are_said(board: Callable[..., str], capsys: Capture) -> None:
    systems = ["bad", "fair", "good", "again"]
    assert main(["leaderboard", "gold.m2", *systems, "--metrics", "m2", "--samples", "100"]) == 0
    out, err = capsys.readouterr()
    assert "no pair of 4 systems can differ significantly at 0.05" in err
    assert "at least 119" in err
    assert sum(line.startswith("-") for line in out.splitlines()) == 1  # all in one cluster


def test_as_many_resamples_as_pairs_need() -> None:
    assert default_samples(2, 0.05) == 1000
    assert default_samples(20, 0.05) == 4 * 3799


def test_a_metric_is_a_row_of_the_table(
    board: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lengths(test: TestSet, hypotheses: Sequence[str]) -> Statistics:
        rows = np.array([[len(line), 1] for line in hypotheses])
        return Statistics(rows, lambda s: s[..., :1] / s[..., 1:], ("letters",), "letters", "len|x")

    monkeypatch.setitem(METRICS, "letters", Metric("Letters", lengths))
    assert "Letters letters" in board("--metrics", "letters")


def test_edits_of_all_systems_are_made_once(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    name = file(GOLD * COPIES, "gold.m2")
    annotator = Annotator(load_pipeline("en_pipeline"))
    asked: list[tuple[str, str]] = []
    blocks = annotator.blocks

    def counted(sources: Sequence[str], lines: Sequence[str]) -> list[object]:
        asked.extend(zip(sources, lines, strict=True))
        return list(blocks(sources, lines))

    monkeypatch.setattr(annotator, "blocks", counted)
    test = TestSet(
        read_gold(name),
        parse_blocks(GOLD * COPIES, name),
        outputs=[GOOD, FAIR],
        make_annotator=lambda: annotator,
    )
    for output in (GOOD, FAIR):
        assert test.edits(output) == blocks(SOURCES, output)
    assert len(asked) == len(set(asked)) == 6  # "fine" once; of the others one for each output


def test_rank_refuses_other_tests() -> None:
    systems = {"a": edit_statistics([[1, 0, 0]]), "b": edit_statistics([[0, 1, 1]])}
    with pytest.raises(ConfigError, match="test must be one of randomization, bootstrap"):
        rank("x", "X", systems, test="t")
    assert leaderboard.FORMATS == ("text", "json", "html")


def test_processes_side_by_side_change_nothing(
    board: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also: metrics in another order than their processes."""
    options = ["--metrics", "m2,errant,cleme", "--format", "json"]
    expected = json.loads(board(*options, "--jobs", "1"))
    started: list[int] = []

    class Pool(ranking_module.ProcessPoolExecutor):
        def __init__(self, workers: int, *rest: Any) -> None:
            started.append(workers)
            super().__init__(workers, *rest)

    monkeypatch.setattr(ranking_module, "ProcessPoolExecutor", Pool)
    assert json.loads(board(*options, "--jobs", "3")) == expected
    assert started == []
    monkeypatch.setattr(ranking_module, "SMALL", 0)
    assert json.loads(board(*options, "--jobs", "3")) == expected
    assert started == [2]
    assert [ranking["metric"] for ranking in expected["rankings"]] == ["m2", "errant", "cleme"]
