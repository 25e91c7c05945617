"""``gec bundle``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, not_negative

SUMMARY = "Make a bundle of a checkpoint, or of the mean of several."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "checkpoints",
        nargs="+",
        metavar="CHECKPOINT",
        help="a checkpoint of gec train, or a bundle; the weights of several are averaged",
    )
    add("out", metavar="OUT", help="the bundle's folder")
    add("--data", required=True, metavar="DIR", help="the prepared data of the training")
    add("--name", metavar="NAME", help="the bundle's name (default: the folder's)")
    add(
        "--precision",
        choices=("int8", "fp16"),
        default="int8",
        help="type of the stored weights; int8 weights run in int8 on a CPU (default: int8)",
    )
    add(
        "--tolerance",
        type=not_negative,
        default=0.0,
        metavar="NATS",
        help="the bundle's default for gec correct --tolerance (default: 0)",
    )


def run(args: argparse.Namespace) -> int | None:
    from gec.models.training.export import export_main

    return export_main(args)
