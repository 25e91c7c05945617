"""How a network is laid out for the C side: which tensor is which part of its structures."""

from __future__ import annotations

import math

from gec.models.native import structures
from gec.models.native.weights import Weights, address
from gec.models.network.llama_config import LlamaConfig
from gec.models.network.nat_config import NatConfig
from gec.models.network.positions import rotary, sinusoidal
from gec.models.network.transformer_config import TransformerConfig


def encoder_decoder(
    config: TransformerConfig, weights: Weights, nat: NatConfig | None = None
) -> structures.Network:
    """Return an encoder-decoder, whose tensors are taken from ``weights``.

    With ``nat`` it drafts blocks: it may have a MASK of its own, and no encoder.
    """
    shared = nat is not None and nat.shared_encoder
    output = weights.linear(
        "output",
        config.vocab_size if nat is None or not nat.output_ids else len(nat.output_ids),
        config.width,
        bias=config.output_bias,
        source="embedding" if config.tie_embeddings else None,
    )
    if config.tie_embeddings:
        for name in ("output.weight", "output.weight.scale"):
            weights.tensors.pop(name, None)
    tied = output if config.tie_embeddings else None
    table = weights.table("embedding", config.vocab_size, config.width, tied=tied)
    source_table = table
    if config.source_vocab_size is not None:
        source_table = weights.table("source_embedding", config.source_vocab_size, config.width)
    decoder = _side(config, weights, "decoder", table)
    encoder = structures.Side(table=source_table)  # of no layers
    if not shared:
        encoder = _side(config, weights, "encoder", source_table)
    if config.positions != "learned":
        length = config.position_offset + config.max_positions
        fixed = sinusoidal(length, config.width, config.positions)[config.position_offset :]
        encoder.places = decoder.places = weights.fixed(fixed)
    own_mask = nat is not None and nat.mask_id is None
    states = structures.Linear()  # of no panels
    if nat is not None and nat.output_states:
        states = weights.linear("states", config.width, config.width, bias=False)
    return structures.Network(
        states=states,
        mask=address(weights.vector("mask", config.width)) if own_mask else None,
        decoder_only=0,
        width=config.width,
        positions=config.max_positions,
        pre_norm=config.norm == "pre",
        activation=structures.ACTIVATIONS[config.activation],
        epsilon=config.norm_epsilon,
        embedding_scale=math.sqrt(config.width) if config.scale_embedding else 1.0,
        output_scale=config.width**-0.5 if config.scale_output else 1.0,
        encoder=encoder,
        decoder=decoder,
        output=output,
    )


def _side(
    config: TransformerConfig, weights: Weights, name: str, table: structures.Table
) -> structures.Side:
    """Return the encoder or the decoder."""
    width, decodes = config.width, name == "decoder"
    heads = (config.decoder_heads or config.heads) if decodes else config.heads
    ffn_width = (config.decoder_ffn_width or config.ffn_width) if decodes else config.ffn_width
    count = config.decoder_layers if decodes else config.encoder_layers
    head_width = config.head_width or width // heads
    inner = heads * head_width

    def linear(name: str, channels: int, inputs: int) -> structures.Linear:
        return weights.linear(name, channels, inputs, bias=config.bias)

    layers = (structures.Layer * count)()
    for number, layer in enumerate(layers):
        own = f"{name}.{number}"
        layer.qkv = linear(f"{own}.attention.qkv", 3 * inner, width)
        layer.out = linear(f"{own}.attention.out", width, inner)
        layer.attention = weights.norm(f"{own}.attention_residual.norm", width)
        if decodes:
            layer.cross_q = linear(f"{own}.cross.q", inner, width)
            layer.cross_kv = linear(f"{own}.cross.kv", 2 * inner, width)
            layer.cross_out = linear(f"{own}.cross.out", width, inner)
            layer.cross = weights.norm(f"{own}.cross_residual.norm", width)
        layer.up = linear(f"{own}.ffn.up", ffn_width, width)
        layer.down = linear(f"{own}.ffn.down", width, ffn_width)
        layer.ffn = weights.norm(f"{own}.ffn_residual.norm", width)
    side = structures.Side(
        layers=count,
        heads=heads,
        key_heads=heads,
        head_width=head_width,
        ffn_width=ffn_width,
        attention_scale=head_width**-0.5 if config.scale_attention else 1.0,
        table=table,
        layer=layers,
    )
    if config.positions == "learned":
        side.places = weights.places(f"{name}_positions", config.max_positions, width)
    if config.embedding_norm:
        side.embedding_norm = weights.norm(f"{name}_embedding_norm", width)
    final = config.decoder_final_norm if decodes else config.encoder_final_norm
    if config.norm == "pre" if final is None else final:
        side.final_norm = weights.norm(f"{name}_norm", width)
    return side


def decoder_only(config: LlamaConfig, weights: Weights) -> structures.Network:
    """Return a decoder alone."""
    width, head_width = config.width, config.head_width

    def linear(name: str, channels: int, inputs: int) -> structures.Linear:
        return weights.linear(name, channels, inputs, bias=False)

    output = weights.linear("output", config.vocab_size, width, bias=False, source="embedding")
    for name in ("output.weight", "output.weight.scale"):
        weights.tensors.pop(name, None)
    layers = (structures.Layer * config.layers)()
    for number, layer in enumerate(layers):
        own = f"layers.{number}"
        every = (config.heads + 2 * config.kv_heads) * head_width
        layer.qkv = linear(f"{own}.attention.qkv", every, width)
        layer.out = linear(f"{own}.attention.out", width, width)
        layer.attention = weights.norm(f"{own}.attention_norm", width, bias=False)
        layer.up = linear(f"{own}.ffn.gate_up", 2 * config.ffn_width, width)
        layer.down = linear(f"{own}.ffn.down", width, config.ffn_width)
        layer.ffn = weights.norm(f"{own}.ffn_norm", width, bias=False)
    decoder = structures.Side(
        layers=config.layers,
        heads=config.heads,
        key_heads=config.kv_heads,
        head_width=head_width,
        ffn_width=config.ffn_width,
        attention_scale=head_width**-0.5,
        table=weights.table("embedding", config.vocab_size, width, tied=output),
        final_norm=weights.norm("norm", width, bias=False),
        layer=layers,
    )
    cosines, sines = rotary(config.max_positions, head_width, config.rope_base)
    return structures.Network(
        decoder_only=1,
        width=width,
        positions=config.max_positions,
        pre_norm=1,
        activation=structures.GATED,
        epsilon=config.norm_epsilon,
        embedding_scale=1.0,
        output_scale=1.0,
        cosines=weights.fixed(cosines),
        sines=weights.fixed(sines),
        decoder=decoder,
        output=output,
    )
