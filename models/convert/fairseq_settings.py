"""fairseq's settings and ours, in both directions.

Nothing here imports fairseq. Settings are the command line options of fairseq 0.12.2 as a dict,
with what an ``--arch`` leaves open filled in by :func:`settings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gec.errors import ModelError
from gec.models.load.fairseq_symbols import EOS, PAD
from gec.models.network.transformer import TransformerConfig

POSITION_OFFSET = PAD + 1
"""fairseq counts positions from here; a learned table's first rows are never used."""
Settings = dict[str, Any]
_BASE: Settings = {
    "encoder_embed_dim": 512,
    "encoder_ffn_embed_dim": 2048,
    "encoder_layers": 6,
    "encoder_attention_heads": 8,
    "encoder_normalize_before": False,
    "encoder_learned_pos": False,
    "decoder_layers": 6,
    "decoder_attention_heads": 8,
    "decoder_normalize_before": False,
    "decoder_learned_pos": False,
    "activation_fn": "relu",
    "dropout": 0.1,
    "max_source_positions": 1024,
    "max_target_positions": 1024,
    "share_decoder_input_output_embed": False,
    "share_all_embeddings": False,
    "no_scale_embedding": False,
    "layernorm_embedding": False,
    "no_decoder_final_norm": False,
    "no_cross_attention": False,
}
_BIG: Settings = _BASE | {
    "encoder_embed_dim": 1024,
    "encoder_ffn_embed_dim": 4096,
    "encoder_attention_heads": 16,
    "decoder_attention_heads": 16,
    "dropout": 0.3,
}
_IWSLT: Settings = _BASE | {
    "encoder_ffn_embed_dim": 1024,
    "encoder_attention_heads": 4,
    "decoder_ffn_embed_dim": 1024,
    "decoder_attention_heads": 4,
}
_TINY: Settings = _BASE | {
    "encoder_embed_dim": 64,
    "encoder_ffn_embed_dim": 64,
    "encoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_layers": 2,
    "decoder_attention_heads": 2,
}
_BART_LARGE: Settings = _BIG | {
    "encoder_layers": 12,
    "decoder_layers": 12,
    "encoder_learned_pos": True,
    "decoder_learned_pos": True,
    "share_decoder_input_output_embed": True,
    "share_all_embeddings": True,
    "no_scale_embedding": True,
    "layernorm_embedding": True,
    "activation_fn": "gelu",
    "dropout": 0.1,
}
_BART_BASE: Settings = _BART_LARGE | {
    "encoder_embed_dim": 768,
    "encoder_ffn_embed_dim": 3072,
    "encoder_layers": 6,
    "encoder_attention_heads": 12,
    "decoder_layers": 6,
    "decoder_attention_heads": 12,
}
ARCHITECTURES: dict[str, Settings] = {
    "transformer": _BASE,
    "transformer_tiny": _TINY,
    "transformer_iwslt_de_en": _IWSLT,
    "transformer_wmt_en_de": _BASE,
    "transformer_vaswani_wmt_en_de_big": _BIG,
    "transformer_vaswani_wmt_en_fr_big": _BIG,
    "transformer_wmt_en_de_big": _BIG,
    "transformer_wmt_en_de_big_t2t": _BIG
    | {"encoder_normalize_before": True, "decoder_normalize_before": True},
    "bart_large": _BART_LARGE,
    "bart_base": _BART_BASE,
}
"""What each ``--arch`` sets if the user does not."""
DRAFTERS = ("block", "block_base", "block_6e6d512")
"""The ``--arch`` of NAT drafters in the release of GAD and SpecDec (Ge et al. 2022; Xia et al.)."""
PLUGIN = "gec_block"
"""The ``--arch`` of those that our own plugin trains in fairseq (models/fairseq_plugin)."""
_REFUSED = {
    "adaptive_input": "adaptive input embeddings",
    "adaptive_softmax_cutoff": "an adaptive softmax",
    "no_token_positional_embeddings": "a network without positions",
    "cross_self_attention": "attention over source and target at once",
    "no_cross_attention": "a decoder that does not see the source",
    "encoder_layerdrop": "layers that are left out at random (LayerDrop)",
    "decoder_layerdrop": "layers that are left out at random (LayerDrop)",
    "encoder_layers_to_keep": "a choice of layers to keep",
    "decoder_layers_to_keep": "a choice of layers to keep",
    "quant_noise_pq": "product quantization",
    "base_layers": "BASE layers",
    "char_inputs": "character inputs",
    "scale_attn": "NormFormer's extra norms",
    "scale_fc": "NormFormer's extra norms",
    "scale_heads": "NormFormer's head scales",
    "scale_resids": "NormFormer's residual scales",
}
_ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_accurate": "gelu_tanh",
    "swish": "silu",
}


