"""The report: systems read, curve and examples chosen, and a page that loads nothing."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gec.cli import main
from gec.errors import DataError, InputError
from gec.eval.compare.examples import DiffPiece, diff, edit_ratio, losses, speed_by_ratio, wins
from gec.eval.compare.files import Line, above, read_system
from gec.eval.compare.results import errant_types, evaluate
from gec.eval.metrics.errant import Annotation, Annotator, Block, read_blocks
from gec.eval.metrics.m2 import read_gold
from gec.eval.metrics.pipeline import load_pipeline

File = Callable[..., str]

SOURCES = ["He go to school .", "It is fine .", "I has two cat <here> .", "She see him ."]
GOLD = """S He go to school .
A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0

S It is fine .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0

S I has two cat <here> .
A 1 2|||R:VERB:SVA|||have|||REQUIRED|||-NONE-|||0
A 3 4|||R:NOUN:NUM|||cats|||REQUIRED|||-NONE-|||0

S She see him .
A 1 2|||R:VERB:SVA|||sees|||REQUIRED|||-NONE-|||0

"""
# (source, [(start, end, replacement, confidence)])
OUTPUT: list[list[tuple[int, int, str, float]]] = [
    [(3, 5, "goes", 0.9)],
    [(3, 5, "was", 0.3)],
    [(2, 5, "have", 0.8), (10, 13, "cats", 0.6)],
    [],
]


def jsonl(rows: list[list[tuple[int, int, str, float]]] = OUTPUT) -> str:
    lines = []
    for number, (source, edits) in enumerate(zip(SOURCES, rows, strict=True), 1):
        text = source
        for start, end, new, _ in reversed(edits):
            text = text[:start] + new + text[end:]
        row = {
            "line": number,
            "text": source,
            "corrected": text,
            "edits": [
                {"start": start, "end": end, "replacement": new, "confidence": confidence}
                for start, end, new, confidence in edits
            ],
            "sentences": [{"passes": 1 + len(edits), "tokens": 6, "milliseconds": 2.0}],
        }
        lines.append(json.dumps(row) + "\n")
    return "".join(lines)


@pytest.fixture
def page(file: File, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Write the gold file and the systems, run ``gec report``, and return the page."""

    def make(*systems: str, options: str = "") -> str:
        gold = file(GOLD, "gold.m2")
        names = [file(system, f"system{n}") for n, system in enumerate(systems)]
        given = ["--samples", "50", "--spacy-model", "en_pipeline", *options.split()]
        assert main(["report", gold, *names, "-o", "page.html", *given]) == 0
        return (tmp_path / "page.html").read_text(encoding="utf-8")

    return make


