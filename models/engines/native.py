"""The same computations as torch's, by one call each of the C library, for inference on a CPU.

A block of a sentence is a few thousand numbers: an operation of torch on them takes longer to begin
than to do. And torch's attention sums in an order that depends on the block's shape, so a token's
last bits may too. Here every token's result depends on that token alone: decoding a block gives the
very bits that decoding token by token gives, on every processor.

The library (:mod:`gec.models.native`) is built with the package where there is a compiler;
elsewhere :func:`available` is False, and torch does the work.

The library gets addresses and sizes and believes them. Every tensor of which it gets an address is
checked here first, at each call: its device, type, shape and layout (:func:`_address`).
"""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor, nn

from gec.models.native.library import BatchAttention, Library, describe, library

__all__ = [
    "WIDEST",
    "LayerNorm",
    "Linear",
    "PackedWeights",
    "RMSNorm",
    "attention",
    "available",
    "describe",
    "gate",
    "int8_available",
    "rotate",
]

WIDEST = 1 << 16
"""Most inputs of an int8 layer: its sums stay within 32 bits."""


def available() -> bool:
    """Whether this machine has the library; the environment variable GEC_NATIVE=off hides it."""
    return library() is not None


def int8_available() -> bool:
    """Whether the library can multiply int8 weights on this processor: wherever there is one."""
    return available()


def _loaded() -> Library:
    if (found := library()) is None:
        raise RuntimeError("the C library of gec.models.native is not available here")
    return found


def _as_float(x: Tensor) -> Tensor:
    if not x.is_cpu or x.requires_grad:
        raise ValueError("for inference on a CPU only")
    return x if x.dtype is torch.float32 else x.float()


def _address(x: Tensor | None, *shape: int) -> int:
    """Return where a float32 tensor of this shape lies in memory, 0 for None.

    Raises:
        ValueError: the extension would read or write something else than is meant.
    """
    if x is None:
        return 0
    if x.dtype is not torch.float32 or x.shape != shape or not x.is_contiguous() or not x.is_cpu:
        raise ValueError(f"float32 {list(shape)} wanted, not {x.dtype} {list(x.shape)}")
    return x.data_ptr()


class PackedWeights:
    """int8 weights [channels, inputs] in the order in which the processor multiplies them."""

    def __init__(self, weight: Tensor) -> None:
        self.channels, self.inputs = weight.shape
        if weight.dtype != torch.int8 or self.inputs > WIDEST or not weight.is_cpu:
            raise ValueError(f"int8 weights of at most {WIDEST} inputs, not {weight.dtype}")
        self._library = _loaded()
        size = self._library.handle.gec_size_int8(self.channels, self.inputs)
        self._panels = torch.empty(size, dtype=torch.uint8)
        weight = weight.contiguous()
        self._library.function("pack_int8")(
            weight.data_ptr(), self.channels, self.inputs, self._panels.data_ptr()
        )
        self._linear = self._library.function("linear_int8")

    def unpack(self) -> Tensor:
        """Return the weights [channels, inputs]."""
        weight = torch.empty(self.channels, self.inputs, dtype=torch.int8)
        self._library.function("unpack_int8")(
            self._panels.data_ptr(), self.inputs, 0, self.channels, weight.data_ptr()
        )
        return weight

    def product(self, x: Tensor, scale: Tensor, bias: Tensor | None, relu: bool = False) -> Tensor:
        """Map float x [N, inputs] to [N, channels], quantizing x row by row.

        ``scale`` [channels] is that of the weights; with ``relu`` negative results become 0. The
        same to the last bit as the plain version in :mod:`gec.models.engines.quantization`. A row
        that holds NaN or an infinity gives NaN.
        """
        count, inputs = x.shape
        if inputs != self.inputs:  # torch would refuse, the library would read on
            raise ValueError(f"{inputs} values a row, the layer takes {self.inputs}")
        x = _as_float(x).contiguous()
        y = x.new_empty(count, self.channels)
        _check_memory(
            self._linear(
                x.data_ptr(),
                count,
                inputs,
                self._panels.data_ptr(),
                self.channels,
                _address(scale, self.channels),
                _address(bias, self.channels),
                relu,
                y.data_ptr(),
                torch.get_num_threads(),
            )
        )
        return y


def _check_memory(done: int) -> None:
    if not done:
        raise MemoryError("no memory for a layer's rows")


