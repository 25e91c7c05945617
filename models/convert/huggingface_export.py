"""Bundles as Hugging Face models, of the family that expresses the network exactly.

Our own network (pre-norm, interleaved sinusoids) is a Blenderbot with the sinusoids as its table of
learned positions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from gec.errors import ModelError
from gec.models.convert.huggingface_common import OURS, TABLES
from gec.models.convert.huggingface_families import Family, family_for
from gec.models.convert.output import in_float32, new_folder, save_tokenizer
from gec.models.load.bundle import Bundle
from gec.models.load.foreign import ForeignSubwords
from gec.models.network.transformer import Transformer, TransformerConfig
from gec.text.subwords import BOS, EOS, PAD


def to_huggingface(
    bundle: Bundle, folder: str | Path, *, dtype: torch.dtype = torch.float32
) -> str:
    """Write a folder that ``AutoModelForSeq2SeqLM.from_pretrained`` loads.

    Of our own vocabulary ``tokenizer.json`` holds the pieces only: case and inflection markers are
    made by :class:`gec.text.subwords.Subwords`, which loads from the folder, too. A foreign
    tokenizer is written as it came.

    Args:
        bundle: what is loaded.
        folder: a new folder, or an empty one.
        dtype: of the weights.

    Returns:
        The family (``model_type``) that was chosen.

    Raises:
        ModelError: no family expresses the network.
        ConfigError: the folder holds something.
    """
    network, config = in_float32(bundle), bundle.transformer.config
    preferred = bundle.config.get("origin", {}).get("family")
    family = family_for(config, preferred)
    weights = _their_weights(network, family)
    folder = new_folder(folder)
    save_tokenizer(bundle, folder)
    ours = not isinstance(bundle.subwords, ForeignSubwords)
    if ours:
        _write(folder / "tokenizer_config.json", _tokenizer_config(bundle))
    first = _their_first_tokens(config)
    common = {
        "model_type": family.model_type,
        "architectures": [family.architecture],
        "is_encoder_decoder": True,
        "tie_word_embeddings": config.tie_embeddings,
        "dtype": str(dtype).removeprefix("torch."),
    }
    values = common | first | family.writes(config)  # T5 means something else by "tie"
    if ours:
        values[OURS] = "the subwords are made by gec.text.subwords, see docs/interop.md"
    generation = {"max_length": config.max_positions, "num_beams": 1, "do_sample": False}
    _write(folder / "generation_config.json", first | generation)
    save_file(
        {name: tensor.to(dtype).contiguous() for name, tensor in weights.items()},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )
    _write(folder / "config.json", values)
    return family.model_type


def _their_weights(network: Transformer, family: Family) -> dict[str, Tensor]:
    config = network.config
    weights: dict[str, Tensor] = {}
    state = network.state_dict()
    if config.tie_embeddings:
        del state["output.weight"]
    if config.positions.startswith("sinusoidal") and family.positions != config.positions:
        state |= dict.fromkeys(TABLES, network.position_table)
    for ours, tensor in state.items():
        names = family.names(ours, config)
        if ours in TABLES:  # rows that are never read
            tensor = torch.cat([tensor.new_zeros(family.first_row, config.width), tensor])
        if ours == "output.bias":
            tensor = tensor[None]
        parts = tensor.chunk(len(names))
        weights |= {name: part.clone() for name, part in zip(names, parts, strict=True)}
    shared = weights.get("model.shared.weight")
    if config.source_vocab_size is not None:
        weights["model.decoder.embed_tokens.weight"] = weights.pop("model.shared.weight")
    elif not config.tie_embeddings and shared is not None:  # then nothing is tied in the library
        for side in ("encoder", "decoder"):
            weights[f"model.{side}.embed_tokens.weight"] = shared.clone()
    return weights


def _their_first_tokens(config: TransformerConfig) -> dict[str, Any]:
    start = [*config.decoder_prefix, config.bos_id]
    if len(start) > 2:
        raise ModelError(
            f"Hugging Face's generate forces one token after the first, this network {start[1:]}"
        )
    return {
        "pad_token_id": config.pad_id,
        "bos_token_id": config.source_prefix[0] if config.source_prefix else config.bos_id,
        "eos_token_id": config.eos_id,
        "decoder_start_token_id": start[0],
        "forced_bos_token_id": start[1] if len(start) == 2 else None,
        "forced_eos_token_id": None,
    }


def _tokenizer_config(bundle: Bundle) -> dict[str, Any]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": PAD,
        "bos_token": BOS,
        "eos_token": EOS,
        "clean_up_tokenization_spaces": False,
        "model_max_length": bundle.network.config.max_positions,
    }


def _write(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n", encoding="utf-8")
