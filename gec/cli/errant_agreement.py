"""``gec errant agreement``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json, natural

SUMMARY = "Measure how far two annotations of the same corrections agree."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add("first", metavar="FIRST", help="an M2 file")
    add("second", metavar="SECOND", help="another annotation of the same sentences and corrections")
    add(
        "--top",
        type=natural,
        default=20,
        metavar="N",
        help="show the N most frequent differences of type (default: 20)",
    )
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.errant import agreement_main

    return agreement_main(args)
