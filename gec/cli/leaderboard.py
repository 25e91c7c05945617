"""``gec leaderboard``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_seed, natural, number, positive
from gec.cli.scorer_options import (
    CORRECTED,
    add_allow_empty,
    add_beta,
    add_names,
    add_pipeline,
    add_systems,
)

SUMMARY = "Rank systems by several metrics, in clusters that differ significantly."


def add_options(parser: Parser) -> None:
    parser.usage = "%(prog)s GOLD HYP HYP [HYP ...] [OPTION ...] [-r FILE [FILE ...]]"
    add = parser.add_argument
    add_systems(add)
    add(
        "-r",
        "--references",
        nargs="+",
        default=[],
        metavar="FILE",
        help=f"{CORRECTED}, for gleu, sari and green",
    )
    add(
        "--metrics",
        metavar="NAMES",
        help="metrics, separated by commas (default: m2,errant, with references also gleu,sari)",
    )
    add_names(add)
    add("--title", metavar="TEXT", help="the title (default: the gold file's name)")
    add("--output", "-o", default="-", metavar="FILE", help="file to write (default: -)")
    add(
        "--format",
        choices=("text", "json", "html"),
        help="what to write (default: what the file's ending says, else text)",
    )
    add(
        "--samples",
        type=natural,
        metavar="N",
        help="resamples (default: 1000, or more if the number of pairs needs more)",
    )
    add_seed(add)
    add(
        "--test",
        choices=("randomization", "bootstrap"),
        default="randomization",
        help="approximate randomization or paired bootstrap (default: randomization)",
    )
    add(
        "--alpha",
        type=number,
        default=0.05,
        metavar="P",
        help="level of significance after Holm's adjustment (default: 0.05)",
    )
    add_beta(add)
    add(
        "--jobs",
        type=positive,
        metavar="N",
        help="processes for metrics side by side (default: one a core)",
    )
    add_allow_empty(add)
    add_pipeline(parser)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.compare.leaderboard import main

    return main(args)
