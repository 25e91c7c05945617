"""GLEU prints what its authors' script prints, under both Pythons.

The published rows for system outputs on JFLEG need those outputs, which are not ours to ship; what
they rest on is tested in parts: the counts (every expected case) and the drawing of references
under each Python, in full for a corpus of JFLEG's size.
"""

from __future__ import annotations

import hashlib
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gec.cli import main
from gec.errors import ConfigError, InputError
from gec.eval.metrics.gleu import count, draws, gleu, sentence_gleu
from gec.eval.metrics.score import ReferenceExit

EXPECTED = Path(__file__).parent / "data" / "gleu_expected"
CASES: list[dict[str, Any]] = json.loads((EXPECTED / "expected.json").read_text("utf-8"))["cases"]
Capture = pytest.CaptureFixture[str]
File = Callable[..., str]


def lines(name: str) -> list[str]:
    return (EXPECTED / name).read_text("utf-8").split("\n")[:-1]


def run(case: dict[str, Any], *more: str) -> int:
    files = ["-r", *case["refs"], "-s", case["src"], "--hyp", case["hyp"]]
    return main(["score", "gleu", *files, *case["options"], *more])


@pytest.fixture(autouse=True)
def _there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXPECTED)  # the script prints the file names it is given


def test_all_cases_are_there() -> None:
    assert len(CASES) == 20


@pytest.mark.parametrize(
    "case", CASES, ids=[" ".join([case["name"], *case["options"]]) for case in CASES]
)
def test_expected_case(case: dict[str, Any], capsys: Capture) -> None:
    status = run(case, "--sampling", "python3")
    out, err = capsys.readouterr()
    if "--iter" in case["options"]:  # the one difference: there it is a TypeError, here it works
        assert case["exit"] == 1
        assert status == 0
        number = float(out.split("'")[1])
        assert number == pytest.approx(_mean_of(10, case), abs=5e-7)
        return
    assert (status, out) == (case["exit"], case["stdout"])
    if case["name"] == "more_hyp":
        assert err == "gec: error: there are 5 hypotheses for 4 source sentences\n"
    elif case["name"] == "fewer_hyp":
        assert err.startswith(
            "gec: warning: cases/fewer_hyp.hyp has 2 lines, cases/fewer_hyp.src has 4: "
            "only the first 2 sentences are scored\n"
        )
    else:
        assert err.startswith("gleu|")
        assert err.count("\n") == 1


def _mean_of(iterations: int, case: dict[str, Any]) -> float:
    """The mean over reference sets put together with this Python's own randint."""
    sources, hypotheses = lines(case["src"]), lines(case["hyp"])
    sets = [lines(name) for name in case["refs"]]
    scores = []
    for iteration in range(iterations):
        random.seed(iteration * 101)
        chosen = [sets[random.randint(0, len(sets) - 1)][i] for i in range(len(sources))]
        scores.append(gleu(sources, hypotheses, [chosen]).estimates[0].mean)
    return statistics.fmean(scores)


# What the same script prints under Python 2.7.18.
PYTHON2 = {
    "basic2": "[['0.363089', '0.148768', '(0.072,0.655)']]",
    "unchanged": "[['0.000000', '0.000000', '(nan,nan)']]",
    "perfect": "[['0.701084', '0.177590', '(0.353,1.049)']]",
    "empty_hyp_line": "[['0.162210', '0.162339', '(-0.156,0.480)']]",
    "long_hyp": "[['0.257065', '0.101910', '(0.057,0.457)']]",
    "fewer_hyp": "[['0.368679', '0.055199', '(0.260,0.477)']]",
}


@pytest.mark.parametrize("name", PYTHON2)
def test_default_sampling_is_that_of_python2(name: str) -> None:
    references = [lines(f"cases/{name}.ref{i}") for i in range(2)]
    sources, hypotheses = lines(f"cases/{name}.src"), lines(f"cases/{name}.hyp")
    score = gleu(sources, hypotheses, references, allow_fewer=name == "fewer_hyp")
    assert str(score) == PYTHON2[name]
    assert score.signature.startswith("gleu|references:2|n:4|iterations:500|sampling:python2|gec:")


def test_python2_draws() -> None:
    """random.seed(iteration * 101) and randint(0, n - 1), run under Python 2.7.18."""
    fives = list(draws(5, 16, 500, "python2"))
    assert fives[0] == [4, 3, 2, 1, 2, 2, 3, 1, 2, 2, 4, 2, 1, 3, 3, 1]
    assert fives[1] == [2, 0, 4, 4, 2, 3, 1, 1, 1, 3, 1, 4, 0, 0, 0, 3]
    assert fives[499] == [0, 1, 0, 2, 1, 2, 0, 2, 0, 4, 0, 4, 3, 2, 3, 4]
    threes = list(draws(3, 16, 2, "python2"))
    assert threes[1] == [1, 0, 2, 2, 1, 1, 0, 0, 0, 2, 0, 2, 0, 0, 0, 2]
    assert _digest("python2") == "f52134266f886e837e9f906a39e7c2e1"


def test_python3_draws() -> None:
    """The same under Python 3.10.13, and under this one."""
    assert _digest("python3") == "0bebe67b8c3fe52f24550eeccf195996"
    for n in (1, 2, 3, 4, 5, 8, 9):
        for iteration, drawn in enumerate(draws(n, 50, 20, "python3")):
            random.seed(iteration * 101)
            assert drawn == [random.randint(0, n - 1) for _ in range(50)]


def _digest(sampling: str) -> str:
    """Of all draws for a corpus of JFLEG's size."""
    text = "".join(str(i) for drawn in draws(4, 754, 500, sampling) for i in drawn)
    return hashlib.md5(text.encode()).hexdigest()


