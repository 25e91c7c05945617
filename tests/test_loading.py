"""``gec.load``: from a bundle's folder to a Corrector."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from fake_models import tiny_network

import gec
from gec import cli
from gec.batch.worker import make_engine
from gec.errors import ConfigError, ModelError
from gec.models.load import bundle, places
from gec.text.inflection import Inflections
from gec.text.subwords import Subwords
from gec.web.app import _load as web_load
from gec.web.config import Config


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    subwords = Subwords.train([["she", "goes"]] * 3, size=280, inflections=Inflections())
    network = tiny_network(1, vocab_size=len(subwords)).float()
    config = {"network": network.config.to_dict(), "settings": {"balanced": {"tolerance": 0.25}}}
    path = tmp_path_factory.mktemp("bundles") / "tiny"
    bundle.save(bundle.Bundle("tiny", config, network, subwords), path)
    return str(path)


@pytest.mark.parametrize("precision", ["int8", "fp32", "bf16", "fp16"])
def test_every_precision_decodes(folder: str, precision: str) -> None:
    corrector = gec.load(folder, device="cpu", precision=precision)
    found = corrector.correct("She goes. It is a long one, this second sentence; is it not?")
    assert len(found.trace) == 2
    info = corrector.info()
    assert info["precision"] == precision
    assert info["device"] == "cpu"
    assert info["bundle"] == "tiny"
    network = bundle.load(folder).network
    assert info["parameters"] == sum(p.numel() for p in network.parameters())


def test_a_bundle_stored_in_int8_is_run_in_int8(folder: str, tmp_path: Path) -> None:
    bundle.save(bundle.load(folder), tmp_path / "int8", dtype=torch.int8)
    assert gec.load(folder, device="cpu").info()["precision"] == "fp32"
    stored = str(tmp_path / "int8")
    assert gec.load(stored, device="cpu").info()["precision"] == "int8"
    assert gec.load(stored, device="cpu", precision="fp32").info()["precision"] == "fp32"


def test_decoding_is_lossless(folder: str) -> None:
    texts = ["She goes.", "She goes to the school there, and so on.", "", "A", "no no no no"]
    results = [
        [c.text for c in gec.load(folder, strategy=strategy, tolerance=0.0).correct_many(texts)]
        for strategy in ("iad", "greedy")
    ]
    assert results[0] == results[1]


def test_the_bundles_tolerance(folder: str) -> None:
    assert gec.load(folder).info()["tolerance"] == 0.25
    assert gec.load(folder, tolerance=0.0).info()["tolerance"] == 0.0
    assert "tolerance" not in gec.load(folder, strategy="greedy").info()


def test_a_path_or_a_name(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "BUNDLES", Path(folder).parent)
    assert gec.load("tiny").info()["bundle"] == "tiny"
    with pytest.raises(ModelError, match=r"no model bundle at 'huge'.*shipped: tiny"):
        gec.load("huge")


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "", "cpu:x"])
def test_no_such_device(folder: str, device: str) -> None:
    with pytest.raises(ConfigError, match="cannot be used") as caught:
        gec.load(folder, device=device)
    assert "\n" not in str(caught.value)


def test_no_such_precision(folder: str) -> None:
    with pytest.raises(ConfigError, match="unknown precision 'int3', expected one of int8, fp32"):
        gec.load(folder, precision="int3")


def test_the_global_state_of_torch_stays(folder: str) -> None:
    before = torch.get_default_dtype(), torch.random.get_rng_state()
    gec.load(folder).correct("She goes.")
    assert torch.get_default_dtype() is before[0]
    assert torch.equal(torch.random.get_rng_state(), before[1])


def test_the_heap_of_the_process_is_tuned_by_programs_only(
    folder: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By the command line, the server and the workers of ``gec batch``; a library does not."""
    tuned: list[str] = []
    for place in ("gec.memory", "gec.cli"):
        monkeypatch.setattr(f"{place}.reuse_memory", lambda place=place: tuned.append(place))
    gec.load(folder, device="cpu").correct("She goes.")
    assert not tuned
    make_engine(gec.load, "cpu", 1, 1, False, 100)
    assert tuned == ["gec.memory"]
    web_load(Config(model=folder, device="cpu"))
    assert tuned == ["gec.memory"] * 2
    (tmp_path / "text.txt").write_text("She goes.")
    assert cli.main(["correct", "--model", folder, str(tmp_path / "text.txt")]) == 0
    assert tuned[2:] == ["gec.cli"]
