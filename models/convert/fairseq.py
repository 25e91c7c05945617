"""fairseq's Transformers as bundles, and ours as fairseq checkpoints with dictionaries.

Neither direction imports fairseq or runs what a file holds.

fairseq fixes the first four ids of a dictionary and begins every output with EOS. Where ours are
others, ids are renumbered on the way out (``gec.json`` in the folder says how, and undoes it on the
way in), and a network that begins with another token keeps it in the decoder's input embedding, see
:func:`.fairseq_weights.weights_to_fairseq`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from gec.errors import ModelError
from gec.models.convert.fairseq_checkpoint import (
    Checkpoint,
    find_dictionaries,
    joint_rows,
    read_checkpoint,
)
from gec.models.convert.fairseq_export import network_to_fairseq, to_fairseq
from gec.models.convert.fairseq_numbering import (
    NUMBERING,
    SOURCE,
    TARGET,
    Numbering,
    Weights,
    read_numbering,
    renumbered,
)
from gec.models.convert.fairseq_settings import Sizes, settings, to_config
from gec.models.convert.fairseq_weights import renewed, weights_from_fairseq
from gec.models.load.bundle import Bundle
from gec.models.load.fairseq_sentencepiece import SentencePiece
from gec.models.load.fairseq_symbols import BOS, EOS
from gec.models.load.fairseq_tokenizer import FairseqTokenizer, find_pieces
from gec.models.load.foreign import ForeignSubwords, read_json
from gec.models.load.weights import mean_of
from gec.models.network.transformer import Transformer
from gec.text.subwords import Subwords

__all__ = ["from_fairseq", "network_from_fairseq", "network_to_fairseq", "to_fairseq"]

ENGINE = "fairseq"
MASK = "<mask>"


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
        network, arch = _network(checkpoints, None, read_numbering(values, folder), plain_task)
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
    """Read the network alone, in fairseq's ids, or in ours if we wrote the checkpoint.

    Raises:
        ModelError: as :func:`from_fairseq`.
    """
    first, folder = read_checkpoint(Path(checkpoint)), Path(data)
    if (folder / NUMBERING).is_file():
        numbering = read_numbering(read_json(folder / NUMBERING), folder)
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
    return mean_of(states, torch.float64)


def fill(network: Transformer, state: Weights) -> None:
    """Load the weights; raise ModelError if the shape of one is not the settings'."""
    for name, parameter in network.state_dict().items():
        if name in state and state[name].shape != parameter.shape:
            raise ModelError(
                f"{name} has the shape {list(state[name].shape)}, the settings ask for "
                f"{list(parameter.shape)}"
            )
    network.load_state_dict(state)
