"""``gec score pt-m2``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json
from gec.cli.scorer_options import (
    HYP,
    add_allow_empty,
    add_beta,
    add_encoder,
    add_gold,
    add_hypothesis,
    add_resampling,
)

SUMMARY = "PT-M2, M2 with edits weighed by BERTScore (Gong et al. 2022)."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add_hypothesis(add, HYP)
    add_gold(add)
    add_encoder(add)
    add_beta(add)
    add(
        "--version",
        choices=("3.2", "2016"),
        default="2016",
        help="whose edits: of m2scorer 3.2 or of 2016, as the authors' (default: 2016)",
    )
    add_allow_empty(add)
    add_resampling(add)
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.pretrained import m2_main

    return m2_main(args)
