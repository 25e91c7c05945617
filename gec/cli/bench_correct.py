"""``gec bench correct``, which ``gec bench`` means, too."""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, add_batch_sizes, add_limit, names, positive
from gec.cli.model_options import add_model_options, use_threads
from gec.errors import ConfigError

SUMMARY = "Measure the speed of decoding, and check that it is lossless."
ROUNDS = 3
STRATEGIES = ["greedy", "iad"]
WITH_PEERS = ["greedy", "iad", "iad-paper", "beam5", "floor"]


def add_options(parser: Parser) -> None:
    parser.description = f"{parser.description} --precision may name several, as in fp32,int8."
    add = parser.add_argument
    add("file", nargs="?", metavar="FILE", help="one tokenized sentence a line, or M2 (*.m2)")
    add_limit(add, "sentences")
    add("--sample", type=positive, metavar="N", help="use only N sentences, evenly spread")
    add_batch_sizes(add)
    add(
        "--strategies",
        type=names,
        metavar="NAMES",
        help="strategies to compare, separated by commas: greedy, iad, iad-paper (Algorithm 1 of "
        "Ge et al. 2022 to the letter), beam5, beam5+copy (beam5 with drafts from the source), and "
        "floor, the encoder and one decoder pass over the known output "
        f"(default: {','.join(STRATEGIES)}; with --peers {','.join(WITH_PEERS)})",
    )
    add(
        "--rounds",
        type=positive,
        default=ROUNDS,
        metavar="N",
        help="rounds of timing, whose medians are reported (default: 3)",
    )
    _add_comparisons(parser)
    _add_other(parser)
    _add_outputs(parser)
    add_model_options(parser)


def run(args: argparse.Namespace) -> int | None:
    from gec.eval.benchmark import main

    use_threads(args)
    complete(args)
    return main(args)


def complete(args: argparse.Namespace) -> None:
    """Fill in the defaults that depend on other options; raises ConfigError without a FILE."""
    if not (args.file or args.quick):
        raise ConfigError("the following arguments are required: FILE (or --quick)")
    args.batch_size = args.batch_size or [1]
    args.strategies = args.strategies or (WITH_PEERS if args.peers else STRATEGIES)


def _add_comparisons(parser: Parser) -> None:
    add = parser.add_argument_group("comparisons").add_argument
    add(
        "--peers",
        type=names,
        metavar="NAMES",
        help="other engines with the same weights: fairseq, ctranslate2, huggingface, all of "
        "these (all), or torch (our own loop under torch)",
    )
    add(
        "--fairseq-python",
        metavar="PATH",
        help="the interpreter of fairseq's environment (default: $GEC_FAIRSEQ_PYTHON, else "
        ".venv-fairseq/bin/python)",
    )
    add(
        "--replay",
        action="append",
        metavar="ARCH",
        help="also time another architecture, as in 6+6x512 or 12+2x512,ffn=2048,heads=8, with "
        "random weights that write what the bundle wrote; may be given several times",
    )
    add(
        "--vocabulary",
        type=positive,
        metavar="N",
        help="vocabulary entries of a replay (default: the bundle's)",
    )


def _add_other(parser: Parser) -> None:
    add = parser.add_argument_group("instead of speed, or with --peers or --replay besides")
    add.add_argument(
        "--check-lossless",
        action="store_true",
        help="compare iad with greedy token for token; exit with 1 if they differ without a tie",
    )
    add.add_argument(
        "--profile", action="store_true", help="show the time by part of the network and loop"
    )
    add.add_argument(
        "--parts",
        action="store_true",
        help="show the processor time by part of a whole correction: the network and what is "
        "around it, in one thread",
    )
    add.add_argument(
        "--memory", action="store_true", help="show peak memory and cold start of gec correct"
    )
    add.add_argument(
        "--growth",
        type=positive,
        metavar="WORDS",
        help="show the time per word as a text grows to WORDS words (the sentences are repeated)",
    )
    add.add_argument(
        "--quick",
        action="store_true",
        help="no FILE and no times: check on fixed sentences that iad equals greedy in fp32 and "
        "int8, with as many passes as recorded; otherwise exit with 1",
    )
    add.add_argument(
        "--record", action="store_true", help="with --quick: record the passes of new weights"
    )


def _add_outputs(parser: Parser) -> None:
    add = parser.add_argument_group("output besides the tables on standard output").add_argument
    add("--json", metavar="FILE", help="write all measurements to FILE")
    add("--write", metavar="PAGE", help="renew the tables of a Markdown page between its markers")
    add("--plots", metavar="DIR", help="write plots to DIR (SVG)")
