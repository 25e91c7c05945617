"""The commands ``gec score``, ``gec errant`` and ``gec report``: options here, work in the modules.

A thin function a command with its import inside, so that ``gec --help`` loads nothing heavy.
Options of a reference tool keep its names.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn

from gec.arguments import (
    Commands,
    Parser,
    add_model_options,
    add_strategy_options,
    command,
    natural,
    not_negative,
    number,
    positive,
)
from gec.eval.metric_options import IMEASURE_LEVELS, IMEASURE_MOST, IMEASURE_OPTIMISED
from gec.eval.metrics.score import ReferenceExit

_HYP = "the system's output, one tokenized sentence a line"
_SYSTEM = "a system's output: tokenized lines, or gec correct --tokenized --format jsonl"
_PIPELINE = (
    "spaCy pipeline (default: en_core_web_sm if it is installed, else the one in this package)"
)


def _run(module: str, function: str = "main") -> Callable[[argparse.Namespace], int | None]:
    """Return a function that imports ``gec.eval.MODULE`` and calls ``function`` when it is run."""

    def run(args: argparse.Namespace) -> int | None:
        called: Callable[[argparse.Namespace], int | None]
        called = getattr(import_module(f"gec.eval.{module}"), function)
        return called(args)

    return run


def add_score(commands: Commands[argparse.ArgumentParser]) -> None:
    summary = "Evaluate: numbers equal to the reference tools'."
    parser = commands.add_parser("score", help=summary, description=summary, allow_abbrev=False)
    metrics = parser.add_subparsers(title="metrics", metavar="METRIC", required=True)
    _add_m2(metrics)
    _add_score_errant(metrics)
    _add_gleu(metrics)
    _add_translation(metrics)
    _add_rouge(metrics)
    _add_sari(metrics)
    _add_green(metrics)
    _add_cleme(metrics)
    _add_gotoscorer(metrics)
    _add_imeasure(metrics)
    _add_pretrained(metrics)
    _add_rates(metrics)
    _add_clean(metrics)
    _add_exact(metrics)


def add_errant(commands: Commands[argparse.ArgumentParser]) -> None:
    summary = "Annotate and compare edits as the ERRANT commands do."
    parser = commands.add_parser("errant", help=summary, description=summary, allow_abbrev=False)
    tools = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_parallel(tools)
    _add_m2_to_m2(tools)
    _add_compare(tools)
    _add_agreement(tools)


def add_report(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        commands, "report", _run("compare.report"), "Write one page about systems on a test set."
    )
    add = parser.add_argument
    add("gold", metavar="GOLD", help="the reference edits, an M2 file")
    add(
        "hypotheses",
        nargs="+",
        metavar="HYP",
        help=_SYSTEM + "; several are compared",
    )
    add("--output", "-o", required=True, metavar="FILE", help="the page to write")
    add(
        "--format",
        choices=("html", "json"),
        help="what to write (default: what the file's ending says, else html)",
    )
    add("--names", metavar="NAMES", help="the systems' names, separated by commas")
    add("--title", metavar="TEXT", help="the page's title (default: the gold file's name)")
    add(
        "--samples",
        type=positive,
        default=1000,
        metavar="N",
        help="bootstrap resamples (default: 1000)",
    )
    add("--seed", type=natural, default=0, metavar="N", help="random seed (default: 0)")
    add("--beta", type=not_negative, default=0.5, metavar="B", help="beta of F (default: 0.5)")
    _add_allow_empty(parser)
    add(
        "--examples",
        type=positive,
        default=10,
        metavar="N",
        help="sentences won and lost that are shown (default: 10)",
    )
    _add_pipeline(parser)


def add_leaderboard(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        commands,
        "leaderboard",
        _run("compare.leaderboard"),
        "Rank systems by several metrics, in clusters that differ significantly.",
    )
    parser.usage = "%(prog)s GOLD HYP HYP [HYP ...] [OPTION ...] [-r FILE [FILE ...]]"
    add = parser.add_argument
    add("gold", metavar="GOLD", help="the reference edits, an M2 file")
    add("hypotheses", nargs="+", metavar="HYP", help=_SYSTEM)
    add(
        "-r",
        "--references",
        nargs="+",
        default=[],
        metavar="FILE",
        help="corrected sentences, one file per set, for gleu, sari and green",
    )
    add(
        "--metrics",
        metavar="NAMES",
        help="metrics, separated by commas (default: m2,errant, with references also gleu,sari)",
    )
    add("--names", metavar="NAMES", help="the systems' names, separated by commas")
    add("--title", metavar="TEXT", help="the title (default: the gold file's name)")
    add("--output", "-o", default="-", metavar="FILE", help="file to write (default: -)")
    add(
        "--format",
        choices=("text", "json", "html"),
        help="what to write (default: what the file's ending says, else text)",
    )
    add(
        "--samples",
        type=natural,
        metavar="N",
        help="resamples (default: 1000, or more if the number of pairs needs more)",
    )
    add("--seed", type=natural, default=0, metavar="N", help="random seed (default: 0)")
    add(
        "--test",
        choices=("randomization", "bootstrap"),
        default="randomization",
        help="approximate randomization or paired bootstrap (default: randomization)",
    )
    add(
        "--alpha",
        type=number,
        default=0.05,
        metavar="P",
        help="level of significance after Holm's adjustment (default: 0.05)",
    )
    add("--beta", type=not_negative, default=0.5, metavar="B", help="beta of F (default: 0.5)")
    add(
        "--jobs",
        type=positive,
        metavar="N",
        help="processes for metrics side by side (default: one a core)",
    )
    _add_allow_empty(parser)
    _add_pipeline(parser)


def _add_allow_empty(parser: argparse.ArgumentParser) -> None:
    help = "take an empty line for a deleted sentence"
    parser.add_argument("--allow-empty", action="store_true", help=help)


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _add_resampling(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
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
    add("--seed", type=natural, default=0, metavar="N", help="random seed (default: 0)")


def _add_pipeline(parser: argparse.ArgumentParser) -> None:
    add = parser.add_mutually_exclusive_group().add_argument
    add("--spacy-model", metavar="NAME", help=_PIPELINE)
    add(
        "--require-spacy-model",
        action="store_true",
        help="refuse to work if en_core_web_sm is not installed",
    )


def _add_tokens(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tokens",
        choices=("words", "characters"),
        default="words",
        help="what counts: words, between blanks, or every Chinese or Japanese character by "
        "itself (default: words)",
    )


def _add_types(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
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


class _M2Parser(Parser):
    """Usage errors have m2scorer's exit status: 255 for a wrong number of files, else 1."""

    def error(self, message: str) -> NoReturn:
        raise ReferenceExit(f"{message} (see '{self.prog} --help')")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        known, rest = super().parse_known_args(args, namespace)
        if options := [argument for argument in rest if argument.startswith("-")]:
            self.error(f"unrecognized arguments: {' '.join(options)}")
        if rest or known.gold is None:
            message = f"two files are needed, HYP and GOLD (see '{self.prog} --help')"
            raise ReferenceExit(message, status=255)
        return known, rest


