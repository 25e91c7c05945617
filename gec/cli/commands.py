"""The commands, in the order of ``gec --help``, and the parser that is made of them.

A command is a file with ``SUMMARY``, ``add_options`` and ``run``; to add one, write the file and
name it here.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from gec import __version__
from gec.cli import (
    batch,
    bench_checkers,
    bench_correct,
    bench_generate,
    bench_lsp,
    bundle,
    calibrate,
    convert,
    correct,
    data_break,
    data_noise,
    data_prepare,
    distill,
    errant_agreement,
    errant_compare,
    errant_m2,
    errant_parallel,
    essays_back,
    essays_lines,
    feedback_delete,
    feedback_export,
    feedback_list,
    generate,
    info,
    leaderboard,
    lsp,
    meta_sentence,
    meta_system,
    model_get,
    model_list,
    model_make,
    model_remove,
    report,
    score_bleu,
    score_chrf,
    score_clean,
    score_cleme,
    score_errant,
    score_exact,
    score_gleu,
    score_gotoscorer,
    score_green,
    score_imeasure,
    score_m2,
    score_pt_errant,
    score_pt_m2,
    score_rates,
    score_rouge,
    score_sari,
    serve,
    train,
)
from gec.cli.arguments import Parser


class Command(Protocol):
    """A command's file."""

    SUMMARY: str

    def add_options(self, parser: Parser) -> None:
        """Add what the command takes."""

    def run(self, args: argparse.Namespace) -> int | None:
        """Do it; return the exit status, None for 0."""


@dataclass(frozen=True, slots=True)
class Group:
    """Commands with a first word in common.

    Attributes:
        usual: the command that is meant if the next word names none; empty if it must name one.
        kind: what the help calls its commands.
    """

    summary: str
    commands: Mapping[str, Command]
    usual: str = ""
    kind: str = "command"


COMMANDS: dict[str, Command | Group] = {
    "correct": correct,
    "batch": batch,
    "generate": generate,
    "info": info,
    "score": Group(
        "Evaluate: numbers equal to the reference tools'.",
        {
            "m2": score_m2,
            "errant": score_errant,
            "gleu": score_gleu,
            "bleu": score_bleu,
            "chrf": score_chrf,
            "rouge": score_rouge,
            "sari": score_sari,
            "green": score_green,
            "cleme": score_cleme,
            "gotoscorer": score_gotoscorer,
            "imeasure": score_imeasure,
            "pt-m2": score_pt_m2,
            "pt-errant": score_pt_errant,
            "rates": score_rates,
            "clean": score_clean,
            "exact": score_exact,
        },
        kind="metric",
    ),
    "errant": Group(
        "Annotate and compare edits as the ERRANT commands do.",
        {
            "parallel": errant_parallel,
            "m2": errant_m2,
            "compare": errant_compare,
            "agreement": errant_agreement,
        },
    ),
    "report": report,
    "leaderboard": leaderboard,
    "meta": Group(
        "Correlate metrics with human judgments.",
        {"system": meta_system, "sentence": meta_sentence},
    ),
    "essays": Group(
        "Turn files of MultiGEC's essays into lines and back.",
        {"lines": essays_lines, "back": essays_back},
    ),
    "bench": Group(
        "Measure decoding: correct (the default) or generate; compare checkers; time gec lsp.",
        {
            "generate": bench_generate,
            "checkers": bench_checkers,
            "lsp": bench_lsp,
            "correct": bench_correct,
        },
        usual="correct",
    ),
    "train": train,
    "distill": distill,
    "data": Group(
        "Prepare training data.",
        {"prepare": data_prepare, "noise": data_noise, "break": data_break},
    ),
    "bundle": bundle,
    "model": Group(
        "Fetch, list and remove models.",
        {"get": model_get, "make": model_make, "list": model_list, "remove": model_remove},
    ),
    "convert": convert,
    "calibrate": calibrate,
    "serve": serve,
    "lsp": lsp,
    "feedback": Group(
        "Use what users accepted and ignored in the editor.",
        {"export": feedback_export, "list": feedback_list, "delete": feedback_delete},
    ),
}
"""Every command by its name."""


def build_parser() -> Parser:
    """Make the parser of all commands and options; docs/cli.md is generated from it."""
    parser = Parser(
        prog="gec",
        description="Grammatical error correction: draft, verify, accept.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gec {__version__}")
    _add(parser, COMMANDS, "command")
    return parser


def _add(parser: Parser, commands: Mapping[str, Command | Group], kind: str) -> None:
    parsers = parser.add_subparsers(title=f"{kind}s", metavar=kind.upper(), required=True)
    for name, command in commands.items():
        summary = command.summary if isinstance(command, Group) else command.SUMMARY
        own = parsers.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        if isinstance(command, Group):
            _add(own, command.commands, command.kind)
            continue
        own.set_defaults(run=command.run)
        own.add_argument("--debug", action="store_true", help="print the traceback of an error")
        command.add_options(own)


def named(arguments: Sequence[str]) -> list[str]:
    """Return a command line in which a group's usual command is named.

    >>> named(["bench", "--quick"])
    ['bench', 'correct', '--quick']
    """
    words = list(arguments)
    group = COMMANDS.get(words[0]) if words else None
    if isinstance(group, Group) and group.usual:
        if words[1:2] and words[1] in {*group.commands, "-h", "--help"}:
            return words
        words.insert(1, group.usual)
    return words
