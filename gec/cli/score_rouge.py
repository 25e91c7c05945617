"""``gec score rouge``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json
from gec.cli.scorer_options import add_hypothesis, add_resampling

SUMMARY = "ROUGE, computed by rouge-score."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add_hypothesis(add, "summaries, one a line")
    add(
        "references", nargs="+", metavar="REF", help="references, one file per set; the best counts"
    )
    add("--no-stemmer", action="store_true", help="do not stem (default: Porter stemmer)")
    add("--separator", metavar="TEXT", help="text between a summary's sentences (for rougeLsum)")
    add_resampling(add)
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.summarization import main

    return main(args)
