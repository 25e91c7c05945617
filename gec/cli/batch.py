"""``gec batch``"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from gec import __version__
from gec.cli.arguments import Add, Parser, add_batch_size, positive
from gec.cli.console import say
from gec.cli.model_options import (
    add_decoding_options,
    add_model_options,
    check_strategy,
    load_corrector,
    read_dictionary,
)
from gec.errors import ConfigError

if TYPE_CHECKING:
    from gec.batch.blocks import Format
    from gec.batch.journal import Totals
    from gec.correct.corrector import Corrector

SUMMARY = "Correct corpora: lines, JSON Lines, tables, folders of documents."
FORMATS = (
    "lines", "jsonl", "csv", "tsv", "parquet", "plain", "markdown", "rst", "html", "latex", "code",
)  # fmt: skip

_MATTERS = (
    "tokenized", "batch_size", "max_chars", "device", "precision", "setting", "strategy",
    "tolerance", "beam_size", "min_confidence", "max_needless", "rounds", "no_spelling",
)  # fmt: skip
"""The options whose values may change the output."""


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add("inputs", nargs="+", metavar="INPUT", help="a file, a folder, a pattern, a URL, or -")
    add("output", metavar="OUTPUT", help="a file; a folder where there are several inputs; or -")
    _add_formats(parser.add_argument_group("format").add_argument)
    _add_files(parser.add_argument_group("folders").add_argument)
    _add_running(parser.add_argument_group("running").add_argument)
    add_decoding_options(parser.add_argument_group("decoding").add_argument)
    add_model_options(parser)


def _add_formats(add: Add) -> None:
    add("--format", choices=FORMATS, help="form of the input and output (default: by suffix)")
    add("--tokenized", action="store_true", help="texts are tokenized sentences")
    add(
        "--column",
        default="text",
        metavar="NAME",
        help="field or column with the text; with --no-header its number (default: text)",
    )
    add("--output-column", metavar="NAME", help="where to put the corrected text (default: there)")
    add("--edits-column", metavar="NAME", help="where to put the edits, as JSON (default: nowhere)")
    add("--separator", metavar="CHARACTER", help="of columns (default: a comma; in TSV a tab)")
    add("--no-quotes", action="store_true", help='in CSV " is a character like any other')
    add("--no-header", action="store_true", help="the first row of CSV or TSV is data")


def _add_files(add: Add) -> None:
    add(
        "--include",
        action="append",
        metavar="PATTERN",
        help="only files that match, as in .gitignore; may be given several times",
    )
    add(
        "--exclude",
        action="append",
        metavar="PATTERN",
        help="no files that match; may be given several times",
    )


def _add_running(add: Add) -> None:
    add("--resume", action="store_true", help="go on where an interrupted run stood")
    add("--overwrite", action="store_true", help="replace the output of an earlier run")
    add("--strict", action="store_true", help="stop at the first record that fails")
    add(
        "--jobs",
        type=positive,
        default=1,
        metavar="N",
        help="processes, each with a model; on GPUs one each is best (default: 1)",
    )
    add("--engine", choices=("local", "ray"), default="local", help="where to run (default: local)")
    add_batch_size(add)
    add(
        "--block-size",
        type=positive,
        default=2048,
        metavar="N",
        help="records within which like lengths are sorted together and duplicates decoded once; "
        "also the most that an interruption loses, a worker (default: 2048)",
    )
    add(
        "--max-chars",
        type=positive,
        default=1_000_000,
        metavar="N",
        help="leave longer texts as they are (default: 1000000)",
    )
    add("--quiet", action="store_true", help="show no progress")


# ------------------------------------------------------------------------------------ what it does


def run(args: argparse.Namespace) -> int:
    from functools import partial

    from gec.batch.blocks import Size
    from gec.batch.inputs import find
    from gec.batch.pipeline import Plan
    from gec.batch.worker import make_engine

    _check(args)
    about = {"gec": __version__, **_model(args), **{name: getattr(args, name) for name in _MATTERS}}
    tasks = find(args.inputs, args.output, partial(make_format, args),
                 include=args.include or (), exclude=args.exclude or ())  # fmt: skip
    plan = Plan(
        about=about,
        size=Size(records=args.block_size),
        resume=args.resume,
        overwrite=args.overwrite,
        strict=args.strict,
        quiet=args.quiet,
    )
    worker = partial(make_engine, partial(_load_on, args), args.device, args.threads,
                     args.batch_size, args.tokenized, args.max_chars)  # fmt: skip
    if args.engine == "ray":
        from gec.batch.cluster import run_on_ray

        return _report(run_on_ray(tasks, worker, plan, say, jobs=args.jobs), args)
    from gec.batch import pipeline
    from gec.batch.pool import Pool

    pool = Pool(worker, args.jobs)
    try:
        totals = pipeline.run(tasks, pool.run, plan, say)
    finally:
        pool.close()
    return _report(totals, args)


def _model(args: argparse.Namespace) -> dict[str, object]:
    """Describe what makes the output: a run is resumed only with the same."""
    from gec.models.load.bundle import find

    words = read_dictionary(args.dictionary) if args.dictionary else []
    return {"model": _fingerprint(find(args.model)), "dictionary": sorted(words)}


def _fingerprint(folder: Path) -> str:
    """Return a digest of a bundle's files, by which a resumed run refuses another model."""
    from hashlib import blake2b

    digest = blake2b(digest_size=16)
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _load_on(args: argparse.Namespace, device: str | None) -> Corrector:
    """Load for one of several workers, which may be processes."""
    return load_corrector(argparse.Namespace(**{**vars(args), "device": device}))


