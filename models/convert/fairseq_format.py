"""fairseq's Transformer and ours, name by name: settings and weights, in both directions.

Nothing here imports fairseq. Settings are the command line options of fairseq 0.12.2 as a dict,
with what an ``--arch`` leaves open filled in by :func:`settings`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gec.errors import ModelError
from gec.models.network.transformer import TransformerConfig

BOS, PAD, EOS, UNK = 0, 1, 2, 3
"""The first four ids of every fairseq dictionary."""
SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
POSITION_OFFSET = PAD + 1
"""fairseq counts positions from here; a learned table's first rows are never used."""
VERSION = 3
"""Of a side since a final norm belongs to pre-norm stacks (2017)."""

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
"""What each ``--arch`` sets where the user does not."""
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
    learned = not _fairseq_sinusoids(config)
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


def _fairseq_sinusoids(config: TransformerConfig) -> bool:
    kind = (config.positions, config.position_offset)
    return kind == ("sinusoidal_tensor2tensor", POSITION_OFFSET)


# ---------------------------------------------------------------------------------------- weights


def layer_names(config: TransformerConfig) -> Iterator[tuple[str, list[str]]]:
    """Give each of our layer weights' names with those of fairseq that it is made of, in order."""
    for side, count in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for number in range(count):
            for ours, parts in _sublayers(side):
                for kind in ("weight", "bias"):
                    theirs = [f"{side}.layers.{number}.{part}.{kind}" for part in parts]
                    yield f"{side}.{number}.{ours}.{kind}", theirs
        for ours, part, present in (
            ("norm", "layer_norm", _has_final_norm(config, side)),
            ("embedding_norm", "layernorm_embedding", config.embedding_norm),
        ):
            if present:
                for kind in ("weight", "bias"):
                    yield f"{side}_{ours}.{kind}", [f"{side}.{part}.{kind}"]


def _sublayers(side: str) -> Iterator[tuple[str, list[str]]]:
    yield "attention.qkv", [f"self_attn.{part}_proj" for part in "qkv"]
    yield "attention.out", ["self_attn.out_proj"]
    yield "attention_residual.norm", ["self_attn_layer_norm"]
    if side == "decoder":
        yield "cross.q", ["encoder_attn.q_proj"]
        yield "cross.kv", ["encoder_attn.k_proj", "encoder_attn.v_proj"]
        yield "cross.out", ["encoder_attn.out_proj"]
        yield "cross_residual.norm", ["encoder_attn_layer_norm"]
    yield "ffn.up", ["fc1"]
    yield "ffn.down", ["fc2"]
    yield "ffn_residual.norm", ["final_layer_norm"]


def _has_final_norm(config: TransformerConfig, side: str) -> bool:
    wanted: bool | None = getattr(config, f"{side}_final_norm")
    return config.norm == "pre" if wanted is None else wanted


_COPIES = re.compile(
    r"encoder\.layers\.\d+\.(in_proj|out_proj|fc1|fc2)_(weight|bias)"
    r"|(encoder|decoder)\.(version|embed_positions\._float_tensor|embed_positions\.weights)"
    r"|classification_heads\..*"
)
"""What 0.12 stores besides the network: its fast path's copies, versions, BART's classifiers."""

_OLD_NORMS = {
    "encoder": ("self_attn_layer_norm", "final_layer_norm"),
    "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
}


