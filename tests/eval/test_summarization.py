"""ROUGE is rouge-score's: the best reference of each type, means over the summaries."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.scoring import BootstrapAggregator

from gec.cli import main
from gec.errors import ConfigError, InputError
from gec.eval.metrics.summarization import TYPES, rouge

Capture = pytest.CaptureFixture[str]
File = Callable[..., str]

HYPOTHESES = ["the cats sat on a mat", "It rained. He went home.", "", "models translate text"]
FIRST = ["the cat sat down", "He went home. It rained all day.", "something", "a model translates"]
SECOND = ["a mat and the cats", "It rained.", "", "translating text with models"]


def text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def test_by_hand() -> None:
    """Two of three words, two of five; the longest common subsequence is "the cat"."""
    values = rouge(["the cat sat"], [["the cat ate the mouse"]], stemmer=False).values
    assert (values["rouge1-P"], values["rouge1-R"]) == (2 / 3, 2 / 5)
    assert values["rouge1-F"] == pytest.approx(0.5)
    assert (values["rouge2-P"], values["rouge2-R"]) == (1 / 2, 1 / 4)
    assert (values["rougeL-P"], values["rougeL-R"]) == (2 / 3, 2 / 5)


@pytest.mark.parametrize("stemmer", [True, False])
def test_is_rouge_scores(stemmer: bool) -> None:
    scorer = RougeScorer(list(TYPES), use_stemmer=stemmer)
    rows = [
        scorer.score_multi(targets, summary)
        for summary, *targets in zip(HYPOTHESES, FIRST, SECOND, strict=True)
    ]
    score = rouge(HYPOTHESES, [FIRST, SECOND], stemmer=stemmer)
    for kind in TYPES:
        for letter, measure in {"P": "precision", "R": "recall", "F": "fmeasure"}.items():
            mean = sum(getattr(row[kind], measure) for row in rows) / len(rows)
            assert score.values[f"{kind}-{letter}"] == pytest.approx(mean)
    stems = "porter" if stemmer else "none"
    assert score.signature.startswith(
        f"rouge|references:2|tokenizer:default|stemmer:{stems}|separator:newline"
        f"|rouge_score:{version('rouge-score')}|gec:"
    )


def test_stemmer_and_best_reference() -> None:
    assert rouge(["walking"], [["walked"]]).values["rouge1-F"] == 1
    assert rouge(["walking"], [["walked"]], stemmer=False).values["rouge1-F"] == 0
    assert rouge(["walking"], [["nothing"], ["walked"]]).values["rouge1-F"] == 1


def test_separator_of_sentences() -> None:
    """Sentences in another order: as one sequence half of it is common, by sentence all of it."""
    one, other = "a b <n> c d", "c d <n> a b"
    values = rouge([one], [[other]], separator="<n>").values
    assert (values["rougeL-F"], values["rougeLsum-F"]) == (0.5, 1)
    lines = rouge([one.replace("<n>", "\n")], [[other.replace("<n>", "\n")]]).values
    assert lines == values
    unseparated = rouge([one], [[other]]).values
    assert unseparated["rougeLsum-F"] == unseparated["rougeL-F"] < 1


def test_bootstrap_agrees_with_rouge_scores() -> None:
    rng = np.random.default_rng(0)
    hypotheses = [" ".join(rng.choice(list("abcdef"), 6)) for _ in range(60)]
    references = [" ".join(rng.choice(list("abcdef"), 6)) for _ in range(60)]
    score = rouge(hypotheses, [references], samples=2000)
    scorer, aggregator = RougeScorer(list(TYPES), use_stemmer=True), BootstrapAggregator()
    for pair in zip(references, hypotheses, strict=True):
        aggregator.add_scores(scorer.score(*pair))
    np.random.seed(0)
    theirs = aggregator.aggregate()["rouge1"]
    low, high = score.intervals["rouge1-F"]
    assert low < score.values["rouge1-F"] < high
    assert (low, high) == pytest.approx((theirs.low.fmeasure, theirs.high.fmeasure), abs=0.01)


def test_bootstrap_is_seeded() -> None:
    def intervals(seed: int) -> dict[str, tuple[float, float]]:
        return rouge(HYPOTHESES, [FIRST], samples=30, seed=seed).intervals

    assert intervals(1) == intervals(1) != intervals(2)
    assert set(rouge(["a b c"], [["a b"]], samples=5).intervals["rouge1-R"]) == {1.0}


def test_empty_lines_and_other_scripts_score_nothing() -> None:
    assert set(rouge([""], [["a"]]).values.values()) == {0.0}
    assert set(rouge(["привет"], [["привет"]]).values.values()) == {0.0}


def test_command(file: File, capsys: Capture) -> None:
    names = [file(text(lines)) for lines in (HYPOTHESES, FIRST, SECOND)]
    assert main(["score", "rouge", *names]) == 0
    out, err = capsys.readouterr()
    score = rouge(HYPOTHESES, [FIRST, SECOND])
    assert out.splitlines()[:3] == [
        "score_type,mid",
        f"rouge1-R,{score.values['rouge1-R']:f}",
        f"rouge1-P,{score.values['rouge1-P']:f}",
    ]
    assert len(out.splitlines()) == 13
    assert err == f"{score.signature}\n"


def test_options_of_the_command(file: File, capsys: Capture) -> None:
    names = [file(text(lines)) for lines in (HYPOTHESES, FIRST)]
    options = ["--no-stemmer", "--separator", ". ", "--samples", "10", "--seed", "7"]
    score = rouge(HYPOTHESES, [FIRST], stemmer=False, separator=". ", samples=10, seed=7)
    assert main(["score", "rouge", *names, *options]) == 0
    out, err = capsys.readouterr()
    low, high = score.intervals["rouge1-R"]
    assert out.splitlines()[0] == "score_type,low,mid,high"
    assert out.splitlines()[1] == f"rouge1-R,{low:f},{score.values['rouge1-R']:f},{high:f}"
    assert "|stemmer:none|separator:'. '|samples:10|seed:7|" in err
    assert main(["score", "rouge", *names, *options, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["values"], printed["signature"]) == (score.values, score.signature)
    assert printed["intervals"]["rouge1-R"] == [low, high]


def test_wrong_arguments() -> None:
    for samples in (-1, 1):
        with pytest.raises(ConfigError, match=f"--samples must be 0 or at least 2, not {samples}"):
            rouge(["a"], [["a"]], samples=samples)
    with pytest.raises(ConfigError, match="reference 0: a list of sentences is needed"):
        rouge(["a"], ["a"])
    with pytest.raises(ConfigError, match="separator of sentences must not be empty"):
        rouge(["a"], [["a"]], separator="")
    with pytest.raises(InputError, match="nothing to score"):
        rouge([], [[]])
    with pytest.raises(InputError, match="reference 0 has 1 lines, hypotheses has 2"):
        rouge(["a", "b"], [["a"]])


def test_wrong_files(file: File, capsys: Capture) -> None:
    hypothesis, shorter, latin = file("a\nb\n"), file("a\n"), file(b"caf\xe9\n")
    assert main(["score", "rouge", hypothesis, shorter]) == 2
    assert f"{shorter} has 1 lines, {hypothesis} has 2" in capsys.readouterr().err
    assert main(["score", "rouge", hypothesis, latin]) == 2
    assert f"{latin}: not UTF-8 at byte 3, line 1" in capsys.readouterr().err
