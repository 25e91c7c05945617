"""Our networks as fairseq checkpoints with dictionaries."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from gec.errors import ModelError
from gec.models.convert.fairseq_numbering import NUMBERING, SOURCE, TARGET, Weights
from gec.models.convert.fairseq_settings import to_settings
from gec.models.convert.fairseq_weights import weights_to_fairseq
from gec.models.convert.output import new_folder, save_tokenizer
from gec.models.load.bundle import Bundle
from gec.models.load.fairseq_symbols import EOS, PAD, SPECIALS
from gec.models.load.foreign import ForeignSubwords
from gec.models.network.transformer import Transformer

CHECKPOINT = "model.pt"


def to_fairseq(bundle: Bundle, folder: str | Path) -> None:
    """Write ``model.pt``, both dictionaries, ``gec.json`` and the tokenizer's files to a folder.

    ``fairseq-generate`` and ``fairseq-interactive`` run it (task ``translation``, languages
    ``source`` and ``target``) on lines of subword pieces.

    Raises:
        ModelError: fairseq cannot express the network or a piece of its vocabulary.
        ConfigError: the folder holds something.
    """
    export = _Export.of(bundle.transformer)  # refuse before writing
    folder = new_folder(folder)
    foreign = bundle.subwords.settings if isinstance(bundle.subwords, ForeignSubwords) else None
    export.write(folder, save_tokenizer(bundle, folder), foreign)


def network_to_fairseq(
    network: Transformer, folder: str | Path, symbols: Sequence[str] | None = None
) -> None:
    """Write a network without tokenizer, like :func:`to_fairseq`.

    Args:
        symbols: a distinct string for each id; None: ``t0``, ``t1``, ...
    """
    export = _Export.of(network)
    names = symbols or [f"t{i}" for i in range(max(*export.source, *export.target) + 1)]
    export.write(new_folder(folder), names, None)


@dataclass(frozen=True, slots=True)
class _Export:
    """A network with the order of its ids in fairseq's dictionaries: by theirs, ours."""

    network: Transformer
    source: list[int]
    target: list[int]

    @classmethod
    def of(cls, network: Transformer) -> _Export:
        config = network.config
        to_settings(config)
        bias = network.output.bias
        target = list(range(config.vocab_size))
        if bias is not None:  # of a joint vocabulary: what only the source has
            never = bias.detach() == -math.inf
            if bool((bias.detach()[~never] != 0).any()):
                raise ModelError("fairseq cannot express a bias of the output")
            target = [i for i in target if not never[i] or i == config.pad_id]
        source = list(range(config.source_vocab_size or config.vocab_size))
        ends = config.pad_id, config.eos_id
        return cls(network, _fairseq_order(source, *ends), _fairseq_order(target, *ends))

    def write(self, folder: Path, symbols: Sequence[str], tokenizer: Any) -> None:
        config = self.network.config
        if len(self.source) != len(self.target) and config.source_vocab_size is None:
            raise ModelError("fairseq needs one dictionary for both sides of a shared embedding")
        for side, order in ((SOURCE, self.source), (TARGET, self.target)):
            _write_dictionary(folder / f"dict.{side}.txt", [symbols[i] for i in order])
        numbering = {
            SOURCE: self.source,
            TARGET: self.target,
            "pad_id": config.pad_id,
            "bos_id": config.bos_id,
            "eos_id": config.eos_id,
            "pads": not self._never_pads(),
            "vocab_size": config.vocab_size,
            "tokenizer": tokenizer,
        }
        (folder / NUMBERING).write_text(json.dumps(numbering) + "\n", encoding="utf-8")
        torch.save(self._checkpoint(), folder / CHECKPOINT)

    def _never_pads(self) -> bool:
        bias = self.network.output.bias
        return bias is not None and bias[self.network.config.pad_id].item() == -math.inf

    def _checkpoint(self) -> dict[str, Any]:
        config = self.network.config
        task = {
            "_name": "translation",
            "data": ".",
            "source_lang": SOURCE,
            "target_lang": TARGET,
            "left_pad_source": True,
            "left_pad_target": False,
        }
        renumbered = replace(
            config, pad_id=PAD, eos_id=EOS, bos_id=self.target.index(config.bos_id)
        )
        table = getattr(self.network, "position_table", None)
        return {
            "args": None,
            "cfg": {
                "_name": None,
                "task": task,
                "model": argparse.Namespace(**to_settings(config)),
            },
            "model": weights_to_fairseq(self._weights(), renumbered, table),
            "optimizer_history": [
                {
                    "criterion_name": "CrossEntropyCriterion",
                    "optimizer_name": "FairseqAdam",
                    "lr_scheduler_state": {"best": None},
                    "num_updates": 0,
                }
            ],
            "extra_state": {"train_iterator": {"epoch": 1, "iterations_in_epoch": 0}},
            "last_optimizer_state": None,
        }

    def _weights(self) -> Weights:
        """Return the network's weights with embedding rows in fairseq's order."""
        weights = {name: v.detach().float() for name, v in self.network.state_dict().items()}
        weights.pop("output.bias", None)
        target, source = torch.tensor(self.target), torch.tensor(self.source)
        embedding = weights["embedding.weight"]
        weights["embedding.weight"] = embedding[target]
        if self.network.config.tie_embeddings:
            weights["output.weight"] = weights["embedding.weight"]
        else:
            weights["output.weight"] = weights["output.weight"][target]
        if "source_embedding.weight" in weights:
            weights["source_embedding.weight"] = weights["source_embedding.weight"][source]
        return weights


def _fairseq_order(ids: Sequence[int], pad_id: int, eos_id: int) -> list[int]:
    """Return our ids by fairseq's: pad and EOS change places with what is at 1 and 2."""
    if len(ids) < len(SPECIALS) or pad_id == eos_id:
        raise ModelError("fairseq needs four ids at least, and pad and EOS apart")
    order = list(ids)
    for place, ours in ((PAD, pad_id), (EOS, eos_id)):
        other = order.index(ours)
        order[place], order[other] = order[other], order[place]
    return order


def _write_dictionary(path: Path, symbols: Sequence[str]) -> None:
    """Write all but the first four, which fairseq puts there itself under names of its own.

    Whatever stands at the fourth place is thereby called ``<unk>``: fairseq reads a symbol that it
    does not know as this one, so the text of the token still gives its id.
    """
    seen = set(SPECIALS)
    for symbol in symbols[len(SPECIALS) :]:
        if symbol in seen or not symbol or any(char.isspace() for char in symbol):
            raise ModelError(f"fairseq's dictionary cannot hold the token {symbol!r}")
        seen.add(symbol)
    lines = "".join(f"{symbol} 1\n" for symbol in symbols[len(SPECIALS) :])
    path.write_text(lines, encoding="utf-8")