def _add_m2(metrics: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        metrics, "m2", _run("metrics.m2"), "MaxMatch (Dahlmeier and Ng 2012), as m2scorer."
    )
    parser.__class__ = _M2Parser
    parser.allow_abbrev = True  # as getopt in the original
    add = parser.add_argument
    files = (
        add("hypothesis", metavar="HYP", help=_HYP),
        add("gold", metavar="GOLD", help="source sentences with gold edits, M2"),
    )
    for file in files:
        file.required = False  # _M2Parser counts them
    add(
        "--version",
        choices=("3.2", "2016"),
        default="3.2",
        help="the official scorer to reproduce (default: 3.2, the one of most papers)",
    )
    add(
        "--max_unchanged_words",
        type=int,
        default=2,
        metavar="N",
        help="unchanged words an edit may span (default: 2)",
    )
    add("--beta", type=number, default=0.5, metavar="B", help="beta of F (default: 0.5)")
    add(
        "--ignore_whitespace_casing",
        action="store_true",
        help="drop proposed edits that change only blanks and case",
    )
    add("-v", "--verbose", action="store_true", help="print the edits of every sentence")
    add("--very_verbose", action="store_true", help="print the lattice of every sentence")
    _add_resampling(parser)
    _add_tokens(parser)
    _add_json(parser)


def _add_score_errant(metrics: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        metrics,
        "errant",
        _run("metrics.errant", "score_main"),
        "ERRANT (Bryant et al. 2017): annotate the output, compare with the gold edits.",
    )
    add = parser.add_argument
    add("hypothesis", metavar="HYP", help=_HYP)
    add("gold", metavar="GOLD", help="source sentences with gold edits, M2")
    _add_comparison(parser)
    _add_resampling(parser)
    _add_pipeline(parser)
    _add_types(parser)
    _add_json(parser)


