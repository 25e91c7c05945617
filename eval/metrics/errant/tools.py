"""The commands of ``gec errant``, and ``gec score errant``.

They write what ``errant_parallel``, ``errant_m2`` and ``errant_compare`` of ERRANT 3.0.2 write.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from gec.errors import ConfigError, DataError, InputError
from gec.eval.metrics.errant.annotator import Annotator, Merge
from gec.eval.metrics.errant.blocks import Block, outside, read_blocks
from gec.eval.metrics.errant.comparison import TITLES, compare, statistics
from gec.eval.metrics.errant.two_annotations import agreement
from gec.eval.metrics.errant.writing import parallel, reannotate
from gec.eval.metrics.pipeline import chosen_pipeline
from gec.eval.metrics.score import (
    as_reference,
    assessed,
    check_parallel,
    once,
    read_lines,
    show,
    use_utf8,
    warn,
    warn_of_outside,
    write_text,
)

VERSION = "3.0.2"  # of errant_compare


def parallel_main(args: argparse.Namespace) -> int:
    """``gec errant parallel -orig FILE -cor FILE [FILE ...] -out FILE``"""
    once([args.orig, *args.cor])
    files = [(name, read_lines(name)) for name in (args.orig, *args.cor)]
    check_parallel(files)
    annotator = _annotator(args)
    (_, sources), *cors = files
    write_text(args.out, parallel(sources, [c for _, c in cors], annotator, tokenize=args.tok))
    return 0


def m2_main(args: argparse.Namespace) -> int:
    """``gec errant m2 -auto|-gold FILE -out FILE``"""
    blocks = read_blocks(args.m2_file)
    warn_of_outside(args.m2_file, outside(blocks))
    annotator = _annotator(args, types=not args.old_cats)
    options = {"gold": args.gold, "minimise": not args.no_min, "keep_types": args.old_cats}
    try:
        write_text(args.out, reannotate(blocks, annotator, **options))
    except DataError as error:
        raise DataError(f"{args.m2_file}: {error}") from error
    return 0


def compare_main(args: argparse.Namespace) -> int:
    """``gec errant compare -hyp FILE -ref FILE``

    Raises:
        ReferenceExit: input on which errant_compare ends with status 1.
    """
    _check_options(args)
    once([args.hyp, args.ref, args.paired])
    with as_reference(DataError):  # a file that cannot be read stays an InputError
        hypothesis, reference = (read_blocks(name, strict=False) for name in (args.hyp, args.ref))
    warn_of_outside(args.hyp, outside(hypothesis))
    warn_of_outside(args.ref, outside(reference))
    with as_reference(InputError, ConfigError):
        compare_files(
            args,
            hypothesis,
            reference,
            {"version": VERSION},
            other=lambda: read_blocks(args.paired, strict=False),
        )
    return 0


def compare_files(
    args: argparse.Namespace,
    hypothesis: Sequence[Block],
    reference: Sequence[Block],
    how: Mapping[str, object] | None = None,
    *,
    other: Callable[[], Sequence[Block]],
) -> None:
    """Compare edits with the options of a command line and print the score.

    Args:
        other: reads the edits of the system that ``--paired`` names.

    Raises:
        ConfigError: --json together with -v or -cat.
        InputError, ConfigError: see :func:`compare`.
    """
    _check_options(args)
    use_utf8()
    counted = partial(
        compare,
        reference=reference,
        mode=next((mode for mode in TITLES if getattr(args, mode)), "cs"),
        beta=args.beta,
        single=args.single,
        multi=args.multi,
        filt=args.filt,
        how=how,
    )
    score = counted(hypothesis, verbose=print if args.verbose else None)
    _warn_of_other_sentences(hypothesis, reference)
    if args.cat:
        print(score.table(args.cat))
    significance = assessed(args, lambda: statistics(score), lambda: statistics(counted(other())))
    show(score, as_json=args.json, significance=significance)


def _check_options(args: argparse.Namespace) -> None:
    if args.json and (args.verbose or args.cat):
        raise ConfigError("--json holds every type and sentence already; leave out -v and -cat")


def _warn_of_other_sentences(hypothesis: Sequence[Block], reference: Sequence[Block]) -> None:
    for ours, theirs in zip(hypothesis, reference, strict=True):
        if ours.sentence.split() != theirs.sentence.split():
            warn(
                f"different sentences are compared, first {ours.sentence[:60]!r} (line {ours.line})"
                f" with {theirs.sentence[:60]!r} (line {theirs.line})"
            )
            return


def score_main(args: argparse.Namespace) -> int:
    """``gec score errant HYP GOLD.m2``: annotate the output, then compare the edits."""
    once([args.gold, args.hypothesis, args.paired])
    gold = read_blocks(args.gold)
    hypotheses = read_lines(args.hypothesis)
    sources = [block.sentence for block in gold]
    check_parallel([(args.gold, sources), (args.hypothesis, hypotheses)])
    warn_of_outside(args.gold, outside(gold))
    annotator = _annotator(args, types=bool(args.cse or args.cat or args.filt))

    def other() -> list[Block]:
        lines = read_lines(args.paired)
        check_parallel([(args.gold, sources), (args.paired, lines)])
        return annotator.blocks(sources, lines)

    ours = annotator.blocks(sources, hypotheses)
    compare_files(args, ours, gold, annotator.settings, other=other)
    return 0


def agreement_main(args: argparse.Namespace) -> int:
    """``gec errant agreement FIRST SECOND [--top N]``"""
    found = agreement(read_blocks(args.first), read_blocks(args.second))
    show(found, as_json=args.json)
    if not args.json:
        for first, second, count in found.confusions[: args.top]:
            print(f"{count:6d}  {first} -> {second}")
    return 0


def _annotator(args: argparse.Namespace, *, types: bool = True) -> Annotator:
    if args.types == "ud":
        from gec.eval.metrics.errant.universal import universal_annotator

        return universal_annotator(args)
    if args.words is not None:
        raise ConfigError("--words belongs to --types ud; ERRANT has its own list")
    lev: bool = getattr(args, "lev", False)
    merge: Merge = getattr(args, "merge", "rules")
    return Annotator(chosen_pipeline(args, types=types), lev=lev, merge=merge)
