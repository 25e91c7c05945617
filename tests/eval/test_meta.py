"""gec meta: systems and sentences as people rank them, in the formats of GJG15 and SEEDA."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from gec.cli import main
from gec.errors import ConfigError, DataError
from gec.eval.compare.human import (
    SEEDA_SYSTEMS,
    Judgment,
    chosen,
    expected_wins,
    read_judgments,
    read_sentence_scores,
    read_system_scores,
)
from gec.eval.compare.meta import meta_sentence, meta_system

File = Callable[..., str]
Capture = pytest.CaptureFixture[str]

# Human scores as SEEDA publishes them (TrueSkill by edits, Expected Wins by sentences), and M2 of
# its README; what scipy 1.17.1 makes of them stands in the tests.
TRUESKILL = "-.231 .064 -.092 -.154 .583 -.797 -.097 -.084 .679 .078 .067 .097 -.211 .173 -.076"
WINS = ".363 .540 .418 .381 .781 .068 .431 .507 .813 .556 .527 .634 .423 .647 .411"
M2 = "50.3 62.77 61.83 63.53 53.5 0.0 55.5 59.93 47.48 60.12 64.74 65.07 56.29 68.08 64.55"


def column(numbers: str) -> str:
    return numbers.replace(" ", "\n") + "\n"


@pytest.mark.parametrize(
    ("human", "systems", "wanted"),
    [
        (TRUESKILL, "all", "0.5110181955375082 0.3214285714285714 0.3142857142857143"),
        (TRUESKILL, "base", "0.7397002946542007 0.7692307692307694 0.6363636363636362"),
        (TRUESKILL, "+INPUT", "0.929558006698943 0.8186813186813187 0.6923076923076922"),
        (
            TRUESKILL,
            "+REF-F_GPT-3.5",
            "-0.33113710114324946 0.16483516483516483 0.2087912087912088",
        ),
        (WINS, "base", "0.6161364666216849 0.5174825174825175 0.39393939393939387"),
    ],
)
def test_system_level_as_scipy(
    human: str, systems: str, wanted: str, file: File, capsys: Capture
) -> None:
    files = [file(column(human), "TS_edit.txt"), file(column(M2), "M2.txt")]
    assert main(["meta", "system", *files, "--systems", systems, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    values = [found["correlations"][name] for name in ("pearson", "spearman", "kendall")]
    assert values == pytest.approx([float(v) for v in wanted.split()], abs=1e-12)
    assert len(found["systems"]) == {"all": 15, "base": 12, "+INPUT": 13}.get(systems, 14)


def test_windows_as_scipy(file: File, capsys: Capture) -> None:
    files = [file(column(TRUESKILL), "TS_edit.txt"), file(column(M2), "M2.txt")]
    assert main(["meta", "system", *files, "--systems", "base", "--window", "4"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "metric\tsystems\tPearson\tSpearman\tKendall",
        "M2\tall 12\t0.7397\t0.7692\t0.6364",
        "M2\t1-4\t0.7387\t0.8000\t0.6667",
        "M2\t2-5\t0.2399\t0.4000\t0.3333",
        "M2\t3-6\t-0.5249\t-0.4000\t-0.3333",
        "M2\t4-7\t0.4302\t0.8000\t0.6667",
        "M2\t5-8\t0.2232\t0.6000\t0.3333",
        "M2\t6-9\t0.8184\t0.8000\t0.6667",
        "M2\t7-10\t-0.5587\t-0.4000\t-0.3333",
        "M2\t8-11\t0.1682\t0.0000\t0.0000",
        "M2\t9-12\t0.4310\t0.4000\t0.3333",
    ]
    assert err.startswith("meta_system|systems:base|order:higher|window:4|gec:")


def test_lower_is_better_turns_the_sign() -> None:
    human, metric = {"a": 1.0, "b": 2.0, "c": 4.0}, {"a": 5.0, "b": 4.0, "c": 3.0}
    assert meta_system(human, metric).correlations.kendall == -1
    assert meta_system(human, metric, lower=True).correlations.kendall == 1


def test_a_constant_window_has_no_correlation(file: File, capsys: Capture) -> None:
    human, metric = file("a 3\nb 2\nc 1\n", "h"), file("a 1\nb 1\nc 0\n", "m")
    assert main(["meta", "system", human, metric, "--window", "2"]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    assert rows == ["m\t1-2\t-\t-\t-", "m\t2-3\t1.0000\t1.0000\t1.0000"]


# ------------------------------------------------------------------------------- files of scores


def test_the_forms_of_system_scores(file: File) -> None:
    wanted = {"AMU": 0.628, "RAC": 0.566}
    metric = file("AMU 0.628 0.4147 0.2174\nRAC 0.566 0.1 0.2\n")
    ranking = file("AMU 0.628 (1, 1)\n++++++++++\nRAC 0.566 (2, 3)\n")
    table = file("0.628 1 AMU\n0.566 2-3 RAC\n")
    plain = file("0.628\n0.566\n")
    for name in (metric, ranking, table):
        assert read_system_scores(name) == wanted
    assert read_system_scores(plain, ["AMU", "RAC"]) == wanted
    assert list(read_system_scores(file(column(M2)))) == list(SEEDA_SYSTEMS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n2\n", "2 scores without names for 15 systems"),
        ("AMU 1\nAMU 2\n", "line 2: a second score for AMU"),
        ("AMU x\n", "line 1: not a number: 'x'"),
        ("AMU nan\n", "line 1: not a number: 'nan'"),
        ("AMU\n", "line 1: not a number: 'AMU'"),
        ("1 2\n", "line 1: expected a system and its score"),
        ("\n", "no scores"),
    ],
)
def test_malformed_system_scores(text: str, message: str, file: File) -> None:
    with pytest.raises(DataError, match=message):
        read_system_scores(file(text, "scores"))


def test_systems_that_are_missing(file: File, capsys: Capture) -> None:
    human, metric = file("a 1\nb 2\n", "h"), file("a 1\n", "m.txt")
    assert main(["meta", "system", human, metric]) == 2
    assert capsys.readouterr().err == "gec: error: m has no score for b\n"
    assert main(["meta", "system", human, metric, "--systems", "a,x"]) == 2
    assert "no system 'x' here; there are a, b" in capsys.readouterr().err
    assert chosen(["b", "a"], "a, b") == ["b", "a"]


@pytest.mark.parametrize("window", [1, 3])
def test_windows_that_do_not_fit(window: int) -> None:
    with pytest.raises(ConfigError, match=f"must hold 2 to 2 systems, not {window}"):
        meta_system({"a": 1, "b": 2}, {"a": 1, "b": 2}, window=window)


# ----------------------------------------------------------------------------- sentences, rankings

XML = """\
<?xml version="1.0" encoding="UTF-8"?>
<appraise-results><error-correction-ranking-result>
<ranking-item id="1" src-id="12" user="annotator01">
  <translation rank="1" system="A"/>
  <translation rank="2" system="B C"/>
