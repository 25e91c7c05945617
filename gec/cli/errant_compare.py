"""``gec errant compare``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json
from gec.cli.scorer_options import add_comparison, add_resampling

SUMMARY = "Compare two M2 files."


def add_options(parser: Parser) -> None:
    parser.allow_abbrev = True  # as argparse does in the original
    add = parser.add_argument
    add("-hyp", required=True, metavar="FILE", help="the system's edits, M2")
    add("-ref", required=True, metavar="FILE", help="the reference edits, M2")
    add_comparison(parser)
    add_resampling(add)
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.errant import compare_main

    return compare_main(args)
