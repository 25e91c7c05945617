"""``gec model make``: an update of what fine-tuning changed, for a release."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from safetensors.torch import load_file

from gec.correct.options import BALANCED
from gec.errors import ModelError
from gec.models.fetch import pretrained
from gec.models.fetch.update import assemble, write, write_settings
from gec.models.load.weights import mean_of
from gec.models.training.finetune_recipe import pretrained_of
from gec.untrusted import guarded, read_json


def make(recipe: Path, weights: Sequence[Path], out: Path, parts: str | None = None) -> None:
    """Make an update of a fine-tuning run's weights, or of the mean of several runs'.

    Settings and calibration of an update that is there already are kept.

    Args:
        weights: ``weights.safetensors`` of each run.
        parts: the shipped bundle whose dictionary and n-grams go into the bundle, and whose network
            gives the second opinion of its edits.

    Raises:
        ConfigError, ModelError: a recipe or weights that cannot be used.
    """
    source = pretrained_of(recipe)
    architecture, base, _ = pretrained.load(source)
    states = []
    for path in weights:
        with guarded(f"cannot read {path}"):
            states.append(load_file(path))
        if {n: t.shape for n, t in states[-1].items()} != {n: t.shape for n, t in base.items()}:
            raise ModelError(f"{path} holds the weights of another network than {source.package}")
    tuned = mean_of(states)
    before = read_json(out / "config.json") if (out / "config.json").is_file() else {}
    write(out, base, tuned | {"embedding.weight": base["embedding.weight"]})
    write_settings(
        out,
        {"settings": {BALANCED: {"tolerance": 0.0}}}
        | before
        | {
            "name": out.name,
            "task": "gec",
            "language": "en",
            "network": architecture.to_dict(),
            "pretrained": asdict(source),
        }
        | ({"parts": parts, "second_opinion": parts} if parts else {}),
    )


def make_main(args: argparse.Namespace) -> int:
    """``gec model make RECIPE WEIGHTS... --out UPDATE [--parts NAME] [--bundle FOLDER]``"""
    out = Path(args.out)
    make(Path(args.recipe), [Path(name) for name in args.weights], out, args.parts)
    if args.bundle:
        assemble(out, Path(args.bundle))
    return 0
