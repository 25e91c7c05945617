"""Int8 inference on a CPU whose result for a token does not depend on the block it is decoded in.

Weights have one scale per output channel, activations one scale per token row (symmetric, as in
the vector-wise quantization of Dettmers et al. 2022, LLM.int8, section 2), and products accumulate
in exact integers. With one activation scale per tensor a token's value would depend on its
neighbours, and aggressive decoding would no longer equal greedy decoding.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gec.errors import ModelError
from gec.models.transformer import Transformer

LEVELS = 127
"""Largest magnitude of an int8 value; symmetric, so -128 is not used."""

_AT_ONCE = 1 << 21
"""Values of a product computed at once; the logits of a batch exist three times on the way."""

_SMALLEST = 1e-30  # a scale of zero would divide by zero


def quantize_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return int8 values [N, K] and scales [N, 1] of a float matrix [N, K], their product."""
    scale = x.abs().amax(-1, keepdim=True).mul_(1 / LEVELS).clamp_min_(_SMALLEST)
    return (x / scale).round_().to(torch.int8), scale


class Int8Linear(nn.Module):
    """y = x W^T + b with W in int8 and x quantized on the way, row by row; x and y are float32."""

    weight: Tensor  # int8 [out, in]
    scale: Tensor  # [out]
    bias: Tensor | None  # [out]

    def __init__(self, weight: Tensor, scale: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)
        self.register_buffer("bias", bias)
        # finding a buffer by its name takes as long as a small operation on it
        self._operands = weight.t(), scale, bias

    @classmethod
    def of(cls, linear: nn.Linear) -> Int8Linear:
        """Quantize a linear layer."""
        values, scale = quantize_rows(linear.weight.detach().float())
        bias = None if linear.bias is None else linear.bias.detach().float()
        return cls(values, scale[:, 0], bias)

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., in] to [..., out]."""
        rows = x.reshape(-1, x.shape[-1])
        at_once = max(1, _AT_ONCE // self._operands[0].shape[1])
        if rows.shape[0] <= at_once:
            y = self._product(rows)
        else:
            y = rows.new_empty(rows.shape[0], self._operands[0].shape[1])
            for start in range(0, rows.shape[0], at_once):
                y[start : start + at_once] = self._product(rows[start : start + at_once])
        return y.view(*x.shape[:-1], -1)

    def _product(self, rows: Tensor) -> Tensor:
        weight, channel, bias = self._operands
        values, scale = quantize_rows(rows)
        y = torch._int_mm(values, weight) * scale
        return y.mul_(channel) if bias is None else torch.addcmul(bias, y, channel)


class Int8Embedding(nn.Module):
    """Rows of an int8 table as float32; shares the table of a tied output projection."""

    def __init__(self, table: Int8Linear) -> None:
        super().__init__()
        self._tables = [table]  # in a list: the output layer's weights are not this module's, too

    @property
    def weight(self) -> Tensor:
        return self._tables[0].weight

    def forward(self, tokens: Tensor) -> Tensor:
        """Map ids [...] to [..., width]."""
        [table] = self._tables
        values = F.embedding(tokens, table.weight).float()
        return values * F.embedding(tokens, table.scale[:, None])


def compress(network: Transformer) -> dict[str, Tensor]:
    """Return a network's state with the weights of linear layers in int8, the rest in float16.

    A weight named ``w`` has its scales in ``w.scale``. What the rounding loses is lost: a weight is
    known to half of a 127th of the largest one of its row.
    """
    modules = network.named_modules()
    weights = {f"{name}.weight" for name, module in modules if isinstance(module, nn.Linear)}
    state = network.state_dict()
    if network.config.tie_embeddings:
        del state["output.weight"]
        weights.add("embedding.weight")
    compressed: dict[str, Tensor] = {}
    for name, tensor in state.items():
        if name in weights:
            compressed[name], scale = quantize_rows(tensor.float())
            compressed[f"{name}.scale"] = scale[:, 0].contiguous()
        else:
            compressed[name] = tensor.half().contiguous()
    return compressed


def expand(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the state that :func:`compress` made, in floating point; any other one unchanged."""
    expanded = {}
    for name, tensor in state.items():
        if tensor.dtype == torch.int8:
            expanded[name] = tensor.float() * state[f"{name}.scale"][:, None]
        elif not name.endswith(".scale"):
            expanded[name] = tensor
    return expanded


def quantize(network: Transformer) -> Transformer:
    """Replace a network's linear layers by int8 ones, in place; return it, for inference only.

    Raises:
        ModelError: the network is not on a CPU.
    """
    if network.device.type != "cpu":
        raise ModelError(f"int8 runs on a CPU only, not on {network.device}")
    _replace(network, lambda _name, linear: Int8Linear.of(linear))
    return network.float()


def adopt(network: Transformer, state: Mapping[str, Tensor]) -> None:
    """Give a network laid out on the meta device what :func:`compress` stored, as it is.

    The same as expanding, loading and :func:`quantize`, without ever holding the weights in float.

    Raises:
        RuntimeError: tensors are missing, unknown or of other shapes, in torch's own words.
    """
    rest = {name: t if t.dtype == torch.int8 else t.float() for name, t in state.items()}

    def stored(name: str, linear: nn.Linear) -> Int8Linear:
        source = "embedding" if name == "output" and network.config.tie_embeddings else name
        weight, scale = rest.pop(f"{source}.weight"), rest.pop(f"{source}.weight.scale")
        if weight.shape != linear.weight.shape or scale.shape != weight.shape[:1]:
            raise RuntimeError(f"size mismatch for {source}.weight: {tuple(weight.shape)}")
        return Int8Linear(
            weight, scale, rest.pop(f"{name}.bias") if linear.bias is not None else None
        )

    quantized = _replace(network, stored)
    missing, unknown = network.load_state_dict(rest, strict=False, assign=True)
    missing = [name for name in missing if name.rpartition(".")[0] not in quantized]
    if missing or unknown:
        raise RuntimeError(f"missing {missing or 'nothing'}, unknown {unknown or 'nothing'}")


def _replace(network: Transformer, by: Callable[[str, nn.Linear], Int8Linear]) -> set[str]:
    """Replace the linear layers and a tied embedding; return the layers' names."""
    linears = [item for item in network.named_modules() if isinstance(item[1], nn.Linear)]
    for name, linear in linears:
        parent, _, last = name.rpartition(".")
        setattr(network.get_submodule(parent), last, by(name, linear))
    if network.config.tie_embeddings:
        network.embedding = Int8Embedding(cast(Int8Linear, network.output))  # type: ignore[assignment]
    return {name for name, _ in linears}


def count_parameters(network: Transformer) -> int:
    """Return the number of weights, however they are stored; scales are none."""
    quantized = [m for m in network.modules() if isinstance(m, Int8Linear)]
    tensors = [t for m in quantized for t in (m.weight, m.bias) if t is not None]
    return sum(t.numel() for t in [*network.parameters(), *tensors])


@cache
def reuse_memory() -> None:
    """Keep freed blocks of the C library's heap instead of returning them to the system.

    glibc gives every block above 128 KiB back when it is freed. Activations of a batch are larger,
    so each operation would fault in its pages anew, which costs more than the operation itself.
    """
    trim_threshold, mmap_threshold, gibibyte = -1, -3, 1 << 30  # <malloc.h>
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "mallopt"):
        library.mallopt(trim_threshold, gibibyte)
        library.mallopt(mmap_threshold, gibibyte)
