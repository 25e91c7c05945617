"""``gec meta system``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Add, Parser, add_json, names, positive

SUMMARY = "Correlate scores of systems: Pearson, Spearman, Kendall; window analysis."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "human",
        metavar="HUMAN",
        help="human scores: lines with system and score, a score a line (SEEDA), or judgments "
        "(.xml), whose Expected Wins count",
    )
    add("metrics", nargs="+", metavar="METRIC", help="a metric's scores of the same systems")
    add("--window", type=positive, metavar="N", help="also correlate every N neighbours")
    add(
        "--names",
        type=names,
        metavar="NAMES",
        help="systems of files without names, separated by commas (default: SEEDA's 15)",
    )
    add_choice(add)


def add_choice(add: Add) -> None:
    """Add which systems count and which scores are better: ``gec meta sentence`` takes it, too."""
    add(
        "--systems",
        default="all",
        metavar="SYSTEMS",
        help="systems that count: one of SEEDA's sets base, +INPUT, +REF-F_GPT-3.5 or all, or "
        "names separated by commas (default: all)",
    )
    add(
        "--order",
        choices=("higher", "lower"),
        default="higher",
        help="which scores of the metric are better (default: higher)",
    )
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.compare.meta import system_main

    return system_main(args)
