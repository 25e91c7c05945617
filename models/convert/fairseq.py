"""fairseq's Transformers as bundles, and ours as fairseq checkpoints with dictionaries.

Neither direction imports fairseq or runs what a file holds.

fairseq fixes the first four ids of a dictionary and begins every output with EOS. Where ours are
others, ids are renumbered on the way out (``gec.json`` in the folder says how, and undoes it on the
way in), and a network that begins with another token keeps it in the decoder's input embedding, see
:func:`.fairseq_format.weights_to_fairseq`.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gec.errors import ModelError
from gec.models.convert.fairseq_checkpoint import (
    Checkpoint,
    find_dictionaries,
    joint_rows,
    read_checkpoint,
)
from gec.models.convert.fairseq_format import (
    BOS,
    EOS,
    PAD,
    SPECIALS,
    UNK,
    Sizes,
    renewed,
    settings,
    to_config,
    to_settings,
    weights_from_fairseq,
    weights_to_fairseq,
)
from gec.models.convert.fairseq_sentencepiece import SentencePiece
from gec.models.convert.fairseq_tokenizer import FairseqTokenizer, find_pieces
from gec.models.convert.output import new_folder, save_tokenizer
from gec.models.load.bundle import Bundle
from gec.models.load.foreign import ForeignSubwords, read_json
from gec.models.network.transformer import Transformer, TransformerConfig
from gec.text.subwords import Subwords

CHECKPOINT, NUMBERING = "model.pt", "gec.json"
SOURCE, TARGET = "source", "target"
ENGINE = "fairseq"
MASK = "<mask>"

Weights = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class Numbering:
    """How a bundle's ids lie in fairseq's embeddings.

    Attributes:
        source: by our id, the row of the source embedding.
        target: by our id, the row of the target embedding, -1 where the target has none.
        pad_id, bos_id, eos_id: ours.
        pads: the output may be the pad. fairseq never chooses it, but counts its probability.
    """

    source: Sequence[int]
    target: Sequence[int]
    pad_id: int = PAD
    bos_id: int = EOS
    eos_id: int = EOS
    pads: bool = False


# --------------------------------------------------------------------------------------------- in


def from_fairseq(
    checkpoints: Sequence[str | Path],
    data: str | Path,
    *,
    name: str | None = None,
    bpe: str | None = None,
    codes: str | Path | None = None,
    spacing: str | None = None,
    language: str = "en",
    task: str = "gec",
    plain_task: bool = False,
) -> Bundle:
    """Read a checkpoint, or the mean of several, with its dictionaries and its BPE.

    Args:
        checkpoints: files; of several the weights are averaged, as fairseq's average_checkpoints.
        data: the folder with ``dict.SOURCE.txt`` and ``dict.TARGET.txt``, or ``dict.txt``.
        name: the bundle's name; None takes the checkpoint's folder's.
        bpe: one of ``fairseq_tokenizer.BPES``; None takes what lies in ``data``.
        codes: a file of BPE codes, or a folder with GPT-2's ``encoder.json`` and ``vocab.bpe``.
        spacing: what text the model was trained on: "tokenized" or "plain"; None: the latter with
            SentencePiece, which takes text as people write it, else the former.
        language, task: what the bundle's ``config.json`` shall say.
        plain_task: take a task of the checkpoint that is not known for translation.

    Raises:
        ModelError: a foreign architecture or task; weights that are missing, unexpected or of a
            wrong shape; a pickle that names anything but tensors and settings; dictionaries or BPE
            that are missing or do not fit.
        ConfigError: an unknown BPE.
    """
    folder = Path(data)
    exported = (folder / NUMBERING).is_file()
    languages: dict[str, str] = {}
    if exported:
        values = read_json(folder / NUMBERING)
        network, arch = _network(checkpoints, None, _read_numbering(values, folder), plain_task)
        foreign = values.get("tokenizer")
        subwords = ForeignSubwords.of(folder, foreign) if foreign else Subwords.load(folder)
    else:
        first = read_checkpoint(Path(checkpoints[0]))
        languages = languages_of(first)
        symbols, numbering = read_vocabulary(first, folder)
        pieces = find_pieces(folder, bpe, None if codes is None else Path(codes))
        network, arch = _network(checkpoints, first, numbering, plain_task)
        tokenizer = FairseqTokenizer(symbols, pieces)
        usual = "plain" if pieces.kind == SentencePiece.kind else "tokenized"
        subwords = ForeignSubwords(tokenizer, ENGINE, spacing or usual)
    config = {
        "name": name or Path(checkpoints[0]).resolve().parent.name,
        "task": task,
        "language": language,
        "network": network.config.to_dict(),
        "origin": {"library": "fairseq", "architecture": arch},
    } | languages
    if isinstance(subwords, ForeignSubwords):
        config["tokenizer"] = subwords.settings
    return Bundle(str(config["name"]), config, network, subwords)


def network_from_fairseq(checkpoint: str | Path, data: str | Path) -> Transformer:
    """Read the network alone, in fairseq's ids, or in ours where we wrote the checkpoint.

    Raises:
        ModelError: as :func:`from_fairseq`.
    """
    first, folder = read_checkpoint(Path(checkpoint)), Path(data)
    if (folder / NUMBERING).is_file():
        numbering = _read_numbering(read_json(folder / NUMBERING), folder)
    else:
        _, numbering = read_vocabulary(first, folder)
    return _network([checkpoint], first, numbering, False)[0]


def languages_of(checkpoint: Checkpoint) -> dict[str, str]:
    """Return what the task says of source and target language, as a ``config.json`` names them."""
    found = {f"{side}_language": checkpoint.task.get(f"{side}_lang") for side in (SOURCE, TARGET)}
    return {name: str(language) for name, language in found.items() if language}


def read_vocabulary(checkpoint: Checkpoint, folder: Path) -> tuple[list[str], Numbering]:
    """Return the symbols of both dictionaries by id, and where they lie in the embeddings.

    Raises:
        ModelError: a dictionary is missing, broken, or of another size than the embedding.
    """
    source, target = find_dictionaries(folder, checkpoint.task)
    rows = {
        side: len(checkpoint.weights.get(f"{side}.embed_tokens.weight", ()))
        for side in ("encoder", "decoder")
    }
    for side, symbols in (("encoder", source), ("decoder", target)):
        # pre-training adds one symbol that the file does not have
        if rows[side] == len(symbols) + 1 and MASK not in symbols:
            symbols.append(MASK)
        if rows[side] != len(symbols):
            raise ModelError(
                f"the dictionary of the {side} in {folder} has {len(symbols)} symbols, the "
                f"checkpoint's embedding {rows[side]}: give the folder the model was trained with"
            )
    if source == target:
        return target, Numbering(range(len(target)), range(len(target)))
    symbols, source_rows = joint_rows(source, target)
    missing = [-1] * (len(symbols) - len(target))
    return symbols, Numbering(source_rows, [*range(len(target)), *missing])


def _network(
    paths: Sequence[str | Path], first: Checkpoint | None, numbering: Numbering, plain_task: bool
) -> tuple[Transformer, str]:
    first = first or read_checkpoint(Path(paths[0]))
    others = [read_checkpoint(Path(path)) for path in paths[1:]]
    for other in others:
        if settings(other.settings) != settings(first.settings):
            raise ModelError(f"{other.path} has other settings than {first.path}: no mean of them")
    try:
        theirs = settings(first.settings)
        prefixes = _prefixes(first, plain_task)
        weights = _mean([renewed(c.weights) for c in (first, *others)])
        sizes = Sizes(
            *(len(weights.get(f"{s}.embed_tokens.weight", "?")) for s in ("encoder", "decoder"))
        )
        config = to_config(theirs, sizes, own_source=not theirs["share_all_embeddings"])
        config = replace(config, **prefixes)
        state = weights_from_fairseq(weights, config)
        config, state = renumbered(config, state, numbering)
        network = Transformer(config)
        fill(network, state)
    except ModelError as error:
        raise ModelError(f"{first.path}: {error}") from None
    return network.eval(), theirs["arch"] if "arch" in theirs else theirs["_name"]


def _prefixes(checkpoint: Checkpoint, plain_task: bool) -> dict[str, Any]:
    """Return what the checkpoint's task puts before sources and outputs."""
    task = checkpoint.task["_name"]
    if task == "denoising":  # BART as it was pre-trained: <s> source </s>, </s> <s> output
        return {"source_prefix": (BOS,), "decoder_prefix": (EOS,), "bos_id": BOS}
    if task != "translation" and not plain_task:
        raise ModelError(
            f"it is of the task {task!r}; what this puts into sources and outputs is not known. "
            "Where it is the same as in 'translation', say so with --plain-task"
        )
    return {}


def _mean(states: Sequence[Weights]) -> Weights:
    if len(states) == 1:
        return states[0]
    if any(set(state) != set(states[0]) for state in states):
        raise ModelError("the checkpoints hold different weights: no mean of them")
    return {
        name: sum((state[name].double() for state in states), torch.tensor(0.0)) / len(states)
        for name in states[0]
    }


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
    """Undo the decoder embedding that :func:`weights_to_fairseq` made, where nothing else differs.

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


def fill(network: Transformer, state: Weights) -> None:
    """Load the weights; raises ModelError where the shape of one is not the settings'."""
    for name, parameter in network.state_dict().items():
        if name in state and state[name].shape != parameter.shape:
            raise ModelError(
                f"{name} has the shape {list(state[name].shape)}, the settings ask for "
                f"{list(parameter.shape)}"
            )
    network.load_state_dict(state)


def _read_numbering(values: Mapping[str, Any], folder: Path) -> Numbering:
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


# -------------------------------------------------------------------------------------------- out


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


def _inverse(order: Sequence[int], size: int) -> list[int]:
    """Return by our id its place in the order, -1 where it has none."""
    found = [-1] * size
    for place, ours in enumerate(order):
        found[ours] = place
    return found


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
