"""``gec score rates``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json
from gec.cli.scorer_options import (
    EDITS,
    add_allow_empty,
    add_gold,
    add_hypothesis,
    add_pipeline,
    add_resampling,
)

SUMMARY = "Success and over-correction by error type, with Holm's adjustment."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add_hypothesis(add, EDITS)
    add_gold(add, "ERRANT's edits")
    add("--category", action="store_true", help="M:DET, R:DET and U:DET are one type, DET")
    add_allow_empty(add)
    add_resampling(add)
    add_pipeline(parser)
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.rates import rates_main

    return rates_main(args)
