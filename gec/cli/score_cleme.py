"""``gec score cleme``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json
from gec.cli.scorer_options import (
    EDITS,
    add_allow_empty,
    add_beta,
    add_gold,
    add_hypothesis,
    add_pipeline,
    add_resampling,
)

SUMMARY = "CLEME, chunks with shared borders (Ye et al. 2023)."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add_hypothesis(add, EDITS)
    add_gold(add)
    add(
        "--assumption",
        choices=("dependent", "independent"),
        default="dependent",
        help="compare with one reference at a time, or with all at each chunk (default: dependent)",
    )
    add(
        "--level",
        choices=("corpus", "sentence"),
        default="corpus",
        help="scores of the corpus, or means over sentences (default: corpus)",
    )
    add("--unweighted", action="store_true", help="do not weigh chunks by their length")
    add_beta(add)
    add_allow_empty(add)
    add_resampling(add)
    add_pipeline(parser)
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.cleme import main

    return main(args)
