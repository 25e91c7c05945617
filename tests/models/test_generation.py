"""Bundles that generate: written, read, and refused when their parts do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tiny_generation import random_bundle, vocabulary

from gec.errors import ModelError
from gec.models.engines.nat_blocks import TransformerBlocks
from gec.models.load import generation
from gec.models.load.generation import GenerationBundle
from gec.models.network.nat import NatConfig, NatTransformer
from gec.models.network.transformer import TransformerConfig


def state(bundle: GenerationBundle) -> dict[str, torch.Tensor]:
    found = dict(bundle.network.state_dict())
    for name, part in (("nat", bundle.nat), ("heads", bundle.heads)):
        if part is not None:
            found |= {f"{name}.{key}": value for key, value in part.state_dict().items()}
    return found


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("heads", [False, True])
def test_what_is_written_is_read(tmp_path: Path, shared: bool, heads: bool) -> None:
    bundle = random_bundle(shared=shared, heads=heads)
    generation.save(bundle, tmp_path / "toy", dtype=torch.float32)
    again = generation.load(str(tmp_path / "toy"))
    mine, theirs = state(bundle), state(again)
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    assert again.vocabulary.fingerprint == bundle.vocabulary.fingerprint
    parts = again.parts()
    assert (parts.longest, parts.split) == (30, True)
    assert (parts.heads is not None) == heads


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    generation.save(random_bundle(), tmp_path / "toy")
    return tmp_path / "toy"


def edit(path: Path, **changes: object) -> None:
    config = json.loads(path.read_text())
    for name, value in changes.items():
        outer, _, inner = name.partition("__")
        if inner:
            config[outer][inner] = value
        else:
            config[outer] = value
    path.write_text(json.dumps(config))


def refused(folder: Path, message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        generation.load(str(folder))
    assert "\n" not in str(caught.value)


def test_a_drafter_of_another_vocabulary(folder: Path) -> None:
    edit(folder / "drafter" / "config.json", vocabulary=vocabulary(305).fingerprint)
    refused(folder, "made for another vocabulary than toy's")


@pytest.mark.parametrize("name", ["bos_id", "eos_id", "pad_id"])
def test_a_drafter_with_other_special_tokens(folder: Path, name: str) -> None:
    edit(folder / "drafter" / "config.json", **{f"network__{name}": 7})
    refused(folder, f"{name} is 7, the verifier's is")


def test_a_drafter_of_an_unknown_kind_or_with_unknown_settings(folder: Path) -> None:
    edit(folder / "drafter" / "config.json", nat={"blocks": 3})
    refused(folder, "unknown drafter settings")
    edit(folder / "drafter" / "config.json", kind="magic")
    refused(folder, "unknown kind of drafter 'magic'")


def test_missing_and_broken_parts(folder: Path) -> None:
    edit(folder / "config.json", limit={"ratio": -1})
    refused(folder, "limit")
    edit(folder / "config.json", limit={}, heads={"count": 2, "hidden": 16})
    refused(folder, "cannot load .*heads.safetensors")
    (folder / "drafter" / "model.safetensors").write_bytes(b"no")
    refused(folder, "drafter.*cannot load|cannot load .*drafter")
    edit(folder / "config.json", task="gec")
    refused(folder, "use gec correct")


def test_a_bundle_for_text_is_not_for_correcting(folder: Path) -> None:
    from gec.models.load import bundle

    with pytest.raises(ModelError):
        bundle.load(str(folder))


RELEASE = NatConfig(
    block=5, mask_id=3, begins_with_bos=False, layer_positions=True, copies_source=True
)


def released(**options: object) -> NatTransformer:
    torch.manual_seed(6)
    config = random_bundle().network.config.to_dict() | {"positions": "learned"} | options
    return NatTransformer(TransformerConfig.from_dict(config), RELEASE).eval()


def test_settings_of_plain_drafters_stay_what_they_were() -> None:
    plain = {"block": 25, "causal_prefix": False, "shared_encoder": False}
    assert NatConfig().to_dict() == plain
    assert NatConfig.from_dict(RELEASE.to_dict()) == RELEASE
    assert set(RELEASE.to_dict()) > set(plain)


def test_a_drafter_of_the_release_is_written_and_read(tmp_path: Path) -> None:
    bundle = random_bundle(heads=False)
    bundle.nat = released()
    generation.save(bundle, tmp_path / "toy", dtype=torch.float32)
    again = generation.load(str(tmp_path / "toy"))
    assert again.nat is not None
    assert again.nat.nat == RELEASE
    mine, theirs = state(bundle), state(again)
    assert "nat.copy.weight" in mine
    assert "nat.mask" not in mine
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


@torch.no_grad()
def test_training_sees_what_drafting_sees() -> None:
    """Also without BOS: row by row the blocks of forward are those that are drafted."""
    network = released()
    eos, pad = network.config.eos_id, network.config.pad_id
    sources, targets = [[5, 6, 7, 8], [9]], [[10, 11, 12, eos], [13, eos]]
    source = torch.tensor([[5, 6, 7, 8, eos], [9, eos, pad, pad, pad]])
    target = torch.tensor([targets[0], [*targets[1], pad, pad]])
    blocks = TransformerBlocks(network)
    for lengths in ([0, 0], [3, 1], [2, 0]):
        logits, truth, wanted = network(source, target, torch.tensor(lengths), 5)
        left = [row[length:] for row, length in zip(targets, lengths, strict=True)]
        assert truth.tolist() == [token for row in left for token in row]
        prefixes = [row[:length] for row, length in zip(targets, lengths, strict=True)]
        tokens, logprobs = blocks.draft(blocks.start(sources), prefixes, 5)
        assert torch.equal(torch.tensor(tokens)[wanted], logits.argmax(-1))
        best = logits.log_softmax(-1).max(-1).values
        torch.testing.assert_close(torch.tensor(logprobs)[wanted], best)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"copies_source": True}, "copies_source needs layer_positions"),
        ({"layer_positions": True}, "layer_positions needs a mask_id"),
        ({"mask_id": "unk"}, "mask_id must be an id"),
        (RELEASE.to_dict() | {"shared_encoder": True}, "an encoder of its own"),
    ],
)
def test_options_of_a_drafter_that_exclude_each_other(
    options: dict[str, object], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        NatConfig.from_dict(options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embedding_norm": True}, "embedding_norm"),
        ({"vocab_size": 3}, "mask_id must be an id of the vocabulary, not 3"),
    ],
)
def test_networks_that_a_released_drafter_is_not(options: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        released(**options)
