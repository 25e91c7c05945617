"""``gec score exact``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser
from gec.cli.model_options import (
    add_model_options,
    add_strategy_options,
    check_strategy,
    load_corrector,
)
from gec.cli.terminal import say
from gec.errors import InputError

SUMMARY = "Count the sentences that come out exactly as accepted."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    files = "one sentence a line, then its accepted corrections after tabs; none if it is correct"
    add("files", nargs="+", metavar="FILE", help=files)
    add(
        "--misses",
        action="store_true",
        help="print every sentence that came out in no accepted form",
    )
    add_strategy_options(add)
    add_model_options(parser)


def run(args: argparse.Namespace) -> None:
    """Print the counts; the exit status is 0 whatever they are."""
    from gec.eval.metrics.exact import score_exact
    from gec.files import read_document

    check_strategy(args)
    lines = [line for name in args.files for line in read_document(name).text.splitlines()]
    if not any(line.strip() for line in lines):
        raise InputError("no sentence to score")
    corrector = load_corrector(args)
    score = score_exact(corrector, lines)
    if args.misses:
        for source, output, answers in score.misses:
            print(f"- {source}\n  {output}\n  expected {' | '.join(answers) or 'no change'}")
    print(score)
    say(", ".join(f"{name} {value}" for name, value in corrector.info().items()))
