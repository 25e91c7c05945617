"""Hugging Face models as bundles, and bundles as Hugging Face models.

In: a folder with ``config.json``, weights (safetensors, or a pickle of tensors only) and tokenizer
files becomes a bundle of our own Transformer, for the families of
:mod:`gec.models.convert.huggingface_families`. Every weight must find its place.

Out: the family that expresses the network exactly. Our own (pre-norm, interleaved sinusoids) is a
Blenderbot with the sinusoids as its table of learned positions. Neither direction imports
transformers, but for tokenizers that only it can run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from gec.errors import ModelError
from gec.models.convert.huggingface_common import HEAD, OURS, TABLES
from gec.models.convert.huggingface_export import to_huggingface
from gec.models.convert.huggingface_families import FAMILIES, Family
from gec.models.load.bundle import Bundle
from gec.models.load.foreign import ForeignSubwords, of_huggingface, read_json
from gec.models.network.transformer import Transformer, TransformerConfig, sinusoidal_positions
from gec.text.subwords import Subwords, WordCodec

__all__ = ["from_huggingface", "network_from_huggingface", "to_huggingface"]

_SINUSOIDAL_TABLES = 1e-4  # how far stored sinusoids may be from computed ones
# what older versions of the library saved besides
_MEANINGLESS = ("encoder.version", "decoder.version", "embed_positions._float_tensor")
# T5's first release stored a bias that its cross-attention never used
_UNUSED_T5 = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"


def from_huggingface(
    folder: str | Path,
    *,
    name: str | None = None,
    spacing: str = "plain",
    prefix: str = "",
    language: str = "en",
    task: str = "gec",
) -> Bundle:
    """Read a Hugging Face folder of one of ``FAMILIES``.

    Args:
        folder: ``config.json``, weights and tokenizer files; nothing is downloaded.
        name: the bundle's name; None takes the folder's.
        spacing: what text the model was trained on: "plain" or "tokenized".
        prefix: text that the model expects before every source (T5: "grammar: ").
        language, task: what the bundle's ``config.json`` shall say.

    Raises:
        ModelError: a foreign architecture; weights that are missing, unexpected, of a wrong shape
            or not tensors; no tokenizer, or one with more tokens than the network.
    """
    folder = Path(folder)
    values = _values(folder)
    if OURS in values:  # what we wrote ourselves, with our own vocabulary
        subwords: WordCodec = Subwords.load(folder)
        network = _network(folder, values, [], [])
    else:
        foreign = subwords = of_huggingface(folder, spacing=spacing)
        wrapping = foreign.tokenizer.wrapping()
        network = _network(folder, values, wrapping, foreign.tokenizer.encode(prefix))
    known = network.config.source_vocab_size or network.config.vocab_size
    if len(subwords) > max(known, network.config.vocab_size):
        raise ModelError(
            f"the tokenizer of {folder} has {len(subwords)} tokens, the network {known}"
        )
    name = name or folder.resolve().name
    config = {
        "name": name,
        "task": task,
        "language": language,
        "network": network.config.to_dict(),
        "tokenizer": subwords.settings if isinstance(subwords, ForeignSubwords) else None,
        "origin": {"library": "huggingface", "family": values["model_type"]},
    }
    return Bundle(name, config, network, subwords)


def network_from_huggingface(folder: str | Path) -> Transformer:
    """Read the network alone, without a tokenizer: for callers that have ids.

    Raises:
        ModelError: as :func:`from_huggingface`.
    """
    folder = Path(folder)
    return _network(folder, _values(folder), [], [])


def _values(folder: Path) -> dict[str, Any]:
    """Return ``config.json`` with what ``generation_config.json`` says of the first tokens."""
    values = read_json(folder / "config.json")
    if (path := folder / "generation_config.json").is_file():
        generation = read_json(path)
        for name in ("decoder_start_token_id", "forced_bos_token_id", "bad_words_ids"):
            if generation.get(name) is not None:
                values[name] = generation[name]
    kind = values.get("model_type")
    if kind not in FAMILIES:
        raise ModelError(
            f"{folder} is a {kind!r}, which is no configuration of our Transformer (those are "
            f"{', '.join(FAMILIES)}): run it with gec.models.load_huggingface"
        )
    wanted = FAMILIES[kind].architecture
    architectures = values.get("architectures") or [wanted]
    if wanted not in architectures:
        raise ModelError(
            f"{folder} is a {architectures[0]}, which does not generate: {wanted} does"
        )
    return values


def _network(
    folder: Path, values: Mapping[str, Any], wrapping: list[int], prefix: list[int]
) -> Transformer:
    family = FAMILIES[values["model_type"]]
    weights = _read_weights(folder)
    own = values.get("share_encoder_decoder_embeddings") is False
    _take_embeddings(weights, family, own, folder)
    settings = family.settings(values) | _first_tokens(family, values, wrapping, prefix, folder)
    bias = weights.get("final_logits_bias")
    never = _never(values)
    settings["output_bias"] = bool(never) or (bias is not None and bool(bias.any()))
    settings["tie_embeddings"] = HEAD not in weights
    config = TransformerConfig.from_dict(settings)
    if bias is None and settings["output_bias"]:
        weights["final_logits_bias"] = torch.zeros(1, config.vocab_size)
    elif bias is not None and not settings["output_bias"]:
        del weights["final_logits_bias"]
    config = _stored_positions(config, weights, family)
    network = Transformer(config)
    _fill(network, weights, family, folder)
    if never:
        with torch.no_grad():
            network.output.bias[never] = -math.inf
    return network.eval()


def _first_tokens(
    family: Family,
    values: Mapping[str, Any],
    wrapping: list[int],
    prefix: list[int],
    folder: Path,
) -> dict[str, Any]:
    """Return what stands before sources and outputs."""
    eos = values.get("eos_token_id", family.defaults["eos_token_id"])
    if not wrapping:  # no tokenizer that would say
        bos = values.get("bos_token_id", family.defaults.get("bos_token_id"))
        wrapping = [bos, eos] if family.source_bos else [eos]
    if wrapping[-1] != eos:
        raise ModelError(
            f"{folder}: its tokenizer ends a source with id {wrapping[-1]}, only the EOS ({eos}) "
            "is supported: an mBART of the first kind, with the language last, is not"
        )
    start = values.get("decoder_start_token_id", family.defaults.get("decoder_start_token_id"))
    if start is None:
        raise ModelError(f"{folder}: config.json has no decoder_start_token_id")
    found: dict[str, Any] = {"bos_id": start, "source_prefix": (*wrapping[:-1], *prefix)}
    forced = values.get("forced_bos_token_id")
    if forced is not None:
        found |= {"decoder_prefix": (start,), "bos_id": forced}
    return found


def _never(values: Mapping[str, Any]) -> list[int]:
    """Return single tokens that the model's generation settings forbid (Marian: the pad)."""
    return [ids[0] for ids in values.get("bad_words_ids") or [] if len(ids) == 1]


