"""``gec score m2``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json, number
from gec.cli.scorer_options import (
    add_beta,
    add_gold,
    add_hypothesis,
    add_resampling,
    add_tokens,
)
from gec.errors import ConfigError

SUMMARY = "MaxMatch (Dahlmeier and Ng 2012), as m2scorer."
_USAGE, _FILES = 1, 255
"""m2scorer's exit status after a wrong option, and after a wrong number of files."""


def add_options(parser: Parser) -> None:
    parser.status = _USAGE
    parser.allow_abbrev = True  # as getopt in the original
    parser.set_defaults(take_rest=_take_rest)
    add = parser.add_argument
    for file in add_hypothesis(add), add_gold(add, "gold edits"):
        file.required = False  # run() counts them
    add(
        "--version",
        choices=("3.2", "2016"),
        default="3.2",
        help="the official scorer to reproduce (default: 3.2, the one of most papers)",
    )
    add(
        "--max_unchanged_words",
        type=int,
        default=2,
        metavar="N",
        help="unchanged words an edit may span (default: 2)",
    )
    add_beta(add, kind=number)
    add(
        "--ignore_whitespace_casing",
        action="store_true",
        help="drop proposed edits that change only blanks and case",
    )
    add("-v", "--verbose", action="store_true", help="print the edits of every sentence")
    add("--very_verbose", action="store_true", help="print the lattice of every sentence")
    add_resampling(add)
    add_tokens(add)
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    if args.gold is None:
        raise _refusal("two files are needed, HYP and GOLD", _FILES)
    from gec.eval.metrics.m2 import main

    return main(args)


def _take_rest(args: argparse.Namespace, rest: list[str]) -> None:
    """Refuse what is left of the command line, as m2scorer does."""
    if options := [argument for argument in rest if argument.startswith("-")]:
        raise _refusal(f"unrecognized arguments: {' '.join(options)}", _USAGE)
    raise _refusal("two files are needed, HYP and GOLD", _FILES)


def _refusal(message: str, status: int) -> ConfigError:
    error = ConfigError(f"{message} (see 'gec score m2 --help')")
    error.status = status
    return error
