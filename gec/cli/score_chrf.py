"""``gec score chrf``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json, natural
from gec.cli.scorer_options import add_resampling, add_translations

SUMMARY = "chrF, computed by sacrebleu."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add_translations(add)
    add("--word-order", type=natural, default=0, metavar="N", help="2 is chrF++ (default: 0)")
    add_resampling(add)
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.translation import chrf_main

    return chrf_main(args)
