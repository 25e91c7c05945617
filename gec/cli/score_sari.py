"""``gec score sari``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json
from gec.cli.scorer_options import (
    SOURCE_AND_REFERENCES,
    add_hypothesis,
    add_references,
    add_resampling,
    add_source,
)

SUMMARY = "SARI (Xu et al. 2016), as EASSE."


def add_options(parser: Parser) -> None:
    parser.usage = SOURCE_AND_REFERENCES
    add = parser.add_argument
    add_hypothesis(add, "simplified sentences, one a line")
    add_references(add, help="references, one file per set")
    add_source(add)
    add(
        "--tokenizer",
        choices=("13a", "intl", "moses", "penn", "none"),
        default="13a",
        help="tokenization (default: 13a)",
    )
    add("--no-lowercase", action="store_true", help="keep case")
    add(
        "--legacy",
        action="store_true",
        help="score as the first releases did: source not tokenized, case kept",
    )
    add(
        "--precision-for-deletion",
        action="store_true",
        help="score deletion by precision instead of F1",
    )
    add("--paper-version", action="store_true", help="average P and R before F, as in the paper")
    add_resampling(add)
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.sari import main

    return main(args)
