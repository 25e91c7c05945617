"""``gec score m2``."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterable, Iterator

from gec.errors import ConfigError, DataError, InputError
from gec.eval.metrics.characters import add_setting, by_characters, warn_of_forms
from gec.eval.metrics.m2 import verbose
from gec.eval.metrics.m2.gold_characters import gold_by_characters
from gec.eval.metrics.m2.reading import read_gold, read_hypotheses
from gec.eval.metrics.m2.scoring import (
    Decision,
    Settings,
    check_lengths,
    decide,
    statistics,
    summarize,
)
from gec.eval.metrics.score import as_reference, assessed, once, show, use_utf8, warn
from gec.eval.metrics.statistics import Statistics


def main(args: argparse.Namespace) -> int:
    """``gec score m2 HYP GOLD``; exit status 0.

    Raises:
        ReferenceExit: input that cannot be read or is malformed; m2scorer ends with status 1.
        ConfigError: --json with -v or --very_verbose, or standard input twice.
    """
    if args.json and (args.verbose or args.very_verbose):
        raise ConfigError("--json prints nothing else; leave out -v and --very_verbose")
    once([args.hypothesis, args.gold, args.paired])
    use_utf8()
    settings = Settings(
        args.version, args.max_unchanged_words, args.beta, args.ignore_whitespace_casing
    )
    with as_reference(InputError, DataError):
        hypotheses = read_hypotheses(args.hypothesis)
        gold = read_gold(args.gold)
        check_lengths(hypotheses, gold, names=(args.hypothesis, args.gold))
    if not gold:
        warn(f"{args.hypothesis} and {args.gold} are empty: nothing was scored")
    warn_of_forms(args.gold, [s.source for s in gold], args.hypothesis, hypotheses)
    if args.tokens == "characters":
        hypotheses = [by_characters(line) for line in hypotheses]
        gold = [gold_by_characters(sentence) for sentence in gold]
    decisions = decide(hypotheses, gold, settings)
    score = summarize(_printed(decisions, args), settings)
    if args.tokens != "words":
        signature = add_setting(score.signature, "tokens", args.tokens)
        score = dataclasses.replace(score, signature=signature)
    if args.verbose:
        _print(verbose.total_lines(score))

    def other() -> Statistics:
        with as_reference(InputError, DataError):
            hypotheses = read_hypotheses(args.paired)
            check_lengths(hypotheses, gold, names=(args.paired, args.gold))
        return statistics(summarize(decide(hypotheses, gold, settings), settings))

    significance = assessed(args, lambda: statistics(score), other)
    show(score, as_json=args.json, significance=significance)
    return 0


def _printed(decisions: Iterable[Decision], args: argparse.Namespace) -> Iterator[Decision]:
    """Yield the decisions, and print each one if the options ask for it."""
    for number, decision in enumerate(decisions, start=1):
        if args.very_verbose:
            _print(verbose.lattice_lines(decision))
        if args.verbose:
            _print(verbose.sentence_lines(decision, number, args.beta))
        yield decision


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)
