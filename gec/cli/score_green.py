"""``gec score green``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json
from gec.cli.scorer_options import (
    SOURCE_AND_REFERENCES,
    add_allow_empty,
    add_beta,
    add_hypothesis,
    add_longest,
    add_references,
    add_resampling,
    add_source,
)

SUMMARY = "GREEN, an F-score over n-grams (Koyama et al. 2024)."


def add_options(parser: Parser) -> None:
    parser.usage = SOURCE_AND_REFERENCES
    add = parser.add_argument
    add_hypothesis(add)
    add_references(add)
    add_source(add)
    add_longest(add)
    add_beta(add, 2.0)
    add(
        "--unit",
        choices=("word", "char"),
        default="word",
        help="n-grams of words or of characters (default: word)",
    )
    add_allow_empty(add)
    add_resampling(add)
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.green import main

    return main(args)
