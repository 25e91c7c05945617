"""``gec data noise``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_seed
from gec.cli.console import write

SUMMARY = "Corrupt clean sentences to inspect the noise."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add("recipe", metavar="RECIPE", help="a recipe, a TOML file")
    add(
        "file",
        nargs="?",
        metavar="FILE",
        help="one tokenized sentence a line (default: the prepared validation sentences)",
    )
    add("--data", required=True, metavar="DIR", help="prepared data (gec data prepare)")
    add_seed(add)
    add(
        "--stats",
        nargs="*",
        metavar="M2",
        help="show the share of each error type in the noise and in M2 files instead",
    )


def run(args: argparse.Namespace) -> None:
    from gec.models.training.data import noise_pairs

    if args.stats is not None:
        from gec.eval.metrics.error_types import shares

        write(shares("noise", noise_pairs(args), args.stats))
        return
    for wrong, right in noise_pairs(args):
        write(f"{' '.join(wrong)}\t{' '.join(right)}\n")
