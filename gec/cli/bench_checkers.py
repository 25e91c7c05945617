"""``gec bench checkers``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_limit, names, positive
from gec.cli.model_options import add_device, add_threads, use_threads

SUMMARY = "Compare our corrector with other grammar and spelling checkers: quality, speed, memory."
CHECKERS = ["source", "gec", "harper", "codespell", "hunspell"]
SETTINGS = ["precise", "balanced", "thorough", "everything"]


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "files",
        nargs="+",
        metavar="FILE",
        help="gold edits (*.m2), or correct sentences, one a line; tokenized; NAME=FILE gives it "
        "another name in the tables",
    )
    add(
        "-r",
        "--references",
        type=_references,
        action="append",
        default=[],
        metavar="NAME=REF,REF",
        help="references of a gold file for GLEU, one sentence a line (default: what each "
        "annotator's edits make of the sentences)",
    )
    add(
        "--checkers",
        type=names,
        default=CHECKERS,
        metavar="NAMES",
        help="which, separated by commas: source (the text unchanged), gec, harper, codespell, "
        f"hunspell, languagetool (default: {','.join(CHECKERS)})",
    )
    add(
        "--languagetool",
        metavar="URL",
        help="also ask the LanguageTool server at this address, such as http://localhost:8081",
    )
    add(
        "--model",
        action="append",
        metavar="NAME",
        help="a bundle's name or folder; may be given several times (default: en)",
    )
    add(
        "--settings",
        type=names,
        default=SETTINGS,
        metavar="NAMES",
        help="our settings, separated by commas; everything leaves no edit out "
        f"(default: {','.join(SETTINGS)})",
    )
    add("--only", choices=("quality", "speed"), help="measure nothing else")
    add_limit(add, "sentences of each file")
    add(
        "--sample",
        type=positive,
        default=200,
        metavar="N",
        help="time N sentences, evenly spread (default: 200)",
    )
    add(
        "--rounds",
        type=positive,
        default=3,
        metavar="N",
        help="rounds of timing, whose medians count (default: 3)",
    )
    _add_outputs(parser)
    _add_machine(parser)


def _references(text: str) -> tuple[str, list[str]]:
    name, equals, files = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"a file's name and references as NAME=REF, not {text!r}")
    return name, names(files)


def _add_outputs(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "--hypotheses",
        metavar="DIR",
        help="write what each makes of the files to DIR/FILE/CHECKER.txt, for gec leaderboard",
    )
    add(
        "--format",
        choices=("text", "json"),
        default="text",
        help="format of the output (default: text, Markdown tables)",
    )
    add("--plot", metavar="SVG", help="plot F0.5 on the gold files over the time of a sentence")
    add(
        "--write",
        metavar="PAGE",
        help="also put the tables between the markers 'bench: checkers-quality' and "
        "'bench: checkers-speed' of a Markdown page",
    )


def _add_machine(parser: Parser) -> None:
    add = parser.add_argument_group("our corrector").add_argument
    add_device(add)
    add("--precision", metavar="TYPE", help="int8, fp32, bf16 or fp16 (default: the bundle's)")
    add_threads(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.benchmark.checkers import main

    use_threads(args)
    return main(args)
