"""Options of ``gec meta``; the work is in :mod:`gec.eval.compare.meta`."""

from __future__ import annotations

import argparse

from gec.cli.arguments import Commands, command, names, natural, positive

_SYSTEMS = (
    "systems that count: one of SEEDA's sets base, +INPUT, +REF-F_GPT-3.5 or all, or names "
    "separated by commas (default: all)"
)


def add_meta(commands: Commands[argparse.ArgumentParser]) -> None:
    summary = "Correlate metrics with human judgments."
    parser = commands.add_parser("meta", help=summary, description=summary, allow_abbrev=False)
    levels = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_system(levels)
    _add_sentence(levels)


def _system(args: argparse.Namespace) -> int:
    from gec.eval.compare.meta import system_main

    return system_main(args)


def _sentence(args: argparse.Namespace) -> int:
    from gec.eval.compare.meta import sentence_main

    return sentence_main(args)


def _add_system(levels: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        levels,
        "system",
        _system,
        "Correlate scores of systems: Pearson, Spearman, Kendall; window analysis.",
    )
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
    _add_both(parser)


def _add_sentence(levels: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        levels, "sentence", _sentence, "Compare scores of single outputs: accuracy and Kendall."
    )
    add = parser.add_argument
    add("judgments", metavar="JUDGMENTS", help="rankings of outputs, XML of GJG15 or SEEDA")
    add(
        "metrics",
        nargs="+",
        metavar="METRIC",
        help="a metric's scores: a folder of SYSTEM.txt, a number a sentence, or a table with "
        "tabs, the systems' names first",
    )
    add(
        "--first-id",
        type=natural,
        default=0,
        metavar="N",
        help="src-id of the test set's first sentence (default: 0)",
    )
    add(
        "--ties",
        choices=("seeda", "wrong", "skip"),
        default="seeda",
        help="equal scores: decided by the alphabet, as in SEEDA's script; counted as wrong; "
        "or left out (default: seeda)",
    )
    _add_both(parser)


def _add_both(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--systems", default="all", metavar="SYSTEMS", help=_SYSTEMS)
    add(
        "--order",
        choices=("higher", "lower"),
        default="higher",
        help="which scores of the metric are better (default: higher)",
    )
    add("--json", action="store_true", help="print the result as JSON")
