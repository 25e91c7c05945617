"""The options of ``gec batch``, and the run that they describe.

This module imports nothing heavy at the top.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gec import __version__
from gec.arguments import (
    Commands,
    add_decoding_options,
    add_model_options,
    check_strategy,
    command,
    positive,
)
from gec.errors import ConfigError

if TYPE_CHECKING:
    from gec.batch.blocks import Correct, Format
    from gec.batch.output import Totals
    from gec.correct.corrector import Corrector

FORMATS = (
    "lines", "jsonl", "csv", "tsv", "parquet", "plain", "markdown", "rst", "html", "latex", "code",
)  # fmt: skip

_MATTERS = (
    "tokenized", "batch_size", "max_chars", "device", "precision", "setting", "strategy",
    "tolerance", "beam_size", "min_confidence", "no_spelling",
)  # fmt: skip
"""The options whose values may change the output."""

Run = Callable[[argparse.Namespace], int | None]


def add_batch(commands: Commands[argparse.ArgumentParser], run: Run) -> None:
    """Add the command ``gec batch`` with its options; ``run`` runs it."""
    parser = command(
        commands, "batch", run, "Correct corpora: lines, JSON Lines, tables, folders of documents."
    )
    add = parser.add_argument
    add("inputs", nargs="+", metavar="INPUT", help="a file, a folder, a pattern, a URL, or -")
    add("output", metavar="OUTPUT", help="a file; a folder where there are several inputs; or -")
    _add_formats(parser.add_argument_group("format"))
    _add_files(parser.add_argument_group("folders"))
    _add_running(parser.add_argument_group("running"))
    add_decoding_options(parser.add_argument_group("decoding"))
    add_model_options(parser)


def _add_formats(group: argparse._ActionsContainer) -> None:
    add = group.add_argument
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


def _add_files(group: argparse._ActionsContainer) -> None:
    add = group.add_argument
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


def _add_running(group: argparse._ActionsContainer) -> None:
    add = group.add_argument
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
    add("--batch-size", type=positive, default=32, metavar="N",
        help="sentences decoded together (default: 32)")  # fmt: skip
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


# --------------------------------------------------------------------------------- what they mean


def main(args: argparse.Namespace, load: Callable[..., Corrector], model: Mapping[str, Any]) -> int:
    """Run ``gec batch`` and return the exit status: 1 if records failed, else 0.

    ``load(device=..., threads=...)`` makes a corrector, in any process. ``model`` describes that
    corrector: a run can be resumed only with the same description.
    """
    from gec.batch.blocks import Size
    from gec.batch.inputs import find
    from gec.batch.pipeline import Plan, run

    _check(args)
    tasks = find(args.inputs, args.output, partial(make_format, args),
                 include=args.include or (), exclude=args.exclude or ())  # fmt: skip
    about = {
        "gec": __version__,
        **model,
        **{name: getattr(args, name) for name in _MATTERS},
    }
    plan = Plan(
        about=about,
        size=Size(records=args.block_size),
        resume=args.resume,
        overwrite=args.overwrite,
        strict=args.strict,
        quiet=args.quiet,
    )
    worker = partial(make_engine, load, args.device, args.threads, args.batch_size,
                     args.tokenized, args.max_chars)  # fmt: skip
    if args.engine == "ray":
        from gec.batch.cluster import run_on_ray

        totals = run_on_ray(tasks, worker, plan, _say, jobs=args.jobs)
    else:
        from gec.batch.pool import Pool

        pool = Pool(worker, args.jobs)
        try:
            totals = run(tasks, pool.run, plan, _say)
        finally:
            pool.close()
    return _report(totals, args)


def fingerprint(folder: Path) -> str:
    """Return a digest of a bundle's files, by which a resumed run refuses another model."""
    digest = blake2b(digest_size=16)
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(path.read_bytes())
    return digest.hexdigest()


def make_engine(
    load: Callable[..., Corrector],
    device: str | None,
    threads: int | None,
    batch_size: int,
    tokenized: bool,
    max_chars: int,
    number: int = 0,
    jobs: int = 1,
) -> Correct:
    """Return worker ``number`` of ``jobs``, with its share of the cores and of the GPUs."""
    import torch

    from gec.batch.engine import Engine
    from gec.memory import reuse_memory

    reuse_memory()
    if threads is None and jobs > 1:
        threads = max(1, (os.cpu_count() or 1) // jobs)
    if threads is not None:
        torch.set_num_threads(threads)
    gpus = torch.cuda.device_count()
    if jobs > 1 and gpus and device in (None, "cuda"):
        device = f"cuda:{number % gpus}"
    return Engine(load(device=device), batch_size, tokenized, max_chars)


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
    _say(
        f"gec: records {totals.records:,}, changed {totals.changed:,}, edits {totals.edits:,}, "
        f"failed {totals.failed:,}"
    )
    if totals.failed and args.output != "-":
        where = f"{args.output}{os.sep}*" if Path(args.output).is_dir() else args.output
        _say(f"gec: warning: the failed ones are listed in {where}.errors.jsonl")
    return 1 if totals.failed else 0


def _say(message: str) -> None:
    if sys.stderr is not None:
        print(message, file=sys.stderr, flush=True)
