"""``gec score bleu``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json
from gec.cli.scorer_options import add_resampling, add_translations

SUMMARY = "BLEU, computed by sacrebleu."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add_translations(add)
    add(
        "--tokenize",
        choices=("none", "zh", "13a", "intl", "char"),
        default="13a",
        help="sacrebleu's tokenization (default: 13a)",
    )
    add("--lowercase", action="store_true", help="lower-case both sides")
    add_resampling(add)
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.translation import bleu_main

    return bleu_main(args)
