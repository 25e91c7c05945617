"""``gec bench generate``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_batch_sizes, add_limit, natural
from gec.cli.model_options import add_model_options, use_threads

SUMMARY = "Compare strategies on one test set: passes, quality, speed, memory."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add("sources", nargs="?", metavar="SOURCES", help="one text a line")
    add("references", nargs="*", metavar="REFERENCE", help="reference texts, one a line")
    add(
        "--strategies",
        nargs="+",
        metavar="STRATEGY",
        help="names of gec generate --strategy, with options as in gad++:beta=3,tau=1 "
        "(default: those of the papers' tables that the bundle supports)",
    )
    add_batch_sizes(add)
    add_limit(add, "lines")
    add(
        "--rounds",
        type=natural,
        default=3,
        metavar="N",
        help="rounds of timing, whose medians are reported; 0 takes no times (default: 3)",
    )
    add("--out", metavar="DIR", help="also write table, JSON and plots to this folder")
    add(
        "--operations",
        action="store_true",
        help="also count floating-point operations and memory traffic of every strategy",
    )
    add(
        "--plot-gamma",
        metavar="SVG",
        help="plot the best number of drafted tokens, and its speed-up, over the acceptance rate",
    )
    add_model_options(parser, default=None, required=False)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.benchmark.generate import main

    use_threads(args)
    return main(args)
