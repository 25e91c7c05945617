"""fairseq's files without fairseq: what is read, what is refused, and both BPEs by hand."""

from __future__ import annotations

import json
import math
import os
import pickle
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from gec.cli import main
from gec.decoding.decoder import Decoder
from gec.errors import GecError, ModelError
from gec.models.convert.fairseq import from_fairseq, network_to_fairseq, to_fairseq
from gec.models.convert.fairseq_checkpoint import joint_rows, read_checkpoint, read_dictionary
from gec.models.convert.fairseq_drafter import with_drafter
from gec.models.convert.fairseq_settings import ARCHITECTURES, DRAFTERS, drafter_settings, settings
from gec.models.convert.fairseq_weights import renewed
from gec.models.load import generation
from gec.models.load.bundle import load, save
from gec.models.load.fairseq_tokenizer import FairseqTokenizer, Gpt2, SubwordNmt, find_pieces
from gec.models.load.verifiers import verifier
from gec.models.network.nat import NatConfig, NatTransformer
from gec.models.network.transformer import Transformer, TransformerConfig

WORDS = [f"w{i}" for i in range(20)]
SIZE = len(WORDS) + 4


def network(**options: Any) -> Transformer:
    torch.manual_seed(3)
    settings = {"pad_id": 1, "bos_id": 2, "eos_id": 2, "width": 16, "heads": 2, "ffn_width": 24}
    settings |= {"vocab_size": SIZE, "encoder_layers": 2, "decoder_layers": 2}
    return Transformer(TransformerConfig(max_positions=40, **(settings | options))).eval()


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """A folder as fairseq users have it: no ``gec.json``."""
    folder = tmp_path / "theirs"
    network_to_fairseq(network(), folder, [*"?!.:", *WORDS])
    (folder / "gec.json").unlink()
    return folder


def change(folder: Path, edit: Any) -> Path:
    """Rewrite the checkpoint after ``edit`` has changed it."""
    path = folder / "model.pt"
    state = torch.load(path, weights_only=False)
    edit(state)
    torch.save(state, path)
    return path


def decoded(net: Transformer, sources: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    return [found[0].tokens for found in Decoder(verifier(net)).decode(sources)]


SOURCES = [[4 + (5 * n + i) % 20 for i in range(n)] for n in range(1, 8)]


# ------------------------------------------------------------------------------------ conversion


def test_what_goes_out_comes_in(exported: Path, tmp_path: Path) -> None:
    bundle = from_fairseq([exported / "model.pt"], exported, bpe="none")
    original = network()
    config = bundle.network.config
    assert (config.pad_id, config.bos_id, config.eos_id) == (1, 2, 2)
    assert config.tie_embeddings
    assert config.source_vocab_size is None
    assert bundle.network.output.bias[1] == -math.inf  # fairseq never chooses the pad
    names = {"output.bias", "decoder_positions.weight", "encoder_positions.weight"}
    for name, value in bundle.network.state_dict().items():
        if name not in names:
            assert torch.equal(value, original.state_dict()[name]), name
    save(bundle, tmp_path / "bundle", dtype=torch.float32)
    again = load(str(tmp_path / "bundle"))
    words = ["w3", "w19", "never seen".replace(" ", "_")]
    assert again.subwords.encode(words) == [7, 23, 3]
    assert again.subwords.decode([7, 23]) == ["w3", "w19"]
    assert decoded(again.network, SOURCES) == decoded(bundle.network, SOURCES)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bos_id": 1, "pad_id": 0},
        {"bos_id": 5, "pad_id": 7, "eos_id": 0},
        {"positions": "learned", "norm": "post"},
        {"tie_embeddings": False, "bos_id": 1, "pad_id": 0},
        {"source_vocab_size": SIZE + 3, "bos_id": 1, "pad_id": 0},
    ],
)
def test_renumbering_is_undone(options: dict[str, Any], tmp_path: Path) -> None:
    original = network(**options)
    network_to_fairseq(original, tmp_path / "out")
    from gec.models.convert.fairseq import network_from_fairseq

    back = network_from_fairseq(tmp_path / "out" / "model.pt", tmp_path / "out")
    for name in ("pad_id", "bos_id", "eos_id", "vocab_size", "source_vocab_size"):
        assert getattr(back.config, name) == getattr(original.config, name)
    assert back.config.tie_embeddings == original.config.tie_embeddings
    state = original.state_dict()
    for name, value in back.state_dict().items():
        if not name.endswith("positions.weight") and name != "embedding.weight":
            assert torch.equal(value, state[name]), name
    assert decoded(back, SOURCES) == decoded(original, SOURCES)