def _read_weights(folder: Path) -> dict[str, Tensor]:
    """Return all weights; pickles are read as tensors only."""
    files = [folder / "model.safetensors"]
    index = folder / "model.safetensors.index.json"
    if not files[0].is_file() and index.is_file():
        names = set(read_json(index).get("weight_map", {}).values())
        if outside := [name for name in names if Path(name).name != name]:
            raise ModelError(f"{index} names a file outside of its folder: {outside[0]}")
        files = [folder / name for name in sorted(names)]
    elif not files[0].is_file():
        files = sorted(folder.glob("pytorch_model*.bin"))
    if not files:
        raise ModelError(f"{folder} has neither model.safetensors nor pytorch_model.bin")
    weights: dict[str, Tensor] = {}
    for path in files:
        weights |= _read_file(path)
    return {
        name: tensor.float()
        for name, tensor in weights.items()
        if not name.endswith(_MEANINGLESS) and name != _UNUSED_T5
    }


def _read_file(path: Path) -> dict[str, Tensor]:
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"cannot read {path}: {error}") from error
    except Exception as error:  # pickles break in many ways
        reason = " ".join(str(error).split())
        raise ModelError(
            f"{path} is not a file of tensors alone and was not loaded: {reason[:300]}"
        ) from error
    if not isinstance(found, dict) or not all(isinstance(t, Tensor) for t in found.values()):
        raise ModelError(f"{path} holds something else than named tensors")
    return found


def _take_embeddings(weights: dict[str, Tensor], family: Family, own: bool, folder: Path) -> None:
    """Leave one name for tables that are stored under several; a copy that differs stays.

    ``own``: the encoder has an embedding of its own.
    """
    shared = family.names("embedding.weight", None)[0]
    stem = shared.removesuffix("shared.weight")
    encoder, decoder = (f"{stem}{side}.embed_tokens.weight" for side in ("encoder", "decoder"))
    names = [decoder, HEAD, shared] if own else [shared, decoder, encoder, HEAD]
    present = [name for name in names if name in weights]
    if not present:
        raise ModelError(f"{folder} has no embedding under a known name ({', '.join(names)})")
    table = weights[present[0]]
    for name in present:
        if torch.equal(weights[name], table):
            del weights[name]
    weights[shared] = table


def _stored_positions(
    config: TransformerConfig, weights: dict[str, Tensor], family: Family
) -> TransformerConfig:
    """Drop stored sinusoids; a stored table of other numbers is a learned one."""
    if family.positions not in ("sinusoidal_halves", "learned"):
        return config
    names = [family.names(name, config)[0] for name in TABLES]
    tables = [weights[name][family.first_row :] for name in names if name in weights]
    # in a learned table only our own export has sinusoids
    kind = "sinusoidal" if family.positions == "learned" else config.positions
    expected = sinusoidal_positions(config.max_positions, config.width, kind)
    if all(
        table.shape == expected.shape and torch.allclose(table, expected, atol=_SINUSOIDAL_TABLES)
        for table in tables
    ):
        if family.positions == "learned" and not tables:
            return config
        config = replace(config, positions=kind)
        for name in names:
            weights.pop(name, None)
        return config
    return replace(config, positions="learned")


def _fill(network: Transformer, weights: dict[str, Tensor], family: Family, folder: Path) -> None:
    """Give every weight of the network its numbers, and leave none of theirs over."""
    state: dict[str, Tensor] = {}
    missing: list[str] = []
    for ours, parameter in network.state_dict().items():
        if ours == "output.weight" and network.config.tie_embeddings:
            continue
        names = family.names(ours, network.config)
        if absent := [name for name in names if name not in weights]:
            missing += absent
            for name in names:
                weights.pop(name, None)
            continue
        parts = [weights.pop(name) for name in names]
        if ours in TABLES:
            parts = [parts[0][family.first_row :]]
        whole = parts[0][0] if ours == "output.bias" else torch.cat(parts)
        if whole.shape != parameter.shape:
            raise ModelError(
                f"{folder}: {names[0]} makes a weight of shape {list(whole.shape)}, config.json "
                f"asks for {list(parameter.shape)}"
            )
        state[ours] = whole
    problems = {"lacks": missing, "has the unexpected": sorted(weights)}
    if found := [f"{verb} {_some(names)}" for verb, names in problems.items() if names]:
        raise ModelError(f"{folder} {' and '.join(found)}")
    network.load_state_dict(state, strict=not network.config.tie_embeddings)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more weights" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
