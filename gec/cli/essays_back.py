"""``gec essays back``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser

SUMMARY = "Write lines as essays."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add("lines", metavar="LINES", help="one line an essay")
    add("essays", metavar="ESSAYS", help="the file whose essays they are, for their ids")
    add("--output", "-o", default="-", metavar="FILE", help="default: -, standard output")


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.essays import back_main

    return back_main(args)