</ranking-item>
<ranking-item id="2" src-id="12" user="annotator02">
  <translation rank="2" system="A"/><translation rank="1" system="B"/>
</ranking-item>
<ranking-item id="3" src-id="30" user="annotator01">
  <translation rank="3" system="A"/><translation rank="3" system="B"/>
  <translation rank="1" system="C"/>
</ranking-item>
<ranking-item id="4" src-id="30" user="admin">
  <translation rank="1" system="A"/><translation rank="2" system="B"/>
</ranking-item>
</error-correction-ranking-result></appraise-results>
"""
SCORES = {"A": [0.9, 0.5], "B": [0.9, 0.4], "C": [0.1, 0.6]}


def test_judgments(file: File) -> None:
    found = read_judgments(file(XML, "judgments.xml"))
    assert found == [
        Judgment(12, {"A": 1, "B": 2, "C": 2}),
        Judgment(12, {"A": 2, "B": 1}),
        Judgment(30, {"A": 3, "B": 3, "C": 1}),
    ]


def test_expected_wins(file: File) -> None:
    """A beats B once of twice, A and C once each, C beats B in the only one: ties do not count."""
    wanted = {"A": (1 / 2 + 1 / 2) / 2, "B": (1 / 2 + 0) / 2, "C": (1 / 2 + 1) / 2}
    assert read_system_scores(file(XML, "judgments.xml")) == wanted
    assert expected_wins([Judgment(1, {"A": 1, "B": 1})]) == {}


@pytest.mark.parametrize(
    ("ties", "lower", "agree", "pairs"),
    [
        # pairs: 12: A>B (tie in the metric), A>C agrees; 12: B>A (tie); 30: C>A, C>B agree
        ("seeda", False, 4, 5),
        ("wrong", False, 3, 5),
        ("skip", False, 3, 3),
        ("seeda", True, 1, 5),
        ("skip", True, 0, 3),
    ],
)
def test_sentence_level(ties: str, lower: bool, agree: int, pairs: int, file: File) -> None:
    judgments = read_judgments(file(XML, "judgments.xml"))
    found = meta_sentence(judgments, SCORES, ties=ties, lower=lower)  # type: ignore[arg-type]
    assert (found.agree, found.pairs) == (agree, pairs)
    assert found.accuracy == agree / pairs
    assert found.kendall == pytest.approx((agree - (pairs - agree)) / pairs)


def test_scores_of_the_whole_test_set_and_of_the_judged_sentences(
    file: File, capsys: Capture
) -> None:
    judgments = file(XML, "judgments.xml")
    Path("subset").mkdir()
    for system, scores in SCORES.items():
        Path("subset", f"{system}.txt").write_text("".join(f"{v}\n" for v in scores))
    rows = ["\t".join("0" for _ in SCORES)] * 40
    rows[11], rows[29] = ("\t".join(str(SCORES[s][i]) for s in SCORES) for i in range(2))
    whole = file("\n".join(["\t".join(SCORES), *rows]) + "\n", "whole.tsv")
    assert main(["meta", "sentence", judgments, "subset"]) == 0
    assert capsys.readouterr().out == (
        "metric\taccuracy\tKendall\tagree\tpairs\nsubset\t0.8000\t0.6000\t4\t5\n"
    )
    assert main(["meta", "sentence", judgments, whole, "--first-id", "1", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["agree"], found["pairs"]) == (4, 5)
    assert "sentences:all from 1" in found["signature"]
    assert main(["meta", "sentence", judgments, whole]) == 0  # the sentences after them: ties
    assert capsys.readouterr().out.splitlines()[1].split("\t")[3:] == ["3", "5"]


def plain(
    judgments: list[Judgment], metric: dict[str, list[float]], at: dict[int, int]
) -> tuple[int, int]:
    """Agreements and disagreements as SEEDA's script counts them: two matrices of signs."""
    systems = sorted(metric)
    agree = disagree = 0
    for judgment in judgments:
        for i, j in itertools.product(range(len(systems)), repeat=2):
            a, b = systems[i], systems[j]
            if i >= j or a not in judgment.ranks or b not in judgment.ranks:
                continue
            if judgment.ranks[a] == judgment.ranks[b]:
                continue
            people = 1 if judgment.ranks[a] < judgment.ranks[b] else -1
            scores = metric[a][at[judgment.source]], metric[b][at[judgment.source]]
            machine = 1 if scores[0] > scores[1] else -1
            agree += people == machine
            disagree += people != machine
    return agree, disagree


