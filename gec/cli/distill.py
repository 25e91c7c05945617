"""``gec distill``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_batch_size, positive
from gec.cli.model_options import add_device, add_threads, use_threads

SUMMARY = "Write a bundle's outputs for a training set, as training data."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add("sources", metavar="SOURCES", help="one text a line, or a prepared *.tsv")
    add("out", metavar="OUT", help="the file to write: source TAB output")
    add("--beam-size", type=positive, default=5, metavar="N", help="1 is greedy (default: 5)")
    add_batch_size(add, 64)
    add("--resume", action="store_true", help="continue where OUT ends")
    add("--model", required=True, metavar="NAME", help="the teacher, a bundle's folder")
    add_device(add)
    add_threads(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.models.training.distill import main

    use_threads(args)
    return main(args)
