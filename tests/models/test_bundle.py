"""Bundles: what is saved comes back, what is broken is refused in one line, nothing is executed."""

from __future__ import annotations

import argparse
import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from fake_models import tiny_network
from safetensors.torch import load_file, save_file

from gec.correct.options import Setting
from gec.errors import ConfigError, DataError, ModelError
from gec.models.load import bundle
from gec.models.load.bundle import Bundle
from gec.models.training.export import export_main
from gec.text.inflection import Inflections
from gec.text.subwords import Subwords

SOURCE, TARGET = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 9, 8]])


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    table = Inflections([("go", "+s", "goes"), ("go", "+ed", "went")])
    return Subwords.train([["she", "goes", "home"]] * 3, size=280, inflections=table)


def make(subwords: Subwords, **settings: Any) -> Bundle:
    network = tiny_network(1, vocab_size=len(subwords), **settings).float()
    config = {
        "name": "tiny",
        "network": network.config.to_dict(),
        "settings": {"balanced": {"tolerance": 0.5}, "precise": {"min_confidence": 0.9}},
        "confidence": {"bias": -1.0, "weights": {"probability": 0.5}},
    }
    return Bundle("tiny", config, network, subwords)


@pytest.fixture
def folder(subwords: Subwords, tmp_path: Path) -> Path:
    bundle.save(make(subwords), tmp_path / "tiny")
    return tmp_path / "tiny"


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_round_trip(subwords: Subwords, tmp_path: Path, positions: str, tied: bool) -> None:
    saved = make(subwords, positions=positions, tie_embeddings=tied, norm="post")
    bundle.save(saved, tmp_path, dtype=torch.float32)
    loaded = bundle.load(str(tmp_path))
    assert torch.equal(loaded.network(SOURCE, TARGET), saved.network(SOURCE, TARGET))
    assert loaded.config == saved.config | {"format": bundle.FORMAT}
    assert not loaded.network.training
    assert loaded.subwords.encode(["goes"]) == subwords.encode(["goes"])
    assert loaded.network.output.weight.data_ptr() == (
        loaded.network.embedding.weight.data_ptr()
        if tied
        else loaded.network.output.weight.data_ptr()
    )


def test_weights_are_stored_in_half_precision(subwords: Subwords, tmp_path: Path) -> None:
    saved = make(subwords)
    bundle.save(saved, tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}
    assert "output.weight" not in weights  # tied
    with torch.no_grad():
        for parameter in saved.network.parameters():
            parameter.copy_(parameter.half())
    assert torch.equal(
        bundle.load(str(tmp_path)).network(SOURCE, TARGET), saved.network(SOURCE, TARGET)
    )


def test_precision(folder: Path) -> None:
    network = bundle.load(str(folder), dtype=torch.bfloat16).network
    assert {p.dtype for p in network.parameters()} == {torch.bfloat16}
    assert network(SOURCE, TARGET).dtype == torch.bfloat16


def test_saving_again_changes_no_byte(folder: Path, tmp_path: Path) -> None:
    bundle.save(bundle.load(str(folder)), tmp_path / "again")
    for name in ("config.json", "model.safetensors", "tokenizer.json", "inflections.bin"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_a_bundle_that_is_not_there(tmp_path: Path) -> None:
    for name in (str(tmp_path), str(tmp_path / "none"), "xx", "", "nul\0", "x" * 5000):
        with pytest.raises(ModelError, match="no model bundle at") as caught:
            bundle.load(name)
        assert "\n" not in str(caught.value)


def edit_config(**values: Any) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return edit


def edit_network(**values: Any) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / "config.json"
        config = json.loads(path.read_text())
        config["network"] |= values
        path.write_text(json.dumps(config))

    return edit


def write(name: str, content: bytes) -> Callable[[Path], None]:
    def overwrite(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return overwrite


def old_inflections(content: bytes) -> Callable[[Path], None]:
    """Inflections as a bundle of the first format has them."""

    def replace(folder: Path) -> None:
        (folder / "inflections.bin").unlink()
        (folder / "inflections.tsv").write_bytes(content)
        edit_config(format=1)(folder)

    return replace


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def truncate(name: str, share: float) -> Callable[[Path], None]:
    def cut(folder: Path) -> None:
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: int(len(data) * share)])

    return cut