def make_format(args: argparse.Namespace, suffix: str | None, name: str) -> Format:
    """Return the format that the options name, else the one of ``suffix``, else lines."""
    from gec.batch.text import Columns, JsonLines, Lines

    columns = Columns(args.column, args.output_column, args.edits_column)
    kind = args.format or suffix or "lines"
    if kind == "lines":
        return Lines()
    if kind == "jsonl":
        return JsonLines(columns)
    if kind in ("csv", "tsv"):
        from gec.batch.tables import Table

        separator = args.separator or ("," if kind == "csv" else "\t")
        quotes = kind == "csv" and not args.no_quotes
        return Table(columns, separator, quotes, not args.no_header)
    if kind == "parquet":
        from gec.batch.parquet import Parquet

        return Parquet(columns)
    from gec.batch.documents import Documents

    return Documents(kind, name)


def _check(args: argparse.Namespace) -> None:
    """Refuse contradictory options before a model is loaded."""
    check_strategy(args)
    if args.resume and args.overwrite:
        raise ConfigError("--resume and --overwrite exclude each other")
    if args.resume and args.output == "-":
        raise ConfigError("--resume needs an output file, not standard output")
    separator = args.separator
    if separator is not None and (len(separator.encode()) != 1 or separator in '"\r\n'):
        raise ConfigError(f"--separator must be one ASCII character, not {separator!r}")
    if args.output_column is not None and args.output_column == args.edits_column:
        raise ConfigError("--output-column and --edits-column must differ")
    if args.edits_column == args.column:
        raise ConfigError("--edits-column must not be the column with the text")


def _report(totals: Totals, args: argparse.Namespace) -> int:
    """Print the counts; return 1 if records failed, else 0."""
    say(
        f"gec: records {totals.records:,}, changed {totals.changed:,}, edits {totals.edits:,}, "
        f"failed {totals.failed:,}"
    )
    if totals.failed and args.output != "-":
        where = f"{args.output}{os.sep}*" if Path(args.output).is_dir() else args.output
        say(f"gec: warning: the failed ones are listed in {where}.errors.jsonl")
    return 1 if totals.failed else 0
