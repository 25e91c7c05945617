"""Decoder-only Transformer of the Llama family (Touvron et al. 2023), for training and decoding.

RMSNorm before each sublayer (Zhang and Sennrich 2019), rotary positions (RoPE; Su et al. 2021),
grouped-query attention (Ainslie et al. 2023), SwiGLU (Shazeer 2020), a tied embedding.

Shapes: B rows, T tokens of a block, N tokens of all blocks, D model width, H query heads, G key and
value heads, d width of a head, F feed-forward width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gec.models.network.cache import Positions, SelfCache
from gec.models.network.llama_config import LlamaConfig
from gec.models.network.positions import rotary
from gec.models.network.transformer import attention

__all__ = ["Attention", "FeedForward", "Layer", "Llama", "LlamaConfig", "RMSNorm"]


def rotations(config: LlamaConfig, length: int) -> tuple[Tensor, Tensor]:
    """Return cosines and sines [length, d/2] of RoPE (Su et al. 2021, equation 34), float32."""
    cos, sin = rotary(length, config.head_width, config.rope_base)
    return torch.from_numpy(cos), torch.from_numpy(sin)


def rotate(x: Tensor, heads: int, cos: Tensor, sin: Tensor) -> Tensor:
    """Return ``x`` [..., all heads, d] with its first ``heads`` heads rotated.

    Pairs (i, i + d/2) of a head turn by the angles of the position; cos and sin are [..., 1, d/2].
    """
    first, second = x[..., :heads, :].chunk(2, -1)
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], -1)
    return torch.cat([turned, x[..., heads:, :]], -2)


def gate(x: Tensor) -> Tensor:
    """Return silu(a) * b [..., F] of ``x`` = [a, b] [..., 2 F] (Shazeer 2020, equation 6)."""
    first, second = x.chunk(2, -1)
    return F.silu(first) * second


class RMSNorm(nn.Module):
    """Divides x by the root of its mean square and multiplies by a weight; no mean, no bias."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., D] to the same; computed in float32."""
        exact = x.float()
        exact = exact * torch.rsqrt(exact.square().mean(-1, keepdim=True) + self.epsilon)
        return (exact * self.weight.float()).to(x.dtype)


