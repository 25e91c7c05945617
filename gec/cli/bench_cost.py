"""``gec bench cost``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_batch_size, add_json, add_limit, positive
from gec.cli.model_options import add_model_options, use_threads

SUMMARY = "Measure what passes and drafts take; tell which drafts pay at which acceptance."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "file",
        nargs="?",
        metavar="FILE",
        help="texts, one a line: count on them what a bundle's drafts give",
    )
    add(
        "--shape",
        action="append",
        metavar="SHAPE",
        help="a verifier with random weights: layers of encoder and decoder and width, 6+6x384, or "
        "a decoder alone, 30x576, with options as in 6+6x384:vocabulary=32000,ffn=1024,heads=8; "
        "may be given several times (default vocabulary: 8000; of a decoder alone 49152)",
    )
    add(
        "--drafter",
        action="append",
        metavar="DRAFTER",
        help="what drafts for a shape: a number of layers that read the verifier's states, or a "
        "smaller shape; may be given several times (default: 1 and 2)",
    )
    for name, what in (("--source", "source"), ("--output", "output")):
        add(
            name,
            type=positive,
            default=24,
            metavar="N",
            help=f"tokens of a sentence's {what} (default: 24)",
        )
    add(
        "--rounds",
        type=positive,
        default=15,
        metavar="N",
        help="passes of each kind, whose median counts (default: 15)",
    )
    add(
        "--cpu-time",
        action="store_true",
        help="count processor time, not the clock: for one thread on a machine that others use",
    )
    add_batch_size(add, 1)
    add_limit(add, "texts")
    add_json(add)
    add_model_options(parser, default=None, required=False)


def run(args: argparse.Namespace) -> int:
    from gec.eval.benchmark.cost import main

    use_threads(args)
    return main(args)
