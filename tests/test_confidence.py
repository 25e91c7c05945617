"""Evidence and its calibration."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from gec.correct.assemble import _distance
from gec.correct.confidence import Calibration, Evidence
from gec.errors import ConfigError

EDIT = Evidence(1, 2, ("goes",), "R:VERB:SVA", probability=0.8, following=0.9)


def test_without_weights_it_is_the_least_probability() -> None:
    assert Calibration()(EDIT) == 0.8
    assert Calibration()(replace(EDIT, following=0.3)) == 0.3
    assert Calibration()(replace(EDIT, spelling=0.5)) == 0.4


def test_features() -> None:
    assert EDIT.features() == pytest.approx(
        {
            "R:VERB:SVA": 1.0,
            "probability": math.log(4),
            "probability R": math.log(4),
            "distance": 0.0,
            "following": math.log(9),
            "growth": 0.0,
            "size": math.log(3),
            "others": 0.0,
            "fluency R": 0.0,
        }
    )
    spelt = replace(EDIT, spelling=0.5, replacement=("a", "lot"), fluency=2.0).features()
    assert (spelt["spelling"], spelt["misspelt"]) == (0.0, 1.0)
    assert (spelt["growth"], spelt["fluency R"]) == (1.0, 2.0)
    assert replace(EDIT, others=1).features()["others"] == pytest.approx(math.log(2))
    assert replace(EDIT, type="U:DET", replacement=()).features()["growth"] == -1.0
    near = replace(EDIT, type="R:SPELL", distance=0.25).features()
    assert (near["distance"], near["distance R:SPELL"]) == (0.25, 0.25)
    assert "distance" not in replace(EDIT, type="M:DET", distance=0.25).features()
    # a clause taken away is not fifteen times what a word is
    clause = replace(EDIT, end=EDIT.start + 15, replacement=()).features()
    assert (clause["growth"], clause["size"]) == (-2.0, math.log(16))


def test_weights() -> None:
    calibration = Calibration(-1.0, {"probability": 0.5, "R:VERB:SVA": 0.25, "fluency M": 9.0})
    expected = -1 + 0.5 * math.log(4) + 0.25
    assert calibration(EDIT) == pytest.approx(1 / (1 + math.exp(-expected)))
    assert calibration(replace(EDIT, type="U:DET")) < calibration(EDIT)


@pytest.mark.parametrize("probability", [0.0, 1.0])
@pytest.mark.parametrize("fluency", [-1e9, 1e9])
def test_extremes_stay_probabilities(probability: float, fluency: float) -> None:
    calibration = Calibration(0.0, {"probability": 1e3, "fluency R": 1e3})
    extreme = replace(EDIT, probability=probability, fluency=fluency)
    assert 0 <= calibration(extreme) <= 1


@pytest.mark.parametrize("weights", [{"probability": math.nan}, {"growth": math.inf}])
def test_numbers_that_are_none(weights: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="finite"):
        Calibration(0.0, weights)


def test_evidence_knows_how_far_the_letters_are() -> None:
    assert _distance(["laggy"], ["large"]) == pytest.approx(2 / 5)
    assert _distance(["in", "to"], ["into"]) == pytest.approx(1 / 5)
    assert _distance([], ["the"]) == _distance(["the"], []) == _distance(["It"], ["it"]) == 0
