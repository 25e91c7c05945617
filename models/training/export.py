"""``gec bundle RUN/last.ckpt OUT --data PACKED``: bundles of training checkpoints."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from gec.correct.options import BALANCED
from gec.errors import ConfigError, DataError
from gec.models.load.bundle import Bundle, load, save
from gec.models.load.weights import mean_of, reason
from gec.models.network.transformer import Transformer, TransformerConfig
from gec.text.ngrams import NGrams
from gec.text.spelling import Speller
from gec.text.subwords import Subwords, WordCodec


def export_main(args: argparse.Namespace) -> int:
    """``gec bundle RUN/last.ckpt OUT --data PACKED``: make a bundle of a training checkpoint.

    Of several checkpoints or bundles it is made of the mean of their weights (Wortsman et al. 2022,
    model soups: for runs that share their beginning).
    """
    packed = Path(args.data)
    subwords = Subwords.load(packed)
    networks = [_network(name, subwords) for name in args.checkpoints]
    first = networks[0]
    for name, network in zip(args.checkpoints, networks, strict=True):
        if network.config != first.config:
            raise ConfigError(f"{name} has another architecture than {args.checkpoints[0]}")
    first.load_state_dict(mean_of([network.state_dict() for network in networks]))
    name = args.name or Path(args.out).name
    config = {
        "name": name,
        "task": "gec",
        "language": "en",
        "network": first.config.to_dict(),
        "settings": {BALANCED: {"tolerance": args.tolerance}},
    }
    parts = subwords, Speller.load(packed), NGrams.load(packed)
    dtype = torch.int8 if args.precision == "int8" else torch.float16
    save(Bundle(name, config, first.eval(), *parts), Path(args.out), dtype=dtype)
    return 0


def _network(name: str, subwords: WordCodec) -> Transformer:
    """Return the network of a checkpoint file or of a bundle."""
    path = Path(name)
    if not path.is_file():
        loaded = load(name)
        if loaded.subwords != subwords:
            raise ConfigError(f"bundle {name} has other subwords than the data")
        return loaded.transformer
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        network = Transformer(TransformerConfig.from_dict(state["config"]))
        network.load_state_dict(state["model"])
    except Exception as error:
        raise DataError(f"cannot read checkpoint {path}: {reason(error)}") from error
    return network
