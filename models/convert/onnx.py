"""Bundles as two ONNX graphs, and the decoding loop over them in ONNX Runtime.

``encoder.onnx``: ``tokens`` [B, S] and ``mask`` [B, S] (True where it is no padding) to
``source_keys`` and ``source_values`` [B, S, N, d], those of all decoder layers, N = layers x heads.

``decoder.onnx`` scores a block: ``tokens`` [B, T] after ``starts`` [B] cached ones of each row,
with ``keys`` and ``values`` [B, L, N, d] of the cache (L may be 0), ``source_keys``,
``source_values`` and ``mask``. It gives ``logits`` [B, T, V] and the block's own ``new_keys`` and
``new_values`` [B, T, N, d]. Rows are ragged: of the L cached places a row sees its ``starts`` first
ones, so a rejected draft is dropped by a smaller number, and nothing is copied.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from gec.decoding.model import Model
from gec.errors import ModelError
from gec.models.convert.output import in_float32, needs, new_folder, save_tokenizer
from gec.models.engines.eager import Memory
from gec.models.engines.engine import padded
from gec.models.engines.scores import TorchScores
from gec.models.load.bundle import Bundle
from gec.models.load.foreign import read_json
from gec.models.load.prefixes import prefixed
from gec.models.network.cache import LayerCache, Positions
from gec.models.network.transformer import (
    DecoderLayer,
    Transformer,
    TransformerConfig,
    relative_buckets,
)

ENCODER, DECODER, SETTINGS = "encoder.onnx", "decoder.onnx", "config.json"


def to_onnx(bundle: Bundle, folder: str | Path) -> None:
    """Write both graphs in float32, ``config.json`` and the tokenizer's files.

    Raises:
        ModelError: the package onnx is missing, or the network is not float.
        ConfigError: the folder holds something.
    """
    needs("onnx")
    network = in_float32(bundle)
    folder = new_folder(folder)
    save_tokenizer(bundle, folder)
    network_to_onnx(network, folder)


def network_to_onnx(network: Transformer, folder: Path) -> None:
    """Write the graphs and settings of a network alone."""
    network, config = _exportable(network), network.config
    heads = config.decoder_layers * (config.decoder_heads or config.heads)
    width = config.head_width or config.width // (config.decoder_heads or config.heads)
    tokens, mask = torch.full((2, 5), config.eos_id), torch.ones(2, 5, dtype=torch.bool)
    _export(
        _Encoder(network),
        {"tokens": tokens, "mask": mask},
        ["source_keys", "source_values"],
        folder / ENCODER,
    )
    block = {
        "tokens": torch.full((2, 3), config.eos_id),
        "starts": torch.tensor([2, 4]),
        "keys": torch.zeros(2, 4, heads, width),
        "values": torch.zeros(2, 4, heads, width),
        "source_keys": torch.zeros(2, 5, heads, width),
        "source_values": torch.zeros(2, 5, heads, width),
        "mask": mask,
    }
    _export(_Decoder(network), block, ["logits", "new_keys", "new_values"], folder / DECODER)
    text = json.dumps({"format": "gec-onnx", "network": config.to_dict()}, indent=2)
    (folder / SETTINGS).write_text(text + "\n", encoding="utf-8")


_OPSET = 18
_AXES = {
    "tokens": {0: "rows", 1: "block"},
    "starts": {0: "rows"},
    "mask": {0: "rows", 1: "source"},
    "keys": {0: "rows", 1: "cached"},
    "values": {0: "rows", 1: "cached"},
    "source_keys": {0: "rows", 1: "source"},
    "source_values": {0: "rows", 1: "source"},
}


def _export(module: nn.Module, inputs: dict[str, Tensor], outputs: list[str], path: Path) -> None:
    axes = {name: dict(_AXES[name]) for name in inputs}
    if "starts" not in inputs:
        axes["tokens"][1] = "source"
    with warnings.catch_warnings():
        # The exporter by tracing warns that it is the older one. The newer takes minutes where it
        # takes seconds, and fixes the number of rows.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(),
            tuple(inputs.values()),
            str(path),
            input_names=list(inputs),
            output_names=outputs,
            dynamic_axes=axes,
            opset_version=_OPSET,
            dynamo=False,
        )


class _RMSNorm(nn.Module):
    """Root mean square norm in operators that the exporter knows."""

    def __init__(self, norm: nn.RMSNorm) -> None:
        super().__init__()
        self.weight, self.epsilon = norm.weight, norm.eps or 0.0

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.epsilon) * self.weight


def _exportable(network: Transformer) -> Transformer:
    """Return the network, or a copy without root mean square norms."""
    if network.config.norm_type != "rms":
        return network
    network = copy.deepcopy(network)
    for module in list(network.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.RMSNorm):
                setattr(module, name, _RMSNorm(child))
    return network


class _Encoder(nn.Module):
    """Sources to the keys and values that every decoder layer reads."""

    def __init__(self, network: Transformer) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        encoded = self.network.encode(tokens, mask[:, None, None])
        layers = cast(Iterable[DecoderLayer], self.network.decoder)
        pairs = [layer.cross.keys_values(encoded) for layer in layers]
        return torch.cat([k for k, _ in pairs], 2), torch.cat([v for _, v in pairs], 2)


class _Appended(LayerCache):
    """One layer's cache whose block stands behind all cached places, whatever a row's length."""

    def __init__(self, keys: Tensor, values: Tensor, source: tuple[Tensor, Tensor]) -> None:
        self.keys, self.values = keys, values
        self.source_keys, self.source_values = source

    def write(self, k: Tensor, v: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        self.new = k, v
        return torch.cat([self.keys, k], 1), torch.cat([self.values, v], 1)


class _Decoder(nn.Module):
    """Blocks to logits; what the cache holds comes in, what it shall hold goes out."""

    def __init__(self, network: Transformer) -> None:
        super().__init__()
        self.network = network

    def forward(
        self,
        tokens: Tensor,
        starts: Tensor,
        keys: Tensor,
        values: Tensor,
        source_keys: Tensor,
        source_values: Tensor,
        mask: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        network, config = self.network, self.network.config
        heads = config.decoder_heads or config.heads
        index = starts[:, None] + torch.arange(tokens.shape[1])  # [B, T]
        seen = self._seen(index, starts, keys.shape[1])
        positions = Positions(index, None, 0, seen, False)
        layers = cast(Iterable[DecoderLayer], network.decoder)
        parts = [torch.split(x, heads, 2) for x in (keys, values, source_keys, source_values)]
        caches = [_Appended(k, v, (sk, sv)) for k, v, sk, sv in zip(*parts, strict=True)]
        x = network.embed(tokens, index.clamp_max(config.max_positions - 1), "decoder")
        for layer, cache in zip(layers, caches, strict=True):
            x = layer(x, cache, positions, mask[:, None, None])
        logits = network.output(network.final(x))
        new_keys, new_values = ([cache.new[i] for cache in caches] for i in (0, 1))
        return logits, torch.cat(new_keys, 2), torch.cat(new_values, 2)

    def _seen(self, index: Tensor, starts: Tensor, cached: int) -> Tensor:
        """Return [B, 1, T, L + T]: the row's cached places, and the block up to the token."""
        past = torch.arange(cached) + torch.zeros_like(starts)[:, None]  # [B, L], whatever B is
        place = torch.cat([past, index], 1)  # [B, L + T] where keys stand in their row
        valid = torch.cat([past < starts[:, None], torch.ones_like(index, dtype=torch.bool)], 1)
        distance = place[:, None] - index[:, :, None]  # [B, T, L + T]
        seen = (distance <= 0) & valid[:, None]
        if self.network.config.positions != "relative":
            return seen[:, None]
        buckets = relative_buckets(distance, self.network.config, both_ways=False)
        bias = self.network.decoder_bias(buckets).permute(0, 3, 1, 2)
        return bias.masked_fill(~seen[:, None], -torch.inf)


