"""Decoder-only Transformer of the Llama family (Touvron et al. 2023), for training and decoding.

RMSNorm before each sublayer (Zhang and Sennrich 2019), rotary positions (RoPE; Su et al. 2021),
grouped-query attention (Ainslie et al. 2023), SwiGLU (Shazeer 2020), a tied embedding.

Shapes: B rows, T tokens of a block, N tokens of all blocks, D model width, H query heads, G key and
value heads, d width of a head, F feed-forward width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gec.errors import ModelError
from gec.models.network.cache import Positions, SelfCache
from gec.models.network.transformer import attention
from gec.untrusted import size_of

MOST_LAYERS, LARGEST_TABLE, LONGEST_SEPARATOR = 256, 1 << 22, 64
"""Limits above those of any such network with which a CPU corrects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaConfig:
    """The architecture; defaults are those of SmolLM2-135M.

    Attributes:
        vocab_size: entries of the vocabulary.
        width: D, the width of all hidden states.
        heads, kv_heads: query heads, and key and value heads, each of which a group of query
            heads shares.
        ffn_width: width of the gate and of what the gate multiplies.
        layers: number of layers.
        max_positions: the most tokens of prefix, source, separator and output together.
        rope_base: base of the rotation's wavelengths.
        norm_epsilon: number added to the mean square.
        bos_id, eos_id: the first token, and the token that ends an output.
        separator: ids between source and output.
    """

    vocab_size: int = 49152
    width: int = 576
    heads: int = 9
    kv_heads: int = 3
    ffn_width: int = 1536
    layers: int = 30
    max_positions: int = 1024
    rope_base: float = 100000.0
    norm_epsilon: float = 1e-5
    bos_id: int = 1
    eos_id: int = 2
    separator: tuple[int, ...] = (198,)

    def __post_init__(self) -> None:
        for name in "vocab_size width heads kv_heads ffn_width layers max_positions".split():
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ModelError(f"{name} must be a positive integer, not {value!r}")
        for name in ("rope_base", "norm_epsilon"):
            value = getattr(self, name)
            least = 1 if name == "rope_base" else 1e-12
            if type(value) not in (int, float) or not least <= value < 1e9:
                raise ModelError(f"{name} must be a number of at least {least}, not {value!r}")
        if self.width % self.heads or self.heads % self.kv_heads or self.head_width % 2:
            raise ModelError(
                f"width {self.width}, heads {self.heads} and kv_heads {self.kv_heads} do not fit: "
                "heads divide the width into even parts, kv_heads divide the heads"
            )
        ids = self.separator
        if not isinstance(ids, list | tuple) or not 0 < len(ids) <= LONGEST_SEPARATOR:
            raise ModelError(f"separator must be a list of 1 to {LONGEST_SEPARATOR} ids")
        if self.max_positions < len(ids) + 8:
            raise ModelError(f"{self.max_positions} positions leave none for source and output")
        for value in (self.bos_id, self.eos_id, *ids):
            if type(value) is not int or not 0 <= value < self.vocab_size:
                raise ModelError(f"{value!r} is no id of a vocabulary of {self.vocab_size}")
        object.__setattr__(self, "separator", tuple(ids))  # JSON has lists only

    @property
    def tie_embeddings(self) -> bool:
        """True: the output projection is the embedding."""
        return True

    @property
    def head_width(self) -> int:
        """d, the width of a head."""
        return self.width // self.heads

    def to_dict(self) -> dict[str, Any]:
        """Return the settings for a ``config.json`` or a checkpoint."""
        return {"family": "llama"} | asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> LlamaConfig:
        """Return the settings of a ``config.json``; unknown keys raise ModelError."""
        values = {name: value for name, value in values.items() if name != "family"}
        if unknown := sorted(set(values) - {field.name for field in fields(cls)}):
            raise ModelError(f"unknown architecture settings: {', '.join(unknown)}")
        return cls(**values)

    def check_size(self, path: Path) -> None:
        """Raise ModelError if the file at ``path`` is too small for the network's weights.

        This check comes before anything is allocated.
        """
        inner = (self.heads + 2 * self.kv_heads) * self.head_width
        layer = self.width * (inner + self.width + 3 * self.ffn_width)
        if self.layers > MOST_LAYERS or self.max_positions * self.head_width > LARGEST_TABLE:
            raise ModelError(
                f"{self.layers} layers and {self.max_positions} positions of heads "
                f"{self.head_width} wide are too many to be read"
            )
        weights, size = self.vocab_size * self.width + self.layers * layer, size_of(path, "load")
        if weights > size:
            raise ModelError(
                f"cannot load {path}: size mismatch: {size} bytes for at least {weights} weights"
            )


def rotations(config: LlamaConfig, length: int) -> tuple[Tensor, Tensor]:
    """Return cosines and sines [length, d/2] of RoPE (Su et al. 2021, equation 34), float32."""
    half = config.head_width // 2
    rate = config.rope_base ** (-torch.arange(half, dtype=torch.float32) / half)
    angle = torch.arange(length, dtype=torch.float32)[:, None] * rate
    return angle.cos(), angle.sin()


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
        cos, sin = rotations(self.config, tokens.shape[1])
        x = self.embedding(tokens)
        cos, sin = (part[:, None].to(x) for part in (cos, sin))  # [T, 1, d/2]
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.output(self.norm(x[wanted]))