def test_the_shipped_bundle_comes_back_with_its_subwords(tmp_path: Path) -> None:
    bundle = load("en")
    to_fairseq(bundle, tmp_path / "out")
    back = from_fairseq([tmp_path / "out" / "model.pt"], tmp_path / "out")
    assert back.subwords == bundle.subwords
    ours, theirs = bundle.network.state_dict(), back.network.state_dict()
    for name in ours:
        assert torch.equal(ours[name], theirs[name]), name


def test_two_dictionaries_become_one(tmp_path: Path) -> None:
    symbols, rows = joint_rows(["a", "b", "c", "u", "x", "y"], ["a", "b", "c", "u", "y", "z"])
    assert symbols == ["a", "b", "c", "u", "y", "z", "x"]
    assert rows == [0, 1, 2, 3, 5, 3, 4]  # z is unknown to the source


def test_means_of_checkpoints(exported: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    torch.manual_seed(9)
    two = Transformer(network().config)
    network_to_fairseq(two, other)
    paths = [exported / "model.pt", other / "model.pt"]
    mean = from_fairseq(paths, exported, bpe="none").network.state_dict()
    name = "encoder.1.ffn.up.weight"
    expected = (network().state_dict()[name] + two.state_dict()[name]) / 2
    torch.testing.assert_close(mean[name], expected)


# --------------------------------------------------------------------------------------- refusals


def refusal(folder: Path, **options: Any) -> str:
    with pytest.raises(GecError) as caught:
        from_fairseq([folder / "model.pt"], folder, **({"bpe": "none"} | options))
    message = str(caught.value)
    assert "\n" not in message
    return message


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("touch " + str(Path("it_ran").resolve()),)


def test_a_pickle_that_wants_to_run_code(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(exported)
    change(exported, lambda state: state.update(extra_state=Evil()))
    assert "system" in refusal(exported)
    path = exported / "model.pt"
    path.write_bytes(pickle.dumps({"model": {}, "args": Evil()}))
    refusal(exported)
    assert not (exported / "it_ran").exists()


def test_a_function_of_fairseq_is_only_a_stand_in(
    exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys
    from types import ModuleType

    module = ModuleType("fairseq.tools")
    ran: list[str] = []

    def launch(text: str) -> None:
        ran.append(text)

    launch.__module__, launch.__qualname__ = "fairseq.tools", "launch"
    module.launch = launch  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fairseq", ModuleType("fairseq"))
    monkeypatch.setitem(sys.modules, "fairseq.tools", module)

    class Calls:
        def __reduce__(self) -> Any:
            return launch, ("now",)

    state = torch.load(exported / "model.pt", weights_only=False)
    torch.save(state | {"extra_state": Calls()}, exported / "model.pt")
    read_checkpoint(exported / "model.pt")
    assert ran == []


def test_what_is_built_in_is_a_stand_in_or_refused(exported: Path) -> None:
    change(exported, lambda state: state.update(extra_state={"object_type": dict, "is": set}))
    from_fairseq([exported / "model.pt"], exported, bpe="none")
    change(exported, lambda state: state.update(extra_state=eval))
    assert "asks for builtins.eval" in refusal(exported)


def test_an_unknown_class_is_refused_by_name(exported: Path) -> None:
    change(exported, lambda state: state.update(extra_state=json.JSONDecoder))
    assert "json.decoder.JSONDecoder" in refusal(exported)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda m: m.update({"decoder.extra": torch.zeros(2)}), "decoder.extra"),
        (lambda m: m.pop("encoder.layers.1.fc1.bias"), "lacks encoder.layers.1.fc1.bias"),
        (lambda m: m.update({"encoder.layers.0.fc1.bias": torch.zeros(9)}), "shape"),
        (lambda m: m.update({"decoder.note": "text"}), "decoder.note"),
    ],
)
def test_weights_that_do_not_fit(exported: Path, edit: Any, expected: str) -> None:
    change(exported, lambda state: edit(state["model"]))
    assert expected in refusal(exported)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"arch": "fconv_wmt_en_de"}, "fconv_wmt_en_de"),
        ({"adaptive_softmax_cutoff": "100,200"}, "adaptive softmax"),
        ({"decoder_embed_dim": 32}, "decoder_embed_dim 32"),
        ({"activation_fn": "tanh"}, "tanh"),
        ({"encoder_learned_pos": False}, "one side only"),
        ({"encoder_layerdrop": 0.1}, "LayerDrop"),
        ({"encoder_layers": 3}, "encoder.layers.2"),
    ],
)
def test_settings_that_do_not_fit(exported: Path, options: dict[str, Any], expected: str) -> None:
    change(exported, lambda state: vars(state["cfg"]["model"]).update(options))
    assert expected in refusal(exported)