def reshape(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["decoder_norm.weight"] = torch.zeros(33)
    save_file(weights, folder / "model.safetensors")


def drop_tensor(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["decoder_norm.weight"]
    save_file(weights, folder / "model.safetensors")


BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "no weights": (remove("model.safetensors"), r"cannot load .*model\.safetensors"),
    "no tokenizer": (remove("tokenizer.json"), r"cannot read .*tokenizer\.json"),
    "half the weights": (truncate("model.safetensors", 0.5), r"cannot load .*model\.safetensors"),
    "no byte of weights": (truncate("model.safetensors", 0), r"cannot load .*model\.safetensors"),
    "half a tokenizer": (truncate("tokenizer.json", 0.5), r"cannot read .*tokenizer\.json"),
    "half a config": (truncate("config.json", 0.5), r"cannot read .*config\.json"),
    "a config that is no text": (write("config.json", b"\xff\0"), r"cannot read .*config\.json"),
    "a config that is a list": (write("config.json", b"[1]"), "bundle format None"),
    "another version": (edit_config(format=3), "bundle format 3, this version reads 2"),
    "no network": (edit_config(network=None), "no network settings"),
    "a wrong tolerance": (edit_config(settings={"precise": {"tolerance": -1}}), "nats >= 0"),
    "a tolerance in words": (edit_config(settings={"precise": {"tolerance": "x"}}), "settings"),
    "an unknown number": (edit_config(settings={"precise": {"nats": 1}}), "nats"),
    "settings that are no table": (edit_config(settings=3), "settings"),
    "a setting that is no table": (edit_config(settings={"precise": 3}), "settings"),
    "confidence that is no table": (edit_config(confidence=3), "confidence"),
    "a weight in words": (edit_config(confidence={"weights": {"words": "x"}}), "confidence"),
    "a bias that is no number": (edit_config(confidence={"bias": None}), "confidence"),
    "an unknown setting": (edit_network(experts=8), "unknown architecture settings: experts"),
    "a wrong setting": (edit_network(heads="four"), "heads must be a positive integer"),
    "another vocabulary": (edit_network(vocab_size=999), r"tokenizer.json has \d+ entries, .* 999"),
    "another width": (edit_network(width=64), r"size mismatch"),
    "more layers": (edit_network(decoder_layers=2), r"Missing key.*decoder\.1"),
    "another shape": (reshape, r"size mismatch for decoder_norm\.weight"),
    "a tensor less": (drop_tensor, r"Missing key.*decoder_norm\.weight"),
    "wrong inflections": (
        old_inflections(b"go\t+s\n"), r"inflections\.tsv:1: expected 3",
    ),
    "two of one form": (old_inflections(b"go\t+s\tgoes\ngo\t+ed\tgoes\n"), "not one-to-one"),
    "half the inflections": (truncate("inflections.bin", 0.5), r"inflections\.bin"),
    "no byte of inflections": (truncate("inflections.bin", 0), r"cannot read .*inflections\.bin"),
    "foreign tokenizer": (
        lambda folder: write(
            "tokenizer.json",
            (folder / "tokenizer.json").read_bytes().replace(b"<cap>", b"<CAP>"),
        )(folder),
        "special tokens",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_bundle(name: str, folder: Path) -> None:
    damage, message = BROKEN[name]
    damage(folder)
    with pytest.raises(ModelError, match=message) as caught:
        bundle.load(str(folder))
    assert "\n" not in str(caught.value)


class Bomb:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_pickle_is_refused_and_not_executed(name: str, folder: Path, tmp_path: Path) -> None:
    bomb = pickle.dumps(Bomb(tmp_path / "exploded"))
    (folder / name).write_bytes(bomb)
    with pytest.raises(ModelError):
        bundle.load(str(folder))
    assert not (tmp_path / "exploded").exists()
    pickle.loads(bomb)
    assert (tmp_path / "exploded").exists(), "the bomb was none"


def test_loading_calls_no_unpickler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise AssertionError("unpickled")

    for owner, name in (
        (pickle, "load"),
        (pickle, "loads"),
        (pickle, "Unpickler"),
        (torch, "load"),
    ):
        monkeypatch.setattr(owner, name, refuse)
    (folder / "evil.py").write_text("raise SystemExit")
    (folder / "pytorch_model.bin").write_bytes(b"x")
    bundle.load(str(folder))


def test_a_folder_before_it_is_complete(folder: Path) -> None:
    """config.json is written last."""
    (folder / "config.json").unlink()
    with pytest.raises(ModelError, match="no model bundle"):
        bundle.load(str(folder))


def test_export(subwords: Subwords, tmp_path: Path) -> None:
    """``gec bundle``: a training checkpoint becomes a bundle."""
    network = make(subwords).network
    subwords.save(tmp_path)
    checkpoint = {"config": network.config.to_dict(), "model": network.state_dict()}
    torch.save(checkpoint, tmp_path / "last.ckpt")
    args = argparse.Namespace(
        checkpoints=[str(tmp_path / "last.ckpt")], out=str(tmp_path / "out"), data=str(tmp_path),
        name=None, tolerance=0.25, precision="fp16",
    )  # fmt: skip
    assert export_main(args) == 0
    loaded = bundle.load(str(tmp_path / "out"))
    assert loaded.settings == {"balanced": Setting(tolerance=0.25)}
    torch.testing.assert_close(
        loaded.network(SOURCE, TARGET), network(SOURCE, TARGET), rtol=0.01, atol=0.01
    )
    shutil.copy(tmp_path / "tokenizer.json", tmp_path / "last.ckpt")
    with pytest.raises(DataError, match="cannot read checkpoint") as caught:
        export_main(args)
    assert "\n" not in str(caught.value)


def test_the_mean_of_several(subwords: Subwords, tmp_path: Path) -> None:
    subwords.save(tmp_path)
    networks = [tiny_network(seed, vocab_size=len(subwords)).float() for seed in (1, 2, 3)]
    names = [str(tmp_path / "one.ckpt"), str(tmp_path / "two.ckpt"), str(tmp_path / "three")]
    for name, network in zip(names, networks[:2], strict=False):
        torch.save({"config": network.config.to_dict(), "model": network.state_dict()}, name)
    config = {"network": networks[2].config.to_dict()}
    whole = bundle.Bundle("three", config, networks[2], subwords)
    bundle.save(whole, Path(names[2]), dtype=torch.float32)
    args = argparse.Namespace(
        checkpoints=names, out=str(tmp_path / "out"), data=str(tmp_path), name=None, tolerance=0.0,
        precision="int8",
    )  # fmt: skip
    assert export_main(args) == 0
    found = bundle.load(str(tmp_path / "out")).network.state_dict()
    for key, value in found.items():
        mean = sum(network.state_dict()[key] for network in networks) / 3
        torch.testing.assert_close(value, mean, rtol=1e-2, atol=1e-2)
    other = tiny_network(1, vocab_size=len(subwords), width=16).float()
    torch.save({"config": other.config.to_dict(), "model": other.state_dict()}, names[1])
    with pytest.raises(ConfigError, match=r"two\.ckpt has another architecture than .*one\.ckpt"):
        export_main(args)
    other_subwords = Subwords.train(
        [["dog"]] * 3, size=len(subwords) + 1, inflections=Inflections()
    )
    other_subwords.save(tmp_path)
    args.checkpoints = names[2:]
    with pytest.raises(ConfigError, match="three has other subwords than the data"):
        export_main(args)