def _add_comparison(parser: argparse.ArgumentParser) -> None:
    """The options that ``errant_compare`` has for what counts as equal and what is shown."""
    add = parser.add_argument
    add("-b", "--beta", type=number, default=0.5, metavar="B", help="beta of F (default: 0.5)")
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


def _add_parallel(tools: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        tools,
        "parallel",
        _run("metrics.errant", "parallel_main"),
        "Annotate the edits between texts and their corrections, as M2.",
    )
    add = parser.add_argument
    add("-orig", required=True, metavar="FILE", help="original sentences, one a line")
    add(
        "-cor",
        required=True,
        nargs="+",
        metavar="FILE",
        help="corrected sentences, one file per set",
    )
    add("-out", required=True, metavar="FILE", help="the M2 file to write; - is standard output")
    add("-tok", action="store_true", help="tokenize the text with spaCy first")
    _add_alignment(parser)
    _add_pipeline(parser)
    _add_types(parser)


def _add_alignment(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-lev", action="store_true", help="standard Levenshtein alignment")
    add(
        "-merge",
        choices=("rules", "all-split", "all-merge", "all-equal"),
        default="rules",
        help="how to merge aligned tokens into edits (default: rules)",
    )


def _add_m2_to_m2(tools: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        tools,
        "m2",
        _run("metrics.errant", "m2_main"),
        "Extract the edits of an M2 file anew, or classify them anew.",
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("-auto", action="store_true", help="extract the edits automatically")
    source.add_argument("-gold", action="store_true", help="keep the edits, classify them anew")
    add = parser.add_argument
    add("m2_file", metavar="FILE", help="an M2 file")
    add("-out", required=True, metavar="FILE", help="the M2 file to write; - is standard output")
    add("-no_min", action="store_true", help="do not minimise the edits' spans (-gold)")
    add("-old_cats", action="store_true", help="keep the types, minimise only (-gold)")
    _add_alignment(parser)
    _add_pipeline(parser)
    _add_types(parser)


def _add_compare(tools: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        tools, "compare", _run("metrics.errant", "compare_main"), "Compare two M2 files."
    )
    parser.allow_abbrev = True  # as argparse does in the original
    add = parser.add_argument
    add("-hyp", required=True, metavar="FILE", help="the system's edits, M2")
    add("-ref", required=True, metavar="FILE", help="the reference edits, M2")
    _add_comparison(parser)
    _add_resampling(parser)
    _add_json(parser)


def _add_agreement(tools: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        tools,
        "agreement",
        _run("metrics.errant", "agreement_main"),
        "Measure how far two annotations of the same corrections agree.",
    )
    add = parser.add_argument
    add("first", metavar="FIRST", help="an M2 file")
    add("second", metavar="SECOND", help="another annotation of the same sentences and corrections")
    add(
        "--top",
        type=natural,
        default=20,
        metavar="N",
        help="show the N most frequent differences of type (default: 20)",
    )
    _add_json(parser)


def _add_gleu(metrics: Commands[argparse.ArgumentParser]) -> None:
    parser = command(metrics, "gleu", _run("metrics.gleu"), "GLEU (Napoles et al. 2015, 2016).")
    parser.usage = "%(prog)s HYP [HYP ...] -s FILE -r FILE [FILE ...] [OPTION ...]"
    add = parser.add_argument
    add("hypotheses", nargs="*", metavar="HYP", help=_HYP)
    add(
        "-r",
        "--references",
        "--ref",
        nargs="+",
        required=True,
        metavar="FILE",
        help="corrected sentences, one file per set",
    )
    add("-s", "--source", "--src", required=True, metavar="FILE", help="the original sentences")
    add("--hyp", nargs="+", default=[], metavar="FILE", help="the same as HYP")
    add("-n", type=positive, default=4, metavar="N", help="longest n-gram (default: 4)")
    add(
        "--iter", type=positive, default=500, metavar="N", help="number of samplings (default: 500)"
    )
    add(
        "--sent",
        action="store_true",
        help="score every sentence (with one reference, only --json shows more than the first)",
    )
    add(
        "--sampling",
        choices=("python2", "python3"),
        default="python2",
        help="random numbers that choose references (default: python2, as in published results)",
    )
    _add_resampling(parser)
    _add_tokens(parser)
    _add_json(parser)


def _add_translation(metrics: Commands[argparse.ArgumentParser]) -> None:
    for name, what in {"bleu": "BLEU", "chrf": "chrF"}.items():
        parser = command(
            metrics,
            name,
            _run("metrics.translation", f"{name}_main"),
            f"{what}, computed by sacrebleu.",
        )
        add = parser.add_argument
        add("hypothesis", metavar="HYP", help="detokenized output, one segment a line")
        add("references", nargs="+", metavar="REF", help="reference translations, one file per set")
        if name == "bleu":
            add(
                "--tokenize",
                choices=("none", "zh", "13a", "intl", "char"),
                default="13a",
                help="sacrebleu's tokenization (default: 13a)",
            )
            add("--lowercase", action="store_true", help="lower-case both sides")
        else:
            add(
                "--word-order",
                type=natural,
                default=0,
                metavar="N",
                help="2 is chrF++ (default: 0)",
            )
        _add_resampling(parser)
        _add_json(parser)


def _add_rouge(metrics: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        metrics, "rouge", _run("metrics.summarization"), "ROUGE, computed by rouge-score."
    )
    add = parser.add_argument
    add("hypothesis", metavar="HYP", help="summaries, one a line")
    add(
        "references", nargs="+", metavar="REF", help="references, one file per set; the best counts"
    )
    add("--no-stemmer", action="store_true", help="do not stem (default: Porter stemmer)")
    add("--separator", metavar="TEXT", help="text between a summary's sentences (for rougeLsum)")
    _add_resampling(parser)
    _add_json(parser)


def _add_sari(metrics: Commands[argparse.ArgumentParser]) -> None:
    parser = command(metrics, "sari", _run("metrics.sari"), "SARI (Xu et al. 2016), as EASSE.")
    parser.usage = "%(prog)s HYP -s FILE -r FILE [FILE ...] [OPTION ...]"  # -r takes all after it
    add = parser.add_argument
    add("hypothesis", metavar="HYP", help="simplified sentences, one a line")
    add(
        "-r",
        "--references",
        nargs="+",
        required=True,
        metavar="FILE",
        help="references, one file per set",
    )
    add("-s", "--source", required=True, metavar="FILE", help="the original sentences")
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
    _add_resampling(parser)
    _add_json(parser)


def _add_green(metrics: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        metrics,
        "green",
        _run("metrics.green"),
        "GREEN, an F-score over n-grams (Koyama et al. 2024).",
    )
    parser.usage = "%(prog)s HYP -s FILE -r FILE [FILE ...] [OPTION ...]"
    add = parser.add_argument
    add("hypothesis", metavar="HYP", help=_HYP)
    add(
        "-r",
        "--references",
        nargs="+",
        required=True,
        metavar="FILE",
        help="corrected sentences, one file per set",
    )
    add("-s", "--source", required=True, metavar="FILE", help="the original sentences")
    add("-n", type=positive, default=4, metavar="N", help="longest n-gram (default: 4)")
    add("--beta", type=not_negative, default=2.0, metavar="B", help="beta of F (default: 2)")
    add(
        "--unit",
        choices=("word", "char"),
        default="word",
        help="n-grams of words or of characters (default: word)",
    )
    _add_allow_empty(parser)
    _add_resampling(parser)
    _add_json(parser)


_EDITS = f"{_HYP}; or its edits, a file whose name ends in .m2"


def _add_cleme(metrics: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        metrics,
        "cleme",
        _run("metrics.cleme"),
        "CLEME, chunks with shared borders (Ye et al. 2023).",
    )
    add = parser.add_argument
    add("hypothesis", metavar="HYP", help=_EDITS)
    add("gold", metavar="GOLD", help="source sentences with reference edits, M2")
    add(
        "--assumption",
        choices=("dependent", "independent"),
        default="dependent",
        help="compare with one reference at a time, or with all at each chunk (default: dependent)",
    )
    add(
        "--level",
        choices=("corpus", "sentence"),
        default="corpus",
        help="scores of the corpus, or means over sentences (default: corpus)",
    )
    add("--unweighted", action="store_true", help="do not weigh chunks by their length")
    add("--beta", type=not_negative, default=0.5, metavar="B", help="beta of F (default: 0.5)")
    _add_allow_empty(parser)
    _add_resampling(parser)
    _add_pipeline(parser)
    _add_json(parser)


def _add_gotoscorer(metrics: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        metrics,
        "gotoscorer",
        _run("metrics.gotoscorer"),
        "GoToScorer: errors weighed by how few systems correct them (Gotou et al. 2020).",
    )
    parser.usage = "%(prog)s HYP [HYP ...] GOLD [OPTION ...]"
    add = parser.add_argument
    add("hypotheses", nargs="+", metavar="HYP", help=_EDITS)
    add("gold", metavar="GOLD", help="source sentences with reference edits, M2")
    add(
        "--annotator",
        type=natural,
        default=0,
        metavar="N",
        help="whose edits are the reference (default: 0)",
    )
    weights = parser.add_mutually_exclusive_group()
    weights.add_argument(
        "--weights", metavar="FILE", help="difficulty measured before, a file of the authors' form"
    )
    weights.add_argument("--unweighted", action="store_true", help="count every chunk as 1")
    add("--write-weights", metavar="FILE", help="write the difficulty to a file")
    add("--difficulty", action="store_true", help="print the mean weight of every error type")
    _add_allow_empty(parser)
    _add_resampling(parser)
    _add_pipeline(parser)
    _add_json(parser)


def _add_imeasure(metrics: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        metrics,
        "imeasure",
        _run("metrics.imeasure"),
        "The I-measure, improvement over the source (Felice and Briscoe 2015).",
    )
    add = parser.add_argument
    add("hypothesis", metavar="HYP", help=_HYP)
    add("gold", metavar="GOLD", help="source sentences with reference edits, M2")
    add("--no-mix", action="store_true", help="do not mix the edits of different annotators")
    add(
        "--optimise",
        choices=IMEASURE_OPTIMISED,
        default="cwacc",
        help="what the best reference has most of: c or d (correction, detection) "
        "and the score (default: cwacc)",
    )
    add(
        "--level",
        choices=IMEASURE_LEVELS,
        default="sent",
        help="choose references by the sentence alone or by the running totals (default: sent)",
    )
    add("--beta", type=not_negative, default=1.0, metavar="B", help="beta of F (default: 1)")
    add(
        "--weight",
        type=not_negative,
        default=2.0,
        metavar="W",
        help="weight of corrections in weighted accuracy (default: 2)",
    )
    add(
        "--most",
        type=positive,
        default=IMEASURE_MOST,
        metavar="N",
        help=f"mixtures of a sentence's edits that are tried at most (default: {IMEASURE_MOST})",
    )
    _add_allow_empty(parser)
    _add_resampling(parser)
    _add_json(parser)


def _add_pretrained(metrics: Commands[argparse.ArgumentParser]) -> None:
    for base, what in {"m2": "M2", "errant": "ERRANT"}.items():
        parser = command(
            metrics,
            f"pt-{base}",
            _run("metrics.pretrained", f"{base}_main"),
            f"PT-{what}, {what} with edits weighed by BERTScore (Gong et al. 2022).",
        )
        add = parser.add_argument
        add("hypothesis", metavar="HYP", help=_HYP if base == "m2" else _EDITS)
        add("gold", metavar="GOLD", help="source sentences with reference edits, M2")
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
        add("--beta", type=not_negative, default=0.5, metavar="B", help="beta of F (default: 0.5)")
        if base == "m2":
            add(
                "--version",
                choices=("3.2", "2016"),
                default="2016",
                help="whose edits: of m2scorer 3.2 or of 2016, as the authors' (default: 2016)",
            )
        else:
            _add_pipeline(parser)
        _add_allow_empty(parser)
        _add_resampling(parser)
        _add_json(parser)


def _add_rates(metrics: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        metrics,
        "rates",
        _run("metrics.rates", "rates_main"),
        "Success and over-correction by error type, with Holm's adjustment.",
    )
    add = parser.add_argument
    add("hypothesis", metavar="HYP", help=_EDITS)
    add("gold", metavar="GOLD", help="source sentences with ERRANT's edits, M2")
    add("--category", action="store_true", help="M:DET, R:DET and U:DET are one type, DET")
    _add_allow_empty(parser)
    _add_resampling(parser)
    _add_pipeline(parser)
    _add_json(parser)


def _add_clean(metrics: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        metrics,
        "clean",
        _run("metrics.clean"),
        "Needless changes of correct text, per 1,000 words.",
    )
    add = parser.add_argument
    add("hypothesis", metavar="HYP", help=_HYP)
    add("source", metavar="SOURCE", help="the correct sentences that the system got")
    _add_allow_empty(parser)
    _add_resampling(parser)
    _add_json(parser)


def _add_exact(metrics: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        metrics,
        "exact",
        _run("metrics.exact"),
        "Count the sentences that come out exactly as accepted.",
    )
    add = parser.add_argument
    files = "one sentence a line, then its accepted corrections after tabs; none if it is correct"
    add("files", nargs="+", metavar="FILE", help=files)
    add(
        "--misses",
        action="store_true",
        help="print every sentence that came out in no accepted form",
    )
    add_strategy_options(parser)
    add_model_options(parser)