@dataclass(frozen=True, slots=True)
class Sizes:
    """Entries of both dictionaries."""

    source: int
    target: int


def settings(given: Mapping[str, Any]) -> Settings:
    """Return the checkpoint's settings with its architecture's defaults.

    Raises:
        ModelError: another architecture, or one with an option ours does not have.
    """
    arch = architecture(given)
    if arch in (*DRAFTERS, PLUGIN):
        raise ModelError(
            f"the architecture {arch!r} is a NAT drafter, which drafts for another model: convert "
            "that one, and name the drafter with --drafter"
        )
    if arch not in ARCHITECTURES:
        raise ModelError(
            f"the fairseq architecture {arch!r} cannot be converted; these can: "
            f"{', '.join(ARCHITECTURES)}"
        )
    return _complete(arch, ARCHITECTURES[arch], given)


def drafter_settings(given: Mapping[str, Any]) -> Settings:
    """Return the settings of one of :data:`DRAFTERS` with its defaults.

    Raises:
        ModelError: it has an option ours does not have.
    """
    arch = architecture(given)
    defaults = dict(_BASE)
    if arch == "block":  # its sizes follow the width, unless they are named
        for side in ("encoder", "decoder"):
            width = given.get(f"{side}_embed_dim") or _BASE["encoder_embed_dim"]
            defaults[f"{side}_ffn_embed_dim"] = 4 * width
            defaults[f"{side}_attention_heads"] = width // 64
    found = _complete(arch, defaults, given)
    if found["layernorm_embedding"]:
        raise ModelError(f"this {arch} cannot be converted, its encoder alone norms its embedding")
    return found | {"no_scale_embedding": True}  # whatever the option says


def architecture(given: Mapping[str, Any]) -> str:
    """Return what a checkpoint's settings call its architecture."""
    return str(given.get("arch") or given.get("_name"))


def _complete(arch: str, defaults: Settings, given: Mapping[str, Any]) -> Settings:
    found = defaults | {k: v for k, v in given.items() if v is not None}
    for name, default in (
        ("decoder_embed_dim", found["encoder_embed_dim"]),
        ("decoder_ffn_embed_dim", found["encoder_ffn_embed_dim"]),
        ("decoder_input_dim", found.get("decoder_embed_dim", found["encoder_embed_dim"])),
        ("decoder_output_dim", found.get("decoder_embed_dim", found["encoder_embed_dim"])),
    ):
        found.setdefault(name, default)
    _refuse_foreign(arch, found)
    return found


def _refuse_foreign(arch: str, found: Settings) -> None:
    reasons = [reason for name, reason in _REFUSED.items() if found.get(name)]
    width = found["encoder_embed_dim"]
    for name in ("decoder_embed_dim", "decoder_input_dim", "decoder_output_dim"):
        if found[name] != width:
            reasons.append(f"{name} {found[name]} beside encoder_embed_dim {width}")
    if found["activation_fn"] not in _ACTIVATIONS:
        reasons.append(f"the activation {found['activation_fn']!r}")
    for name in ("normalize_before", "learned_pos"):
        if bool(found[f"encoder_{name}"]) != bool(found[f"decoder_{name}"]):
            reasons.append(f"{name} on one side only")
    if reasons:
        raise ModelError(
            f"this {arch} cannot be converted, it has {', '.join(dict.fromkeys(reasons))}"
        )


