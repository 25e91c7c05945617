"""Recipes with an early exit, smaller models and their alignment, from corpora to a bundle."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny_generation import RECIPE, write_corpora

from gec.decoding.strategies import make_decoder
from gec.errors import ConfigError
from gec.models import generation
from gec.models.training.early_exit import EarlyExit
from gec.models.training.generation import Run
from gec.models.training.parallel import load_generation_recipe, packed_pairs

TINY = (
    (
        RECIPE.partition("[budget]")[0]
        .replace("DRAFTER", "")
        .replace("decoder_layers = 1", "decoder_layers = 2")
        .replace('target_language = "de"', 'target_language = "de"\nearly_exit = 1')
        .replace("beam_size = 2", "beam_size = 2\ncalibration = 30")
    )
    + """
[small.tiny]
decoder_layers = 1
width = 16
ffn_width = 16

[budget]
verifier = "2s"
small = "1s"
align = "1s"
"""
)


def write(folder: Path, text: str) -> Path:
    path = folder / "toy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_from_corpora_to_a_bundle(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    recipe = load_generation_recipe(write(tmp_path, TINY))
    run = Run(recipe, tmp_path / "run", tmp_path, workers=0)
    assert run.stages() == ["prepare", "verifier", "small", "align"]
    for stage in run.stages():
        run.run(stage)
    bundle = generation.load(str(tmp_path / "run" / "bundle"))
    assert bundle.config["early_exit"] == 1
    assert bundle.smaller["tiny"].config.width == 16
    calibration = packed_pairs(tmp_path / "run" / "calibration.tsv")
    assert len(calibration) == 30
    parts = bundle.parts()
    sources = [bundle.vocabulary.encode(source) for source, _ in calibration[:4]]
    plain = [h.tokens for [h] in make_decoder(parts, "greedy").decode(sources)]
    for name, options in (("speculative", {"gamma": 3}), ("early-exit", {})):
        found = make_decoder(parts, name, options).decode(sources)
        assert [h.tokens for [h] in found] == plain
    # what it is aligned with is what the verifier says
    assert [bundle.vocabulary.decode(tokens) for tokens in plain] == [
        target for _, target in calibration[:4]
    ]
    before = run._small_network("tiny", "small").state_dict()
    after = bundle.smaller["tiny"].state_dict()
    assert any(not torch.allclose(before[name], after[name], atol=1e-3) for name in before)
    objective = run._seq2seq("verifier", run._dev, None)
    assert isinstance(objective, EarlyExit)
    scores = objective.measure(torch.device("cpu"))
    assert set(scores) == {"dev_loss", "dev_accuracy", "exit_accuracy", "agreement"}
    assert 0 <= scores["agreement"] <= 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("early_exit = 1", "early_exit = 2", "early_exit must be a decoder layer from 1 to 1"),
        ("early_exit = 1", 'early_exit = "1"', "early_exit must be a decoder layer"),
        ('small = "1s"\n', "", "need each other"),
        ("[small.tiny]\n", "[small]\n", r"\[small.decoder_layers\] must be a table"),
        ("[small.tiny]\n", "[drafter.network]\n", "need each other"),
        ('small = "1s"', 'small = "soon"', "not a duration"),
    ],
)
def test_recipes_that_do_not_fit(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in TINY
    with pytest.raises(ConfigError, match=message):
        load_generation_recipe(write(tmp_path, TINY.replace(old, new)))


def test_settings_of_a_small_model_that_do_not_exist(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    text = TINY.replace("width = 16\nffn", "depth = 16\nffn")
    run = Run(load_generation_recipe(write(tmp_path, text)), tmp_path / "run", tmp_path)
    run.run("prepare")
    with pytest.raises(ConfigError, match=r"\[small.tiny\]: unknown architecture settings: depth"):
        run.run("small")
