"""``gec data prepare``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser

SUMMARY = "Clean, split and encode raw text."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add("recipe", metavar="RECIPE", help="a recipe, a TOML file")
    add("--data-dir", required=True, metavar="DIR", help="raw corpora")
    add("--out", required=True, metavar="DIR", help="where prepared data goes")
    add(
        "--exclude",
        action="append",
        metavar="FILE",
        help="leave out the sentences of FILE, a test set; may be given several times",
    )
    add("--subwords", metavar="BUNDLE", help="use a bundle's subwords (default: learn new ones)")


def run(args: argparse.Namespace) -> int | None:
    from gec.models.training.data import prepare_main

    return prepare_main(args)
