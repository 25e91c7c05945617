"""``gec meta sentence``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, natural
from gec.cli.meta_system import add_choice

SUMMARY = "Compare scores of single outputs: accuracy and Kendall."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add("judgments", metavar="JUDGMENTS", help="rankings of outputs, XML of GJG15 or SEEDA")
    add(
        "metrics",
        nargs="+",
        metavar="METRIC",
        help="a metric's scores: a folder of SYSTEM.txt, a number a sentence, or a table with "
        "tabs, the systems' names first",
    )
    add(
        "--first-id",
        type=natural,
        default=0,
        metavar="N",
        help="src-id of the test set's first sentence (default: 0)",
    )
    add(
        "--ties",
        choices=("seeda", "wrong", "skip"),
        default="seeda",
        help="equal scores: decided by the alphabet, as in SEEDA's script; counted as wrong; "
        "or left out (default: seeda)",
    )
    add_choice(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.compare.meta import sentence_main

    return sentence_main(args)
