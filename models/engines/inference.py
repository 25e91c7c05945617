"""Networks made ready for inference on a CPU: their layers replaced, their weights stay the same.

With :mod:`gec.models.engines.native` a layer, a norm or an attention is one call, and a token's
result has the same bits in any block: what is drafted and verified is what decoding token by token
gives, by construction and not only but for ties. (Activations other than relu and gelu, relative
positions and RMS norms are PyTorch's own, whose last bits may depend on the block.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gec.errors import ModelError
from gec.models.engines import native
from gec.models.network import llama
from gec.models.network.llama import Llama
from gec.models.network.transformer import CrossAttention, FeedForward, SelfAttention, Transformer

Network = Transformer | Llama
N = TypeVar("N", bound=Network)


def prepare(network: N) -> N:
    """Let a float32 network on a CPU compute natively where that can be, in place; return it.

    It is for inference only then, and its linear layers no longer have their parameters; the table
    of a tied embedding is held twice. Networks on other devices, of other precisions, or on
    machines without the extension stay as they are.
    """
    usable = network.device.type == "cpu" and network.embedding.weight.dtype == torch.float32
    if usable and native.available():
        replace_linears(network, lambda _name, linear: native.Linear.of(linear))
        use_native(network)
    return network


def replace_linears(network: Network, by: Callable[[str, nn.Linear], nn.Module]) -> set[str]:
    """Replace the linear layers by others, with an attribute ``relu``; return their names."""
    names = [name for name, module in network.named_modules() if isinstance(module, nn.Linear)]
    for name in names:  # the old layers are let go one by one
        parent, _, last = name.rpartition(".")
        linear = cast(nn.Linear, network.get_submodule(name))
        setattr(network.get_submodule(parent), last, by(name, linear))
    for module in network.modules():
        if isinstance(module, FeedForward) and module.gate is None and module.activation is F.relu:
            up: Any = module.up
            up.relu, module.activation = True, _unchanged
    return set(names)


def check_weights(network: nn.Module) -> None:
    """Raise ModelError where linear layers were replaced: there are no weights to store."""
    if any(hasattr(module, "relu") for module in network.modules()):
        raise ModelError("the network was made ready for inference: load its bundle again")


def use_native(network: Network) -> None:
    """Let norms and attention, where they are of the kind it knows, compute natively."""
    for name, module in list(network.named_modules()):
        if type(module) is nn.LayerNorm and module.bias is not None:
            parent, _, last = name.rpartition(".")
            setattr(network.get_submodule(parent), last, native.LayerNorm.of(module))
        elif type(module) is llama.RMSNorm:
            parent, _, last = name.rpartition(".")
            norm = native.RMSNorm(module.weight, module.epsilon)
            setattr(network.get_submodule(parent), last, norm)
        elif isinstance(module, llama.Attention):
            module.attention, module.rotate = native.attention, native.rotate
        elif isinstance(module, llama.FeedForward):
            module.gate = native.gate
        elif (
            isinstance(module, SelfAttention | CrossAttention)
            and isinstance(network, Transformer)
            and network.config.positions != "relative"  # whose masks are biases
        ):
            module.attention = native.attention


def _unchanged(x: Tensor) -> Tensor:
    return x
