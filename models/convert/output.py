"""What all exports share: a fresh folder, the tokenizer beside the weights, missing packages."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import cast

import torch
from tokenizers import Tokenizer
from torch import nn

from gec.errors import ConfigError, ModelError
from gec.extras import missing
from gec.models.load.bundle import Bundle
from gec.models.load.foreign import ForeignSubwords
from gec.models.network.transformer import EncoderLayer, Transformer


def new_folder(path: str | Path) -> Path:
    """Create the folder to write to; raise ConfigError if it holds something already."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ConfigError(f"{folder} is not empty: name a new folder, or empty it")
    except OSError as error:
        raise ConfigError(f"cannot write to {folder}: {error.strerror or error}") from error
    return folder


def save_tokenizer(bundle: Bundle, folder: Path) -> list[str]:
    """Write the bundle's tokenizer files; return its token strings by id, as many as the output's.

    Ids of the output that no token has (vocabularies padded to a round size) get unused names.
    """
    bundle.subwords.save(folder)
    token: Callable[[int], str | None]
    if isinstance(bundle.subwords, ForeignSubwords):
        token = bundle.subwords.tokenizer.token
    else:
        token = Tokenizer.from_file(str(folder / "tokenizer.json")).id_to_token
    return named([token(i) for i in range(bundle.network.config.vocab_size)])


def named(tokens: Sequence[str | None]) -> list[str]:
    """Return token strings with names of their own for those that have none.

    Such a name has no blank, which fairseq's and CTranslate2's vocabularies could not hold, and is
    no other token's: vocabularies do have tokens like ``<unused5>``.

    >>> named(["a", None, "<unused1>"])
    ['a', '<unused1_>', '<unused1>']
    """
    known = set(tokens)
    found: list[str] = []
    for i, token in enumerate(tokens):
        if token is None:
            token = f"<unused{i}>"
            while token in known:
                token = f"{token[:-1]}_>"
        found.append(token)
    return found


def needs(package: str) -> None:
    """Raise ModelError, naming the extra, if an optional package is missing."""
    try:
        import_module(package)
    except ModuleNotFoundError as error:
        raise ModelError(missing(error.name or package)) from error


def in_float32(bundle: Bundle) -> Transformer:
    """Return the bundle's network in float32, itself if it is already; raise ModelError in int8."""
    network = bundle.transformer
    if not isinstance(cast(EncoderLayer, network.encoder[0]).ffn.up, nn.Linear):
        raise ModelError("an int8 network cannot be exported: load the bundle in fp32")
    if all(parameter.dtype == torch.float32 for parameter in network.parameters()):
        return network
    return copy.deepcopy(network).float()
