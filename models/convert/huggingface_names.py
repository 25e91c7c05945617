"""What the Hugging Face families call our settings and weights: BART's relatives and T5."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from gec.errors import ModelError
from gec.models.network.transformer import TransformerConfig

Values = Mapping[str, Any]
ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}


def reads_bart(values: Values) -> dict[str, Any]:
    """Return our settings for those of BART and its relatives."""
    settings = _shared(values) | {
        "heads": values["encoder_attention_heads"],
        "ffn_width": values["encoder_ffn_dim"],
        "encoder_layers": values["encoder_layers"],
        "decoder_layers": values["decoder_layers"],
        "max_positions": values["max_position_embeddings"],
        "activation": _activation(values["activation_function"]),
        "scale_embedding": bool(values["scale_embedding"]),
    }
    if values["decoder_attention_heads"] != settings["heads"]:
        settings["decoder_heads"] = values["decoder_attention_heads"]
    if values["decoder_ffn_dim"] != settings["ffn_width"]:
        settings["decoder_ffn_width"] = values["decoder_ffn_dim"]
    if values.get("share_encoder_decoder_embeddings") is False:
        settings["source_vocab_size"] = values["vocab_size"]
        settings["vocab_size"] = values.get("decoder_vocab_size") or values["vocab_size"]
    return settings


def writes_bart(config: TransformerConfig) -> dict[str, Any]:
    """Return the settings of BART and its relatives for ours."""
    return {
        "d_model": config.width,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.decoder_heads or config.heads,
        "encoder_ffn_dim": config.ffn_width,
        "decoder_ffn_dim": config.decoder_ffn_width or config.ffn_width,
        "max_position_embeddings": config.max_positions,
        "activation_function": _their_activation(config.activation),
        "scale_embedding": config.scale_embedding,
        "dropout": config.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        # Blenderbot's own defaults would change what is generated
        "encoder_no_repeat_ngram_size": 0,
        "forced_eos_token_id": None,
        "vocab_size": config.source_vocab_size or config.vocab_size,
        "decoder_vocab_size": config.vocab_size,
        "share_encoder_decoder_embeddings": config.source_vocab_size is None,
    }


_BART_PARTS = {
    "attention.qkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "attention.out": ("self_attn.out_proj",),
    "attention_residual.norm": ("self_attn_layer_norm",),
    "cross.q": ("encoder_attn.q_proj",),
    "cross.kv": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "cross.out": ("encoder_attn.out_proj",),
    "cross_residual.norm": ("encoder_attn_layer_norm",),
    "ffn.up": ("fc1",),
    "ffn.down": ("fc2",),
    "ffn_residual.norm": ("final_layer_norm",),
}
_BART_WHOLE = {
    "embedding.weight": "model.shared.weight",
    "source_embedding.weight": "model.encoder.embed_tokens.weight",
    "output.weight": "lm_head.weight",
    "output.bias": "final_logits_bias",
    "encoder_positions.weight": "model.encoder.embed_positions.weight",
    "decoder_positions.weight": "model.decoder.embed_positions.weight",
    "encoder_embedding_norm": "model.encoder.layernorm_embedding",
    "decoder_embedding_norm": "model.decoder.layernorm_embedding",
    "encoder_norm": "model.encoder.layer_norm",
    "decoder_norm": "model.decoder.layer_norm",
}


def bart_names(name: str, config: TransformerConfig | None) -> list[str]:
    """Return what BART and its relatives call one of our weights."""
    return _names(name, _BART_WHOLE, "model.{side}.layers.{number}.", lambda _: _BART_PARTS)


def reads_t5(values: Values) -> dict[str, Any]:
    """Return our settings for T5's."""
    kind, _, activation = values["feed_forward_proj"].rpartition("-")
    if kind not in ("", "gated"):
        raise ModelError(f"feed_forward_proj {values['feed_forward_proj']!r} is not known")
    if kind and activation == "gelu":  # the published models mean the approximation by tanh
        activation = "gelu_new"
    tied = values.get("tie_word_embeddings", True) is not False  # 1.1 says False and scales not
    return _shared(values) | {
        "heads": values["num_heads"],
        "head_width": values["d_kv"],
        "ffn_width": values["d_ff"],
        "encoder_layers": values["num_layers"],
        "decoder_layers": values.get("num_decoder_layers") or values["num_layers"],
        "max_positions": 4096,  # biases reach any distance: a bound on memory only
        "relative_buckets": values["relative_attention_num_buckets"],
        "relative_distance": values["relative_attention_max_distance"],
        "norm_epsilon": values["layer_norm_epsilon"],
        "gated": bool(kind),
        "activation": _activation(activation),
        "scale_output": bool(values.get("scale_decoder_outputs", tied)),
    }