def test_other_tasks_need_a_word(exported: Path) -> None:
    change(exported, lambda state: state["cfg"]["task"].update(_name="translation_multi"))
    assert "--plain-task" in refusal(exported)
    from_fairseq([exported / "model.pt"], exported, bpe="none", plain_task=True)


def test_denoising_has_bos_on_both_sides(exported: Path) -> None:
    change(exported, lambda state: state["cfg"]["task"].update(_name="denoising"))
    config = from_fairseq([exported / "model.pt"], exported, bpe="none").network.config
    assert (config.source_prefix, config.decoder_prefix, config.bos_id) == ((0,), (2,), 0)


def test_files_that_are_not_there(exported: Path, tmp_path: Path) -> None:
    assert "BPE" in refusal(exported, bpe=None)
    assert "unknown BPE" in refusal(exported, bpe="bytes")
    (exported / "dict.source.txt").write_text("a 1\n", encoding="utf-8")
    assert "5 symbols, the checkpoint's embedding 24" in refusal(exported)
    (exported / "dict.source.txt").unlink()
    assert "dict.txt" in refusal(exported)
    (exported / "model.pt").write_bytes(b"PK\x03\x04 no zip")
    refusal(exported)
    (exported / "model.pt").unlink()
    assert "model.pt" in refusal(exported)


def test_languages_that_a_checkpoint_does_not_name(exported: Path) -> None:
    expected = from_fairseq([exported / "model.pt"], exported, bpe="none").network.state_dict()
    change(exported, lambda s: s["cfg"]["task"].update(source_lang=None, target_lang=None))
    found = from_fairseq([exported / "model.pt"], exported, bpe="none").network.state_dict()
    assert all(torch.equal(found[name], value) for name, value in expected.items())
    (exported / "dict.source.txt").write_text("".join(f"{w} 1\n" for w in reversed(WORDS)))
    assert "does not name its languages" in refusal(exported)


@pytest.mark.parametrize("state", [{}, {"model": {}}, {"model": 3}, [1], {"model": {}, "args": 5}])
def test_pickles_of_something_else(state: Any, exported: Path) -> None:
    torch.save(state, exported / "model.pt")
    refusal(exported)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"positions": "relative"}, "relative"),
        ({"norm_type": "rms"}, "RMS"),
        ({"gated": True}, "gated"),
        ({"source_prefix": (0,)}, "before the source"),
        ({"norm": "post", "decoder_final_norm": True}, "final norm"),
    ],
)
def test_what_fairseq_cannot_express(
    options: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=expected):
        network_to_fairseq(network(**options), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_tokens_a_dictionary_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="'two words'"):
        network_to_fairseq(network(), tmp_path / "out", [*WORDS, "two words", "a", "b", "c"])


# ---------------------------------------------------------------------------------------- drafters


@pytest.fixture
def drafter(exported: Path, tmp_path: Path) -> Path:
    """A folder with a drafter in the release's layout; test_drafters.py has the real thing."""
    folder = tmp_path / "drafter"
    network_to_fairseq(network(positions="learned", norm="post"), folder, [*"?!.:", *WORDS])
    (folder / "gec.json").unlink()

    def release(state: dict[str, Any]) -> None:
        vars(state["cfg"]["model"]).update(arch="block", src_embedding_copy=True)
        state["cfg"]["task"].update(_name="translation_lev_modified", block_size=6)
        torch.manual_seed(4)
        state["model"]["decoder.copy_attn.weight"] = torch.randn(16, 16)

    change(folder, release)
    return folder


