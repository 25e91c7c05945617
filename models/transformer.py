"""Encoder-decoder Transformer (Vaswani et al. 2017) with block decoding over a truncatable cache.

One module serves training (:meth:`Transformer.forward`) and decoding (:meth:`encode`,
:meth:`decode_block`). Shapes: B rows, S source length, T block length, L cache length, D model
width, H heads, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gec.errors import ModelError
from gec.models.cache import LayerCache, Positions


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerConfig:
    """The architecture; defaults are Transformer-base (Vaswani et al. 2017, Table 3)."""

    vocab_size: int
    width: int = 512
    heads: int = 8
    ffn_width: int = 2048
    encoder_layers: int = 6
    decoder_layers: int = 6
    max_positions: int = 512
    positions: str = "sinusoidal"  # or "learned"
    norm: str = "pre"  # or "post"
    activation: str = "relu"  # or "gelu"
    dropout: float = 0.1
    tie_embeddings: bool = True
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2

    def __post_init__(self) -> None:
        for name, allowed in (
            ("positions", ("sinusoidal", "learned")),
            ("norm", ("pre", "post")),
            ("activation", ("relu", "gelu")),
        ):
            if getattr(self, name) not in allowed:
                raise ModelError(f"{name} must be one of {allowed}, not {getattr(self, name)!r}")
        for (
            name
        ) in "vocab_size width heads ffn_width encoder_layers decoder_layers max_positions".split():
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ModelError(f"{name} must be a positive integer, not {value!r}")
        for name in ("pad_id", "bos_id", "eos_id"):
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value < self.vocab_size:
                raise ModelError(
                    f"{name} must lie between 0 and {self.vocab_size - 1}, not {value!r}"
                )
        if not isinstance(self.dropout, int | float) or not 0 <= self.dropout <= 1:
            raise ModelError(f"dropout must lie between 0 and 1, not {self.dropout!r}")
        if self.width % self.heads:
            raise ModelError(f"width {self.width} is not a multiple of heads {self.heads}")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TransformerConfig:
        """Build from a bundle's ``config.json``; unknown or missing keys raise ModelError."""
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise ModelError(f"unknown architecture settings: {', '.join(unknown)}")
        try:
            return cls(**values)
        except TypeError as error:
            raise ModelError(f"incomplete architecture: {error}") from error