# ----------------------------------------------------------------------------------------- runtime


def load_onnx(folder: str | Path, *, threads: int | None = None) -> Model:
    """Return the graphs of a folder as the loop's model, run by ONNX Runtime on the CPU.

    Raises:
        ModelError: the package is missing, or the folder holds no such graphs.
    """
    folder = Path(folder)
    values = read_json(folder / SETTINGS)
    if values.get("format") != "gec-onnx":
        raise ModelError(f"{folder} was not written by gec convert --to onnx")
    config = TransformerConfig.from_dict(values.get("network", {}))
    return prefixed(OnnxModel(folder, config, threads=threads), config)


class OnnxModel:
    """Meets :class:`gec.decoding.model.Model` with two ONNX graphs."""

    def __init__(
        self, folder: Path, config: TransformerConfig, *, threads: int | None = None
    ) -> None:
        needs("onnxruntime")
        import onnxruntime

        options = onnxruntime.SessionOptions()
        if threads is not None:
            options.intra_op_num_threads = options.inter_op_num_threads = threads
        try:
            self._encoder, self._decoder = (
                onnxruntime.InferenceSession(
                    str(folder / name), options, providers=["CPUExecutionProvider"]
                )
                for name in (ENCODER, DECODER)
            )
        except Exception as error:  # the library's own kinds
            reason = str(error).strip().splitlines()[0]
            raise ModelError(f"ONNX Runtime cannot load {folder}: {reason}") from error
        self.bos_id, self.eos_id = config.bos_id, config.eos_id
        self.max_positions = config.max_positions
        self._pad_id = config.pad_id

    def start(self, sources: Sequence[Sequence[int]]) -> Memory:
        rows = [[*source, self.eos_id] for source in sources]
        lengths = [len(row) for row in rows]
        tokens = self._pad(rows)
        keys, values = _run(self._encoder, tokens=tokens, mask=self._mask(lengths, tokens.shape[1]))
        # one cache holds all layers, side by side where one layer has its heads
        return Memory([LayerCache(keys, values)], lengths, None)

    def verify(
        self, memory: Memory, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> TorchScores:
        (cache,) = memory.caches
        block = self._pad(tokens)
        length = max(starts)
        logits, keys, values = _run(
            self._decoder,
            tokens=block,
            starts=torch.tensor(starts),
            keys=cache.keys[:, :length],
            values=cache.values[:, :length],
            source_keys=cache.source_keys,
            source_values=cache.source_values,
            mask=self._mask(memory.lengths, cache.source_keys.shape[1]),
        )
        cache.write(keys, values, Positions.of(starts, block.shape[1], block.device))
        return TorchScores.padded(logits, [len(row) for row in tokens])

    def select(self, memory: Memory, rows: Sequence[int]) -> Memory:
        memory.caches[0].select(torch.tensor(rows))
        return Memory(memory.caches, [memory.lengths[row] for row in rows], None)

    def join(self, memory: Memory, other: Memory) -> Memory:
        memory.caches[0].join(other.caches[0])
        return Memory(memory.caches, memory.lengths + other.lengths, None)

    def _mask(self, lengths: Sequence[int], width: int) -> Tensor:
        return torch.arange(width) < torch.tensor(lengths)[:, None]

    def _pad(self, rows: Sequence[Sequence[int]]) -> Tensor:
        return padded(rows, self._pad_id, torch.device("cpu"))


def _run(session: Any, **inputs: Tensor) -> list[Tensor]:
    wanted = {found.name for found in session.get_inputs()}
    given = {name: x.contiguous().numpy() for name, x in inputs.items() if name in wanted}
    return [torch.from_numpy(x) for x in session.run(None, given)]
