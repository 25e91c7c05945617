"""Bundles as CTranslate2 models, through its Transformer specification.

The position table is always written out, so sinusoids of every kind are exact. CTranslate2 pairs
tokens by their strings: the vocabulary holds those of ``tokenizer.json``, which is written beside.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from torch import Tensor, nn

from gec.errors import ConfigError, ModelError
from gec.models.convert.output import in_float32, named, needs, new_folder, save_tokenizer
from gec.models.load.bundle import Bundle
from gec.models.network.transformer import (
    DecoderLayer,
    EncoderLayer,
    Transformer,
    TransformerConfig,
)

QUANTIZATIONS = ("float32", "float16", "bfloat16", "int8", "int8_float32", "int16")
_ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH"}


def to_ctranslate2(bundle: Bundle, folder: str | Path, *, quantization: str = "float32") -> None:
    """Write a folder that ``ctranslate2.Translator`` loads.

    It takes source tokens without EOS (and without a source prefix of one token) and puts them
    there itself; if the network has a ``decoder_prefix``, its further tokens and ``bos_id`` are
    for the caller to give as ``target_prefix``.

    Args:
        bundle: what is loaded.
        folder: a new folder, or an empty one.
        quantization: of the weights, one of ``QUANTIZATIONS``.

    Raises:
        ModelError: CTranslate2 cannot express the network, or the package is missing.
        ConfigError: an unknown quantization, or the folder holds something.
    """
    if quantization not in QUANTIZATIONS:
        raise ConfigError(
            f"unknown quantization {quantization!r}, expected one of {', '.join(QUANTIZATIONS)}"
        )
    needs("ctranslate2")
    network, config = in_float32(bundle), bundle.transformer.config
    _check(config)
    spec = _spec(network)
    folder = new_folder(folder)
    tokens = save_tokenizer(bundle, folder)
    if config.source_vocab_size is None:
        spec.register_source_vocabulary(tokens)
    else:
        spec.register_source_vocabulary(_sized(tokens, config.source_vocab_size))
    spec.register_target_vocabulary(tokens)
    first = [*config.decoder_prefix, config.bos_id][0]
    spec.config.decoder_start_token = tokens[first]
    spec.config.bos_token = tokens[(config.source_prefix or (config.bos_id,))[0]]
    spec.config.eos_token = tokens[config.eos_id]
    spec.config.unk_token = tokens[config.pad_id]  # must exist; byte-level vocabularies have none
    spec.config.add_source_bos = bool(config.source_prefix)
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = config.norm_epsilon
    spec.validate()
    spec.optimize(quantization)
    spec.save(str(folder))


def _check(config: TransformerConfig) -> None:
    """Refuse what CTranslate2's Transformer has no option for."""
    missing = {
        "a final norm after post-norm layers, or none after pre-norm layers": any(
            wanted is not None and wanted != (config.norm == "pre")
            for wanted in (config.encoder_final_norm, config.decoder_final_norm)
        ),
        "biases in a gated feed-forward network": config.gated and config.bias,
        "a source prefix of several tokens": len(config.source_prefix) > 1,
    }
    if reasons := [reason for reason, is_so in missing.items() if is_so]:
        raise ModelError(f"CTranslate2 cannot express {' or '.join(reasons)}")


def _spec(network: Transformer) -> Any:
    from ctranslate2.specs import TransformerSpec, common_spec, transformer_spec

    config = network.config
    shared: dict[str, Any] = {
        "pre_norm": config.norm == "pre",
        "activation": common_spec.Activation[_ACTIVATIONS[config.activation]],
        "layernorm_embedding": config.embedding_norm,
        "relative_attention_bias": config.positions == "relative",
        "ffn_glu": config.gated,
        "rms_norm": config.norm_type == "rms",
    }
    spec = TransformerSpec(
        transformer_spec.TransformerEncoderSpec(config.encoder_layers, config.heads, **shared),
        transformer_spec.TransformerDecoderSpec(
            config.decoder_layers, config.decoder_heads or config.heads, **shared
        ),
    )
    own = config.source_vocab_size is not None
    spec.encoder.embeddings[0].weight = _weight(
        network.source_embedding if own else network.embedding
    )
    spec.decoder.embeddings.weight = _weight(network.embedding)
    _set_side(spec.encoder, network, "encoder")
    _set_side(spec.decoder, network, "decoder")
    _set_linear(spec.decoder.projection, network.output)
    if config.scale_output:
        spec.decoder.scale_outputs = config.width**-0.5
    return spec


def _set_side(spec: Any, network: Transformer, side: str) -> None:
    config = network.config
    spec.scale_embeddings = config.width**0.5 if config.scale_embedding else False
    if config.positions == "learned":
        spec.position_encodings.encodings = _weight(getattr(network, f"{side}_positions"))
    elif config.positions != "relative":
        spec.position_encodings.encodings = network.position_table.detach().clone()
    if config.embedding_norm:
        _set_norm(spec.layernorm_embedding, getattr(network, f"{side}_embedding_norm"))
    if config.norm == "pre":
        _set_norm(spec.layer_norm, getattr(network, f"{side}_norm"))
    layers = cast(Iterable[EncoderLayer | DecoderLayer], getattr(network, side))
    for layer_spec, layer in zip(spec.layer, layers, strict=True):
        _set_layer(layer_spec, layer, network, side)


def _set_layer(
    spec: Any, layer: EncoderLayer | DecoderLayer, network: Transformer, side: str
) -> None:
    config = network.config
    attention = spec.self_attention
    _set_norm(attention.layer_norm, layer.attention_residual.norm)
    _set_linear(attention.linear[0], layer.attention.qkv)
    _set_linear(attention.linear[1], layer.attention.out)
    if config.positions == "relative":
        import numpy

        attention.relative_attention_bias = _weight(getattr(network, f"{side}_bias"))
        attention.relative_attention_max_distance = numpy.int32(config.relative_distance)
    attentions = [attention]
    if isinstance(layer, DecoderLayer):
        cross = spec.attention
        _set_norm(cross.layer_norm, layer.cross_residual.norm)
        for part, linear in zip(
            cross.linear, (layer.cross.q, layer.cross.kv, layer.cross.out), strict=True
        ):
            _set_linear(part, linear)
        attentions.append(cross)
    if not config.scale_attention:
        for each in attentions:
            each.queries_scale = 1.0
    _set_norm(spec.ffn.layer_norm, layer.ffn_residual.norm)
    if layer.ffn.gate is not None:  # linear_0, which is activated, is our gate
        _set_linear(spec.ffn.linear_0, layer.ffn.gate)
        _set_linear(spec.ffn.linear_0_noact, layer.ffn.up)
    else:
        _set_linear(spec.ffn.linear_0, layer.ffn.up)
    _set_linear(spec.ffn.linear_1, layer.ffn.down)


def _set_linear(spec: Any, linear: nn.Linear) -> None:
    spec.weight = _weight(linear)
    if linear.bias is not None:
        spec.bias = linear.bias.detach().clone()


def _set_norm(spec: Any, norm: nn.Module) -> None:
    spec.gamma = _weight(norm)
    if isinstance(norm, nn.LayerNorm):
        spec.beta = norm.bias.detach().clone()


def _weight(module: nn.Module) -> Tensor:
    return cast(Tensor, module.weight).detach().clone()  # quantizing works in place


def _sized(tokens: list[str], size: int) -> list[str]:
    """Return the vocabulary cut or filled to the source embedding's size."""
    return named([*tokens[:size], *[None] * (size - len(tokens))])
