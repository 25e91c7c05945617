"""``gec train``"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from gec.cli.arguments import Parser, add_seed, positive
from gec.cli.model_options import add_threads

if TYPE_CHECKING:
    from gec.models.network.transformer import Transformer

SUMMARY = "Train a model from a recipe."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add("recipe", metavar="RECIPE", help="a recipe, a TOML file")
    add(
        "--data",
        metavar="DIR",
        help="prepared data (gec data prepare), for a recipe that corrects or fine-tunes",
    )
    add("--data-dir", metavar="DIR", help="raw corpora, for a recipe that generates")
    add("--out", required=True, metavar="DIR", help="where checkpoints and logs go")
    add(
        "--part",
        choices=("prepare", "teacher", "distill", "verifier", "drafter", "heads", "small", "align"),
        help="one stage of a recipe that generates (default: all that are not done yet)",
    )
    add(
        "--budget",
        metavar="TIME",
        help="training time: 90s, 25m, 2h (default: 25m, or what a recipe that generates says)",
    )
    add("--resume", action="store_true", help="continue from the last checkpoint in --out")
    add(
        "--dev",
        action="append",
        metavar="FILE",
        help="correct the sentences of an M2 file at every validation; may be given several times",
    )
    add("--init", metavar="BUNDLE", help="start from a bundle's weights (with its --subwords)")
    add_seed(add)
    add_threads(add)
    add(
        "--workers",
        type=positive,
        default=1,
        metavar="N",
        help="processes that corrupt sentences ahead of the network (default: 1)",
    )


def run(args: argparse.Namespace) -> int | None:
    # oneDNN keeps what it compiled for the last 1,024 shapes, and nearly every batch has its own:
    # a small network's process grew to 10 GB in half an hour
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
    from gec.models.training.train import main

    if args.dev and args.data:
        return main(args, dev_scores(args.dev, args.data))
    return main(args)


def dev_scores(names: list[str], packed: str) -> Callable[[Transformer], dict[str, float]]:
    """Return what scores a network in training on development sets, decoded and by M2."""
    from pathlib import Path

    from gec.eval.metrics.m2 import read_gold, score_m2
    from gec.loading import in_training

    gold = {Path(name).stem: read_gold(name) for name in names}

    def scores(network: Transformer) -> dict[str, float]:
        corrector = in_training(network, packed)
        found = {}
        for name, sentences in gold.items():
            sources = [sentence.source for sentence in sentences]
            texts = [correction.text for correction in corrector.correct_tokenized(sources)]
            found[f"{name}_f05"] = score_m2(texts, sentences).f
        return found

    return scores
