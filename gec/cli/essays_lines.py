"""``gec essays lines``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser

SUMMARY = "Write one line an essay, in the order of the first file's essays."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="essays: originals, outputs, references")
    add("--output", "-o", required=True, metavar="DIR", help="the folder for the lines, NAME.txt")
    add(
        "--tokenize",
        metavar="CODE",
        help="put blanks between tokens by spaCy's rules for this language, such as sv",
    )
    add("--fill", metavar="FILE", help="take essays that a file lacks from this one")


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.essays import lines_main

    return lines_main(args)
