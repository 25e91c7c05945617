"""``gec model remove``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser

SUMMARY = "Remove a fetched model."


def add_options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="a fetched model")


def run(args: argparse.Namespace) -> int | None:
    from gec.models.fetch.store import remove_main

    return remove_main(args)
