"""What fine-tuning changed, in two bits a weight: how a large model travels in a small package.

A fine-tuned matrix is the pretrained one plus a difference whose values in a row are near to
normally distributed. Each difference is stored as one of four levels times the row's scale: the
quantizer of least mean squared error for a normal distribution (Max 1960, table I), which keeps
88 % of the difference's power. Norms travel whole; the embedding is not trained and does not.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from gec.errors import ModelError
from gec.models.fetch import pretrained
from gec.models.load import bundle, places
from gec.models.network.llama import Llama, LlamaConfig
from gec.text.ngrams import NGrams
from gec.text.spelling import Speller
from gec.untrusted import guarded, read_json

LEVELS = torch.tensor([-1.5104, -0.4528, 0.4528, 1.5104])
"""In standard deviations (Max 1960, table I, N = 4)."""
_BORDER = 0.9816  # between the two levels of a sign


def compress(base: Mapping[str, Tensor], tuned: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the update that leads from one state to the other; equal tensors are left out.

    A matrix ``w`` [rows, inputs] has its levels in ``w`` (uint8, four a byte, inputs / 4 bytes a
    row) and its scales in ``w.scale`` (float32 [rows]); vectors are stored whole, in float32.
    """
    update: dict[str, Tensor] = {}
    for name, before in base.items():
        after = tuned[name].float()
        if torch.equal(before, after):
            continue
        if before.ndim == 1:
            update[name] = after.contiguous()
            continue
        if before.shape[1] % 4:
            raise ModelError(f"{name} has {before.shape[1]} inputs: no multiple of four")
        change = after - before
        codes = _nearest(change, change.square().mean(1, keepdim=True).sqrt())
        levels = LEVELS[codes.long()]
        # the scale that fits the levels best: it need not be the standard deviation
        scale = (change * levels).sum(1) / levels.square().sum(1)
        update[name] = _packed(codes)
        update[f"{name}.scale"] = scale
    return update


def _nearest(change: Tensor, scale: Tensor) -> Tensor:
    """Return the index of each value's level, 0 to 3, with a scale a row [rows, 1]."""
    return (change >= 0).to(torch.uint8) * 2 + (
        (change >= 0) == (change.abs() >= _BORDER * scale)
    ).to(torch.uint8)


def _packed(codes: Tensor) -> Tensor:
    """Return four codes [rows, inputs] a byte, the first in the lowest bits."""
    four = codes.view(len(codes), -1, 4)
    return four[..., 0] | four[..., 1] << 2 | four[..., 2] << 4 | four[..., 3] << 6


def expand(base: Mapping[str, Tensor], update: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the state that :func:`compress` was given, as near as its levels are.

    Raises:
        ValueError: the update does not fit the base.
    """
    state = dict(base)
    for name, stored in update.items():
        if name.endswith(".scale"):
            continue
        if name not in base:
            raise ValueError(f"the update names {name}, which the pretrained network lacks")
        before = base[name]
        if before.ndim == 1:
            if stored.shape != before.shape or not stored.isfinite().all():
                raise ValueError(f"{name} of the update has another shape or is not finite")
            state[name] = stored.float()
            continue
        scale = update.get(f"{name}.scale")
        rows, inputs = before.shape
        fits = stored.dtype == torch.uint8 and stored.shape == (rows, inputs // 4)
        if not fits or scale is None or scale.shape != (rows,) or not scale.isfinite().all():
            raise ValueError(f"{name} of the update has another shape, type or scale")
        codes = torch.stack([stored >> shift & 3 for shift in (0, 2, 4, 6)], -1).flatten(1)
        state[name] = before + LEVELS[codes.long()] * scale.float()[:, None]
    return state


def assemble(folder: Path, out: Path, given: Path | None = None) -> None:
    """Make the int8 bundle of a shipped update in ``out``.

    ``config.json`` of the update is the bundle's, with two tables more: ``pretrained``, and
    ``parts``: the shipped bundle whose dictionary and n-grams it uses.

    Raises:
        ModelError: the update is broken, or the pretrained network cannot be had.
    """
    config = read_json(folder / "config.json")
    source = pretrained.of_settings(config.pop("pretrained", None), folder / "config.json")
    parts = config.pop("parts", None)
    architecture, base, words = pretrained.load(source, given)
    own = LlamaConfig.from_dict(config.get("network") or architecture.to_dict())
    if own != architecture:
        raise ModelError(f"{folder} is an update of another network than {source.package}")
    with guarded(f"cannot use {folder / 'update.safetensors'}"):
        state = expand(base, load_file(folder / "update.safetensors"))
    words_from = places.find(str(parts)) if parts else None
    made = bundle.Bundle(
        folder.name,
        config | {"update": digest_of(folder), "network": architecture.to_dict()},
        Llama.of(architecture, state).eval(),
        words,
        Speller.load(words_from) if words_from else None,
        NGrams.load(words_from) if words_from else None,
    )
    bundle.save(made, out, dtype=torch.int8)
    if (folder / "MODEL_CARD.md").is_file():
        shutil.copyfile(folder / "MODEL_CARD.md", out / "MODEL_CARD.md")


def digest(name: str) -> str:
    """Return what tells a shipped update from an earlier one."""
    return digest_of(places.UPDATES / name)


def digest_of(folder: Path) -> str:
    """Return the SHA-256 of an update's settings and weights."""
    found = hashlib.sha256((folder / "config.json").read_bytes())
    found.update((folder / "update.safetensors").read_bytes())
    return found.hexdigest()


def write(folder: Path, base: Mapping[str, Tensor], tuned: Mapping[str, Tensor]) -> None:
    """Write ``update.safetensors`` into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / "update.part"
    save_file(compress(base, tuned), part)
    part.replace(folder / "update.safetensors")


def write_settings(folder: Path, config: Mapping[str, object]) -> None:
    """Write the update's ``config.json``."""
    text = json.dumps(dict(config), indent=2, sort_keys=True)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")
