"""``gec errant m2``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser
from gec.cli.scorer_options import (
    add_alignment,
    add_annotation_output,
    add_pipeline,
    add_types,
)

SUMMARY = "Extract the edits of an M2 file anew, or classify them anew."


def add_options(parser: Parser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("-auto", action="store_true", help="extract the edits automatically")
    source.add_argument("-gold", action="store_true", help="keep the edits, classify them anew")
    add = parser.add_argument
    add("m2_file", metavar="FILE", help="an M2 file")
    add_annotation_output(add)
    add("-no_min", action="store_true", help="do not minimise the edits' spans (-gold)")
    add("-old_cats", action="store_true", help="keep the types, minimise only (-gold)")
    add_alignment(add)
    add_pipeline(parser)
    add_types(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.errant import m2_main

    return m2_main(args)
