"""``gec score errant``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json
from gec.cli.scorer_options import (
    add_comparison,
    add_gold,
    add_hypothesis,
    add_pipeline,
    add_resampling,
    add_types,
)

SUMMARY = "ERRANT (Bryant et al. 2017): annotate the output, compare with the gold edits."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add_hypothesis(add)
    add_gold(add, "gold edits")
    add_comparison(parser)
    add_resampling(add)
    add_pipeline(parser)
    add_types(add)
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.errant import score_main

    return score_main(args)
