"""PT-M2 and PT-ERRANT over a tiny random encoder, against a plain reference written from the paper.

The authors' program needs the weights of bert-base-uncased, which are on no package index, so its
own numbers are not here. What is compared instead: BERTScore with its equations token by token and
with the package bert-score 0.3.13; edit weights and scores with loops over edits, and with the
authors' weighing and summing over bert-score (data/metrics_expected/pretrained.json).
"""

from __future__ import annotations

import doctest
import json
import math
import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_encoder
from tiny_encoder import WORDS

from gec.cli import main
from gec.errors import ConfigError, InputError, ModelError
from gec.eval.metrics import m2, pretrained
from gec.eval.metrics.bertscore import BertScore
from gec.eval.metrics.errant import Annotation, Block, parse_blocks
from gec.eval.metrics.pretrained import (
    Level,
    PretrainedScore,
    measure_errant,
    measure_m2,
    pt_errant,
    pt_m2,
)
from gec.eval.metrics.system_edits import Change, corrected

transformers = pytest.importorskip("transformers")

RECORDED = Path(__file__).parent / "data" / "metrics_expected" / "pretrained.json"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_encoder.make(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def similarity(encoder: str) -> BertScore:
    return BertScore(encoder, 2)


def recorded() -> Any:
    return json.loads(RECORDED.read_text(encoding="utf-8"))


# ----------------------------------------------------------------------------- the plain reference


def plain_bertscore(encoder: str, candidate: str, reference: str, layer: int) -> float:
    """BERTScore's F by its equations; [CLS] and [SEP] are taken, but do not take."""
    import torch

    tokenizer = transformers.BertTokenizerFast.from_pretrained(encoder)
    model = transformers.BertModel.from_pretrained(encoder).eval()
    vectors = []
    for text in (candidate, reference):
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        with torch.no_grad():
            states = model(ids, output_hidden_states=True).hidden_states[layer][0].double()
        vectors.append([state / state.norm() for state in states])

    def mean(ours: list[Any], theirs: list[Any]) -> float:
        inner = ours[1:-1]
        return sum(max(float(x @ y) for y in theirs) for x in inner) / len(inner)

    precision, recall = mean(*vectors), mean(*reversed(vectors))
    return 2 * precision * recall / (precision + recall)


Edits = Sequence[tuple[int, int, str]]


def remembered(similarity: BertScore) -> Callable[[str, str], float]:
    """Return the score of one pair at a time."""
    return cache(lambda candidate, reference: similarity([(candidate, reference)])[0])


def plain_apply(source: str, edits: Edits) -> str:
    tokens = source.split()
    for start, end, words in sorted(edits, reverse=True):
        tokens[start:end] = words.split()
    return " ".join(tokens)


def plain_weighted(
    sources: Sequence[str],
    systems: Sequence[Sequence[Edits]],
    annotators: Sequence[Sequence[Edits]],
    score: Callable[[str, str], float],
    *,
    by_sentence: bool,
) -> tuple[float, float, float]:
    """P, R and F at beta 0.5, with lists and loops.

    ``systems`` has a sentence's edits as found beside each annotator's.
    """

    def prf(c: float, p: float, g: float) -> tuple[float, float, float]:
        precision, recall = c / p if p else 1.0, c / g if g else 1.0
        below = 0.25 * precision + recall
        return precision, recall, 1.25 * precision * recall / below if below else 0.0

    total = [0.0, 0.0, 0.0]
    each = []
    for source, made, golds in zip(sources, systems, annotators, strict=True):
        options = []
        for system, gold in zip(made, golds, strict=True):
            reference = plain_apply(source, gold)
            weights = {
                edit: abs(score(plain_apply(source, [edit]), reference) - score(source, reference))
                for edit in [*system, *gold]
            }
            if by_sentence and sum(weights.values()) == 0:
                weights = {edit: 1.0 / len(weights) for edit in weights}
            correct = sum(weights[edit] for edit in system if edit in gold)
            options.append(
                (correct, sum(weights[e] for e in system), sum(weights[e] for e in gold))
            )
        before = [0.0, 0.0, 0.0] if by_sentence else total

        def key(option: tuple[float, float, float]) -> tuple[float, float, float]:
            c, p, g = (a + b for a, b in zip(before, option, strict=True))  # noqa: B023
            return prf(c, p, g)[2], c, -(p + 0.25 * g)

        best = max(options, key=key)
        total = [a + b for a, b in zip(total, best, strict=True)]
        each.append(prf(*best))
    if by_sentence:
        return tuple(sum(column) / len(each) for column in zip(*each, strict=True))  # type: ignore[return-value]
    return prf(*total)


# --------------------------------------------------------------------------------------- BERTScore


def test_bertscore_is_its_equations(encoder: str) -> None:
    rng = random.Random(1)
    pairs = [
        (" ".join(rng.choices(WORDS, k=rng.randint(1, 9))), " ".join(rng.choices(WORDS, k=5)))
        for _ in range(40)
    ]
    for layer in (1, 3):
        expected = [plain_bertscore(encoder, *pair, layer) for pair in pairs]
        assert BertScore(encoder, layer)(pairs) == pytest.approx(expected, abs=1e-6)
    assert len({round(value, 6) for value in expected}) == 40


def test_bertscore_is_the_packages(encoder: str) -> None:
    found = recorded()
    pairs = [(candidate, reference) for candidate, reference, _ in found["pairs"]]
    scores = BertScore(encoder, found["layer"])(pairs)
    assert scores == pytest.approx([score for *_, score in found["pairs"]], abs=1e-6)


def test_a_sentence_is_as_similar_as_can_be_to_itself(similarity: BertScore) -> None:
    (same, other, empty) = similarity([("he go .", "he go ."), ("he go .", "a mat"), ("", "a")])
    assert same == pytest.approx(1, abs=1e-6)
    assert other < 0.999
    assert empty == 0


def test_long_sentences_are_cut(similarity: BertScore) -> None:
    """The network reads 24 tokens, two of them its own."""
    head = " ".join(["cat"] * 22)
    assert similarity([(f"{head} mat", head)]) == similarity([(head, head)])


def test_the_layer(encoder: str) -> None:
    assert BertScore(encoder).layer == 3
    assert BertScore(encoder).settings == {"encoder": Path(encoder).name, "layer": 3}
    with pytest.raises(ConfigError, match="has layers 1 to 3, no layer 4"):
        BertScore(encoder, 4)


def test_no_encoder(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no encoder at 'nowhere'"):
        BertScore("nowhere")
    with pytest.raises(ModelError, match=rf"^{re.escape(str(tmp_path))} cannot be read: "):
        BertScore(str(tmp_path))


# ------------------------------------------------------------------------------ PT-M2 and PT-ERRANT


def random_edits(rng: random.Random, tokens: Sequence[str]) -> list[tuple[int, int, str]]:
    """Replace, delete and insert words, never two edits at one place or side by side."""
    found = []
    at = rng.randint(0, 2)
    while at < len(tokens):
        kind = rng.random()
        if kind < 0.6:
            word = rng.choice([w for w in WORDS if w != tokens[at]])
            found.append((at, at + 1, word))
        elif kind < 0.8:
            found.append((at, at + 1, ""))
        else:
            found.append((at, at, rng.choice(["very", "big , big", "she"])))
        at += rng.randint(3, 6)
    return found


def corpus(seed: int, count: int, *, annotators: int) -> tuple[list[str], list[Any], list[Any]]:
    """Return sources, systems' edits, and those of annotators; about half are shared."""
    rng = random.Random(seed)
    sources, systems, golds = [], [], []
    for _ in range(count):
        tokens = rng.choices(WORDS[:17], k=rng.randint(4, 16))
        system = random_edits(rng, tokens)
        gold = []
        for _ in range(annotators):
            kept = [edit for edit in system if rng.random() < 0.6]
            gold.append(kept if rng.random() < 0.7 else random_edits(rng, tokens))
        sources.append(" ".join(tokens))
        systems.append(system)
        golds.append(gold)
    return sources, systems, golds


def blocks_of(sources: Sequence[str], coders: Sequence[Sequence[Edits]]) -> list[Block]:
    return [
        Block(
            source,
            tuple(
                Annotation(start, end, "R:OTHER", words, coder)
                for coder, edits in enumerate(made)
                for start, end, words in edits or [(-1, -1, "-NONE-")]
            ),
        )
        for source, made in zip(sources, coders, strict=True)
    ]


def as_noop(blocks: Sequence[Block]) -> list[Block]:
    return [
        Block(
            block.sentence,
            tuple(a._replace(type="noop") if a.start < 0 else a for a in block.annotations),
        )
        for block in blocks
    ]


@pytest.mark.parametrize("annotators", [1, 3])
@pytest.mark.parametrize("level", ["corpus", "sentence"])
def test_pt_errant_is_the_plain_reference(
    similarity: BertScore, level: Level, annotators: int
) -> None:
    sources, systems, golds = corpus(annotators, 40, annotators=annotators)
    expected = plain_weighted(
        sources, [[edits] * annotators for edits in systems], golds, remembered(similarity),
        by_sentence=level == "sentence",
    )  # fmt: skip
    score = pt_errant(
        as_noop(blocks_of(sources, [[edits] for edits in systems])),
        as_noop(blocks_of(sources, golds)),
        similarity,
        level=level,
    )
    assert (score.precision, score.recall, score.f) == pytest.approx(expected, abs=1e-5)
    assert 0.2 < score.f < 0.95
    if annotators > 1:
        assert len(set(score.chosen_annotators)) > 1


@pytest.mark.parametrize("level", ["corpus", "sentence"])
def test_pt_m2_is_the_plain_reference(similarity: BertScore, level: Level) -> None:
    """M2 finds the edits, which may be others than were made, and others for each annotator."""
    sources, systems, golds = corpus(9, 40, annotators=2)
    gold = [
        m2.GoldSentence(
            source,
            {
                coder: tuple(
                    m2.GoldEdit(start, end, " ".join(source.split()[start:end]), (words,))
                    for start, end, words in edits
                )
                for coder, edits in enumerate(made)
            },
        )
        for source, made in zip(sources, golds, strict=True)
    ]
    hypotheses = [plain_apply(*pair) for pair in zip(sources, systems, strict=True)]
    found = []
    for hypothesis, sentence in zip(hypotheses, gold, strict=True):
        matches = m2.match_sentence(hypothesis, sentence, version="2016")
        assert [match.annotator for match in matches] == [0, 1]
        found.append([[(e.start, e.end, e.correction) for e in m.proposed] for m in matches])
    expected = plain_weighted(
        sources, found, golds, remembered(similarity),
        by_sentence=level == "sentence",
    )  # fmt: skip
    score = pt_m2(hypotheses, gold, similarity, level=level)
    assert (score.precision, score.recall, score.f) == pytest.approx(expected, abs=1e-5)
    assert 0.2 < score.f < 0.95


@pytest.mark.parametrize("number", range(12))
def test_as_the_authors_weigh(number: int, similarity: BertScore, file: Callable[..., str]) -> None:
    """Single precision leaves five digits of differences of scores."""
    case = recorded()["cases"][number]
    system, reference = (parse_blocks(case[side], side) for side in ("system", "reference"))
    gold = m2.read_gold(file(case["reference"]))
    for how, wanted in case["expected"].items():
        base, level = how.split()
        if base == "pt-m2":
            score = pt_m2(case["hypotheses"], gold, similarity, level=level)
        else:
            score = pt_errant(system, reference, similarity, level=level)
        assert score.f == pytest.approx(wanted, abs=2e-5), how


def same(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Words in common: what a similarity is like, without a network."""
    return [len({*a.split()} & {*b.split()}) / 10 for a, b in pairs]


def constant(pairs: Sequence[tuple[str, str]]) -> list[float]:
    return [0.5] * len(pairs)


GOLD = [
    m2.GoldSentence("he go home", {0: (m2.GoldEdit(1, 2, "go", ("goes",)),)}),
    m2.GoldSentence("she sat", {0: ()}),
]


def test_without_edits_a_sentence_is_right() -> None:
    untouched = pt_m2(["he go home", "she sat"], GOLD, same, level="sentence")
    assert untouched.sentences == (0, 1)
    assert (untouched.precision, untouched.recall, untouched.f) == (1, 0.5, 0.5)
    corpus_level = pt_m2(["he go home", "she sat"], GOLD, same)
    assert (corpus_level.precision, corpus_level.recall, corpus_level.f) == (1, 0, 0)


def test_edits_without_weight() -> None:
    """Of a sentence by itself they count alike; of a corpus they do not count."""
    outputs = ["he goes house", "she sat"]
    assert pt_m2(outputs, GOLD, constant, level="sentence").precision == pytest.approx(0.75)
    assert pt_m2(outputs, GOLD, constant).proposed == 0


def test_a_proposed_edit_may_be_an_annotators_second_correction() -> None:
    gold = [m2.GoldSentence("he go home", {0: (m2.GoldEdit(1, 2, "go", ("goes", "went")),)})]
    score = pt_m2(["he went home"], gold, same)
    # the reference is "he goes home", to which "went" adds nothing
    assert (score.correct, score.proposed, score.gold) == pytest.approx((0, 0, 0.1))


def test_corrections_that_are_none() -> None:
    edits = (Annotation(1, 2, "U:ADV", "-NONE-", 0), Annotation(0, 0, "UNK", "-NONE-", 0))
    block = Block("he very go", edits)
    score = pt_errant([block], [block], same)
    assert score.f == 1
    assert score.gold == pytest.approx(0)  # "he go" has no word more in common with itself
    assert corrected("a b c", [Change(0, 2, ("x",)), Change(1, 3, ("y",))]) == "x c"


def test_statistics_give_the_score() -> None:
    sources, systems, golds = corpus(4, 30, annotators=2)
    ours = as_noop(blocks_of(sources, [[edits] for edits in systems]))
    theirs = as_noop(blocks_of(sources, golds))
    levels: tuple[Level, ...] = ("corpus", "sentence")
    for level in levels:
        measured = measure_errant(ours, theirs, same, level=level)
        score = measured.score()
        expected = (score.precision, score.recall, score.f)
        assert tuple(measured.statistics.printed) == pytest.approx(expected)
        assert np.isfinite(
            measured.statistics.score(np.zeros(4 if level == "sentence" else 3))
        ).all()
        assert [measured.level, score.level] == [level] * 2


def test_what_is_refused() -> None:
    with pytest.raises(ConfigError, match="level must be one of corpus, sentence, not 'word'"):
        pt_m2(["he go home", "she sat"], GOLD, same, level="word")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="1 lines; gold: 2 sentences"):
        measure_m2(["he go home"], GOLD, same)


# ----------------------------------------------------------------------------------------- commands

M2 = """S he go home .
A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0

S the cat sat mat .
A 3 3|||M:PREP|||on|||REQUIRED|||-NONE-|||0
A 3 3|||M:PREP|||in|||REQUIRED|||-NONE-|||1
"""


def test_commands(encoder: str, file: Callable[..., str], capsys: Capture) -> None:
    hyp, other, gold = (
        file("he goes home .\nthe big cat sat in mat .\n"),
        file("he go home .\nthe cat sat mat .\n"),
        file(M2, "gold.m2"),
    )
    found: dict[str, PretrainedScore] = {}
    for base in ("m2", "errant"):
        for level in ("corpus", "sentence"):
            command = ["score", f"pt-{base}", hyp, gold, "--encoder", encoder, "--layer", "2"]
            assert main([*command, "--level", level, "--json"]) == 0
            score = json.loads(capsys.readouterr().out)
            assert score["chosen_annotators"] == [0, 1]
            assert score["recall"] == pytest.approx(1)
            assert 0.5 < score["f"] < 1
            assert score["signature"].startswith(f"pt-{base}|level:{level}|beta:0.5|")
            assert f"|encoder:{Path(encoder).name}|layer:2|gec:" in score["signature"]
            found[base + level] = score["f"]
    # both find the same three edits here
    assert found["m2corpus"] == pytest.approx(found["errantcorpus"])
    command = ["score", "pt-m2", hyp, gold, "--encoder", encoder, "--paired", other]
    assert main([*command, "--samples", "50"]) == 0
    out = capsys.readouterr().out
    assert re.match(
        r"Precision   : 0\.\d{4}\nRecall      : 1\.0000\nF_0\.5       : 0\.\d{4}\n", out
    )
    assert f"Difference from {other}" in out
    assert main(["score", "pt-m2", hyp, gold, "--encoder", "nowhere"]) == 2
    assert "no encoder at 'nowhere'" in capsys.readouterr().err


def test_the_weights_decide(encoder: str) -> None:
    """Two systems with as many right and wrong edits: M2 is the same, PT-M2 is not."""
    similarity = BertScore(encoder, 2)
    gold = [m2.GoldSentence("he go home a", {0: (m2.GoldEdit(1, 2, "go", ("goes",)),)})]
    first, second = (
        pt_m2([text], gold, similarity) for text in ("he goes home the", "she goes home a")
    )
    assert m2.score_m2(["he goes home the"], gold).f == m2.score_m2(["she goes home a"], gold).f
    assert not math.isclose(first.f, second.f, rel_tol=1e-3)


def test_the_example() -> None:
    assert doctest.testmod(pretrained).failed == 0
