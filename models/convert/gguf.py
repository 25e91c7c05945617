"""Read a Llama network and its vocabulary from a GGUF file, the format of llama.cpp."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gec.errors import ModelError
from gec.extras import missing
from gec.models.network.llama import LlamaConfig
from gec.text.byte_pairs import BytePairs
from gec.untrusted import guarded, size_of

Fields = dict[str, Callable[[], Any]]
SEPARATOR = "\n"
"""What stands between source and output."""


def read(path: Path, max_positions: int) -> tuple[LlamaConfig, dict[str, Tensor], BytePairs]:
    """Return the settings, the float32 weights by our names, and the vocabulary.

    Raises:
        ModelError: the file is no GGUF file of a Llama network with a byte-level vocabulary, or
            the package gguf is missing.
    """
    size_of(path)
    try:
        import gguf
    except ModuleNotFoundError as error:
        raise ModelError(f"cannot read {path}: {missing('gguf')}") from error
    with guarded(f"cannot read {path}"):
        reader = gguf.GGUFReader(str(path))
        fields: Fields = {name: field.contents for name, field in reader.fields.items()}
        if (family := fields["general.architecture"]()) != "llama":
            raise ValueError(f"its architecture is {family!r}, expected 'llama'")
        cut = fields["tokenizer.ggml.model"](), fields["tokenizer.ggml.pre"]()
        if cut != ("gpt2", "smollm"):
            raise ValueError(f"its tokenizer is {cut}, expected gpt2 and smollm")
        pieces = fields["tokenizer.ggml.tokens"]()
        merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]()]
        vocabulary = BytePairs.of({piece: i for i, piece in enumerate(pieces)}, merges)
        config = _config(fields, vocabulary, len(pieces), max_positions)
        weights = {
            tensor.name: torch.from_numpy(
                gguf.quants.dequantize(tensor.data, tensor.tensor_type).copy()
            ).float()
            for tensor in reader.tensors
        }
        return config, _renamed(weights, config), vocabulary


def _config(fields: Fields, vocabulary: BytePairs, size: int, max_positions: int) -> LlamaConfig:
    def number(name: str) -> Any:
        return fields[f"llama.{name}"]()

    return LlamaConfig(
        vocab_size=size,
        width=number("embedding_length"),
        heads=number("attention.head_count"),
        kv_heads=number("attention.head_count_kv"),
        ffn_width=number("feed_forward_length"),
        layers=number("block_count"),
        max_positions=min(max_positions, number("context_length")),
        rope_base=number("rope.freq_base"),
        norm_epsilon=round(number("attention.layer_norm_rms_epsilon"), 10),  # stored in float32
        bos_id=int(fields["tokenizer.ggml.bos_token_id"]()),
        eos_id=int(fields["tokenizer.ggml.eos_token_id"]()),
        separator=vocabulary.encode_text(SEPARATOR),
    )


def _renamed(weights: dict[str, Tensor], config: LlamaConfig) -> dict[str, Tensor]:
    state = {
        "embedding.weight": weights.pop("token_embd.weight"),
        "norm.weight": weights.pop("output_norm.weight"),
    }
    for i in range(config.layers):
        own = {
            name: weights.pop(f"blk.{i}.{name}.weight")
            for name in (
                "attn_q attn_k attn_v attn_output attn_norm ffn_gate ffn_up ffn_down ffn_norm"
            ).split()
        }
        queries, keys = (
            _halves(own["attn_q"], config.heads),
            _halves(own["attn_k"], config.kv_heads),
        )
        state |= {
            f"layers.{i}.attention.qkv.weight": torch.cat([queries, keys, own["attn_v"]]),
            f"layers.{i}.attention.out.weight": own["attn_output"],
            f"layers.{i}.attention_norm.weight": own["attn_norm"],
            f"layers.{i}.ffn.gate_up.weight": torch.cat([own["ffn_gate"], own["ffn_up"]]),
            f"layers.{i}.ffn.down.weight": own["ffn_down"],
            f"layers.{i}.ffn_norm.weight": own["ffn_norm"],
        }
    if weights:
        raise ValueError(f"tensors that are not of this family: {', '.join(sorted(weights)[:3])}")
    return state


def _halves(weight: Tensor, heads: int) -> Tensor:
    """Reorder rows whose neighbours turn together into halves that do, as our rotation has them."""
    rows, inputs = weight.shape
    pairs = weight.view(heads, rows // heads // 2, 2, inputs)
    return pairs.transpose(1, 2).reshape(rows, inputs)
