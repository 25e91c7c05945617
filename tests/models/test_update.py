"""Fetching a model: a tiny GGUF file in a wheel, an update over it, the bundle that comes out."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest
import torch
from torch import Tensor

import gec
from gec.cli import main
from gec.errors import ConfigError, InputError, ModelError
from gec.models.fetch import pretrained, store, update
from gec.models.fetch.wheel import build as build_wheel
from gec.models.load import bundle, places
from gec.models.network.llama import LlamaConfig
from gec.models.training.make_update import make

gguf = pytest.importorskip("gguf")

WIDTH, HEADS, KV_HEADS, FFN, LAYERS = 64, 4, 2, 96, 2


def vocabulary() -> list[str]:
    from gec.text.subwords import BYTE_OF

    return ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *sorted(BYTE_OF), "Ġa", "he"]


def write_gguf(path: Path, architecture: str = "llama", pre: str = "smollm") -> None:
    torch.manual_seed(3)
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_context_length(256)
    writer.add_rope_freq_base(100000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(vocabulary())
    writer.add_token_merges(["Ġ a", "h e"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)

    def tensor(name: str, *shape: int) -> None:
        writer.add_tensor(f"{name}.weight", (torch.randn(*shape) * 0.1).numpy())

    tensor("token_embd", len(vocabulary()), WIDTH)
    tensor("output_norm", WIDTH)
    head = WIDTH // HEADS
    for i in range(LAYERS):
        tensor(f"blk.{i}.attn_q", WIDTH, WIDTH)
        tensor(f"blk.{i}.attn_k", KV_HEADS * head, WIDTH)
        tensor(f"blk.{i}.attn_v", KV_HEADS * head, WIDTH)
        tensor(f"blk.{i}.attn_output", WIDTH, WIDTH)
        tensor(f"blk.{i}.attn_norm", WIDTH)
        tensor(f"blk.{i}.ffn_gate", FFN, WIDTH)
        tensor(f"blk.{i}.ffn_up", FFN, WIDTH)
        tensor(f"blk.{i}.ffn_down", WIDTH, FFN)
        tensor(f"blk.{i}.ffn_norm", WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel with a tiny network, and an update ``tiny`` over it among those that are shipped."""
    monkeypatch.setenv("GEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(places, "UPDATES", tmp_path / "updates")
    inner = tmp_path / "tiny.gguf"
    write_gguf(inner)
    wheel = tmp_path / "tiny-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(inner, "tiny/tiny.gguf")
    source = {
        "package": "no-such-package-of-gec==1",
        "wheel_sha256": sha(wheel),
        "file": "tiny/tiny.gguf",
        "file_sha256": sha(inner),
        "max_positions": 200,
    }
    _, base, _ = pretrained.load(store.Pretrained(**source), wheel)
    folder = tmp_path / "updates" / "tiny"
    update.write(folder, base, tuned(base))
    update.write_settings(
        folder,
        {"name": "tiny", "task": "gec", "language": "en", "pretrained": source,
         "settings": {"balanced": {"tolerance": 0.0}}},
    )  # fmt: skip
    return wheel


def tuned(base: dict[str, Tensor]) -> dict[str, Tensor]:
    torch.manual_seed(5)
    return {
        name: tensor if name == "embedding.weight" else tensor + torch.randn_like(tensor) * 0.01
        for name, tensor in base.items()
    }


def test_a_model_is_fetched_listed_used_and_removed(
    wheel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["model", "list"]) == 0
    assert "tiny\tgec model get tiny\t" in capsys.readouterr().out
    with pytest.raises(ModelError, match="gec model get tiny"):
        gec.load("tiny")
    assert main(["model", "get", "tiny", "--from", str(wheel)]) == 0
    assert Path(capsys.readouterr().out.strip()) == places.fetched("tiny")
    corrector = gec.load("tiny")
    found = next(corrector.correct_tokenized(["he ate a Bee ."]))
    assert found.sentences[0].trace is not None
    assert corrector.info()["bundle"] == "tiny"
    wheel.unlink()  # the checked file is kept: no second download
    assert main(["model", "get", "tiny"]) == 0
    assert main(["model", "remove", "tiny"]) == 0
    assert not places.fetched("tiny").exists()
    with pytest.raises(InputError):
        store.remove("tiny")
    for name in ("../models", "..", ".", "", "tiny/..", str(tmp_path)):
        with pytest.raises(InputError):
            store.remove(name)
    assert (tmp_path / "cache").is_dir()


def test_a_model_of_an_earlier_update_is_said_to_be_outdated(
    wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.get("tiny", wheel)
    assert store.is_current("tiny")
    assert main(["model", "list"]) == 0
    assert "tiny\tfetched\t" in capsys.readouterr().out
    settings = places.UPDATES / "tiny" / "config.json"
    settings.write_text(settings.read_text().replace('"language": "en"', '"language": "de"'))
    assert main(["model", "list"]) == 0
    assert "tiny\toutdated: gec model get tiny\t" in capsys.readouterr().out
    store.get("tiny", wheel)
    assert store.is_current("tiny")


def test_shipped_bundles_need_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEC_CACHE", "~no-such-user-here/x")
    assert bundle.find("en").name == "en"
    with pytest.raises(ConfigError, match="GEC_CACHE"):
        places.cache_folder()


def test_the_update_leads_from_the_base_to_the_tuned_weights(wheel: Path) -> None:
    source = pretrained.of_settings(
        json.loads((places.UPDATES / "tiny" / "config.json").read_text())["pretrained"], wheel
    )
    config, base, words = pretrained.load(source)
    assert config.separator == tuple(words.encode_text("\n"))
    wanted = tuned(base)
    stored = update.compress(base, wanted)
    assert "embedding.weight" not in stored
    name = "layers.0.ffn.down.weight"
    assert stored[name].numel() * 4 == base[name].numel()
    found = update.expand(base, stored)
    for name, before in base.items():
        error = (found[name] - wanted[name]).square().mean()
        power = (wanted[name] - before).square().mean()
        assert error <= 0.13 * power, name  # Max 1960: 0.1175 of the power for a normal one


def test_rows_that_turn_together_are_put_where_our_rotation_has_them(wheel: Path) -> None:
    source = pretrained.of_settings(
        json.loads((places.UPDATES / "tiny" / "config.json").read_text())["pretrained"], wheel
    )
    path = store.fetch(source)
    _, state, _ = pretrained.load(source)
    raw = {tensor.name: torch.tensor(tensor.data) for tensor in gguf.GGUFReader(str(path)).tensors}
    # llama.cpp turns neighbours; a head of theirs with rows 0, 2, .., 1, 3, .. is one of ours
    order = torch.arange(16).view(8, 2).t().flatten()
    own = state["layers.0.attention.qkv.weight"]
    assert torch.equal(own[:16], raw["blk.0.attn_q.weight"][:16][order])
    assert torch.equal(own[64:80], raw["blk.0.attn_k.weight"][:16][order])
    assert torch.equal(own[96:], raw["blk.0.attn_v.weight"])


def test_a_fetched_model_travels_as_a_wheel(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = store.get("tiny", wheel)
    made = build_wheel(folder, tmp_path / "dist")
    with zipfile.ZipFile(made) as archive:
        archive.extractall(tmp_path / "site")
    store.remove("tiny")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert bundle.find("tiny") == tmp_path / "site" / "gec_model_tiny"
    assert gec.load("tiny").info()["bundle"] == "gec_model_tiny"
    with pytest.raises(ModelError, match="no model bundle"):
        build_wheel(tmp_path, tmp_path / "dist")


def test_an_update_is_made_of_the_mean_of_runs(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors.torch import save_file

    config = json.loads((places.UPDATES / "tiny" / "config.json").read_text())
    recipe = tmp_path / "tiny.toml"
    rows = [f"{name} = {value!r}" for name, value in config["pretrained"].items()]
    recipe.write_text("\n".join(["[pretrained]", *rows]).replace("'", '"'))
    _, base, _ = pretrained.load(store.Pretrained(**config["pretrained"]))
    runs = [tmp_path / "a.safetensors", tmp_path / "b.safetensors"]
    for path, sign in zip(runs, (1.0, -1.0), strict=True):
        save_file({n: (t + sign * (n == "norm.weight")) for n, t in base.items()}, path)
    out = tmp_path / "updates" / "mean"
    names = [str(path) for path in runs]
    command = ["model", "make", str(recipe), *names, "--out", str(out), "--bundle"]
    assert main([*command, str(tmp_path / "bundle")]) == 0
    assert not (set(load_update(out)) - {"norm.weight"})  # the mean of both is the base
    assert gec.load(str(tmp_path / "bundle")).info()["bundle"] == "bundle"
    made = json.loads((out / "config.json").read_text()) | {"settings": {"balanced": {}}}
    update.write_settings(out, made)
    assert main([*command[:-1], "--parts", "en"]) == 0
    again = json.loads((out / "config.json").read_text())
    assert again["settings"] == {"balanced": {}}
    assert (again["parts"], again["second_opinion"]) == ("en", "en")
    runs[1].write_bytes(b"no")
    with pytest.raises(ModelError, match="cannot read"):
        make(recipe, runs, out)
    save_file({"norm.weight": base["norm.weight"]}, runs[1])
    with pytest.raises(ModelError, match="another network"):
        make(recipe, runs, out)


def load_update(folder: Path) -> dict[str, Tensor]:
    from safetensors.torch import load_file

    return load_file(folder / "update.safetensors")


def test_another_file_is_refused(wheel: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.whl"
    other.write_bytes(wheel.read_bytes() + b"x")
    with pytest.raises(ModelError, match="SHA-256"):
        store.get("tiny", other)
    with pytest.raises(ModelError, match="cannot read"):
        store.get("tiny", tmp_path / "missing.whl")
    with pytest.raises(ConfigError, match="no model 'huge'"):
        store.get("huge")
    assert not places.fetched("tiny").exists()


def test_without_a_network_the_message_says_what_to_do(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEC_CACHE", str(tmp_path / "empty"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ModelError, match=r"--from FILE\.whl"):
        store.get("tiny")


@pytest.mark.parametrize("kind", ["shape", "type", "name", "nan", "truncated", "settings", "base"])
def test_a_broken_update_is_one_error(wheel: Path, kind: str) -> None:
    from safetensors.torch import load_file, save_file

    folder = places.UPDATES / "tiny"
    path, settings = folder / "update.safetensors", folder / "config.json"
    tensors, config = load_file(path), json.loads(settings.read_text())
    name = "layers.1.ffn.gate_up.weight"
    if kind == "shape":
        tensors[name] = tensors[name][:-1].clone()
    elif kind == "type":
        tensors[name] = tensors[name].float()
    elif kind == "name":
        tensors["layers.9.ffn.down.weight"] = tensors[name].clone()
    elif kind == "nan":
        tensors[f"{name}.scale"][3] = torch.nan
    elif kind == "settings":
        config["pretrained"]["url"] = "x"
    elif kind == "base":
        config["network"] = LlamaConfig(layers=LAYERS).to_dict()
    save_file(tensors, path)
    settings.write_text(json.dumps(config))
    if kind == "truncated":
        path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelError):
        store.get("tiny", wheel)
    assert not places.fetched("tiny").exists()


def test_a_gguf_file_of_another_family_is_refused(tmp_path: Path) -> None:
    from gec.models.convert import gguf as reader

    write_gguf(tmp_path / "a.gguf", "gpt2")
    with pytest.raises(ModelError):
        reader.read(tmp_path / "a.gguf", 100)
    write_gguf(tmp_path / "c.gguf", pre="llama-bpe")
    with pytest.raises(ModelError, match="tokenizer"):
        reader.read(tmp_path / "c.gguf", 100)
    (tmp_path / "b.gguf").write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelError):
        reader.read(tmp_path / "b.gguf", 100)