@pytest.mark.parametrize("seed", range(5))
def test_as_two_matrices(seed: int) -> None:
    draw = random.Random(seed)
    systems = ["B", "a", "C-d", "T5", "Te"]
    judgments = [
        Judgment(
            draw.randrange(100, 108), {s: draw.randrange(1, 6) for s in draw.sample(systems, 4)}
        )
        for _ in range(40)
    ]
    sources = sorted({judgment.source for judgment in judgments})
    metric = {s: [draw.randrange(4) / 4 for _ in sources] for s in systems}
    agree, disagree = plain(judgments, metric, {source: i for i, source in enumerate(sources)})
    found = meta_sentence(judgments, metric)
    assert (found.agree, found.pairs - found.agree) == (agree, disagree)
    assert found.pairs > 100


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("ranking-item", "item"), "no <ranking-item>"),
        (('src-id="30"', 'src-id="x"'), "ranking-item 3 \\(id 3\\)"),
        (('rank="3"', ""), "ranking-item 3"),
        (("</appraise-results>", ""), "not XML"),
        (("<appraise", "<!DOCTYPE a [<!ENTITY x 'y'>]><appraise"), "XML entities"),
    ],
)
def test_malformed_judgments(change: tuple[str, str], message: str, file: File) -> None:
    with pytest.raises(DataError, match=message):
        read_judgments(file(XML.replace(*change), "judgments.xml"))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("A\tB\n1\t2\n1\n", "line 3: 1 columns, the head has 2"),
        ("A\tA\n1\t2\n", "line 1: the same system twice"),
        ("A\tB\n1\tx\n", "line 2: not a number: 'x'"),
        ("A\tB\n", "no scores"),
        ("", "no scores"),
    ],
)
def test_malformed_sentence_scores(table: str, message: str, file: File) -> None:
    with pytest.raises(DataError, match=message):
        read_sentence_scores(file(table, "table.tsv"))


def test_folders_of_unequal_files(tmp_path: Path) -> None:
    (tmp_path / "A.txt").write_text("1\n2\n")
    (tmp_path / "B.txt").write_text("1\n")
    with pytest.raises(DataError, match="1 scores of B, 2 of A"):
        read_sentence_scores(str(tmp_path))


def test_judged_sentences_without_scores(file: File, capsys: Capture) -> None:
    judgments, scores = file(XML, "j.xml"), file("A\tB\n" + "1\t2\n" * 20, "m.tsv")
    assert main(["meta", "sentence", judgments, scores]) == 2
    assert "m: 20 scores, but sentence 30 was judged" in capsys.readouterr().err


def test_nothing_to_compare() -> None:
    with pytest.raises(DataError, match="no pair of its systems is ranked differently"):
        meta_sentence([Judgment(0, {"A": 1, "B": 1})], {"A": [1.0], "B": [2.0]})
