"""``gec model make``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser

SUMMARY = "Make an update of a fine-tuning run's weights."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add("recipe", metavar="RECIPE", help="the run's recipe, a TOML file")
    add("weights", nargs="+", metavar="WEIGHTS", help="weights.safetensors; of several, their mean")
    add("--out", required=True, metavar="DIR", help="the update; its settings stay if it is there")
    add(
        "--parts",
        metavar="NAME",
        help="the bundle whose dictionary and n-grams it uses, and which it asks about edits",
    )
    add("--bundle", metavar="DIR", help="also make the bundle, here")


def run(args: argparse.Namespace) -> int | None:
    from gec.models.training.make_update import make_main

    return make_main(args)