def to_config(found: Settings, sizes: Sizes, *, own_source: bool) -> TransformerConfig:
    """Return our settings for complete ones of fairseq's.

    Args:
        own_source: the encoder has an embedding of its own.
    """
    pre = bool(found["encoder_normalize_before"])
    learned = bool(found["encoder_learned_pos"])
    heads, ffn_width = found["encoder_attention_heads"], found["encoder_ffn_embed_dim"]
    tied = found["share_all_embeddings"] or found["share_decoder_input_output_embed"]
    return TransformerConfig(
        vocab_size=sizes.target,
        source_vocab_size=sizes.source if own_source else None,
        width=found["encoder_embed_dim"],
        heads=heads,
        ffn_width=ffn_width,
        decoder_heads=_other(found["decoder_attention_heads"], heads),
        decoder_ffn_width=_other(found["decoder_ffn_embed_dim"], ffn_width),
        encoder_layers=found["encoder_layers"],
        decoder_layers=found["decoder_layers"],
        max_positions=min(found["max_source_positions"], found["max_target_positions"]),
        positions="learned" if learned else "sinusoidal_tensor2tensor",
        position_offset=0 if learned else POSITION_OFFSET,
        norm="pre" if pre else "post",
        decoder_final_norm=False if pre and found["no_decoder_final_norm"] else None,
        embedding_norm=bool(found["layernorm_embedding"]),
        scale_embedding=not found["no_scale_embedding"],
        activation=_ACTIVATIONS[found["activation_fn"]],
        dropout=float(found["dropout"]),
        tie_embeddings=bool(tied),
        pad_id=PAD,
        bos_id=EOS,  # what fairseq's decoder is fed first
        eos_id=EOS,
    )


def _other(value: int, default: int) -> int | None:
    return None if value == default else value


def to_settings(config: TransformerConfig) -> Settings:
    """Return fairseq's settings (arch ``transformer``) for ours.

    Raises:
        ModelError: fairseq's Transformer cannot express it.
    """
    pre = config.norm == "pre"
    missing = {
        "relative position biases": config.positions == "relative",
        "RMS norm": config.norm_type != "layer",
        f"a norm epsilon of {config.norm_epsilon}": config.norm_epsilon != 1e-5,
        "a gated feed-forward network": config.gated,
        "linear layers without biases": not config.bias,
        "unscaled attention": not config.scale_attention,
        "a head width of its own": config.head_width is not None,
        "a scaled output": config.scale_output,
        "ids before the source or the output": config.source_prefix or config.decoder_prefix,
        "a final norm after post-norm layers": not pre
        and (config.encoder_final_norm or config.decoder_final_norm),
        "a pre-norm encoder without final norm": pre and config.encoder_final_norm is False,
    }
    if reasons := [reason for reason, is_so in missing.items() if is_so]:
        raise ModelError(f"fairseq cannot express {', '.join(reasons)}")
    learned = not has_fairseq_sinusoids(config)
    shared = config.bos_id == config.eos_id and config.tie_embeddings
    activations = {ours: theirs for theirs, ours in _ACTIVATIONS.items()}
    return {
        "arch": "transformer",
        "encoder_embed_dim": config.width,
        "encoder_ffn_embed_dim": config.ffn_width,
        "encoder_layers": config.encoder_layers,
        "encoder_attention_heads": config.heads,
        "encoder_normalize_before": pre,
        "encoder_learned_pos": learned,
        "decoder_embed_dim": config.width,
        "decoder_ffn_embed_dim": config.decoder_ffn_width or config.ffn_width,
        "decoder_layers": config.decoder_layers,
        "decoder_attention_heads": config.decoder_heads or config.heads,
        "decoder_normalize_before": pre,
        "decoder_learned_pos": learned,
        "activation_fn": activations[config.activation],
        "dropout": config.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "max_source_positions": config.max_positions,
        "max_target_positions": config.max_positions,
        "share_all_embeddings": shared and config.source_vocab_size is None,
        "share_decoder_input_output_embed": shared,
        "no_scale_embedding": not config.scale_embedding,
        "layernorm_embedding": config.embedding_norm,
        "no_decoder_final_norm": pre and config.decoder_final_norm is False,
    }


def has_fairseq_sinusoids(config: TransformerConfig) -> bool:
    """Return whether a network's positions are fairseq's own sinusoids."""
    kind = (config.positions, config.position_offset)
    return kind == ("sinusoidal_tensor2tensor", POSITION_OFFSET)
