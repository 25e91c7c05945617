"""Layers of an encoder-decoder Transformer, and how they know places.

Shapes: B rows, S source length, T block length, L cache length, D model width, H heads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gec.models.network.cache import LayerCache, Positions
from gec.models.network.positions import sinusoidal
from gec.models.network.transformer_config import TransformerConfig

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


def sinusoidal_positions(length: int, width: int, kind: str = "sinusoidal") -> Tensor:
    """Return :func:`gec.models.network.positions.sinusoidal` as a tensor [length, width]."""
    return torch.from_numpy(sinusoidal(length, width, kind))


def relative_buckets(distance: Tensor, config: TransformerConfig, *, both_ways: bool) -> Tensor:
    """Return the bucket of each distance, key place minus query place (Raffel et al. 2020, 2.1).

    The result has the shape of ``distance``. Half of the buckets hold one distance each, the others
    hold ranges that grow logarithmically up to ``relative_distance``. With ``both_ways`` keys to
    the right have a half of the buckets for themselves (encoder); otherwise these keys share the
    bucket of distance 0 and are masked (decoder).
    """
    count = config.relative_buckets
    if both_ways:
        count //= 2
        first = (distance > 0) * count
        steps = distance.abs()
    else:
        first = torch.zeros_like(distance)
        steps = (-distance).clamp_min(0)
    exact = count // 2
    # float32 in this order, so that borders between buckets round as for the published weights
    growth = torch.log(steps.clamp_min(1).float() / exact)
    growth = growth / math.log(config.relative_distance / exact) * (count - exact)
    far = (exact + growth.long()).clamp_max(count - 1)
    return first + torch.where(steps < exact, steps, far)


def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float | None = None
) -> Tensor:
    """Return softmax(q k^T) v as [B, T, D] of q [B, T, H, D/H] and k, v [B, S, H, D/H].

    On a CPU bf16 is computed in float32: autocast's bf16 attention is several times slower than
    float32 for short sentences.
    """
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)  # [B, H, T or S, D/H]
    if q.device.type == "cpu" and q.dtype == torch.bfloat16:
        mask = mask.float() if mask is not None and mask.is_floating_point() else mask
        with torch.autocast("cpu", enabled=False):
            x = F.scaled_dot_product_attention(
                q.float(), k.float(), v.float(), attn_mask=mask, is_causal=causal, scale=scale
            ).to(q.dtype)
    else:
        x = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, scale=scale)
    return x.transpose(1, 2).flatten(2)


class SelfAttention(nn.Module):
    """Multi-head self-attention, as projection and attention apart, for a cache between them."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.heads = config.heads
        inner = config.heads * (config.head_width or config.width // config.heads)
        self.qkv = nn.Linear(config.width, 3 * inner, bias=config.bias)
        self.out = nn.Linear(inner, config.width, bias=config.bias)
        self.scale = None if config.scale_attention else 1.0
        self.attention = attention

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values, each [..., H, D/H], of ``x`` [..., D]."""
        q, k, v = self.qkv(x).view(*x.shape[:-1], 3, self.heads, -1).unbind(-3)
        return q, k, v

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        """Return [B, T, D], before the output layer, of q [B, T, H, D/H], k, v [B, L, H, D/H]."""
        return self.attention(q, k, v, mask, causal, self.scale)


class CrossAttention(nn.Module):
    """Multi-head attention of the decoder to the encoder output."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.heads = config.heads
        inner = config.heads * (config.head_width or config.width // config.heads)
        self.q = nn.Linear(config.width, inner, bias=config.bias)
        self.kv = nn.Linear(config.width, 2 * inner, bias=config.bias)
        self.out = nn.Linear(inner, config.width, bias=config.bias)
        self.scale = None if config.scale_attention else 1.0
        self.attention = attention

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values of the encoder output, each [B, S, H, D/H]."""
        b, s, _ = memory.shape
        k, v = self.kv(memory).view(b, s, 2, self.heads, -1).unbind(2)
        return k, v

    def forward(
        self, x: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, positions: Positions
    ) -> Tensor:
        """Map a block in its layout, [..., D], to the same; k, v are [B, S, H, D/H]."""
        q = positions.spread(self.q(x).view(*x.shape[:-1], self.heads, -1))  # [B, T, H, D/H]
        y = self.attention(q, k, v, mask, False, self.scale)  # [B, T, D]
        return self.out(positions.gather(y))


class FeedForward(nn.Module):
    """Two linear layers with an activation between them, optionally gated."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.width, config.ffn_width, bias=config.bias)
        self.down = nn.Linear(config.ffn_width, config.width, bias=config.bias)
        self.gate = (
            nn.Linear(config.width, config.ffn_width, bias=config.bias) if config.gated else None
        )
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., D] to the same."""
        if self.gate is not None:
            return self.down(self.activation(self.gate(x)) * self.up(x))
        return self.down(self.activation(self.up(x)))


def norm(config: TransformerConfig) -> nn.Module:
    kind = nn.RMSNorm if config.norm_type == "rms" else nn.LayerNorm
    return kind(config.width, eps=config.norm_epsilon)


class _Residual(nn.Module):
    """Norm, dropout and skip connection around a sublayer, before or after it."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.norm = norm(config)
        self.dropout = config.dropout
        self.pre = config.norm == "pre"

    def before(self, x: Tensor) -> Tensor:
        return self.norm(x) if self.pre else x

    def after(self, x: Tensor, y: Tensor) -> Tensor:
        x = x + (F.dropout(y, self.dropout) if self.training else y)
        return x if self.pre else self.norm(x)


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward network, each with norm and skip connection."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = SelfAttention(config)
        self.attention_residual = _Residual(config)
        self.ffn = FeedForward(config)
        self.ffn_residual = _Residual(config)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Map [B, S, D] to [B, S, D]; mask [B, 1, 1, S] is True at visible keys."""
        q, k, v = self.attention.project(self.attention_residual.before(x))  # [B, S, H, D/H]
        y = self.attention.out(self.attention.attend(q, k, v, mask, False))  # [B, S, D]
        x = self.attention_residual.after(x, y)
        return self.ffn_residual.after(x, self.ffn(self.ffn_residual.before(x)))


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention and feed-forward network, each with norm and skip."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = SelfAttention(config)
        self.attention_residual = _Residual(config)
        self.cross = CrossAttention(config)
        self.cross_residual = _Residual(config)
        self.ffn = FeedForward(config)
        self.ffn_residual = _Residual(config)

    def forward(
        self,
        x: Tensor,
        cache: LayerCache,
        positions: Positions,
        source_mask: Tensor | None,
    ) -> Tensor:
        """Map a block in its layout, [..., D], to the same; write its keys and values."""
        q, k, v = self.attention.project(self.attention_residual.before(x))  # [..., H, D/H]
        k, v = cache.write(k, v, positions)  # [B, end, H, D/H]
        # [B, T, D]; gather packs it again
        y = self.attention.attend(positions.spread(q), k, v, positions.mask, positions.causal)
        x = self.attention_residual.after(x, self.attention.out(positions.gather(y)))
        y = self.cross_residual.before(x)
        y = self.cross(y, cache.source_keys, cache.source_values, source_mask, positions)
        x = self.cross_residual.after(x, y)
        return self.ffn_residual.after(x, self.ffn(self.ffn_residual.before(x)))


def biased(positions: Positions, table: nn.Embedding, config: TransformerConfig) -> Positions:
    """Return the positions with a mask [B or 1, H, T, end] of relative position biases."""
    keys = torch.arange(positions.end, device=positions.index.device)
    distance = keys - positions.spread(positions.index)[..., None]  # [T, end] or [B, T, end]
    if distance.dim() == 2:
        distance = distance[None]
    bias = table(relative_buckets(distance, config, both_ways=False)).movedim(-1, 1)
    return replace(
        positions, mask=bias.masked_fill((distance > 0)[:, None], -torch.inf), causal=False
    )