def test_a_system_with_confidences(
    page: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    html = page(jsonl())
    printed = capsys.readouterr().out
    # 3 of 4 edits right, 3 of 4 found: P = R = F
    assert "system0: ERRANT F0.5 0.7500 [" in printed
    assert "system0: M2 F0.5 0.7500 [" in printed
    for heading in ("Scores", "Precision and recall", "Speed and edit ratio", "Error types"):
        assert heading in html
    assert "m2|version:3.2|beta:0.5" in html
    assert "spacy:en_pipeline" in html
    assert '<del title="R:VERB:SVA">has</del>' in html
    assert "&lt;here&gt;" in html
    assert "<here>" not in html
    assert html.count("<svg") == 2
    assert not re.search(r"<script|<link|<img|<iframe|@import|\ssrc=", html)
    assert re.findall(r"(?:href=\"|url\()(?!#)", html) == []


def test_two_systems(page: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    plain = "".join(f"{source}\n" for source in SOURCES)
    html = page(plain, jsonl(), options="--names old,new --title Trial --seed 3")
    assert "difference in ERRANT F: 0.7500" in capsys.readouterr().out
    assert "<h1>Trial</h1>" in html
    assert "Where the two differ" in html
    assert "old: 0 right, 0 wrong, 2 missed; new: 2 right, 0 wrong, 0 missed" in html


def test_many_systems(page: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    plain = "".join(f"{source}\n" for source in SOURCES)
    html = page(plain, jsonl(), plain.replace("has", "have"), options="--names old,new,mid")
    printed = capsys.readouterr().out
    assert "difference in ERRANT F, new less old: 0.7500" in printed
    assert printed.count("difference in ERRANT F") == 3
    assert "p, adjusted" in html
    assert "Where they differ" in html
    first = html[html.index("Where they differ") :]
    assert "old: 0 right, 0 wrong, 2 missed; new: 2 right, 0 wrong, 0 missed; mid: 1" in first


def test_the_same_as_json(page: Callable[..., str], file: File) -> None:
    plain = "".join(f"{source}\n" for source in SOURCES)
    page(plain, jsonl(), plain.replace("has", "have"), options="--names old,new,mid")
    arguments = ["gold.m2", "system0", "system1", "system2", "-o", "page.json"]
    options = ["--samples", "50", "--spacy-model", "en_pipeline", "--names", "old,new,mid"]
    assert main(["report", *arguments, *options]) == 0
    found = json.loads(Path("page.json").read_text(encoding="utf-8"))
    assert (found["sentences"], found["words"], found["gold"]) == (4, 19, "gold.m2")
    assert found["settings"]["samples"] == 50
    old, new, mid = found["systems"]
    assert (new["m2"]["f"]["value"], new["errant"]["f"]["value"]) == (0.75, 0.75)
    assert new["m2"]["signature"].startswith("m2|version:3.2")
    assert new["types"]["R:VERB:SVA"] == {
        "tp": 2, "fp": 0, "fn": 1, "precision": 1.0, "recall": 0.6667, "f": 0.9091,
    }  # fmt: skip
    assert [len(system["curve"]) for system in (old, new, mid)] == [0, 4, 0]
    assert (new["wins"], new["losses"], mid["wins"]) == ([3, 1], [2], [])
    pairs = [(pair["system"], pair["other"]) for pair in found["differences"]]
    assert pairs == [("new", "old"), ("mid", "old"), ("mid", "new")]
    assert all(pair["comparison"]["p"] <= pair["p_adjusted"] for pair in found["differences"])
    assert found["differing"] == [3, 1, 2]
    again = ["report", *arguments[:-1], "page.txt", *options, "--format", "json"]
    assert main(again) == 0
    assert json.loads(Path("page.txt").read_text(encoding="utf-8")) == found


def test_the_curve_leaves_out_the_least_certain_first(file: File) -> None:
    system = read_system(file(jsonl()), SOURCES)
    line = system.lines[2]
    assert [above(line, t) for t in (0.0, 0.6, 0.7, 0.9)] == [
        "I have two cats <here> .",
        "I have two cats <here> .",
        "I have two cat <here> .",
        "I has two cat <here> .",
    ]
    assert above(Line("as it is"), 0.5) == "as it is"


def test_plain_lines_have_no_details(file: File) -> None:
    system = read_system(file("\n".join(SOURCES)), SOURCES)
    assert not system.detailed
    assert [line.text for line in system.lines] == SOURCES


def test_blank_lines_are_not_in_jsonl_and_stay(file: File) -> None:
    rows = jsonl().splitlines(keepends=True)
    system = read_system(file("".join([rows[0], *rows[2:]])), [SOURCES[0], "", *SOURCES[2:]])
    assert [line.text for line in system.lines][:2] == ["He goes to school .", ""]


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("one\ntwo\n", InputError, "has 2 lines, the gold file has 4"),
        ("He goes .\n\nI has .\nShe .\n", InputError, "line 2: empty, but the sentence is 'It"),
        (
            "He goes .\nIt is fine.\nI has .\nShe saw him.\n",
            InputError,
            "line 2: not tokenized as the gold file is: 'It is fine.' beside 'It is fine .'",
        ),
        ('{"broken\n', DataError, ":1: not what gec correct"),
        (jsonl().replace("It is fine .", "It is bad ."), DataError, ":2: .* is not sentence 2"),
        ('{"line": 9}\n', DataError, ":1: "),
        (jsonl().replace('"line": 1', '"line": 0'), DataError, ":1: .*line 0 of 4"),
        (jsonl().replace('"line": 2', '"line": 1'), DataError, ":2: "),
        ("".join(jsonl().splitlines(keepends=True)[:3]), DataError, "no object for sentence 4"),
        (jsonl().replace('"confidence": 0.9', '"confidence": "high"'), DataError, ":1: "),
        (jsonl().replace(', "confidence": 0.9', ""), DataError, ":1: .*KeyError"),
    ],
)
def test_systems_that_do_not_fit(
    file: File, content: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        read_system(file(content), SOURCES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "--names", "x,y"], "2 names for 1 systems"),
        (["missing"], "missing: no such file"),
        (["-"], "reads files, not standard input"),
    ],
)
def test_usage(
    file: File, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    gold = file(GOLD, "gold.m2")
    assert main(["report", gold, *arguments, "-o", "page.html"]) == 2
    assert message in capsys.readouterr().err


def test_diff() -> None:
    edits = [
        Annotation(1, 2, "R:VERB:SVA", "goes", 0),
        Annotation(1, 3, "R:OTHER", "went off", 0),  # overlaps the one before
        Annotation(3, 3, "M:DET", "the", 0),
        Annotation(4, 5, "U:PUNCT", "-NONE-", 0),
        Annotation(9, 9, "M:DET", "a", 0),  # outside
        Annotation(-1, -1, "noop", "-NONE-", 0),
    ]
    assert diff("He go to school .", edits) == (
        DiffPiece(kept="He"),
        DiffPiece(deleted="go", inserted="goes", type="R:VERB:SVA"),
        DiffPiece(kept="to"),
        DiffPiece(inserted="the", type="M:DET"),
        DiffPiece(kept="school"),
        DiffPiece(deleted=".", type="U:PUNCT"),
    )


@pytest.mark.parametrize(
    ("edits", "ratio"),
    [([], 0.0), ([(1, 2, "goes")], 0.2), ([(1, 1, "a b")], 0.4), ([(0, 5, "a b c d e f g")], 1.0)],
)
def test_edit_ratio(edits: list[tuple[int, int, str]], ratio: float) -> None:
    annotations = tuple(Annotation(start, end, "R:OTHER", new, 0) for start, end, new in edits)
    assert edit_ratio(Block("He go to school .", annotations)) == pytest.approx(ratio)


def test_what_counts_as_a_win_and_a_loss(file: File) -> None:
    gold = file(GOLD, "gold.m2")
    blocks = read_blocks(gold)
    annotator = Annotator(load_pipeline("en_pipeline"))
    system = read_system(file(jsonl()), SOURCES)
    result = evaluate(system, read_gold(gold), blocks, annotator, samples=10)
    assert wins(result) == [2, 0]  # two edits right before one
    assert losses(result) == [1]
    assert [(p.threshold, p.precision, p.recall) for p in result.curve] == [
        (0.3, 0.75, 0.75),
        (0.6, 1.0, 0.75),
        (0.8, 1.0, 0.5),
        (0.9, 1.0, 0.25),
    ]
    assert len(speed_by_ratio(result)) == 4


def test_other_types_are_classified_anew(file: File) -> None:
    annotator = Annotator(load_pipeline("en_pipeline"))
    gold = read_blocks(file(GOLD.replace("R:VERB:SVA", "SVA").replace("R:NOUN:NUM", "Nn")))
    typed = errant_types(gold, annotator)
    assert [[edit.type for edit in block.annotations] for block in typed] == [
        ["R:VERB:SVA"], ["noop"], ["R:VERB:SVA", "R:NOUN:NUM"], ["R:VERB:SVA"],
    ]  # fmt: skip
    assert errant_types(typed, annotator) is typed


def test_each_system_stands_beside_the_annotator_it_was_counted_against(
    page: Callable[..., str], file: File
) -> None:
    second = GOLD.replace(
        "0\n\nS It", "0\nA 1 2|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||1\n\nS It"
    )
    gold = file(second, "two.m2")
    outputs = [[word, *SOURCES[1:]] for word in ("He goes to school .", "He went to school .")]
    names = [file("\n".join(lines) + "\n") for lines in outputs]
    given = ["--samples", "9", "--spacy-model", "en_pipeline", "--names", "$\\frac,_b"]
    assert main(["report", gold, *names, "-o", "two.html", *given]) == 0
    html = Path("two.html").read_text(encoding="utf-8")
    assert "gold of annotator 0" in html
    assert "gold of annotator 1" in html


def test_times_of_batches_are_not_shown(file: File) -> None:
    gold = file(GOLD, "gold.m2")
    blocks = read_blocks(gold)
    annotator = Annotator(load_pipeline("en_pipeline"))
    rows = [json.loads(row) for row in jsonl().splitlines()]
    for number, row in enumerate(rows):
        row["sentences"][0]["milliseconds"] = 2.0 + number
    alone = "".join(json.dumps(row) + "\n" for row in rows)
    for content, timed in ((jsonl(), False), (alone, True)):
        system = read_system(file(content), SOURCES)
        result = evaluate(system, read_gold(gold), blocks, annotator, samples=9)
        points = speed_by_ratio(result)
        assert [math.isnan(ms) for _, _, ms in points] == [not timed] * 4


def test_output_to_standard_output_and_into_no_folder(
    file: File, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, system = file(GOLD, "gold.m2"), file("\n".join(SOURCES) + "\n")
    options = ["--samples", "9", "--spacy-model", "en_pipeline"]
    assert main(["report", gold, system, "-o", "-", *options]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")
    assert main(["report", gold, system, "-o", "nowhere/page.html", *options]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_a_deleted_sentence_can_be_allowed(file: File) -> None:
    lines = "\n".join(["He goes .", "", *SOURCES[2:]]) + "\n"
    system = read_system(file(lines), SOURCES, allow_empty=True)
    assert system.lines[1].text == ""


def test_a_joined_full_stop_here_and_there_is_no_other_tokenization(file: File) -> None:
    lines = ["He lives in Washington D.C.", *SOURCES[1:]]
    assert len(read_system(file("\n".join(lines)), SOURCES).lines) == 4
