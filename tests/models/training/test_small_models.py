"""Recipes with an early exit, smaller models and their alignment, from corpora to a bundle."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny_generation import RECIPE, write_corpora

from gec.decoding.decoder import LengthLimit
from gec.decoding.strategies import make_decoder
from gec.errors import ConfigError, ModelError
from gec.models.load import bundle as correctors
from gec.models.load import generation
from gec.models.network.transformer import Transformer, TransformerConfig
from gec.models.training.exits import EarlyExit
from gec.models.training.generation_recipe import load_generation_recipe
from gec.models.training.parallel_corpora import packed_pairs
from gec.models.training.stages import Run
from gec.text.subwords import Subwords
from gec.text.vocabulary import CorrectorVocabulary

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
    text = TINY.replace("early_exit = 1", "early_exit = 1\nlimit = { ratio = 0.5, extra = 7 }")
    recipe = load_generation_recipe(write(tmp_path, text))
    run = Run(recipe, tmp_path / "run", tmp_path, workers=0)
    assert run.stages() == ["prepare", "verifier", "small", "align"]
    for stage in run.stages():
        run.run(stage)
    bundle = generation.load(str(tmp_path / "run" / "bundle"))
    assert bundle.config["early_exit"] == 1
    assert bundle.limit == LengthLimit(0.5, 7)
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
        ("early_exit = 1", "limit = { extra = 0 }", "limit: a length limit needs"),
        ("early_exit = 1", "limit = { most = 9 }", "limit: .*most"),
        ("calibration = 30", "sources = 0", "sources must be 1 or more, not 0"),
        ("calibration = 30", "sources = -1", "sources must be 1 or more, not -1"),
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


# ------------------------------------------------------------------------ beginning as a corrector


def started(text: str = TINY) -> str:
    """Return a recipe without vocabulary and network of its own."""
    before, rest = text.split("[network]")
    _, after = rest.split("[", 1)
    return 'start = "corrector"\n' + before.replace("vocabulary = 320\n", "") + "[" + after


def corrector(folder: Path, name: str = "corrector", **config: str) -> None:
    """Write a corrector with the shipped vocabulary and a tiny network."""
    subwords = Subwords.load(correctors.find("en"))
    sizes = {"width": 16, "ffn_width": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 2}
    torch.manual_seed(1)
    network = Transformer(
        TransformerConfig.from_dict({"vocab_size": len(subwords), "max_positions": 64, **sizes})
    )
    about = {"name": "corrector", "task": "gec", "network": network.config.to_dict(), **config}
    made = correctors.Bundle("corrector", about, network, subwords)
    correctors.save(made, folder / name, dtype=torch.float32)


# which of two tiny networks is faster is chance
@pytest.mark.filterwarnings("ignore:the drafting model takes")
def test_a_verifier_that_begins_as_a_corrector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_corpora(tmp_path)
    corrector(tmp_path)
    recipe = load_generation_recipe(write(tmp_path, started()))
    assert recipe.network["width"] == 16
    run = Run(recipe, tmp_path / "run", tmp_path, workers=0)
    run.run("prepare")
    theirs = correctors.load("corrector")
    mine = run._first().state_dict()
    for name, value in theirs.network.state_dict().items():
        assert torch.equal(mine[name], value), name
    for stage in run.stages()[1:]:
        run.run(stage)
    made = generation.load(str(tmp_path / "run" / "bundle"))
    assert isinstance(made.vocabulary, CorrectorVocabulary)
    source = "A dog sees two cats."
    assert made.vocabulary.encode(source) == theirs.subwords.encode(source.split())
    ids = [made.vocabulary.encode(text) for text, _ in packed_pairs(tmp_path / "run/data/dev.tsv")]
    plain = [h.tokens for [h] in make_decoder(made.parts(), "greedy").decode(ids)]
    for name in ("iad", "iad-paper", "speculative", "early-exit"):
        assert [h.tokens for [h] in make_decoder(made.parts(), name).decode(ids)] == plain


def test_data_of_another_vocabulary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_corpora(tmp_path)
    corrector(tmp_path)
    run = Run(load_generation_recipe(write(tmp_path, TINY)), tmp_path / "run", tmp_path, workers=0)
    run.run("prepare")
    recipe = load_generation_recipe(write(tmp_path, started()))
    with pytest.raises(ConfigError, match="packed with another vocabulary than corrector's"):
        Run(recipe, tmp_path / "run", tmp_path, workers=0).run("verifier")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("longest", "vocabulary = 320\nlongest", "with start, .* are those of corrector"),
        ("[small.tiny]", "[network]\nwidth = 32\n\n[small.tiny]", "all of .network. but dropout"),
        ('start = "corrector"', "", "vocabulary and .network. are missing"),
        ('start = "corrector"', 'start = "nowhere"', "no model bundle at 'nowhere'"),
        ('start = "corrector"', 'start = "foreign"', "a corrector that was trained here"),
    ],
)
def test_beginnings_that_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    corrector(tmp_path)
    corrector(tmp_path, "foreign", tokenizer="bert")
    text = started()
    assert old in text
    with pytest.raises((ConfigError, ModelError), match=message):
        load_generation_recipe(write(tmp_path, text.replace(old, new)))


def test_the_shipped_recipes_begin_as_the_shipped_corrector() -> None:
    folder = Path(generation.__file__).parents[1] / "recipes"
    for name in ("simplification", "summarization", "scitldr"):
        recipe = load_generation_recipe(folder / f"{name}.toml")
        assert recipe.start == "en"
        assert recipe.network["dropout"] == 0.1
        assert recipe.network["width"] == correctors.load("en").network.config.width
