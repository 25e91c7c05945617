"""``gec score gleu``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json, positive
from gec.cli.scorer_options import (
    HYP,
    add_longest,
    add_references,
    add_resampling,
    add_source,
    add_tokens,
)

SUMMARY = "GLEU (Napoles et al. 2015, 2016)."


def add_options(parser: Parser) -> None:
    parser.usage = "%(prog)s HYP [HYP ...] -s FILE -r FILE [FILE ...] [OPTION ...]"
    add = parser.add_argument
    add("hypotheses", nargs="*", metavar="HYP", help=HYP)
    add_references(add, "--ref")
    add_source(add, "--src")
    add("--hyp", nargs="+", default=[], metavar="FILE", help="the same as HYP")
    add_longest(add)
    add(
        "--iter", type=positive, default=500, metavar="N", help="number of samplings (default: 500)"
    )
    add(
        "--sent",
        action="store_true",
        help="score every sentence (with one reference, only --json shows more than the first)",
    )
    add(
        "--sampling",
        choices=("python2", "python3"),
        default="python2",
        help="random numbers that choose references (default: python2, as in published results)",
    )
    add_resampling(add)
    add_tokens(add)
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.gleu import main

    return main(args)