def drafter_refusal(exported: Path, drafter: Path, data: Path | None = None) -> str:
    bundle = from_fairseq([exported / "model.pt"], exported, bpe="none")
    with pytest.raises(ModelError) as caught:
        with_drafter(bundle, drafter / "model.pt", data or exported)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_drafter_beside_its_verifier(
    exported: Path, drafter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, text = tmp_path / "bundle", tmp_path / "in.txt"
    data = ["--data", str(exported), "--bpe", "none", "--drafter", str(drafter / "model.pt")]
    assert main(["convert", "fairseq", str(exported / "model.pt"), str(out), *data]) == 0
    assert "fairseq's transformer; its drafter of" in capsys.readouterr().out
    loaded = generation.load(str(out))
    assert loaded.nat is not None
    nat = loaded.nat.nat
    assert (nat.block, nat.mask_id, nat.begins_with_bos, nat.copies_source) == (6, 3, False, True)
    text.write_text("".join(f"{' '.join(f'w{i - 4}' for i in row)}\n" for row in SOURCES))
    printed = []
    for strategy in ("greedy", "gad", "gad++", "nat"):
        options = ["--strategy", strategy, "--device", "cpu"]
        assert main(["generate", "--model", str(out), *options, str(text)]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert all(len(lines.splitlines()) == len(SOURCES) for lines in printed)
    path = out / "drafter" / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"vocabulary": "another"}))
    with pytest.raises(ModelError, match="made for another vocabulary"):
        generation.load(str(out))


def test_a_drafter_is_no_model_of_its_own(drafter: Path) -> None:
    assert "--drafter" in refusal(drafter)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda s: vars(s["cfg"]["model"]).update(arch="bart_base"), "'bart_base', not a drafter"),
        (lambda s: s["cfg"]["task"].update(source_lang="target"), "source language is target"),
        (lambda s: s["cfg"]["task"].update(noise="full_mask"), "--noise full_mask"),
        (lambda s: s["cfg"]["task"].pop("block_size"), "block_size"),
        (lambda s: vars(s["cfg"]["model"]).update(layernorm_embedding=True), "norms its embedding"),
        (lambda s: vars(s["cfg"]["model"]).update(decoder_layerdrop=0.1), "LayerDrop"),
        (lambda s: vars(s["cfg"]["model"]).update(src_embedding_copy=False), "copy_attn"),
        (lambda s: s["model"].pop("decoder.copy_attn.weight"), "lacks decoder.copy_attn"),
        (lambda s: s["model"].pop("encoder.layers.0.fc1.bias"), "lacks encoder.layers.0.fc1.bias"),
        (lambda s: s["model"].update({"decoder.copy_attn.weight": torch.ones(2, 2)}), "shape"),
    ],
)
def test_drafters_that_do_not_fit(exported: Path, drafter: Path, edit: Any, expected: str) -> None:
    change(drafter, edit)
    message = drafter_refusal(exported, drafter)
    assert expected in message
    assert str(drafter) in message


def test_drafters_of_other_dictionaries(exported: Path, drafter: Path) -> None:
    for name in ("source", "target"):
        path = drafter / f"dict.{name}.txt"
        path.write_text(path.read_text().replace("w5 ", "v5 "))
    assert "are not the verifier's" in drafter_refusal(exported, drafter, drafter)

    def shorten(state: dict[str, Any]) -> None:
        for name in [name for name in state["model"] if name.endswith("embed_tokens.weight")]:
            state["model"][name] = state["model"][name][:20]

    change(drafter, shorten)
    message = drafter_refusal(exported, drafter)
    assert "has 24 symbols, the checkpoint's embedding 20" in message


def plugins_drafter(folder: Path, size: int) -> Path:
    """Write a checkpoint as models/fairseq_plugin makes them."""
    options = {"width": 16, "heads": 2, "ffn_width": 24, "encoder_layers": 1, "decoder_layers": 1}
    nat = NatTransformer(
        TransformerConfig(
            **options, vocab_size=size, max_positions=50, positions="learned", pad_id=1, bos_id=2
        ),
        NatConfig(block=5),
    )
    more = {"max_positions": 50, "block": 5, "dropout": 0.1, "causal_prefix": False}
    settings = {f"drafter_{name}": value for name, value in (options | more).items()}
    languages = {"source_lang": "source", "target_lang": "target"}
    args = Namespace(arch="gec_block", task="gec", **settings, **languages)
    folder.mkdir()
    weights = {f"network.{name}": value for name, value in nat.state_dict().items()}
    torch.save({"args": args, "model": weights}, folder / "model.pt")
    return folder


