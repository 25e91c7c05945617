"""``gec data break``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_batch_size, add_seed, fraction, not_negative, positive
from gec.cli.console import write
from gec.cli.model_options import add_model_options, use_threads

SUMMARY = "Let a trained breaker write errors into sentences; made-up words are left out."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="one tokenized sentence a line, plain or .xz")
    add("--limit", type=positive, metavar="N", help="break the first N sentences only")
    add(
        "--temperature",
        type=not_negative,
        default=1.0,
        metavar="T",
        help="of the distribution that tokens are drawn from (default: 1)",
    )
    add("--top-p", type=fraction, metavar="P", help="draw from the likeliest tokens that make up P")
    add(
        "--epsilon",
        type=fraction,
        metavar="P",
        help="never draw a token less likely than P, but the likeliest (default: 0.002; with "
        "--temperature 0 nothing is drawn)",
    )
    add_seed(add)
    add_batch_size(add)
    add(
        "--stats",
        nargs="*",
        metavar="M2",
        help="show the share of each error type in the pairs and in M2 files instead",
    )
    add_model_options(parser, None)


def run(args: argparse.Namespace) -> None:
    from gec.models.training.breaking import broken_pairs

    use_threads(args)
    pairs = broken_pairs(args)
    if args.stats is not None:
        from gec.eval.metrics.error_types import shares

        write(shares("broken", pairs, args.stats))
        return
    for wrong, right in pairs:
        write(f"{' '.join(wrong)}\t{' '.join(right)}\n")