def sinusoidal_positions(length: int, width: int) -> Tensor:
    """Return the fixed table [length, width] of Vaswani et al. 2017, section 3.5."""
    position = torch.arange(length, dtype=torch.float32)[:, None]
    rate = torch.exp(torch.arange(0, width, 2, dtype=torch.float32) * (-math.log(1e4) / width))
    table = torch.zeros(length, width)
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate[: width // 2])
    return table


def _attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    """Return softmax(q k^T) v as [B, T, D].

    Autocast's bf16 attention is several times slower than fp32 on a CPU for short sentences.
    """
    if q.device.type == "cpu" and q.dtype == torch.bfloat16:
        with torch.autocast("cpu", enabled=False):
            x = F.scaled_dot_product_attention(
                q.float(), k.float(), v.float(), attn_mask=mask, is_causal=causal
            ).to(q.dtype)
    else:
        x = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
    return x.transpose(1, 2).flatten(2)


class _SelfAttention(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values, each [B, H, T, D/H]."""
        b, t, d = x.shape
        qkv = self.qkv(x).view(b, t, 3, self.heads, d // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        return q, k, v

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        return self.out(_attention(q, k, v, mask, causal))


class _CrossAttention(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.q = nn.Linear(config.width, config.width)
        self.kv = nn.Linear(config.width, 2 * config.width)
        self.out = nn.Linear(config.width, config.width)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values of the encoder output, each [B, H, S, D/H]."""
        b, s, d = memory.shape
        kv = self.kv(memory).view(b, s, 2, self.heads, d // self.heads)
        k, v = kv.permute(2, 0, 3, 1, 4).unbind(0)
        return k, v

    def forward(self, x: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        b, t, d = x.shape
        q = self.q(x).view(b, t, self.heads, d // self.heads).transpose(1, 2)
        return self.out(_attention(q, k, v, mask, causal=False))


class _FeedForward(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.width, config.ffn_width)
        self.down = nn.Linear(config.ffn_width, config.width)
        self.activation = F.relu if config.activation == "relu" else F.gelu

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.activation(self.up(x)))


class _Residual(nn.Module):
    """Norm, dropout and skip connection around a sublayer, before or after it."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.width)
        self.dropout = config.dropout
        self.pre = config.norm == "pre"

    def before(self, x: Tensor) -> Tensor:
        return self.norm(x) if self.pre else x

    def after(self, x: Tensor, y: Tensor) -> Tensor:
        x = x + F.dropout(y, self.dropout, self.training)
        return x if self.pre else self.norm(x)


class EncoderLayer(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = _SelfAttention(config)
        self.attention_residual = _Residual(config)
        self.ffn = _FeedForward(config)
        self.ffn_residual = _Residual(config)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Map [B, S, D] to [B, S, D]; mask [B, 1, 1, S] is True where a key may be seen."""
        q, k, v = self.attention.project(self.attention_residual.before(x))
        x = self.attention_residual.after(x, self.attention.attend(q, k, v, mask, False))
        return self.ffn_residual.after(x, self.ffn(self.ffn_residual.before(x)))


class DecoderLayer(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = _SelfAttention(config)
        self.attention_residual = _Residual(config)
        self.cross = _CrossAttention(config)
        self.cross_residual = _Residual(config)
        self.ffn = _FeedForward(config)
        self.ffn_residual = _Residual(config)

    def forward(
        self,
        x: Tensor,
        cache: LayerCache,
        positions: Positions,
        source_mask: Tensor | None,
    ) -> Tensor:
        """Map the block [B, T, D] to [B, T, D], writing its keys and values into the cache."""
        q, k, v = self.attention.project(self.attention_residual.before(x))
        k, v = cache.write(k, v, positions)
        y = self.attention.attend(q, k, v, positions.mask, positions.causal)
        x = self.attention_residual.after(x, y)
        y = self.cross(
            self.cross_residual.before(x), cache.source_keys, cache.source_values, source_mask
        )
        x = self.cross_residual.after(x, y)
        return self.ffn_residual.after(x, self.ffn(self.ffn_residual.before(x)))


class Transformer(nn.Module):
    """The network. Token ids in, logits out; embeddings shared by both sides and the output."""

    position_table: Tensor

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.width, config.pad_id)
        if config.positions == "learned":
            self.encoder_positions = nn.Embedding(config.max_positions, config.width)
            self.decoder_positions = nn.Embedding(config.max_positions, config.width)
        else:
            table = sinusoidal_positions(config.max_positions, config.width)
            self.register_buffer("position_table", table, persistent=False)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        pre = config.norm == "pre"
        self.encoder_norm = nn.LayerNorm(config.width) if pre else nn.Identity()
        self.decoder_norm = nn.LayerNorm(config.width) if pre else nn.Identity()
        self.output = nn.Linear(config.width, config.vocab_size, bias=False)
        if config.tie_embeddings:
            self.output.weight = self.embedding.weight
        self._initialise()

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        nn.init.normal_(self.embedding.weight, std=self.config.width**-0.5)
        if not self.config.tie_embeddings:
            nn.init.normal_(self.output.weight, std=self.config.width**-0.5)
        for table in ("encoder_positions", "decoder_positions"):
            if hasattr(self, table):
                nn.init.normal_(getattr(self, table).weight, std=self.config.width**-0.5)
        with torch.no_grad():
            self.embedding.weight[self.config.pad_id].zero_()

    def restore_buffers(self) -> None:
        """Compute what is not stored with the weights, after loading onto the meta device."""
        if self.config.positions == "sinusoidal":
            table = sinusoidal_positions(self.config.max_positions, self.config.width)
            self.position_table = table.to(self.device)
        if self.config.tie_embeddings:
            self.output.weight = self.embedding.weight

    @property
    def device(self) -> torch.device:
        return self.embedding.weight.device

    def _embed(self, tokens: Tensor, index: Tensor, side: str) -> Tensor:
        x = self.embedding(tokens) * math.sqrt(self.config.width)
        if self.config.positions == "learned":
            positions: Tensor = getattr(self, f"{side}_positions")(index)
        else:
            positions = self.position_table[index].to(x.dtype)
        return F.dropout(x + positions, self.config.dropout, self.training)

    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        """Encode [B, S] token ids to [B, S, D]; mask [B, 1, 1, S], None when nothing is padded."""
        index = torch.arange(source.shape[1], device=source.device)
        x = self._embed(source, index, "encoder")
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def caches(self, memory: Tensor) -> list[LayerCache]:
        """Return an empty cache per decoder layer, with the source's keys and values."""
        layers = cast(Iterable[DecoderLayer], self.decoder)
        return [LayerCache(*layer.cross.keys_values(memory)) for layer in layers]

    def decode_block(
        self,
        tokens: Tensor,
        caches: list[LayerCache],
        positions: Positions,
        source_mask: Tensor | None = None,
    ) -> Tensor:
        """Return the hidden states [B, T, D] of a block of tokens [B, T] after the cached ones."""
        x = self._embed(tokens, positions.index.clamp_max(self.config.max_positions - 1), "decoder")
        for layer, cache in zip(self.decoder, caches, strict=True):
            x = layer(x, cache, positions, source_mask)
        return self.decoder_norm(x)

    def forward(self, source: Tensor, target_in: Tensor, wanted: Tensor | None = None) -> Tensor:
        """Teacher forcing: [B, S] and [B, T] token ids to logits [B, T, V].

        With ``wanted`` [B, T] bool only those N positions are scored: [N, V].
        """
        mask = (source != self.config.pad_id)[:, None, None, :]
        memory = self.encode(source, mask)
        positions = Positions.of([0], target_in.shape[1], source.device)
        caches: list[LayerCache] = [_Teacher(cache) for cache in self.caches(memory)]
        hidden = self.decode_block(target_in, caches, positions, mask)
        return self.output(hidden if wanted is None else hidden[wanted])


class _Teacher(LayerCache):
    """A cache that stores nothing: the block is the whole target, and gradients flow."""

    def __init__(self, cache: LayerCache) -> None:
        self.source_keys, self.source_values = cache.source_keys, cache.source_values

    def write(self, k: Tensor, v: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        return k, v
