"""A network's weights: read from a file of strangers, checked, and written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.overrides import TorchFunctionMode

from gec.errors import ModelError
from gec.models.engines.inference import Network, check_weights
from gec.models.engines.quantization import (
    STORED,
    adopt,
    check_finite,
    check_stored,
    compress,
    expand,
    quantize,
)
from gec.models.network.llama import Llama, LlamaConfig
from gec.models.network.transformer import Transformer, TransformerConfig
from gec.untrusted import guarded, size_of


class _Unset(TorchFunctionMode):
    """Modules are made without initial values: their weights are read next.

    On the meta device an initialiser does nothing but import torch's compiler, for a second.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func in (Tensor.normal_, Tensor.uniform_, Tensor.zero_, Tensor.fill_):
            return args[0]
        if getattr(func, "__module__", None) == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


@contextmanager
def laid_out() -> Iterator[None]:
    """Make networks without memory for their weights, for :func:`read_weights`."""
    with torch.device("meta"), _Unset():
        yield


def read_network(
    config: TransformerConfig | LlamaConfig, path: Path, dtype: torch.dtype
) -> Network:
    """Return the network of some settings with its weights, in evaluation mode.

    Raises:
        ModelError: as of :func:`read_weights`.
    """
    with laid_out():
        network = Llama(config) if isinstance(config, LlamaConfig) else Transformer(config)
    read_weights(network, path, dtype)
    return network.eval()


def read_weights(network: Network, path: Path, dtype: torch.dtype) -> None:
    """Load weights into a network made on the meta device; failure raises ModelError.

    With int8 it is a network for inference on a CPU (:mod:`gec.models.engines.quantization`).
    """
    state = read_tensors(path)
    try:
        check_stored(state)
        if dtype == torch.int8 and any(t.dtype == torch.int8 for t in state.values()):
            adopt(network, state)
        else:
            _read_floats(network, expand(state), torch.float32 if dtype == torch.int8 else dtype)
    except (RuntimeError, KeyError, ValueError) as error:
        raise ModelError(f"cannot load {path}: {reason(error)}") from error
    network.restore_buffers()
    if dtype == torch.int8:
        quantize(network)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file, of the types that weights are stored in.

    Raises:
        ModelError: it is no such file, or holds others.
    """
    size_of(path, "load")  # a pipe would be waited for
    with guarded(f"cannot load {path}"):
        state = load_file(path)
    for name, tensor in state.items():
        if tensor.dtype not in STORED:
            raise ModelError(f"cannot load {path}: {name} holds no weights but {tensor.dtype}")
    return state


def _read_floats(network: Network, state: dict[str, Tensor], dtype: torch.dtype) -> None:
    state = {name: tensor.to(dtype) for name, tensor in state.items()}
    check_finite(state)
    if network.config.tie_embeddings and "embedding.weight" in state:
        state["output.weight"] = state["embedding.weight"]
    network.load_state_dict(state, strict=True, assign=True)


def mean_of(
    states: Sequence[Mapping[str, Tensor]], dtype: torch.dtype = torch.float32
) -> dict[str, Tensor]:
    """Return the mean of weights that have the same names and shapes, computed in ``dtype``."""
    return {
        name: torch.stack([state[name].to(dtype) for state in states]).mean(0) for name in states[0]
    }


def write_weights(network: Network, path: Path, dtype: torch.dtype) -> None:
    """Write a network's weights; tied ones once, and with int8 those of linear layers only.

    Raises:
        ModelError: it was made ready for inference (:mod:`gec.models.engines.inference`).
    """
    check_weights(network)
    if dtype == torch.int8:
        save_file(compress(network), path)
        return
    state = network.state_dict()
    if network.config.tie_embeddings:
        del state["output.weight"]
    save_file({name: t.to(dtype).contiguous() for name, t in state.items()}, path)


def reason(error: Exception) -> str:
    """Return an error's first line, or its second if the first ends in a colon."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[1].strip() if lines[0].endswith(":") and lines[1:] else lines[0]
