"""How a bundle's ids lie in fairseq's embeddings, and how they are put into a bundle's order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gec.errors import ModelError
from gec.models.load.fairseq_symbols import EOS, PAD, UNK
from gec.models.network.transformer import TransformerConfig

NUMBERING = "gec.json"
SOURCE, TARGET = "source", "target"
Weights = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class Numbering:
    """How a bundle's ids lie in fairseq's embeddings.

    Attributes:
        source: by our id, the row of the source embedding.
        target: by our id, the row of the target embedding, -1 if the target has none.
        pad_id, bos_id, eos_id: ours.
        pads: the output may be the pad. fairseq never chooses it, but counts its probability.
    """

    source: Sequence[int]
    target: Sequence[int]
    pad_id: int = PAD
    bos_id: int = EOS
    eos_id: int = EOS
    pads: bool = False


def renumbered(
    config: TransformerConfig, state: Weights, numbering: Numbering
) -> tuple[TransformerConfig, Weights]:
    """Put embeddings and output into a bundle's order; outputs that the target lacks never win."""
    if numbering.bos_id != numbering.eos_id:
        config, state = _shared_again(config, state)
    lacks = [row < 0 for row in numbering.target]
    lacks[numbering.pad_id] |= not numbering.pads
    target = torch.tensor([max(row, UNK) if row < 0 else row for row in numbering.target])
    size = len(target)
    state = dict(state)
    state["embedding.weight"] = state["embedding.weight"][target]
    if config.tie_embeddings:
        state["output.weight"] = state["embedding.weight"]
    else:
        state["output.weight"] = state["output.weight"][target]
    if any(lacks):
        state["output.bias"] = torch.zeros(size).masked_fill(torch.tensor(lacks), -math.inf)
    if "source_embedding.weight" in state:
        rows = torch.tensor(list(numbering.source))
        state["source_embedding.weight"] = state["source_embedding.weight"][rows]
    config = replace(
        config,
        vocab_size=size,
        source_vocab_size=len(numbering.source) if config.source_vocab_size else None,
        output_bias=any(lacks),
        pad_id=numbering.pad_id,
        bos_id=config.bos_id if config.decoder_prefix else numbering.bos_id,
        eos_id=numbering.eos_id,
    )
    return config, state


def _shared_again(config: TransformerConfig, state: Weights) -> tuple[TransformerConfig, Weights]:
    """Undo the decoder embedding that :func:`weights_to_fairseq` made, if nothing else differs.

    There EOS has the row of BOS. The decoder is never fed EOS, so its row may be the output's or
    the source's.
    """
    embedding, output = state["embedding.weight"].clone(), state["output.weight"]
    source = state.get("source_embedding.weight")
    for other in (output, source):
        if other is not None and other.shape == embedding.shape:
            row = embedding[EOS].clone()
            embedding[EOS] = other[EOS]
            if torch.equal(embedding, other):
                break
            embedding[EOS] = row
    state = state | {"embedding.weight": embedding}
    config = replace(config, tie_embeddings=torch.equal(embedding, output))
    if source is not None and torch.equal(embedding, source):
        del state["source_embedding.weight"]
        config = replace(config, source_vocab_size=None)
    return config, state


def read_numbering(values: Mapping[str, Any], folder: Path) -> Numbering:
    """Read what ``gec.json`` says; what cannot be used raises ModelError."""
    try:
        ids = {name: values[f"{name}_id"] for name in ("pad", "bos", "eos")}
        source, target = values[SOURCE], values[TARGET]
        size = max(*source, *target) + 1
        rows = [_inverse(order, size) for order in (source, target)]
        rows[1] = rows[1][: int(values["vocab_size"])]
        pads = bool(values["pads"])
        return Numbering(rows[0], rows[1], ids["pad"], ids["bos"], ids["eos"], pads)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ModelError(f"cannot read {folder / NUMBERING}: {error!r}") from error


def _inverse(order: Sequence[int], size: int) -> list[int]:
    """Return by our id its place in the order, -1 if it has none."""
    found = [-1] * size
    for place, ours in enumerate(order):
        found[ours] = place
    return found