def test_drafters_of_the_plugin_share_one_dictionary(exported: Path, tmp_path: Path) -> None:
    bundle = from_fairseq([exported / "model.pt"], exported, bpe="none")
    fits = plugins_drafter(tmp_path / "fits", SIZE)
    same, nat = with_drafter(bundle, fits / "model.pt", exported)
    assert same is bundle
    assert (nat.nat.block, nat.nat.begins_with_bos, nat.config.bos_id) == (5, True, 2)
    message = drafter_refusal(exported, plugins_drafter(tmp_path / "other", SIZE + 6))
    assert "number of symbols is 30, the verifier's 24" in message
    path = exported / "dict.source.txt"
    path.write_text("".join(f"{word} 1\n" for word in reversed(WORDS)))
    change(exported, lambda s: vars(s["cfg"]["model"]).update(share_all_embeddings=False))
    assert "one dictionary for source and target" in drafter_refusal(exported, fits)


def test_verifiers_that_have_no_drafter(exported: Path, drafter: Path, tmp_path: Path) -> None:
    to_fairseq(load("en"), tmp_path / "en")
    bundle = from_fairseq([tmp_path / "en" / "model.pt"], tmp_path / "en")
    with pytest.raises(ModelError, match="was exported from gec"):
        with_drafter(bundle, drafter / "model.pt", exported)
    change(exported, lambda state: state["cfg"]["task"].update(_name="denoising"))
    assert "before sources and outputs" in drafter_refusal(exported, drafter)


def test_a_drafter_needs_a_task_that_generates(
    exported: Path, drafter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(exported / "model.pt"), str(tmp_path / "out"), "--data", str(exported)]
    command = ["convert", "fairseq", *paths, "--bpe", "none", "--drafter", str(drafter)]
    assert main([*command, "--task", "gec"]) == 2
    assert "not for --task gec" in capsys.readouterr().err


# ------------------------------------------------------------------------------- older checkpoints


def test_settings_of_nested_configurations(exported: Path) -> None:
    def nest(state: dict[str, Any]) -> None:
        flat = vars(state["cfg"]["model"])
        nested = {k: v for k, v in flat.items() if not k.startswith(("encoder_", "decoder_"))}
        for side in ("encoder", "decoder"):
            nested[side] = {
                k.removeprefix(f"{side}_"): v for k, v in flat.items() if k.startswith(side)
            }
        state["cfg"]["model"] = nested | {"decoder_output_dim": "${model.decoder.embed_dim}"}

    expected = from_fairseq([exported / "model.pt"], exported, bpe="none").network
    change(exported, nest)
    found = from_fairseq([exported / "model.pt"], exported, bpe="none").network
    assert found.config == expected.config


def test_args_and_the_old_file_format(exported: Path) -> None:
    expected = from_fairseq([exported / "model.pt"], exported, bpe="none").network
    path = exported / "model.pt"
    state = torch.load(path, weights_only=False)
    args = vars(state["cfg"]["model"]) | state["cfg"]["task"] | {"task": "translation"}
    old = {"args": Namespace(**args), "model": state["model"], "extra_state": {"epoch": 3}}
    torch.save(old, path, _use_new_zipfile_serialization=False)
    found = from_fairseq([path], exported, bpe="none").network
    assert found.config == expected.config
    assert decoded(found, SOURCES) == decoded(expected, SOURCES)


def test_old_names_of_weights() -> None:
    old = {
        "encoder.layers.0.self_attn.in_proj_weight": torch.arange(12.0).view(6, 2),
        "encoder.layers.0.layer_norms.1.bias": torch.ones(2),
        "decoder.layers.3.layer_norms.1.weight": torch.ones(2),
        "decoder.embed_out": torch.ones(3, 2),
        "encoder.version": torch.tensor([1.0]),
        "encoder.layers.0.in_proj_weight": torch.zeros(6, 2),
    }
    found = renewed(old)
    assert set(found) == {
        *(f"encoder.layers.0.self_attn.{part}_proj.weight" for part in "qkv"),
        "encoder.layers.0.final_layer_norm.bias",
        "decoder.layers.3.encoder_attn_layer_norm.weight",
        "decoder.output_projection.weight",
    }
    assert found["encoder.layers.0.self_attn.k_proj.weight"].tolist() == [[4, 5], [6, 7]]


