"""The Hugging Face families that are configurations of our Transformer, both ways.

A family is a row of a table: what its ``config.json`` calls our settings, which settings are fixed
in it, and what it calls our weights. BART's relatives (Lewis et al. 2020; mBART, Blenderbot,
Marian, Pegasus, M2M-100) differ in rows only; T5 (Raffel et al. 2020) has names of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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
_PLAIN = {"norm_type": "layer", "norm_epsilon": 1e-5, "bias": True, "scale_attention": True}
_PLAIN |= {"gated": False, "scale_output": False}
_T5 = {"norm": "pre", "norm_type": "rms", "positions": "relative", "embedding_norm": False}
_T5 |= {"bias": False, "scale_attention": False, "scale_embedding": False, "output_bias": False}


@dataclass(frozen=True, slots=True)
class Family:
    """One ``model_type``.

    Attributes:
        model_type: as ``config.json`` names it.
        architecture: the class that generates, the only one taken.
        fixed: our settings that are the same in all its models.
        first_row: rows of a learned position table that are never read.
        defaults: what ``config.json`` may leave out.
        positions: the kind of position in its own models ("relative" is told by nothing else).
        reads: from ``config.json`` to our settings.
        writes: from our settings to ``config.json``.
        names: from one of our weights to theirs, which stand together in it.
    """

    model_type: str
    architecture: str
    positions: str
    fixed: Values
    defaults: Values
    reads: Callable[[Values], dict[str, Any]]
    writes: Callable[[TransformerConfig], dict[str, Any]]
    names: Callable[[str, TransformerConfig | None], list[str]]
    first_row: int = 0
    source_bos: bool = False

    def settings(self, values: Values) -> dict[str, Any]:
        """Return our settings for a ``config.json``; raises ModelError where it lacks one."""
        given = {**self.defaults, **{k: v for k, v in values.items() if v is not None}}
        try:
            return {"positions": self.positions, **self.fixed, **self.reads(given)}
        except KeyError as error:
            raise ModelError(f"config.json has no {error.args[0]!r}") from None

    def obstacles(self, config: TransformerConfig) -> list[str]:
        """Return what of a network this family cannot express."""
        found = [
            f"{name}={getattr(config, name)!r}"
            for name, value in self.fixed.items()
            if getattr(config, name) != value
        ]
        if (config.positions == "relative") != (self.positions == "relative"):
            found.append(f"positions={config.positions!r}")
        for name in ("encoder_final_norm", "decoder_final_norm"):
            if getattr(config, name) not in (None, config.norm == "pre"):
                found.append(f"{name}={getattr(config, name)!r}")
        if config.source_vocab_size is not None and self.model_type != "marian":
            found.append("an embedding of the encoder's own")
        if config.output_bias and self.model_type in ("m2m_100", "t5", "mt5"):
            found.append("output_bias=True")
        return found


# ----------------------------------------------------------------------------- BART's relatives


def _reads_bart(values: Values) -> dict[str, Any]:
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


def _writes_bart(config: TransformerConfig) -> dict[str, Any]:
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


def _bart_names(name: str, config: TransformerConfig | None) -> list[str]:
    return _names(name, _BART_WHOLE, "model.{side}.layers.{number}.", lambda _: _BART_PARTS)


# --------------------------------------------------------------------------------------------- T5


def _reads_t5(values: Values) -> dict[str, Any]:
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


def _writes_t5(config: TransformerConfig) -> dict[str, Any]:
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


def _t5_names(name: str, config: TransformerConfig | None) -> list[str]:
    parts = partial(_t5_parts, gated=config is not None and config.gated)
    return _names(name, _T5_WHOLE, "{side}.block.{number}.", parts)


# ------------------------------------------------------------------------------------------ shared


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
    """Return their names of one of our weights: several where ours holds several of theirs."""
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


def _bart(model_type: str, architecture: str, positions: str, **more: Any) -> Family:
    fixed = _PLAIN | {key: more.pop(key) for key in ("norm", "embedding_norm")}
    if model_type == "m2m_100":
        fixed["position_offset"] = 2
    sizes = {"encoder_layers": 12, "decoder_layers": 12, "scale_embedding": False}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_ffn_dim": 4096, f"{side}_attention_heads": 16}
    defaults = sizes | {
        "d_model": 1024,
        "max_position_embeddings": 1024,
        "activation_function": "gelu",
    }
    defaults |= more.pop("defaults")
    return Family(
        model_type, architecture, positions, fixed, defaults, _reads_bart, _writes_bart,
        _bart_names, **more,
    )  # fmt: skip


def _ids(pad: int, eos: int, **more: Any) -> dict[str, Any]:
    return {"pad_token_id": pad, "eos_token_id": eos, **more}


_T5_DEFAULTS = {
    "vocab_size": 32128,
    "d_model": 512,
    "d_kv": 64,
    "d_ff": 2048,
    "num_layers": 6,
    "num_heads": 8,
    "relative_attention_num_buckets": 32,
    "relative_attention_max_distance": 128,
    "layer_norm_epsilon": 1e-6,
    "feed_forward_proj": "relu",
} | _ids(0, 1, decoder_start_token_id=0)
_MT5_DEFAULTS = {
    "vocab_size": 250112,
    "d_ff": 1024,
    "num_layers": 8,
    "num_heads": 6,
    "feed_forward_proj": "gated-gelu",
    "scale_decoder_outputs": False,  # whatever config.json says of tied embeddings
}

FAMILIES = {
    family.model_type: family
    for family in (
        _bart(
            "bart", "BartForConditionalGeneration", "learned", norm="post", embedding_norm=True,
            first_row=2, source_bos=True,
            defaults=_ids(1, 2, bos_token_id=0, decoder_start_token_id=2, vocab_size=50265),
        ),
        _bart(
            "mbart", "MBartForConditionalGeneration", "learned", norm="pre", embedding_norm=True,
            first_row=2, defaults=_ids(1, 2, vocab_size=50265),
        ),
        _bart(
            "marian", "MarianMTModel", "sinusoidal_halves", norm="post", embedding_norm=False,
            defaults=_ids(58100, 0, decoder_start_token_id=58100, vocab_size=58101),
        ),
        _bart(
            "pegasus", "PegasusForConditionalGeneration", "sinusoidal_halves", norm="pre",
            embedding_norm=False, defaults=_ids(0, 1, decoder_start_token_id=0, vocab_size=50265),
        ),
        _bart(
            "blenderbot", "BlenderbotForConditionalGeneration", "learned", norm="pre",
            embedding_norm=False, defaults=_ids(0, 2, decoder_start_token_id=1, vocab_size=8008),
        ),
        _bart(
            "m2m_100", "M2M100ForConditionalGeneration", "sinusoidal_tensor2tensor", norm="pre",
            embedding_norm=False, defaults=_ids(
                1, 2, decoder_start_token_id=2, vocab_size=128112, activation_function="relu",
                scale_embedding=True,
            ),
        ),
        Family(
            "t5", "T5ForConditionalGeneration", "relative", _T5, _T5_DEFAULTS, _reads_t5,
            _writes_t5, _t5_names,
        ),
        Family(
            "mt5", "MT5ForConditionalGeneration", "relative", _T5 | {"scale_output": False},
            _T5_DEFAULTS | _MT5_DEFAULTS,
            _reads_t5, _writes_t5, _t5_names,
        ),
    )
}  # fmt: skip


def family_for(config: TransformerConfig, preferred: str | None = None) -> Family:
    """Return the family that can express a network; the preferred one, or one of its positions.

    Raises:
        ModelError: none can; the message says what stands in the way of the nearest.
    """

    def distance(family: Family) -> tuple[bool, bool, bool]:
        learned = family.positions == "learned"
        return family.model_type != preferred, family.positions != config.positions, not learned

    def able() -> Iterator[Family]:
        for family in sorted(FAMILIES.values(), key=distance):
            table = family.positions in (config.positions, "learned") or (
                family.positions == "sinusoidal_halves"  # a frozen table, but stored and read
            )
            if table and not family.obstacles(config):
                yield family

    found = next(able(), None)
    if found is None:
        nearest = min(FAMILIES.values(), key=lambda family: len(family.obstacles(config)))
        reasons = ", ".join(nearest.obstacles(config))
        raise ModelError(
            f"no Hugging Face family expresses this network; the nearest, {nearest.model_type}, "
            f"cannot express {reasons}"
        )
    return found
