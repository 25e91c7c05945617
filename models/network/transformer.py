"""Encoder-decoder Transformer (Vaswani et al. 2017) with block decoding over a truncatable cache.

One module serves training (:meth:`Transformer.forward`) and decoding (:meth:`encode`,
:meth:`decode_block`). Shapes: B rows, S source length, T block length, L cache length, D model
width, H heads, V vocabulary.

Options of :class:`TransformerConfig` turn the network into BART (Lewis et al. 2020), T5 (Raffel et
al. 2020), Marian, Pegasus or fairseq's variants; the defaults are the plain network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gec.errors import ModelError
from gec.models.network.cache import LayerCache, PassingCache, Positions

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}
CHOICES = {
    "positions": (
        "sinusoidal", "sinusoidal_halves", "sinusoidal_tensor2tensor", "learned", "relative"
    ),
    "norm": ("pre", "post"),
    "norm_type": ("layer", "rms"),
    "activation": tuple(ACTIVATIONS),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerConfig:
    """The architecture; defaults are Transformer-base (Vaswani et al. 2017, Table 3).

    Attributes:
        vocab_size: entries of the output, and of the source unless ``source_vocab_size`` is given.
        width: D, the width of all hidden states.
        heads, ffn_width: sizes of every layer; ``decoder_heads`` and ``decoder_ffn_width``
            override them in the decoder.
        max_positions: the most tokens of a source or an output.
        positions: kind of positions.
            "sinusoidal": sines and cosines interleaved (Vaswani et al. 2017, section 3.5);
            "sinusoidal_halves": all sines, then all cosines (Marian, Pegasus);
            "sinusoidal_tensor2tensor": halves whose rates end at 1e-4 itself (fairseq);
            "learned": a table for either side;
            "relative": a learned bias of attention by distance (T5; Raffel et al. 2020, 2.1).
        position_offset: the first place of the sinusoidal table (fairseq: padding index + 1).
            Learned tables need no offset: they leave out their unused first rows.
        relative_buckets, relative_distance: number of biases of a head, and the distance from
            which on all distances share the last bias ("relative" only).
        norm: "pre", before every sublayer, or "post", after its skip connection.
        norm_type: "layer", or "rms" (no mean, no bias; T5).
        encoder_final_norm, decoder_final_norm: whether a norm follows the last layer; None: only
            if ``norm`` is "pre".
        embedding_norm: whether a norm follows embedding plus position, on both sides (BART).
        norm_epsilon: number added to the variance.
        scale_embedding: whether to multiply embeddings by the root of the width.
        tie_embeddings: whether the output projection is the embedding.
        source_vocab_size: entries of the encoder's own embedding; None: it reads the decoder's.
        output_bias: whether the output has a bias (final logits bias of BART and Marian).
        scale_output: whether to divide by the root of the width before the output (T5 with tied
            embeddings).
        activation: activation of the feed-forward network; others call "gelu_tanh" gelu_new.
        gated: whether the feed-forward network multiplies with a gate (Shazeer 2020; T5 1.1).
        bias: whether linear layers have biases.
        scale_attention: whether to divide scores by the root of the head width (not in T5).
        head_width: width of every head; None: ``width / heads``.
        bos_id: first id that the decoder is fed: its family's decoder start token, which may be
            the EOS (fairseq, BART) or the pad (T5, Marian).
        source_prefix: ids before every source (BART: its BOS). EOS always follows the source.
        decoder_prefix: ids fed before ``bos_id`` (BART: its EOS, if a first BOS is forced).
    """

    vocab_size: int
    width: int = 512
    heads: int = 8
    ffn_width: int = 2048
    encoder_layers: int = 6
    decoder_layers: int = 6
    max_positions: int = 512
    positions: str = "sinusoidal"
    norm: str = "pre"
    activation: str = "relu"
    dropout: float = 0.1
    tie_embeddings: bool = True
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2
    # to_dict leaves out the following settings if they have their defaults
    source_vocab_size: int | None = None
    scale_embedding: bool = True
    embedding_norm: bool = False
    position_offset: int = 0
    relative_buckets: int = 32
    relative_distance: int = 128
    norm_type: str = "layer"
    norm_epsilon: float = 1e-5
    encoder_final_norm: bool | None = None
    decoder_final_norm: bool | None = None
    gated: bool = False
    bias: bool = True
    scale_attention: bool = True
    head_width: int | None = None
    decoder_heads: int | None = None
    decoder_ffn_width: int | None = None
    output_bias: bool = False
    scale_output: bool = False
    source_prefix: tuple[int, ...] = ()
    decoder_prefix: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ModelError(f"{name} must be one of {allowed}, not {getattr(self, name)!r}")
        self._check_numbers()
        self._check_ids()
        if self.head_width is None:
            for name in ("heads", "decoder_heads"):
                if self.width % (getattr(self, name) or 1):
                    raise ModelError(
                        f"width {self.width} is not a multiple of {name} {getattr(self, name)}"
                    )
        # a quarter (encoder) or half (decoder) of the buckets hold exact distances
        if self.relative_buckets < 4 or self.relative_distance <= self.relative_buckets // 2:
            raise ModelError(
                "relative_buckets must be at least 4 and relative_distance more than half of it, "
                f"not {self.relative_buckets} and {self.relative_distance}"
            )

    def _check_numbers(self) -> None:
        counts = (
            "vocab_size width heads ffn_width encoder_layers decoder_layers max_positions "
            "relative_buckets relative_distance"
        )
        optional = ("source_vocab_size", "head_width", "decoder_heads", "decoder_ffn_width")
        given = [name for name in optional if getattr(self, name) is not None]
        for name in [*counts.split(), *given]:
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ModelError(f"{name} must be a positive integer, not {value!r}")
        if type(self.position_offset) is not int or self.position_offset < 0:
            raise ModelError(
                f"position_offset must be an integer of at least 0, not {self.position_offset!r}"
            )
        if not isinstance(self.dropout, int | float) or not 0 <= self.dropout <= 1:
            raise ModelError(f"dropout must lie between 0 and 1, not {self.dropout!r}")
        if not isinstance(self.norm_epsilon, int | float) or not self.norm_epsilon > 0:
            raise ModelError(f"norm_epsilon must be above 0, not {self.norm_epsilon!r}")

    def _check_ids(self) -> None:
        source_size = self.source_vocab_size or self.vocab_size
        for name in ("pad_id", "bos_id", "eos_id"):
            # the source holds EOS and pad, too
            size = self.vocab_size if name == "bos_id" else min(self.vocab_size, source_size)
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value < size:
                raise ModelError(f"{name} must lie between 0 and {size - 1}, not {value!r}")
        for name, size in (("source_prefix", source_size), ("decoder_prefix", self.vocab_size)):
            ids = getattr(self, name)
            if not isinstance(ids, list | tuple) or not all(
                type(i) is int and 0 <= i < size for i in ids
            ):
                raise ModelError(f"{name} must be ids between 0 and {size - 1}, not {ids!r}")
            object.__setattr__(self, name, tuple(ids))  # JSON has lists only

    def to_dict(self) -> dict[str, Any]:
        """Return the settings for a ``config.json`` or a checkpoint.

        Options of foreign families are left out if they have their defaults: so files of the plain
        network stay the same, and older versions read them.
        """
        always = [field.name for field in fields(self)]
        always = always[: always.index("source_vocab_size")]
        defaults = {field.name: field.default for field in fields(self)}
        return {
            name: value
            for name, value in asdict(self).items()
            if name in always or value != defaults[name]
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TransformerConfig:
        """Return the settings of a ``config.json``; unknown or missing keys raise ModelError."""
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise ModelError(f"unknown architecture settings: {', '.join(unknown)}")
        try:
            return cls(**values)
        except TypeError as error:
            raise ModelError(f"incomplete architecture: {error}") from error


def sinusoidal_positions(length: int, width: int, kind: str = "sinusoidal") -> Tensor:
    """Return the fixed table [length, width] of Vaswani et al. 2017, section 3.5, or a variant.

    The kinds are those of :class:`TransformerConfig`. The kind of tensor2tensor divides by half the
    width minus one, so the slowest rate is 1e-4 itself; an odd width ends in a zero.
    """
    cpu = torch.device("cpu")  # even if the weights are on the meta device
    half = width // 2
    steps = max(half - 1, 1) if kind == "sinusoidal_tensor2tensor" else width / 2
    rates = half if kind == "sinusoidal_tensor2tensor" else (width + 1) // 2
    # use the precision of the code that trained with each kind, or far places differ at 1e-5
    dtype = torch.float64 if kind == "sinusoidal_halves" else torch.float32
    rate = torch.exp(torch.arange(rates, dtype=dtype, device=cpu) * (-math.log(1e4) / steps))
    angle = torch.arange(length, dtype=dtype, device=cpu)[:, None] * rate  # [length, rates]
    table = torch.zeros(length, width, device=cpu)
    if kind == "sinusoidal":
        table[:, 0::2], table[:, 1::2] = angle.sin(), angle[:, :half].cos()
    else:
        table[:, :rates], table[:, rates : rates + half] = angle.sin(), angle[:, :half].cos()
    return table


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


def _norm(config: TransformerConfig) -> nn.Module:
    kind = nn.RMSNorm if config.norm_type == "rms" else nn.LayerNorm
    return kind(config.width, eps=config.norm_epsilon)


class _Residual(nn.Module):
    """Norm, dropout and skip connection around a sublayer, before or after it."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.norm = _norm(config)
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
            self.encoder_embedding_norm, self.decoder_embedding_norm = _norm(config), _norm(config)
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
        return _norm(self.config) if wanted else nn.Identity()

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