class Linear(nn.Module):
    """y = x W^T + b in float32; its weights are kept in the order in which they are multiplied.

    Attributes:
        relu: also make negative results 0.
    """

    bias: Tensor | None  # [out]

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        """Take weights [out, in]."""
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.relu = False
        self._library = _loaded()
        size = self._library.handle.gec_size_float(self.out_features, self.in_features)
        self._panels = torch.empty(size // 4, dtype=torch.float32)
        weight = _as_float(weight).contiguous()
        self._library.function("pack_float")(
            weight.data_ptr(), self.out_features, self.in_features, self._panels.data_ptr()
        )
        self.register_buffer("bias", None if bias is None else _as_float(bias).contiguous())
        self._linear = self._library.function("linear_float")

    @classmethod
    def of(cls, linear: nn.Linear) -> Linear:
        """Take over another layer's weights."""
        bias = None if linear.bias is None else linear.bias.detach()
        return cls(linear.weight.detach(), bias)

    @property
    def weight(self) -> Tensor:
        """The weights [out, in]."""
        weight = torch.empty(self.out_features, self.in_features, dtype=torch.float32)
        self._library.function("unpack_float")(
            self._panels.data_ptr(), self.in_features, 0, self.out_features, weight.data_ptr()
        )
        return weight

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., in] to [..., out]."""
        if x.shape[-1] != self.in_features:  # torch would refuse, the library would read on
            raise ValueError(f"{x.shape[-1]} values a row, the layer takes {self.in_features}")
        x = _as_float(x).contiguous()
        y = x.new_empty(*x.shape[:-1], self.out_features)
        self._linear(
            x.data_ptr(),
            x.numel() // self.in_features,
            self.in_features,
            self._panels.data_ptr(),
            self.out_features,
            _address(self.bias, self.out_features),
            self.relu,
            y.data_ptr(),
            torch.get_num_threads(),
        )
        return y


def _rows(x: Tensor, width: int) -> Tensor:
    """Return x in float32 and contiguous; ValueError if its rows are not as wide as a norm."""
    if x.shape[-1] != width:
        raise ValueError(f"{x.shape[-1]} values a row for a norm of {width}")
    return _as_float(x).contiguous()


class LayerNorm(nn.LayerNorm):
    """Layer norm over the last dimension, with weight and bias."""

    @classmethod
    def of(cls, norm: nn.LayerNorm) -> LayerNorm:
        """Take over another norm's weights."""
        own = cls(norm.normalized_shape, norm.eps, device="meta")
        own.weight, own.bias = norm.weight, norm.bias
        return own

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., width] to the same."""
        width = self.weight.shape[0]
        x = _rows(x, width)
        y = torch.empty_like(x)
        _loaded().function("layer_norm")(
            x.data_ptr(),
            x.numel() // width,
            width,
            _address(self.weight, width),
            _address(self.bias, width),
            y.data_ptr(),
            self.eps,
            torch.get_num_threads(),
        )
        return y


class RMSNorm(nn.Module):
    """x over the root of its mean square, times a weight, over the last dimension."""

    def __init__(self, weight: nn.Parameter, epsilon: float) -> None:
        """Take over another norm's weights."""
        super().__init__()
        self.weight, self.epsilon = weight, epsilon

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., width] to the same."""
        width = self.weight.shape[0]
        x = _rows(x, width)
        y = torch.empty_like(x)
        _loaded().function("rms_norm")(
            x.data_ptr(),
            x.numel() // width,
            width,
            _address(self.weight, width),
            y.data_ptr(),
            self.epsilon,
            torch.get_num_threads(),
        )
        return y


def rotate(x: Tensor, heads: int, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn the first ``heads`` heads of x [N, all heads, d] in place by angles [N, 1, d/2]."""
    count, present, width = x.shape
    cos, sin = _as_float(cos).contiguous(), _as_float(sin).contiguous()
    if heads > present or width % 2:
        raise ValueError(f"{heads} heads of even width, not {list(x.shape)}")
    _loaded().function("rotate")(
        _address(x, count, present, width),
        count,
        present * width,
        heads,
        width // 2,
        _address(cos, count, 1, width // 2),
        _address(sin, count, 1, width // 2),
        torch.get_num_threads(),
    )
    return x


def gate(x: Tensor) -> Tensor:
    """Return silu(a) * b [..., F] of x [..., 2 F], a before b."""
    x = _as_float(x).contiguous()
    if x.shape[-1] % 2:
        raise ValueError(f"gate and values are as wide, not {x.shape[-1]} together")
    width = x.shape[-1] // 2
    y = x.new_empty(*x.shape[:-1], width)
    _loaded().function("gate")(
        x.data_ptr(), x.numel() // (2 * width), width, y.data_ptr(), torch.get_num_threads()
    )
    return y


def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float | None = None
) -> Tensor:
    """Return softmax(q k^T) v as [B, T, H * d] of q [B, T, H, d] and k, v [B, S, H, d].

    Args:
        mask: bool [B or 1, 1, T or 1, S], True where a key may be seen; every query sees one.
        causal: query t sees the keys 0 to t (and no mask).
        scale: of the products; None: one over the root of d.
    """
    q, k, v = (_heads_together(_as_float(x)) for x in (q, k, v))
    batch, queries, heads, width = q.shape
    keys = k.shape[1]
    if k.shape != v.shape or k.shape != (batch, keys, heads, width) or (causal and queries > keys):
        raise ValueError(f"attention of {list(q.shape)} over {list(k.shape)}, {list(v.shape)}")
    seen = (0, 0, 0)
    if mask is not None:
        if mask.dtype != torch.bool or mask.shape[1] != 1:
            raise ValueError(f"a mask is bool [B or 1, 1, T or 1, S], not {list(mask.shape)}")
        mask = mask if mask.stride(-1) == 1 else mask.contiguous()
        mask = mask.expand(batch, 1, queries, keys)  # its strides say which dimensions are one
        seen = mask.data_ptr(), mask.stride(0), mask.stride(2)
    y = q.new_empty(batch, queries, heads * width)
    call = BatchAttention(
        batch,
        queries,
        keys,
        heads,
        width,
        *(number for x in (q, k, v) for number in (x.data_ptr(), x.stride(0), x.stride(1))),
        *seen,
        causal,
        y.data_ptr(),
        width**-0.5 if scale is None else scale,
    )
    _check_memory(_loaded().function("attention")(ctypes.byref(call), torch.get_num_threads()))
    return y


def _heads_together(x: Tensor) -> Tensor:
    """Return x [B, T, H, d] with each place's heads one after another in memory."""
    return x if x.stride(3) == 1 and x.stride(2) == x.shape[3] else x.contiguous()
