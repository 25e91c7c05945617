"""A second network's opinion of edits."""

from __future__ import annotations

import json
import math
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import gec
from gec.correct.confidence import Calibration, Evidence
from gec.correct.corrector import Corrector
from gec.correct.opinion import Change, SecondOpinion
from gec.correct.options import Options
from gec.errors import ModelError
from gec.models.load import bundle

WORDS = "She go to school every days .".split()
CHANGES: list[Change] = [
    (1, 2, ["goes"]), (1, 2, ["went", "quickly"]), (5, 6, ["day"]), (2, 3, []), (7, 7, ["Yes"]),
    *((6, 6, ["again"] * n) for n in range(1, 9)),
]  # fmt: skip


@cache
def second() -> SecondOpinion:
    corrector = gec.load("en", device="cpu", precision="fp32")
    return SecondOpinion("en", corrector.model, corrector.subwords)


def likelihood(words: list[str], output: list[str]) -> float:
    """Return log p(output | words), token by token, each in a pass over all that stands before."""
    opinion = second()
    model, ids = opinion.model, opinion.subwords.encode(output)
    total = 0.0
    for place, token in enumerate([*ids, model.eos_id]):
        memory = model.start([opinion.subwords.encode(words)])
        scores = model.verify(memory, [[model.bos_id, *ids[:place]]], [0])
        [[row]] = scores.read(*scores.logprobs([[0] * place + [token]]))
        total += row[place]
    return total


def test_it_is_the_difference_of_two_likelihoods() -> None:
    found = second()(WORDS, CHANGES)
    unchanged = likelihood(WORDS, WORDS)
    for (start, end, new), nats in zip(CHANGES, found, strict=True):
        changed = likelihood(WORDS, [*WORDS[:start], *new, *WORDS[end:]])
        assert nats == pytest.approx(changed - unchanged, abs=1e-3)
    assert found[0] > 0 > found[1]


def test_others_beside_it_change_nothing() -> None:
    found = second()(WORDS, CHANGES)
    assert [second()(WORDS, [change])[0] for change in CHANGES] == found
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: second()(WORDS, CHANGES), range(8))) == [found] * 8


def test_of_no_change_and_of_too_long_a_sentence_it_says_nothing() -> None:
    assert second()(WORDS, []) == []
    longest = second().model.max_positions
    words = ["no"] * (longest - 1)
    assert second()(words, [(0, 1, ["on"])])[0] != 0
    assert second()([*words, "no"], [(0, 1, ["on"])]) == [0.0]
    assert second()(words, [(0, 1, ["on"]), (1, 1, ["on"])]) == [0.0, 0.0]  # the second is too long


def test_features() -> None:
    edit = Evidence(1, 2, ("goes",), "R:VERB:SVA", probability=0.8, following=0.9)
    assert "opinion" not in edit.features()
    features = replace(edit, opinion=2.5).features()
    assert (features["opinion"], features["opinion R"]) == (2.5, 2.5)
    assert replace(edit, opinion=-1e9).features()["opinion"] == -15.0


def test_it_decides_with_the_rest() -> None:
    text = "She go to school every days ."
    loaded = bundle.read("en")

    def correct(weight: float) -> gec.Correction:
        corrector = Corrector(
            gec.load("en", device="cpu").model,
            loaded.subwords,
            second=second(),
            calibration=Calibration(0.0, {"opinion": weight}),
            options=Options(min_confidence=0.5),
        )
        assert corrector.info()["second_opinion"] == "en"
        return next(corrector.correct_tokenized([text]))

    found = correct(1.0)
    [sentence] = found.sentences
    opinions = {evidence.replacement: evidence.opinion for evidence in sentence.evidence}
    assert opinions[("goes",)] == pytest.approx(second()(WORDS, [(1, 2, ["goes"])])[0])
    assert found.text == "She goes to school every day ."
    assert correct(-1.0).text == text
    [sure, *_] = found.edits
    assert sure.confidence == pytest.approx(1 / (1 + math.exp(-min(15, opinions[("goes",)]))))


def name_second(folder: Path, name: object) -> None:
    config = bundle.read_config(bundle.find("en")) | {"second_opinion": name}
    (folder / "config.json").write_text(json.dumps(config))


def test_a_bundle_names_it(tmp_path: Path) -> None:
    shutil.copytree(bundle.find("en"), tmp_path / "own")
    name_second(tmp_path / "own", "en")
    corrector = gec.load(str(tmp_path / "own"), device="cpu")
    assert corrector.info()["second_opinion"] == "en"
    [sentence] = corrector.correct(" ".join(WORDS)).sentences
    assert all(evidence.opinion for evidence in sentence.evidence)
    assert "second_opinion" not in gec.load("en", device="cpu").info()


@pytest.mark.parametrize("name", ["none", "../bundles/en", ".", "", 3, ["en"], "own"])
def test_only_a_shipped_bundle_is_asked(name: object, tmp_path: Path) -> None:
    name_second(tmp_path, name)
    with pytest.raises(ModelError, match="second_opinion"):
        gec.load(str(tmp_path), device="cpu")