def renewed(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return a state dict of any fairseq version under the names of 0.12, without copies.

    Old ones have numbered norms, projections of attention in one matrix and ``embed_out``.
    """
    found: dict[str, Tensor] = {}
    for name, value in weights.items():
        if _COPIES.fullmatch(name):
            continue
        if match := re.fullmatch(r"(encoder|decoder)(\..*)\.layer_norms\.(\d)\.(\w+)", name):
            side, layer, number, kind = match.groups()
            norms = _OLD_NORMS[side]
            if int(number) < len(norms):
                name = f"{side}{layer}.{norms[int(number)]}.{kind}"
        elif match := re.fullmatch(r"(.*_attn\.)in_proj_(weight|bias)", name):
            for part, chunk in zip("qkv", value.chunk(3), strict=True):
                found[f"{match[1]}{part}_proj.{match[2]}"] = chunk
            continue
        elif name == "decoder.embed_out":
            name = "decoder.output_projection.weight"
        found[name] = value
    return found


def weights_from_fairseq(
    weights: Mapping[str, Tensor], config: TransformerConfig
) -> dict[str, Tensor]:
    """Return our state dict for fairseq's (:func:`renewed`).

    Raises:
        ModelError: a weight is missing, left over, or of another shape than the settings say.
    """
    left = dict(weights)
    missing: list[str] = []

    def take(name: str) -> Tensor:
        if name not in left:
            missing.append(name)
            return torch.empty(0)
        return left.pop(name).float()

    found = {
        ours: torch.cat(parts) if len(parts) > 1 else parts[0]
        for ours, theirs in layer_names(config)
        for parts in [[take(name) for name in theirs]]
    }
    found["embedding.weight"] = take("decoder.embed_tokens.weight")
    source = left.pop("encoder.embed_tokens.weight", None)
    if config.source_vocab_size is not None:
        if source is None:
            missing.append("encoder.embed_tokens.weight")
        else:
            found["source_embedding.weight"] = source.float()
    elif source is not None and not torch.equal(source.float(), found["embedding.weight"]):
        raise ModelError("the settings say one embedding for both sides, the weights are two")
    output = left.pop("decoder.output_projection.weight", None)
    if config.tie_embeddings:
        output = found["embedding.weight"]
    elif output is None:
        missing.append("decoder.output_projection.weight")
        output = torch.empty(0)
    found["output.weight"] = output.float()
    if config.positions == "learned":
        for side in ("encoder", "decoder"):
            table = take(f"{side}.embed_positions.weight")
            found[f"{side}_positions.weight"] = table[POSITION_OFFSET:][: config.max_positions]
    if missing:
        raise ModelError(f"the checkpoint lacks {_some(missing)}")
    if left:
        raise ModelError(
            f"the checkpoint holds weights that its settings do not name: {_some(left)}"
        )
    return found


def _some(names: Any) -> str:
    """Return at most four names, and how many more."""
    listed = sorted(names)
    more = f" and {len(listed) - 4} more" if len(listed) > 4 else ""
    return ", ".join(listed[:4]) + more


def weights_to_fairseq(
    weights: Mapping[str, Tensor], config: TransformerConfig, position_table: Tensor | None
) -> dict[str, Tensor]:
    """Return fairseq's state dict for ours; ids must be fairseq's already but for ``bos_id``.

    A network that begins with another token than EOS, which is what fairseq's decoder is always
    fed first, gets an embedding of its own for the decoder's input, where EOS has the row of BOS:
    EOS is never fed otherwise.

    Args:
        position_table: our sinusoids, which fairseq can only take as learned ones.
    """
    found: dict[str, Tensor] = {}
    for ours, theirs in layer_names(config):
        found |= zip(theirs, weights[ours].chunk(len(theirs)), strict=True)
    embedding = weights["embedding.weight"]
    found["encoder.embed_tokens.weight"] = weights.get("source_embedding.weight", embedding)
    found["decoder.output_projection.weight"] = weights["output.weight"]
    if config.bos_id != config.eos_id:
        embedding = embedding.clone()
        embedding[config.eos_id] = embedding[config.bos_id]
    found["decoder.embed_tokens.weight"] = embedding
    for side in ("encoder", "decoder"):
        found[f"{side}.version"] = torch.tensor([float(VERSION)])
        if not _fairseq_sinusoids(config):
            table = weights.get(f"{side}_positions.weight", position_table)
            assert table is not None  # only relative positions have neither, and are refused
            unused = table.new_zeros(POSITION_OFFSET, config.width)
            found[f"{side}.embed_positions.weight"] = torch.cat([unused, table])
    return {name: value.detach().contiguous() for name, value in found.items()}
