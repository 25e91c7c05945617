"""``gec errant parallel``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser
from gec.cli.scorer_options import (
    CORRECTED,
    add_alignment,
    add_annotation_output,
    add_pipeline,
    add_types,
)

SUMMARY = "Annotate the edits between texts and their corrections, as M2."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add("-orig", required=True, metavar="FILE", help="original sentences, one a line")
    add("-cor", required=True, nargs="+", metavar="FILE", help=CORRECTED)
    add_annotation_output(add)
    add("-tok", action="store_true", help="tokenize the text with spaCy first")
    add_alignment(add)
    add_pipeline(parser)
    add_types(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.errant import parallel_main

    return parallel_main(args)
