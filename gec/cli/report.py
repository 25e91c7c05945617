"""``gec report``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_seed, positive
from gec.cli.scorer_options import (
    add_allow_empty,
    add_beta,
    add_names,
    add_pipeline,
    add_systems,
)

SUMMARY = "Write one page about systems on a test set."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add_systems(add, "; several are compared")
    add("--output", "-o", required=True, metavar="FILE", help="the page to write")
    add(
        "--format",
        choices=("html", "json"),
        help="what to write (default: what the file's ending says, else html)",
    )
    add_names(add)
    add("--title", metavar="TEXT", help="the page's title (default: the gold file's name)")
    add(
        "--samples",
        type=positive,
        default=1000,
        metavar="N",
        help="bootstrap resamples (default: 1000)",
    )
    add_seed(add)
    add_beta(add)
    add_allow_empty(add)
    add(
        "--examples",
        type=positive,
        default=10,
        metavar="N",
        help="sentences won and lost that are shown (default: 10)",
    )
    add_pipeline(parser)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.compare.report import main

    return main(args)
