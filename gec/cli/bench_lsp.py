"""``gec bench lsp``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json, add_seed, names, positive
from gec.cli.model_options import add_threads

SUMMARY = "Measure gec lsp: from a change to its diagnostics, and memory."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="plain text whose sentences make the document")
    add(
        "--sentences",
        type=positive,
        default=2000,
        metavar="N",
        help="sentences of the document, over again if the files have fewer (default: 2000)",
    )
    add(
        "--changes",
        type=positive,
        default=50,
        metavar="N",
        help="sentences changed one after the other (default: 50)",
    )
    add(
        "--languages",
        type=names,
        default=["plaintext", "markdown"],
        metavar="NAMES",
        help="kinds of document, separated by commas: plaintext, markdown, html, latex, "
        "restructuredtext, python (default: plaintext,markdown)",
    )
    add("--model", default="en", metavar="NAME", help="a bundle's name or folder (default: en)")
    add_threads(add)
    add_seed(add)
    add_json(add)


def run(args: argparse.Namespace) -> int:
    from gec.eval.benchmark.lsp import main

    return main(args)
