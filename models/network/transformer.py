"""Encoder-decoder Transformer (Vaswani et al. 2017) with block decoding over a truncatable cache.

One module serves training (:meth:`Transformer.forward`) and decoding (:meth:`encode`,
:meth:`decode_block`). Shapes: B rows, S source length, T block length, L cache length, D model
width, H heads, V vocabulary.

Options of :class:`TransformerConfig` turn the network into BART (Lewis et al. 2020), T5 (Raffel et
al. 2020), Marian, Pegasus or fairseq's variants; the defaults are the plain network.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gec.models.network.cache import LayerCache, PassingCache, Positions
from gec.models.network.transformer_config import CHOICES, TransformerConfig
from gec.models.network.transformer_layers import (
    ACTIVATIONS,
    CrossAttention,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    SelfAttention,
    attention,
    biased,
    norm,
    relative_buckets,
    sinusoidal_positions,
)

__all__ = [
    "ACTIVATIONS",
    "CHOICES",
    "CrossAttention",
    "DecoderLayer",
    "EncoderLayer",
    "FeedForward",
    "SelfAttention",
    "Transformer",
    "TransformerConfig",
    "attention",
    "relative_buckets",
    "sinusoidal_positions",
]


class Transformer(nn.Module):
    """The network: token ids in, logits out; by default both sides share one embedding.

    ``embedding`` is the decoder's; ``source_embedding`` exists only if the encoder has its own.
    """

    position_table: Tensor

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.width, config.pad_id)
        if config.source_vocab_size is not None:
            self.source_embedding = nn.Embedding(
                config.source_vocab_size, config.width, config.pad_id
            )
        if config.positions == "learned":
            self.encoder_positions = nn.Embedding(config.max_positions, config.width)
            self.decoder_positions = nn.Embedding(config.max_positions, config.width)
        elif config.positions == "relative":  # one table for each side, which its layers share
            self.encoder_bias = nn.Embedding(config.relative_buckets, config.heads)
            self.decoder_bias = nn.Embedding(
                config.relative_buckets, config.decoder_heads or config.heads
            )
        else:
            self.register_buffer("position_table", self._position_table(), persistent=False)
        if config.embedding_norm:
            self.encoder_embedding_norm, self.decoder_embedding_norm = norm(config), norm(config)
        decoder = replace(
            config,
            heads=config.decoder_heads or config.heads,
            ffn_width=config.decoder_ffn_width or config.ffn_width,
        )
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(decoder) for _ in range(config.decoder_layers))
        self.encoder_norm = self._final_norm(config.encoder_final_norm)
        self.decoder_norm = self._final_norm(config.decoder_final_norm)
        self.output = nn.Linear(config.width, config.vocab_size, bias=config.output_bias)
        if config.tie_embeddings:
            self.output.weight = self.embedding.weight
        self._initialise()

    def _final_norm(self, wanted: bool | None) -> nn.Module:
        wanted = self.config.norm == "pre" if wanted is None else wanted
        return norm(self.config) if wanted else nn.Identity()

    def _position_table(self) -> Tensor:
        offset, length = self.config.position_offset, self.config.max_positions
        table = sinusoidal_positions(offset + length, self.config.width, self.config.positions)
        return table[offset:]

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        std = self.config.width**-0.5
        nn.init.normal_(self.embedding.weight, std=std)
        if not self.config.tie_embeddings:
            nn.init.normal_(self.output.weight, std=std)
        for name in "encoder_positions decoder_positions encoder_bias decoder_bias".split():
            if hasattr(self, name):
                nn.init.normal_(getattr(self, name).weight, std=std)
        with torch.no_grad():
            self.embedding.weight[self.config.pad_id].zero_()

    def restore_buffers(self) -> None:
        """Restore what is not stored with the weights, after loading onto the meta device."""
        if self.config.positions.startswith("sinusoidal"):
            self.position_table = self._position_table().to(self.device)
        if self.config.tie_embeddings and isinstance(self.output, nn.Linear):
            self.output.weight = self.embedding.weight

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.embedding.weight.device

    def embed(self, tokens: Tensor, index: Tensor, side: str) -> Tensor:
        """Return the first states [..., D] of tokens [...] at places [...] of a side.

        ``side`` is "encoder" or "decoder".
        """
        x = self._tokens(tokens, side)
        if self.config.positions != "relative":
            x = x + self._places(index, side).to(x.dtype)
        if self.config.embedding_norm:
            x = getattr(self, f"{side}_embedding_norm")(x)
        return F.dropout(x, self.config.dropout) if self.training else x

    def _tokens(self, tokens: Tensor, side: str) -> Tensor:
        """Return the embeddings [..., D] of tokens [...], scaled but without positions."""
        own = side == "encoder" and self.config.source_vocab_size is not None
        x: Tensor = (self.source_embedding if own else self.embedding)(tokens)
        return x * math.sqrt(self.config.width) if self.config.scale_embedding else x

    def _places(self, index: Tensor, side: str) -> Tensor:
        """Return the embeddings [..., D] of positions [...]; relative positions have none."""
        if self.config.positions == "learned":
            found: Tensor = getattr(self, f"{side}_positions")(index)
            return found
        return F.embedding(index, self.position_table)

    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the encoder output [B, S, D] of token ids [B, S].

        ``mask`` [B, 1, 1, S] is True at tokens and False at padding; None if nothing is padded.
        """
        index = torch.arange(source.shape[1], device=source.device)
        x = self.embed(source, index, "encoder")
        if self.config.positions == "relative":
            buckets = relative_buckets(index - index[:, None], self.config, both_ways=True)
            bias = self.encoder_bias(buckets).permute(2, 0, 1)[None]  # [1, H, S, S]
            mask = bias if mask is None else bias.masked_fill(~mask, -torch.inf)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def caches(self, memory: Tensor) -> list[LayerCache]:
        """Return a cache for each decoder layer, empty but for the source's keys and values."""
        layers = cast(Iterable[DecoderLayer], self.decoder)
        return [LayerCache(*layer.cross.keys_values(memory)) for layer in layers]

    def decode_block(
        self,
        tokens: Tensor,
        caches: list[LayerCache],
        positions: Positions,
        source_mask: Tensor | None = None,
    ) -> Tensor:
        """Return the hidden states [..., D] of a block of tokens [...] after the cached tokens.

        The block is padded, [B, T], or packed, [N], as ``positions`` says.
        """
        x = self.embed_block(tokens, positions)
        x = self.decode_layers(x, caches, positions, source_mask)
        return self.final(x)

    def embed_block(self, tokens: Tensor, positions: Positions) -> Tensor:
        """Return the first decoder states [..., D] of a block of tokens [...]."""
        index = positions.index
        if positions.end > self.config.max_positions:  # padding may reach beyond the table
            index = index.clamp_max(self.config.max_positions - 1)
        return self.embed(tokens, index, "decoder")

    def decode_layers(
        self,
        x: Tensor,
        caches: list[LayerCache],
        positions: Positions,
        source_mask: Tensor | None = None,
        layers: slice = slice(None),
    ) -> Tensor:
        """Map a block's states [..., D] through some decoder layers, which write their caches."""
        if self.config.positions == "relative":
            positions = biased(positions, self.decoder_bias, self.config)
        for layer, cache in zip(list(self.decoder)[layers], caches[layers], strict=True):
            x = layer(x, cache, positions, source_mask)
        return x

    def final(self, x: Tensor) -> Tensor:
        """Return what the output layer reads of a decoder layer's states [..., D]."""
        x = self.decoder_norm(x)
        return x * self.config.width**-0.5 if self.config.scale_output else x

    def forward(self, source: Tensor, target_in: Tensor, wanted: Tensor | None = None) -> Tensor:
        """Return the logits [B, T, V] of teacher forcing, for token ids [B, S] and [B, T].

        With ``wanted`` [B, T] bool only the N positions that it marks are scored: [N, V].
        """
        mask = (source != self.config.pad_id)[:, None, None, :]  # [B, 1, 1, S]
        memory = self.encode(source, mask)  # [B, S, D]
        positions = Positions.of([0], target_in.shape[1], source.device)
        caches: list[LayerCache] = [PassingCache(cache) for cache in self.caches(memory)]
        hidden = self.decode_block(target_in, caches, positions, mask)
        return self.output(hidden if wanted is None else hidden[wanted])