def writes_t5(config: TransformerConfig) -> dict[str, Any]:
    """Return T5's settings for ours."""
    activation = _their_activation(config.activation)
    if config.gated:
        # in T5's own config "gated-gelu" is the only way to say gelu_new
        activation = "gated-" + {"gelu_new": "gelu"}.get(activation, activation)
    return {
        "d_model": config.width,
        "d_kv": config.head_width or config.width // config.heads,
        "d_ff": config.ffn_width,
        "num_layers": config.encoder_layers,
        "num_decoder_layers": config.decoder_layers,
        "num_heads": config.heads,
        "relative_attention_num_buckets": config.relative_buckets,
        "relative_attention_max_distance": config.relative_distance,
        "layer_norm_epsilon": config.norm_epsilon,
        "feed_forward_proj": activation,
        "dropout_rate": config.dropout,
        "scale_decoder_outputs": config.scale_output,
        "tie_word_embeddings": config.scale_output,  # how config.json says the same
        "vocab_size": config.vocab_size,
    }


def _t5_parts(side: str, gated: bool) -> dict[str, tuple[str, ...]]:
    ffn = f"layer.{1 if side == 'encoder' else 2}"
    self_attention, cross = "layer.0.SelfAttention", "layer.1.EncDecAttention"
    return {
        "attention.qkv": tuple(f"{self_attention}.{part}" for part in "qkv"),
        "attention.out": (f"{self_attention}.o",),
        "attention_residual.norm": ("layer.0.layer_norm",),
        "cross.q": (f"{cross}.q",),
        "cross.kv": (f"{cross}.k", f"{cross}.v"),
        "cross.out": (f"{cross}.o",),
        "cross_residual.norm": ("layer.1.layer_norm",),
        "ffn.gate": (f"{ffn}.DenseReluDense.wi_0",),
        "ffn.up": (f"{ffn}.DenseReluDense.{'wi_1' if gated else 'wi'}",),
        "ffn.down": (f"{ffn}.DenseReluDense.wo",),
        "ffn_residual.norm": (f"{ffn}.layer_norm",),
    }


_RELATIVE = "block.0.layer.0.SelfAttention.relative_attention_bias.weight"
_T5_WHOLE = {
    "embedding.weight": "shared.weight",
    "output.weight": "lm_head.weight",
    "encoder_bias.weight": f"encoder.{_RELATIVE}",
    "decoder_bias.weight": f"decoder.{_RELATIVE}",
    "encoder_norm": "encoder.final_layer_norm",
    "decoder_norm": "decoder.final_layer_norm",
}


def t5_names(name: str, config: TransformerConfig | None) -> list[str]:
    """Return what T5 calls one of our weights."""
    parts = partial(_t5_parts, gated=config is not None and config.gated)
    return _names(name, _T5_WHOLE, "{side}.block.{number}.", parts)


def _shared(values: Values) -> dict[str, Any]:
    return {
        "vocab_size": values["vocab_size"],
        "width": values["d_model"],
        "dropout": values.get("dropout", values.get("dropout_rate", 0.1)),
        "pad_id": values["pad_token_id"],
        "eos_id": values["eos_token_id"],
    }


def _activation(name: str) -> str:
    if name not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise ModelError(f"activation function {name!r} is not known, only {known}")
    return ACTIVATIONS[name]


def _their_activation(name: str) -> str:
    return next(theirs for theirs, ours in ACTIVATIONS.items() if ours == name)


def _names(
    name: str,
    whole: Mapping[str, str],
    layer: str,
    parts: Callable[[str], Mapping[str, tuple[str, ...]]],
) -> list[str]:
    """Return their names of one of our weights: several if ours holds several of theirs."""
    if name in whole:
        return [whole[name]]
    module, _, kind = name.rpartition(".")
    if module in whole:
        return [f"{whole[module]}.{kind}"]
    found = re.fullmatch(r"(encoder|decoder)\.(\d+)\.(.+)", module)
    if found is None:
        raise ModelError(f"the weight {name} has no place in this family")
    side, number, part = found.groups()
    prefix = layer.format(side=side, number=number)
    return [f"{prefix}{theirs}.{kind}" for theirs in parts(side)[part]]
