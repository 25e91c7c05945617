"""fairseq's weights and ours, name by name, in both directions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from gec.errors import ModelError
from gec.models.convert.fairseq_settings import POSITION_OFFSET, has_fairseq_sinusoids
from gec.models.network.transformer import TransformerConfig

VERSION = 3
"""Of a side since a final norm belongs to pre-norm stacks (2017)."""


def layer_names(config: TransformerConfig) -> Iterator[tuple[str, list[str]]]:
    """Give each of our layer weights' names with those of fairseq that it is made of, in order."""
    for side, count in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for number in range(count):
            for ours, parts in _sublayers(side):
                for kind in ("weight", "bias"):
                    theirs = [f"{side}.layers.{number}.{part}.{kind}" for part in parts]
                    yield f"{side}.{number}.{ours}.{kind}", theirs
        for ours, part, present in (
            ("norm", "layer_norm", _has_final_norm(config, side)),
            ("embedding_norm", "layernorm_embedding", config.embedding_norm),
        ):
            if present:
                for kind in ("weight", "bias"):
                    yield f"{side}_{ours}.{kind}", [f"{side}.{part}.{kind}"]


def _sublayers(side: str) -> Iterator[tuple[str, list[str]]]:
    yield "attention.qkv", [f"self_attn.{part}_proj" for part in "qkv"]
    yield "attention.out", ["self_attn.out_proj"]
    yield "attention_residual.norm", ["self_attn_layer_norm"]
    if side == "decoder":
        yield "cross.q", ["encoder_attn.q_proj"]
        yield "cross.kv", ["encoder_attn.k_proj", "encoder_attn.v_proj"]
        yield "cross.out", ["encoder_attn.out_proj"]
        yield "cross_residual.norm", ["encoder_attn_layer_norm"]
    yield "ffn.up", ["fc1"]
    yield "ffn.down", ["fc2"]
    yield "ffn_residual.norm", ["final_layer_norm"]


def _has_final_norm(config: TransformerConfig, side: str) -> bool:
    wanted: bool | None = getattr(config, f"{side}_final_norm")
    return config.norm == "pre" if wanted is None else wanted


_COPIES = re.compile(
    r"encoder\.layers\.\d+\.(in_proj|out_proj|fc1|fc2)_(weight|bias)"
    r"|(encoder|decoder)\.(version|embed_positions\._float_tensor|embed_positions\.weights)"
    r"|classification_heads\..*"
)
"""What 0.12 stores besides the network: its fast path's copies, versions, BART's classifiers."""
_OLD_NORMS = {
    "encoder": ("self_attn_layer_norm", "final_layer_norm"),
    "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
}


def renewed(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return a state dict of any fairseq version under the names of 0.12, without copies.

    Old ones have numbered norms, projections of attention in one matrix and ``embed_out``.
    """
    found: dict[str, Tensor] = {}
    for name, value in weights.items():
        if _COPIES.fullmatch(name):
            continue
        if match := re.fullmatch(r"(encoder|decoder)(\..*)\.layer_norms\.(\d)\.(\w+)", name):
            side, layer, number, kind = match.groups()
            norms = _OLD_NORMS[side]
            if int(number) < len(norms):
                name = f"{side}{layer}.{norms[int(number)]}.{kind}"
        elif match := re.fullmatch(r"(.*_attn\.)in_proj_(weight|bias)", name):
            for part, chunk in zip("qkv", value.chunk(3), strict=True):
                found[f"{match[1]}{part}_proj.{match[2]}"] = chunk
            continue
        elif name == "decoder.embed_out":
            name = "decoder.output_projection.weight"
        found[name] = value
    return found


def weights_from_fairseq(
    weights: Mapping[str, Tensor], config: TransformerConfig
) -> dict[str, Tensor]:
    """Return our state dict for fairseq's (:func:`renewed`).

    Raises:
        ModelError: a weight is missing, left over, or of another shape than the settings say.
    """
    left = dict(weights)
    missing: list[str] = []

    def take(name: str) -> Tensor:
        if name not in left:
            missing.append(name)
            return torch.empty(0)
        return left.pop(name).float()

    found = {
        ours: torch.cat(parts) if len(parts) > 1 else parts[0]
        for ours, theirs in layer_names(config)
        for parts in [[take(name) for name in theirs]]
    }
    found["embedding.weight"] = take("decoder.embed_tokens.weight")
    source = left.pop("encoder.embed_tokens.weight", None)
    if config.source_vocab_size is not None:
        if source is None:
            missing.append("encoder.embed_tokens.weight")
        else:
            found["source_embedding.weight"] = source.float()
    elif source is not None and not torch.equal(source.float(), found["embedding.weight"]):
        raise ModelError("the settings say one embedding for both sides, the weights are two")
    output = left.pop("decoder.output_projection.weight", None)
    if config.tie_embeddings:
        output = found["embedding.weight"]
    elif output is None:
        missing.append("decoder.output_projection.weight")
        output = torch.empty(0)
    found["output.weight"] = output.float()
    if config.positions == "learned":
        for side in ("encoder", "decoder"):
            table = take(f"{side}.embed_positions.weight")
            found[f"{side}_positions.weight"] = table[POSITION_OFFSET:][: config.max_positions]
    if missing:
        raise ModelError(f"the checkpoint lacks {_some(missing)}")
    if left:
        raise ModelError(
            f"the checkpoint holds weights that its settings do not name: {_some(left)}"
        )
    return found


def _some(names: Any) -> str:
    """Return at most four names, and how many more."""
    listed = sorted(names)
    more = f" and {len(listed) - 4} more" if len(listed) > 4 else ""
    return ", ".join(listed[:4]) + more


def weights_to_fairseq(
    weights: Mapping[str, Tensor], config: TransformerConfig, position_table: Tensor | None
) -> dict[str, Tensor]:
    """Return fairseq's state dict for ours; ids must be fairseq's already but for ``bos_id``.

    A network that begins with another token than EOS, which is what fairseq's decoder is always
    fed first, gets an embedding of its own for the decoder's input, where EOS has the row of BOS:
    EOS is never fed otherwise.

    Args:
        position_table: our sinusoids, which fairseq can only take as learned ones.
    """
    found: dict[str, Tensor] = {}
    for ours, theirs in layer_names(config):
        found |= zip(theirs, weights[ours].chunk(len(theirs)), strict=True)
    embedding = weights["embedding.weight"]
    found["encoder.embed_tokens.weight"] = weights.get("source_embedding.weight", embedding)
    found["decoder.output_projection.weight"] = weights["output.weight"]
    if config.bos_id != config.eos_id:
        embedding = embedding.clone()
        embedding[config.eos_id] = embedding[config.bos_id]
    found["decoder.embed_tokens.weight"] = embedding
    for side in ("encoder", "decoder"):
        found[f"{side}.version"] = torch.tensor([float(VERSION)])
        if not has_fairseq_sinusoids(config):
            table = weights.get(f"{side}_positions.weight", position_table)
            assert table is not None  # only relative positions have neither, and are refused
            unused = table.new_zeros(POSITION_OFFSET, config.width)
            found[f"{side}.embed_positions.weight"] = torch.cat([unused, table])
    return {name: value.detach().contiguous() for name, value in found.items()}
