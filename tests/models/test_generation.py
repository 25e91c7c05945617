"""Bundles that generate: written, read, and refused when their parts do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tiny_generation import random_bundle, vocabulary

from gec.errors import ModelError
from gec.models import generation
from gec.models.generation import GenerationBundle


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
    from gec.models import bundle

    with pytest.raises(ModelError):
        bundle.load(str(folder))
