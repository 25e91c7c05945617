"""Int8 inference on a CPU whose result for a token does not depend on the block it is decoded in.

Weights have one scale per output channel, activations one scale per token row (symmetric, as in
the vector-wise quantization of Dettmers et al. 2022, LLM.int8, section 2), and products accumulate
in exact integers. With one activation scale per tensor a token's value would depend on its
neighbours, and aggressive decoding would no longer equal greedy decoding.

Where :mod:`gec.models.engines.native` is available, a quantized network computes with it: a linear
layer, here ten tensor operations, is one call there and the same to the last bit; norms and
attention are the same to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gec.errors import ModelError
from gec.models.engines import native
from gec.models.engines.inference import N, Network, replace_linears, use_native

LEVELS = 127
"""Largest magnitude of an int8 value; symmetric, so -128 is not used."""

STORED = (torch.int8, torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""What weights are stored in."""

_AT_ONCE = 1 << 21
"""Values of a product computed at once; the logits of a batch exist three times on the way."""

_SMALLEST = 1e-30  # a scale of zero would divide by zero


def quantize_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return int8 values [N, K] and scales [N, 1] of a float matrix [N, K], their product.

    A row that holds NaN or an infinity has NaN as its scale, and so a product of NaN.
    """
    scale = x.abs().amax(-1, keepdim=True).mul_(1 / LEVELS).clamp_min_(_SMALLEST)
    scale += scale - scale  # infinity less itself is NaN
    return (x / scale).round_().to(torch.int8), scale


class Int8Linear(nn.Module):
    """y = x W^T + b with W in int8 and x quantized on the way, row by row; x and y are float32.

    Attributes:
        relu: also make negative results 0.

    Raises:
        ValueError: weights, scales or biases of another type, or of shapes that do not fit.
    """

    scale: Tensor  # [out]
    bias: Tensor | None  # [out]

    def __init__(self, weight: Tensor, scale: Tensor, bias: Tensor | None) -> None:
        """Take int8 weights [out, in] with their scales [out]."""
        super().__init__()
        if weight.dtype != torch.int8 or weight.dim() != 2:
            raise ValueError(f"weight: int8 [out, in] wanted, not {weight.dtype} {[*weight.shape]}")
        for name, x in (("scale", scale), ("bias", bias)):
            if x is not None and (x.dtype != torch.float32 or x.shape != weight.shape[:1]):
                raise ValueError(
                    f"{name}: float32 {[*weight.shape[:1]]} wanted, not {x.dtype} {[*x.shape]}"
                )
        self.out_features, self.in_features = weight.shape
        self.relu = False
        self.register_buffer("scale", scale.contiguous())
        self.register_buffer("bias", None if bias is None else bias.contiguous())
        packs = native.int8_available() and self.in_features <= native.WIDEST
        self._weight = native.PackedWeights(weight) if packs else weight

    @classmethod
    def of(cls, linear: nn.Linear) -> Int8Linear:
        """Quantize a linear layer."""
        values, scale = quantize_rows(linear.weight.detach().float())
        bias = None if linear.bias is None else linear.bias.detach().float()
        return cls(values, scale[:, 0], bias)

    @property
    def weight(self) -> Tensor:
        """The int8 weights [out, in]."""
        return self._weight if isinstance(self._weight, Tensor) else self._weight.unpack()

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., in] to [..., out]."""
        rows = x.reshape(-1, x.shape[-1])
        if isinstance(self._weight, Tensor):
            y = self._in_pieces(rows, self._weight.t())
        else:
            y = self._weight.product(rows, self.scale, self.bias, self.relu)
        return y.view(*x.shape[:-1], self.out_features)

    def _in_pieces(self, rows: Tensor, weight: Tensor) -> Tensor:
        at_once = max(1, _AT_ONCE // self.out_features)
        if rows.shape[0] <= at_once:
            return self._product(rows, weight)
        y = rows.new_empty(rows.shape[0], self.out_features)
        for start in range(0, rows.shape[0], at_once):
            y[start : start + at_once] = self._product(rows[start : start + at_once], weight)
        return y

    def _product(self, rows: Tensor, weight: Tensor) -> Tensor:
        values, scale = quantize_rows(rows)
        y = (torch._int_mm(values, weight) * scale).mul_(self.scale)
        if self.bias is not None:
            y += self.bias  # not addcmul, which may round once where the extension rounds twice
        return y.relu_() if self.relu else y


class Int8Embedding(nn.Module):
    """Rows of an int8 table as float32; shares the table of a tied output projection."""

    def __init__(self, table: Int8Linear) -> None:
        super().__init__()
        self.weight, self._scale = table.weight, table.scale[:, None]

    def forward(self, tokens: Tensor) -> Tensor:
        """Map ids [...] to [..., width]."""
        return F.embedding(tokens, self.weight).float() * F.embedding(tokens, self._scale)


def compress(network: Network) -> dict[str, Tensor]:
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


def check_stored(state: Mapping[str, Tensor]) -> None:
    """Refuse int8 tensors that :func:`compress` would not have made.

    Raises:
        ValueError: one is no matrix, or its scales are not one number a row.
        KeyError: one has no scales.
    """
    for name, tensor in state.items():
        if tensor.dtype == torch.int8:
            scale = state[f"{name}.scale"]
            if tensor.dim() != 2 or not scale.is_floating_point():
                raise ValueError(f"{name} must be int8 rows with scales in floating point")
            if scale.shape != tensor.shape[:1]:
                raise ValueError(
                    f"{name}.scale must have {len(tensor)} numbers, not {list(scale.shape)}"
                )


def check_finite(state: Mapping[str, Tensor]) -> None:
    """Raise ValueError if a number is NaN or infinite: so would be what is computed with it.

    The output's bias may be minus infinity for ids that a converted model never says.
    """
    for name, tensor in state.items():
        if tensor.is_floating_point() and tensor.numel():
            bounds = [tensor.max()] if name == "output.bias" else list(tensor.aminmax())
            if not all(bound.isfinite() for bound in bounds):
                raise ValueError(f"{name} holds NaN or infinity")


def expand(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the state that :func:`compress` made, in floating point; any other one unchanged."""
    expanded = {}
    for name, tensor in state.items():
        if tensor.dtype == torch.int8:
            expanded[name] = tensor.float() * state[f"{name}.scale"][:, None]
        elif not name.endswith(".scale"):
            expanded[name] = tensor
    return expanded


def quantize(network: N) -> N:
    """Replace a network's linear layers by int8 ones, in place; return it, for inference only.

    Raises:
        ModelError: the network is not on a CPU, or was made ready for inference before.
    """
    if network.device.type != "cpu":
        raise ModelError(f"int8 runs on a CPU only, not on {network.device}")
    if any(isinstance(module, native.Linear) for module in network.modules()):
        raise ModelError("the network was made ready for inference: load its bundle again")
    _replace(network, lambda _name, linear: Int8Linear.of(linear))
    network.float()
    return network


def adopt(network: Network, state: Mapping[str, Tensor]) -> None:
    """Give a network laid out on the meta device what :func:`compress` stored, as it is.

    The same as expanding, loading and :func:`quantize`, without ever holding the weights in float.

    Raises:
        RuntimeError: tensors are missing, unknown or of other shapes, in torch's own words.
        ValueError: they are of other types.
    """
    rest = {name: t if t.dtype == torch.int8 else t.float() for name, t in state.items()}
    check_finite(rest)

    def stored(name: str, linear: nn.Linear) -> Int8Linear:
        source = "embedding" if name == "output" and network.config.tie_embeddings else name
        weight, scale = rest.pop(f"{source}.weight"), rest.pop(f"{source}.weight.scale")
        if weight.shape != linear.weight.shape or scale.shape != weight.shape[:1]:
            raise RuntimeError(f"size mismatch for {source}.weight: {tuple(weight.shape)}")
        bias = rest.pop(f"{name}.bias") if linear.bias is not None else None
        try:
            return Int8Linear(weight, scale, bias)
        except ValueError as error:
            raise ValueError(f"{name}.{error}") from None

    quantized = _replace(network, stored)
    missing, unknown = network.load_state_dict(rest, strict=False, assign=True)
    missing = [name for name in missing if name.rpartition(".")[0] not in quantized]
    if missing or unknown:
        raise RuntimeError(f"missing {missing or 'nothing'}, unknown {unknown or 'nothing'}")


def _replace(network: Network, by: Callable[[str, nn.Linear], Int8Linear]) -> set[str]:
    """Replace the linear layers and a tied embedding; return the layers' names."""
    replaced = replace_linears(network, by)
    if network.config.tie_embeddings:
        network.embedding = Int8Embedding(cast(Int8Linear, network.output))  # type: ignore[assignment]
    if native.available():
        use_native(network)
    return replaced


def count_parameters(network: Network) -> int:
    """Return the number of weights, however they are stored; scales are none."""
    count = sum(p.numel() for p in network.parameters())
    for name, module in network.named_modules():
        if isinstance(module, Int8Linear | native.Linear):
            count += module.bias.numel() if module.bias is not None else 0
            tied = name == "output" and isinstance(network.embedding.weight, nn.Parameter)
            if not (tied and network.config.tie_embeddings):  # else the embedding's count
                count += module.in_features * module.out_features
    return count