class Attention(nn.Module):
    """Causal self-attention; ``heads / kv_heads`` query heads share a head of keys and values."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_width = (
            config.heads, config.kv_heads, config.head_width,
        )  # fmt: skip
        both = config.heads + 2 * config.kv_heads
        self.qkv = nn.Linear(config.width, both * config.head_width, bias=False)
        self.out = nn.Linear(config.width, config.width, bias=False)
        self.attention, self.rotate = attention, rotate

    def project(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return rotated queries [..., H, d], rotated keys and values [..., G, d] of [..., D]."""
        qkv = self.qkv(x).unflatten(-1, (-1, self.head_width))  # [..., H + 2 G, d]
        turned = self.rotate(qkv, self.heads + self.kv_heads, cos, sin)
        sizes = [self.heads, self.kv_heads, self.kv_heads]
        queries, keys, values = torch.split(turned, sizes, -2)
        return queries, keys, values

    def block(
        self, x: Tensor, cos: Tensor, sin: Tensor, cache: SelfCache, positions: Positions
    ) -> Tensor:
        """Map a packed block [N, D] to the same; a token sees its row's cache up to itself."""
        q, k, v = self.project(x, cos, sin)
        k, v = cache.write(k, v, positions)  # [B, end, G, d]
        y = self.attend(positions.spread(q), k, v, positions.mask)
        return self.out(positions.gather(y))

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """Return [B, T, D], before the output layer, of q [B, T, H, d] and k, v [B, S, G, d].

        The query heads that share a key head become more queries of one head.
        """
        b, t, heads, d = q.shape
        shared = heads // self.kv_heads
        q = q.reshape(b, t, self.kv_heads, shared, d)
        q = q.transpose(2, 3).flatten(1, 2)  # [B, T H/G, G, d]
        if mask is not None:
            mask = mask.repeat_interleave(shared, 2)  # [B, 1, T H/G, S]
        y = self.attention(q, k, v, mask, False)  # [B, T H/G, G d]
        y = y.view(b, t, shared, self.kv_heads, d).transpose(2, 3)
        return y.reshape(b, t, heads * d)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Map whole rows [B, T, D] to the same; a position sees itself and those before it."""
        q, k, v = self.project(x, cos, sin)
        b, t, _, d = q.shape
        groups, shared = self.kv_heads, self.heads // self.kv_heads
        q = q.view(b, t, groups, shared, d).permute(0, 2, 3, 1, 4).reshape(-1, shared * t, d)
        k, v = (part.transpose(1, 2).reshape(-1, t, d) for part in (k, v))  # [B G, T, d]
        scores = torch.bmm(q, k.transpose(1, 2)).view(-1, shared, t, t).float() * d**-0.5
        hidden = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(hidden, -torch.inf).softmax(-1).to(v.dtype)
        y = torch.bmm(weights.view(-1, shared * t, t), v)  # [B G, H/G T, d]
        y = y.view(b, groups, shared, t, d).permute(0, 3, 1, 2, 4)
        return self.out(y.reshape(b, t, -1))


class FeedForward(nn.Module):
    """SwiGLU: down(silu(gate(x)) * up(x))."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.gate_up = nn.Linear(config.width, 2 * config.ffn_width, bias=False)
        self.down = nn.Linear(config.ffn_width, config.width, bias=False)
        self.gate = gate

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., D] to the same."""
        return self.down(self.gate(self.gate_up(x)))


class Layer(nn.Module):
    """Attention and feed-forward network, each after a norm and with a skip connection."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.width, config.norm_epsilon)
        self.attention = Attention(config)
        self.ffn_norm = RMSNorm(config.width, config.norm_epsilon)
        self.ffn = FeedForward(config)

    def block(
        self, x: Tensor, cos: Tensor, sin: Tensor, cache: SelfCache, positions: Positions
    ) -> Tensor:
        """Map a packed block [N, D] to the same."""
        x = x + self.attention.block(self.attention_norm(x), cos, sin, cache, positions)
        return x + self.ffn(self.ffn_norm(x))

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Map whole rows [B, T, D] to the same."""
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.ffn(self.ffn_norm(x))


class Llama(nn.Module):
    """The network; :meth:`forward` is teacher forcing over whole rows."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.width)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.width, config.norm_epsilon)
        self.output = nn.Linear(config.width, config.vocab_size, bias=False)
        self.output.weight = self.embedding.weight
        self._angles: tuple[Tensor, Tensor] | None = None

    @classmethod
    def of(cls, config: LlamaConfig, state: Mapping[str, Tensor]) -> Llama:
        """Return a network with these weights; the output's are the embedding's."""
        network = cls(config)
        network.load_state_dict({**state, "output.weight": state["embedding.weight"]})
        network.restore_buffers()
        return network

    def restore_buffers(self) -> None:
        """Tie the output to the embedding, after loading onto the meta device."""
        if isinstance(self.output, nn.Linear):
            self.output.weight = self.embedding.weight

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.norm.weight.device

    def caches(self, rows: int) -> list[SelfCache]:
        """Return an empty cache of ``rows`` rows for each layer."""
        weight, config = self.norm.weight, self.config
        empty = weight.new_zeros(rows, 0, config.kv_heads, config.head_width)
        return [SelfCache(empty) for _ in self.layers]

    def decode_block(
        self, tokens: Tensor, caches: list[SelfCache], positions: Positions, wanted: Tensor
    ) -> Tensor:
        """Return the hidden states [M, D] at the M tokens of a block [N] that ``wanted`` marks."""
        x = self.embedding(tokens)  # [N, D]
        cos, sin = (part[positions.index, None].to(x) for part in self.angles())  # [N, 1, d/2]
        for layer, cache in zip(cast(Iterable[Layer], self.layers), caches, strict=True):
            x = layer.block(x, cos, sin, cache, positions)
        return self.norm(x[wanted])

    def angles(self) -> tuple[Tensor, Tensor]:
        """Return cosines and sines [max_positions, d/2], which are computed once."""
        if self._angles is None or self._angles[0].device != self.device:
            cos, sin = rotations(self.config, self.config.max_positions)
            self._angles = cos.to(self.device), sin.to(self.device)
        return self._angles

    def forward(self, tokens: Tensor, wanted: Tensor) -> Tensor:
        """Return the logits [N, V] at the N positions that ``wanted`` [B, T] marks.

        Any id may pad rows of ``tokens`` [B, T] on the right: no position sees what follows it.
        """
        return self.output(self.norm(self._behind_layers(tokens)[wanted]))

    def states(self, tokens: Tensor) -> Tensor:
        """Return what the output layer would read, [B, T, D], of whole rows [B, T]."""
        found: Tensor = self.norm(self._behind_layers(tokens))
        return found

    def _behind_layers(self, tokens: Tensor) -> Tensor:
        cos, sin = rotations(self.config, tokens.shape[1])
        x = self.embedding(tokens)
        cos, sin = (part[:, None].to(x) for part in (cos, sin))  # [T, 1, d/2]
        for layer in self.layers:
            x = layer(x, cos, sin)
        return x