@pytest.mark.parametrize("arch", [*ARCHITECTURES, *DRAFTERS])
def test_every_architecture_is_complete(arch: str) -> None:
    found = (drafter_settings if arch in DRAFTERS else settings)({"arch": arch})
    assert found["decoder_embed_dim"] == found["encoder_embed_dim"]
    assert found["encoder_embed_dim"] % found["encoder_attention_heads"] == 0


# -------------------------------------------------------------------------- dictionaries and BPEs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 1\nb\n", "line 2"),
        ("a 1\n\nb 2\n", "line 2"),
        ("a 1\na 2\n", "twice"),
        ("a x\n", "line 1"),
        ("<s> 1\n", "twice"),
    ],
)
def test_broken_dictionaries(text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "dict.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=expected):
        read_dictionary(path)


def test_dictionaries_with_repeated_symbols(tmp_path: Path) -> None:
    path = tmp_path / "dict.txt"
    path.write_text("a 5\n\u3000x 4\na 3 #fairseq:overwrite\n", encoding="utf-8")
    assert read_dictionary(path) == ["<s>", "<pad>", "</s>", "<unk>", "a", "\u3000x", "a"]


def test_codes_of_both_versions() -> None:
    # l o w e r: "lo", then "low", then "er" at the end of a word only
    new = SubwordNmt(["#version: 0.2", "l o", "lo w", "e r</w>"])
    assert new.split("lower low erlow x") == [
        "low@@",
        "er",
        "lo@@",
        "w",
        "e@@",
        "r@@",
        "lo@@",
        "w",
        "x",
    ]
    assert new.join(["low@@", "er", "x@@"]) == "lower x"
    old = SubwordNmt(["l o", "lo w", "e r"])
    assert old.split("lower low") == ["low@@", "er", "low"]
    fast = SubwordNmt(["l o 20", "lo w</w> 10"])
    assert fast.split("low lower") == ["low", "lo@@", "w@@", "e@@", "r"]


@pytest.mark.parametrize("lines", [["#version: 0.2"], ["a b c d"], ["a"], []])
def test_broken_codes(lines: list[str]) -> None:
    with pytest.raises(ModelError):
        SubwordNmt(lines)


def test_gpt2_numbers_are_the_symbols(tmp_path: Path) -> None:
    vocabulary = {char: i for i, char in enumerate(["a", "b", "Ġ", "c", "ab", "Ġab"])}
    (tmp_path / "encoder.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    (tmp_path / "vocab.bpe").write_text("#version: 0.2\na b\nĠ ab\n", encoding="utf-8")
    pieces = find_pieces(tmp_path, None, None)
    assert isinstance(pieces, Gpt2)
    assert pieces.split("ab ab c") == ["4", "5", "2", "3"]
    tokenizer = FairseqTokenizer(["<s>", "<pad>", "</s>", "<unk>", "5", "4", "<mask>"], pieces)
    assert tokenizer.encode("ab ab c") == [5, 4, 3, 3]
    assert tokenizer.decode([5, 4, 2, 1]) == "ab ab"
    assert tokenizer.decode([5, 6, 4]) == "ab<mask> ab"
    tokenizer.save(tmp_path)
    assert FairseqTokenizer.load(tmp_path).encode("ab ab c") == [5, 4, 3, 3]


def test_special_symbols_cannot_be_typed(tmp_path: Path) -> None:
    pieces = find_pieces(tmp_path, "none", None)
    tokenizer = FairseqTokenizer(["<s>", "<pad>", "</s>", "<unk>", "a"], pieces)
    assert tokenizer.encode("a </s> <pad> a") == [4, 3, 3, 4]


# ----------------------------------------------------------------------------------- command line


def test_command(exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, back = str(tmp_path / "bundle"), str(tmp_path / "back")
    data = ["--data", str(exported), "--bpe", "none"]
    assert main(["convert", "fairseq", str(exported / "model.pt"), out, *data]) == 0
    assert "fairseq's transformer" in capsys.readouterr().out
    assert main(["convert", "--to", "fairseq", out, back]) == 0
    assert (Path(back) / "model.pt").is_file()
    assert main(["convert", "fairseq", str(exported / "model.pt"), out, *data]) == 2
    assert main(["convert", "fairseq", "none.pt", str(tmp_path / "x"), *data]) == 2
    assert "none.pt" in capsys.readouterr().err
