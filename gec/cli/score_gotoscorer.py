"""``gec score gotoscorer``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json, natural
from gec.cli.scorer_options import (
    EDITS,
    add_allow_empty,
    add_gold,
    add_pipeline,
    add_resampling,
)

SUMMARY = "GoToScorer: errors weighed by how few systems correct them (Gotou et al. 2020)."


def add_options(parser: Parser) -> None:
    parser.usage = "%(prog)s HYP [HYP ...] GOLD [OPTION ...]"
    add = parser.add_argument
    add("hypotheses", nargs="+", metavar="HYP", help=EDITS)
    add_gold(add)
    add(
        "--annotator",
        type=natural,
        default=0,
        metavar="N",
        help="whose edits are the reference (default: 0)",
    )
    weights = parser.add_mutually_exclusive_group()
    weights.add_argument(
        "--weights", metavar="FILE", help="difficulty measured before, a file of the authors' form"
    )
    weights.add_argument("--unweighted", action="store_true", help="count every chunk as 1")
    add("--write-weights", metavar="FILE", help="write the difficulty to a file")
    add("--difficulty", action="store_true", help="print the mean weight of every error type")
    add_allow_empty(add)
    add_resampling(add)
    add_pipeline(parser)
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.gotoscorer import main

    return main(args)
