"""``gec bench checkers``: what is scored, timed, printed, written and refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

import pytest

from gec.cli import main
from gec.errors import ConfigError, InputError
from gec.eval.benchmark import checker_speed, checkers
from gec.eval.benchmark.checker_peers import Fix
from gec.eval.benchmark.checker_quality import Changes, Corrections, read_sets, references, scored
from gec.eval.benchmark.checker_speed import Program, Speed
from gec.eval.metrics import m2
from gec.eval.metrics.gleu import gleu

Capture = pytest.CaptureFixture[str]

GOLD = """S He go to teh school .
A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0
A 2 4|||R:OTHER|||to|||REQUIRED|||-NONE-|||0
A 3 4|||R:SPELL|||the||our|||REQUIRED|||-NONE-|||1

S All is well .

"""
CLEAN = "She left .\n\nThe adress of teh house .\n"
REPLACED = {"teh": "the", "adress": "address", "well": "good"}


class Player(AbstractContextManager["Player"]):
    """Plays a worker: replaces words; each sentence takes as many seconds as its turn says."""

    log: list[tuple[str, str, str]]

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.name, self.options = name, options
        self.about = f"{name} 1.0"
        self.calls = 0

    def check(self, texts: list[str], setting: str = "") -> tuple[list[list[Fix]], float]:
        self.log += [(self.name, text, setting) for text in texts]
        self.calls += 1
        fixes = [
            [
                Fix(text.index(old), text.index(old) + len(old), new)
                for old, new in REPLACED.items()
                if old in text and (setting != "precise" or old == "teh")
            ]
            for text in texts
        ]
        return fixes, self.calls / 1000

    def peak(self) -> int:
        return 3 * 2**20

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.calls = -1


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """Play all checkers; the calls that they get."""
    log: list[tuple[str, str, str]] = []
    monkeypatch.setattr(Player, "log", log, raising=False)
    monkeypatch.setattr(checkers, "Worker", Player)
    monkeypatch.setattr(checker_speed, "Worker", Player)
    return log


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    gold, clean = tmp_path / "gold.m2", tmp_path / "clean.txt"
    gold.write_text(GOLD, encoding="utf-8")
    clean.write_text(CLEAN, encoding="utf-8")
    return str(gold), str(clean)


def run(capsys: Capture, *arguments: str) -> dict[str, Any]:
    assert main(["bench", "checkers", *arguments, "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


# ---------------------------------------------------------------------------------------- quality


def test_scores(
    played: list[tuple[str, str, str]], files: tuple[str, str], capsys: Capture, tmp_path: Path
) -> None:
    """The source, a spelling checker that also breaks "well", and two of our settings."""
    wanted = ["--checkers", "source,codespell,gec", "--settings", "precise,balanced"]
    outputs = tmp_path / "outputs"
    found = run(capsys, *files, *wanted, "--only", "quality", "--hypotheses", str(outputs))
    gold, clean = found["quality"]["gold"], found["quality"]["clean"]
    rows = ["source", "codespell", "gec en precise", "gec en balanced"]
    assert list(gold) == list(clean) == rows
    # codespell: of two edits one is the annotator's one; precise makes that one only
    assert [gold[row][name] for row in rows for name in ("precision", "recall")] == [
        1, 0, 0.5, 1, 1, 1, 0.5, 1,
    ]  # fmt: skip
    assert gold["source"]["f"] == 0
    assert gold["gec en precise"]["f"] == 1
    assert gold["codespell"]["f"] == pytest.approx(1.25 * 0.5 / (0.25 * 0.5 + 1))
    assert [(clean[row]["changed"], clean[row]["changes"]) for row in rows] == [
        (0, 0), (1, 2), (1, 1), (1, 2),
    ]  # fmt: skip
    assert clean["codespell"] == {
        "sentences": 2, "changed": 1, "words": 9, "changes": 2,
        "per_1000_sentences": 500.0, "per_1000_words": pytest.approx(2000 / 9),
    }  # fmt: skip
    assert found["checkers"] == {"codespell": "codespell 1.0", "gec en": "gec 1.0"}
    assert "speed" not in found
    written = {str(path.relative_to(outputs)): path.read_text() for path in outputs.rglob("*.txt")}
    assert sorted(written) == [
        f"{name}/{row.replace(' ', '-')}.txt" for name in ("clean", "gold") for row in sorted(rows)
    ]
    assert written["gold/gec-en-precise.txt"] == "He go to the school .\nAll is well .\n"
    assert written["clean/codespell.txt"] == "She left .\nThe address of the house .\n"
    # plain text, each sentence once a setting
    assert [call for call in played if call[0] == "codespell"] == [
        ("codespell", text, "")
        for text in (
            "He go to teh school.",
            "All is well.",
            "She left.",
            "The adress of teh house.",
        )
    ]


def test_what_is_written_is_ranked_by_the_leaderboard(
    played: list[tuple[str, str, str]], files: tuple[str, str], capsys: Capture, tmp_path: Path
) -> None:
    run(capsys, files[0], "--only", "quality", "--hypotheses", str(tmp_path / "out"))
    systems = sorted(map(str, (tmp_path / "out" / "gold").glob("*.txt")))
    assert len(systems) == 8
    board = ["leaderboard", files[0], *systems, "--metrics", "m2", "--samples", "1000"]
    assert main([*board, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rankings"][0]["rows"]
    assert rows[0]["system"] == "gec-en-precise.txt"
    assert rows[0]["scores"]["f"]["value"] == 1


def test_tables(
    played: list[tuple[str, str, str]], files: tuple[str, str], capsys: Capture, tmp_path: Path
) -> None:
    """Only what was measured is written to the page."""
    page = tmp_path / "page.md"
    markers = "<!-- bench: checkers-{} -->old<!-- end -->"
    page.write_text(f"{markers.format('quality')}\n{markers.format('speed')}\n")
    assert main(["bench", "checkers", *files, "--checkers", "source,harper", "--only", "quality",
                 "--write", str(page)]) == 0  # fmt: skip
    out = capsys.readouterr().out
    rows = [line.split("|")[2:-1] for line in out.splitlines() if line.startswith("| harper")]
    sources = ["He go to teh school .", "All is well ."]
    made = ["He go to the school .", "All is good ."]
    references = [["He goes to school .", sources[1]], [made[0], sources[1]]]
    fluency = gleu(sources, made, references).estimates[0].mean
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["0.5556", "500.0", "222.22"],
        ["0.5000", "1.0000", "0.5556", f"{fluency:.4f}"],
        ["1 of 2", "500.0", "2 in 9", "222.22"],
    ]
    assert "| checker | gold F0.5 | changed of 1,000 clean sentences | changes in 1,000 cl" in out
    assert "- harper: harper 1.0" in out
    text = page.read_text()
    assert text.count(">old<") == 1
    assert text.index("| harper  |") < text.index(">old<")


def test_references_are_what_the_annotators_make_of_the_sentences(file: Callable[..., str]) -> None:
    """Of corrections the first, of edits that overlap the first; no edit changes nothing."""
    gold = GOLD + "S a b c\nA 0 2|||X|||d e f|||REQUIRED|||-NONE-|||0\n"
    gold += "A 1 3|||X|||g|||REQUIRED|||-NONE-|||0\nA 2 2|||X|||h|||REQUIRED|||-NONE-|||0\n\n"
    made = references(m2.read_gold(file(gold)))
    assert made == [
        ["He goes to school .", "All is well .", "d e f h c"],
        ["He go to the school .", "All is well .", "a b c"],
    ]


def test_given_references(files: tuple[str, str], tmp_path: Path) -> None:
    lines = ["He goes to our school .", "All is well ."]
    given = tmp_path / "ref.txt"
    given.write_text("\n".join(lines) + "\n")
    (one,) = read_sets([f"essays={files[0]}"], None, {"essays": [str(given)]})
    assert (one.name, one.references) == ("essays", [lines])
    score = scored(one, lines)
    assert isinstance(score, Corrections)
    assert score.gleu == 1
    (one,) = read_sets([files[0]], 1, {"gold": [str(given)]})
    assert one.references == [lines[:1]]


def test_changes_are_added_up() -> None:
    changes = Changes(10, 1, 100, 2) + Changes(30, 3, 300, 2)
    assert changes == Changes(40, 4, 400, 4)
    assert changes.per_1000_sentences == 100
    assert changes.per_1000_words == 10


# ------------------------------------------------------------------------------------------ speed


def test_checkers_take_turns(played: list[tuple[str, str, str]]) -> None:
    """Every round of a sentence goes to one after the other; medians of rounds, then of sentences.

    A player's n-th call takes n milliseconds: 2 are the warm-up, and two settings share one.
    """
    programs = [
        Program("harper", {}, {"harper": ""}),
        Program("gec", {}, {"gec a": "a", "gec b": "b"}),
        Program("languagetool", {}, {"languagetool": ""}, remote=True),
    ]
    found = checker_speed.measure(programs, ["one", "two"], 3, lambda _: None)
    turn = [("harper", ""), ("gec", "a"), ("gec", "b"), ("languagetool", "")]
    expected = [(name, text, setting) for name, setting in turn for text in ("one", "two")]
    expected += [
        (name, text, setting) for text in ["one"] * 3 + ["two"] * 3 for name, setting in turn
    ]
    assert played[: len(expected)] == expected
    # then three cold starts of each that runs here
    assert played[len(expected) :] == [("harper", "one", "")] * 3 + [("gec", "one", "a")] * 3
    # harper's calls 3, 4, 5 and 6, 7, 8: medians 4 and 7
    assert (found["harper"].median, found["harper"].mean) == (pytest.approx(5.5), 5.5)
    assert found["harper"].quartiles == (pytest.approx(4.75), pytest.approx(6.25))
    # our two settings: calls 5, 7, 9 and 11, 13, 15; 6, 8, 10 and 12, 14, 16
    assert found["gec a"].median == pytest.approx(10)
    assert found["gec b"].median == pytest.approx(11)
    assert [speed.peak for speed in found.values()] == [3, 3, 3, None]
    starts = [speed.start for speed in found.values()]
    assert starts[3] is None
    assert starts[1] == starts[2]
    assert all(start is not None and start >= 0 for start in starts[:3])


def test_a_table_of_speed(
    played: list[tuple[str, str, str]], files: tuple[str, str], capsys: Capture
) -> None:
    found = run(capsys, *files, "--checkers", "source,hunspell", "--only", "speed", "--sample", "3")
    assert list(found["speed"]) == ["hunspell"]
    assert (found["sentences"], found["timed"], found["rounds"]) == (4, 3, 3)
    assert "quality" not in found
    assert main(["bench", "checkers", *files, "--checkers", "codespell", "--only", "speed"]) == 0
    assert "| codespell |" in capsys.readouterr().out
    text = checkers.speed_text({"a": Speed(1.5, (1, 2), 1.75, None, None)})
    assert text.splitlines()[-1] == (
        "| a       |        1.50 | 1.00 - 2.00 | 1.75 |        - |            - |"
    )


def test_a_plot_of_quality_over_time(
    played: list[tuple[str, str, str]], files: tuple[str, str], capsys: Capture, tmp_path: Path
) -> None:
    drawn = tmp_path / "plot.svg"
    options = ["--checkers", "source,codespell,gec", "--settings", "precise", "--sample", "2"]
    run(capsys, *files, *options, "--plot", str(drawn))
    text = drawn.read_text(encoding="utf-8")
    assert text.startswith("<svg")
    for shown in ("codespell", "gec en precise", "gold, F0.5", "ms a sentence"):
        assert shown in text
    assert ">\u200bsource<" not in text, "no time, no point"
    assert main(["bench", "checkers", files[1], "--plot", str(drawn)]) == 2
    assert "name a gold file" in capsys.readouterr().err


# ----------------------------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--checkers", "source,word"], "unknown checker 'word', expected some of source, gec"),
        (["--checkers", "languagetool"], "give its address after --languagetool"),
        (["--only", "speed", "--hypotheses", "out"], "leave out --only speed"),
        (["--only", "speed", "--plot", "out.svg"], "leave out --only"),
        (["--plot", "nowhere/out.svg"], "--plot needs a folder that exists, nowhere does not"),
        (["--write", "nowhere.md"], "--write needs a page that exists, nowhere.md does not"),
        (["-r", "gold"], "a file's name and references as NAME=REF, not 'gold'"),
        (["-r", "silver=ref.txt"], "references for 'silver', but no file is called so"),
        (["-r", "clean=ref.txt"], "references for 'clean', whose sentences have no errors"),
    ],
)
def test_what_is_refused(
    arguments: list[str], message: str, files: tuple[str, str], capsys: Capture
) -> None:
    assert main(["bench", "checkers", *files, *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_files_that_do_not_fit(files: tuple[str, str], file: Callable[..., str]) -> None:
    with pytest.raises(ConfigError, match=r"two files are called 'gold'; name one as in NAME=FILE"):
        read_sets([files[0], files[0]])
    with pytest.raises(InputError, match="has 1 lines, gold has 2"):
        read_sets([files[0]], None, {"gold": [file("one\n")]})
    with pytest.raises(InputError, match="holds no sentence"):
        read_sets([file("\n\n")])
