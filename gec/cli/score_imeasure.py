"""``gec score imeasure``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json, not_negative, positive
from gec.cli.scorer_options import (
    add_allow_empty,
    add_beta,
    add_gold,
    add_hypothesis,
    add_resampling,
)
from gec.eval.metric_options import IMEASURE_LEVELS, IMEASURE_MOST, IMEASURE_OPTIMISED

SUMMARY = "The I-measure, improvement over the source (Felice and Briscoe 2015)."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add_hypothesis(add)
    add_gold(add)
    add("--no-mix", action="store_true", help="do not mix the edits of different annotators")
    add(
        "--optimise",
        choices=IMEASURE_OPTIMISED,
        default="cwacc",
        help="what the best reference has most of: c or d (correction, detection) "
        "and the score (default: cwacc)",
    )
    add(
        "--level",
        choices=IMEASURE_LEVELS,
        default="sent",
        help="choose references by the sentence alone or by the running totals (default: sent)",
    )
    add_beta(add, 1.0)
    add(
        "--weight",
        type=not_negative,
        default=2.0,
        metavar="W",
        help="weight of corrections in weighted accuracy (default: 2)",
    )
    add(
        "--most",
        type=positive,
        default=IMEASURE_MOST,
        metavar="N",
        help=f"mixtures of a sentence's edits that are tried at most (default: {IMEASURE_MOST})",
    )
    add_allow_empty(add)
    add_resampling(add)
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.imeasure import main

    return main(args)
