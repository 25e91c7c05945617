"""``gec score pt-errant``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_json
from gec.cli.scorer_options import (
    EDITS,
    add_allow_empty,
    add_beta,
    add_encoder,
    add_gold,
    add_hypothesis,
    add_pipeline,
    add_resampling,
)

SUMMARY = "PT-ERRANT, ERRANT with edits weighed by BERTScore (Gong et al. 2022)."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add_hypothesis(add, EDITS)
    add_gold(add)
    add_encoder(add)
    add_beta(add)
    add_pipeline(parser)
    add_allow_empty(add)
    add_resampling(add)
    add_json(add)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.metrics.pretrained import errant_main

    return errant_main(args)