def test_counts_of_one_sentence() -> None:
    """Shared with the reference less shared with the source alone; both as multisets."""
    counts = count(["x x y z"], ["x x x a y"], [["a y", "b"][:1]], order=2)
    # unigrams: a, y count for; x is in the source twice and not in the reference: 2 against
    # bigrams: "a y" for; "x x" once against
    assert counts.tolist() == [[[5, 2, 0, 5, 0, 4]]]
    assert count(["x y"], ["a y x"], [["a y"]], order=2).tolist() == [[[3, 2, 1, 3, 1, 2]]]


def test_value_by_hand() -> None:
    """Two of three words, no 4-gram: the sum of logarithms is divided by 4 whatever the order."""
    one = gleu(["b"], ["a a c"], [["a a d d"]], order=1)
    assert one.estimates[0].mean == pytest.approx(
        2.718281828459045 ** (1 - 4 / 3) * (2 / 3) ** 0.25
    )
    assert gleu(["b"], ["a a c"], [["a a d d"]]).estimates[0].mean == 0


def test_several_hypotheses_and_both_ways_to_name_them(capsys: Capture) -> None:
    case = CASES[0]
    files = ["--ref", *case["refs"], "--src", case["src"], "--hyp", "cases/perfect.hyp"]
    status = main(["score", "gleu", case["hyp"], *files, "--sampling", "python3"])
    out = capsys.readouterr().out.splitlines()
    assert status == 0
    assert out[0::2] == [case["hyp"], "cases/perfect.hyp"]
    assert out[1] == case["stdout"].splitlines()[1]
    assert out[3].startswith("[['0.69")


def test_json(capsys: Capture) -> None:
    assert run(CASES[4], "--json") == 0
    out, err = capsys.readouterr()
    score = json.loads(out)
    assert err == "cases/basic2.hyp\n"
    assert [f"{row['mean']:f}" for row in score["estimates"]] == [
        "0.511508",
        "0.394479",
        "0.378470",
        "0.615550",
    ]
    assert score["estimates"][0]["interval"] is None
    assert "|n:4|level:sentence|" in score["signature"]


def test_json_of_several_is_one_list(capsys: Capture) -> None:
    case = CASES[0]
    files = ["-s", case["src"], "-r", *case["refs"], "--hyp", case["hyp"], "cases/perfect.hyp"]
    assert main(["score", "gleu", *files, "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert first["signature"] == second["signature"]
    assert first["estimates"] != second["estimates"]


def test_fewer_hypotheses_that_look_shifted(file: File, capsys: Capture) -> None:
    texts = ["He went home .", "Many cats sleep all day .", "It rains today .", "We eat bread ."]
    source = file("".join(f"{text}\n" for text in texts))
    hypothesis = file("".join(f"{text}\n" for text in texts[:1] + texts[2:]))
    assert main(["score", "gleu", hypothesis, "-s", source, "-r", source]) == 0
    assert "sentences are scored; they look shifted from line 2 on" in capsys.readouterr().err


def test_functions_score_fewer_hypotheses_only_when_told() -> None:
    for score in (gleu, sentence_gleu):
        with pytest.raises(InputError, match="hypotheses has 1 lines, sources has 2"):
            score(["a", "b"], ["a"], [["a", "b"]])
        assert len(score(["a", "b"], ["a"], [["a", "b"]], allow_fewer=True).estimates) == 1


def test_fast_on_a_corpus_of_jflegs_size() -> None:
    rng = random.Random(0)
    corpus = [[" ".join(rng.choices("abcdefgh", k=19)) for _ in range(754)] for _ in range(6)]
    start = time.process_time()
    score = gleu(corpus[0], corpus[1], corpus[2:])
    assert time.process_time() - start < 5
    assert 0 < score.estimates[0].mean < 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iterations": 0}, "iterations must be at least 1"),
        ({"sampling": "python4"}, "sampling must be one of python2, python3, not 'python4'"),
        ({"order": 0}, "order must be at least 1"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        gleu(["a"], ["a"], [["a"]], **options)


def test_wrong_lists() -> None:
    with pytest.raises(InputError, match="reference 1 has 2 lines, sources has 1"):
        gleu(["a"], ["a"], [["a"], ["a", "b"]])
    with pytest.raises(InputError, match="at least one reference"):
        sentence_gleu(["a"], ["a"], [])
    with pytest.raises(ReferenceExit, match="2 hypotheses for 1 source"):
        sentence_gleu(["a"], ["a", "b"], [["a"]])
    with pytest.raises(ConfigError, match="reference 0: a list of sentences is needed"):
        gleu(["a"], ["a"], "b")


def test_wrong_files(file: File, capsys: Capture) -> None:
    one, two, latin = file("a\n"), file("a\nb\n"), file(b"caf\xe9\n")
    empty = file("")

    def error(*arguments: str) -> str:
        assert main(["score", "gleu", *arguments]) == 2
        return capsys.readouterr().err

    assert f"{two} has 2 lines, {one} has 1" in error("-s", one, "-r", two, "--hyp", one)
    assert f"{latin}: not UTF-8 at byte 3, line 1" in error("-s", one, "-r", one, "--hyp", latin)
    assert "the hypothesis is empty" in error("-s", one, "-r", one, "--hyp", empty)
    assert "no hypothesis: name one before -r" in error("-s", one, "-r", one)
    assert "no such file" in error("-s", one, "-r", one, "--hyp", "nowhere")
    assert "can be read only once" in error("-s", "-", "-r", one, "--hyp", "-")
    assert f"{one} has 1 lines, {two} has 2" in error("-s", two, "-r", one, one, "--hyp", two)
