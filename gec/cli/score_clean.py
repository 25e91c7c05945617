"""``gec score clean``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json
from gec.cli.scorer_options import add_allow_empty, add_hypothesis, add_resampling

SUMMARY = "Needless changes of correct text, per 1,000 words."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add_hypothesis(add)
    add("source", metavar="SOURCE", help="the correct sentences that the system got")
    add_allow_empty(add)
    add_resampling(add)
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.clean import main

    return main(args)
