"""Options that several scorers share: outputs and references, intervals, pipelines.

Options of a reference tool keep its names.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from gec.cli.arguments import Add, Parser, add_seed, natural, not_negative, number, positive

HYP = "the system's output, one tokenized sentence a line"
EDITS = f"{HYP}; or its edits, a file whose name ends in .m2"
SYSTEM = "a system's output: tokenized lines, or gec correct --tokenized --format jsonl"
CORRECTED = "corrected sentences, one file per set"
SOURCE_AND_REFERENCES = "%(prog)s HYP -s FILE -r FILE [FILE ...] [OPTION ...]"
"""The usage of a scorer whose -r takes all that follows it."""


# ------------------------------------------------------------------------------------------ files


def add_hypothesis(add: Add, help: str = HYP) -> argparse.Action:
    """Add the file with a system's output."""
    return add("hypothesis", metavar="HYP", help=help)


def add_gold(add: Add, edits: str = "reference edits") -> argparse.Action:
    """Add the M2 file with the sources and their reference edits."""
    return add("gold", metavar="GOLD", help=f"source sentences with {edits}, M2")


def add_systems(add: Add, more: str = "") -> None:
    """Add the reference edits, then the outputs of systems that are compared."""
    add("gold", metavar="GOLD", help="the reference edits, an M2 file")
    add("hypotheses", nargs="+", metavar="HYP", help=SYSTEM + more)


def add_names(add: Add) -> None:
    """Add the names of the systems that are compared."""
    add("--names", metavar="NAMES", help="the systems' names, separated by commas")


def add_references(add: Add, *more: str, help: str = CORRECTED) -> None:
    """Add -r, which must be given; ``more`` are other names of it."""
    names = ("-r", "--references", *more)
    add(*names, nargs="+", required=True, metavar="FILE", help=help)


def add_source(add: Add, *more: str) -> None:
    """Add -s, which must be given; ``more`` are other names of it."""
    names = ("-s", "--source", *more)
    add(*names, required=True, metavar="FILE", help="the original sentences")


def add_translations(add: Add) -> None:
    """Add a system's detokenized output and its references."""
    add_hypothesis(add, "detokenized output, one segment a line")
    add("references", nargs="+", metavar="REF", help="reference translations, one file per set")


def add_allow_empty(add: Add) -> None:
    """Add --allow-empty."""
    add("--allow-empty", action="store_true", help="take an empty line for a deleted sentence")


def add_tokens(add: Add) -> None:
    """Add --tokens."""
    add(
        "--tokens",
        choices=("words", "characters"),
        default="words",
        help="what counts: words, between blanks, or every Chinese or Japanese character by "
        "itself (default: words)",
    )


def add_encoder(add: Add) -> None:
    """Add the pretrained encoder whose vectors weigh edits, and how its scores are added up."""
    add(
        "--encoder",
        required=True,
        metavar="DIR",
        help="an encoder that transformers can read, with its tokenizer, such as a copy of "
        "bert-base-uncased, which the authors take",
    )
    add(
        "--layer",
        type=positive,
        metavar="N",
        help="whose vectors are compared (default: bert-score's for BERT, DistilBERT and "
        "RoBERTa, else the last)",
    )
    add(
        "--level",
        choices=("corpus", "sentence"),
        default="corpus",
        help="scores of the corpus, or means over sentences (default: corpus)",
    )


# ---------------------------------------------------------------------------------------- numbers


def add_beta(
    add: Add,
    default: float = 0.5,
    *short: str,
    kind: Callable[[str], float] = not_negative,
) -> None:
    """Add --beta; ``short`` are other names of it."""
    help = f"beta of F (default: {default:g})"
    add(*short, "--beta", type=kind, default=default, metavar="B", help=help)


def add_longest(add: Add) -> None:
    """Add -n, the longest n-gram."""
    add("-n", type=positive, default=4, metavar="N", help="longest n-gram (default: 4)")


def add_resampling(add: Add) -> None:
    """Add what asks for an interval, or for a comparison with another system."""
    add(
        "--samples",
        type=natural,
        default=0,
        metavar="N",
        help="bootstrap resamples for an interval (default: 0, no interval; with --paired 1000)",
    )
    add(
        "--paired",
        metavar="OTHER",
        help="another system's output: test the difference by paired bootstrap and "
        "approximate randomization",
    )
    add_seed(add)


# ----------------------------------------------------------------------------------------- ERRANT


def add_pipeline(parser: Parser) -> None:
    """Add which spaCy pipeline annotates."""
    add = parser.add_mutually_exclusive_group().add_argument
    add(
        "--spacy-model",
        metavar="NAME",
        help="spaCy pipeline (default: en_core_web_sm if it is installed, else the one in this "
        "package)",
    )
    add(
        "--require-spacy-model",
        action="store_true",
        help="refuse to work if en_core_web_sm is not installed",
    )


def add_types(add: Add) -> None:
    """Add which error types edits get."""
    add(
        "--types",
        choices=("errant", "ud"),
        default="errant",
        help="error types: ERRANT's, for English, or those of any language with UD tags "
        "(default: errant)",
    )
    add(
        "--words",
        metavar="FILE",
        help="the language's words, one a line; others count as misspelt (--types ud)",
    )


def add_alignment(add: Add) -> None:
    """Add how ERRANT aligns and merges."""
    add("-lev", action="store_true", help="standard Levenshtein alignment")
    add(
        "-merge",
        choices=("rules", "all-split", "all-merge", "all-equal"),
        default="rules",
        help="how to merge aligned tokens into edits (default: rules)",
    )


def add_annotation_output(add: Add) -> None:
    """Add the M2 file that ERRANT's annotators write."""
    add("-out", required=True, metavar="FILE", help="the M2 file to write; - is standard output")


def add_comparison(parser: Parser) -> None:
    """Add what ``errant_compare`` counts as equal and what it shows."""
    add = parser.add_argument
    add_beta(add, 0.5, "-b", kind=number)
    add("-v", "--verbose", action="store_true", help="print the edits of every sentence")
    kind = parser.add_mutually_exclusive_group()
    for option, what in {
        "-dt": "token-based detection",
        "-ds": "span-based detection",
        "-cs": "span-based correction (default)",
        "-cse": "span-based correction, with the error type",
    }.items():
        kind.add_argument(option, action="store_true", help=what)
    add("-single", action="store_true", help="count only edits with at most one token on each side")
    add("-multi", action="store_true", help="count only edits with two or more tokens on a side")
    add("-filt", nargs="+", default=[], metavar="TYPE", help="leave these error types out")
    add(
        "-cat",
        type=int,
        choices=(1, 2, 3),
        help="scores by type: 1 operation (M, R, U), 2 part of speech, 3 both",
    )
