"""``gec correct``"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gec.cli.arguments import Parser, add_batch_size
from gec.cli.console import colour, say, write
from gec.cli.failures import complain
from gec.cli.model_options import (
    add_decoding_options,
    add_model_options,
    check_strategy,
    load_corrector,
)
from gec.cli.status import ERROR, FINDINGS, OK
from gec.errors import ConfigError, GecError

if TYPE_CHECKING:
    from gec.check.findings import Check
    from gec.correct.corrector import Corrector
    from gec.correct.result import Correction
    from gec.files import Document

SUMMARY = "Correct text."
_AT_THE_END = ("json", "sarif", "junit")
"""Formats that are one document for all files."""
_NOT_LEARNING = (
    "format", "tokenized", "baseline", "write_baseline", "no_spelling", "summary", "trace", "time",
    "setting", "strategy", "tolerance", "rounds", "beam_size", "min_confidence", "max_needless",
    "batch_size",
)  # fmt: skip
"""Options that ask for findings, or say how to find them: --learn has none."""
_DEFAULTS = {"strategy": "iad", "batch_size": 32}


def add_options(parser: Parser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="UTF-8 text (default: standard input, as is -); with --check also folders, patterns",
    )
    _add_output(parser)
    _add_checks(parser)
    _add_reports(parser)
    add = parser.add_argument_group("decoding").add_argument
    add_decoding_options(add)
    add_batch_size(add)
    add_model_options(parser)


def _add_output(parser: Parser) -> None:
    add = parser.add_argument_group("output (default: the corrected text)").add_argument
    add("--diff", action="store_true", help="print the changes as git diff does")
    add("--in-place", action="store_true", help="rewrite the files that need a correction")
    add("--check", action="store_true", help="exit with 1 if there is anything to correct")
    formats = ("text", "json", "jsonl", "m2", "sarif", "github", "junit")
    add("--format", choices=formats, help="format of the result (default: text)")
    add("--tokenized", action="store_true", help="read and write one tokenized sentence per line")
    add(
        "--essays", action="store_true", help="read and write MultiGEC's essays (### essay_id = ID)"
    )


def _add_checks(parser: Parser) -> None:
    add = parser.add_argument_group("checks (--check)").add_argument
    add(
        "--config",
        metavar="FILE",
        help="TOML file with the table [tool.gec] (default: the nearest pyproject.toml)",
    )
    add("--baseline", metavar="FILE", help="file of known findings, which do not count")
    add("--write-baseline", action="store_true", help="write the present findings to the baseline")
    add(
        "--learn",
        action="store_true",
        help="instead, add the words that recur in the files, and are no misspellings, to the "
        "project's dictionary; with --diff only show what would be added",
    )


def _add_reports(parser: Parser) -> None:
    add = parser.add_argument_group("reports on standard error").add_argument
    add("--summary", action="store_true", help="print the edits as a table")
    add("--trace", action="store_true", help="show in colour which tokens each pass decided")
    add("--time", action="store_true", help="print the milliseconds that each sentence took")


# ------------------------------------------------------------------------------------ what it does


def run(args: argparse.Namespace) -> int:
    from gec.files import read_document

    _check_options(args)
    if args.learn:
        return _learn(args)
    check = _begin_check(args) if args.check else None
    corrector: Corrector | None = None
    collected: list[tuple[str, Correction]] = []
    status = OK
    for name in args.files:
        try:
            document = read_document(name)
        except GecError as error:
            complain(error, args.debug)
            status = ERROR
            continue
        corrector = corrector or load_corrector(args)  # once, and a missing bundle ends the command
        try:
            if check:
                parts, whole = check.correct(corrector, document)
            else:
                parts = _correct_document(corrector, document, args)
                whole = _join(parts)
            if args.in_place:
                _rewrite(document, whole)
        except Exception as error:
            complain(error, args.debug)
            status = ERROR
            continue
        if args.format in _AT_THE_END:
            collected.append((name, whole))
        elif not (args.in_place or args.write_baseline):
            write(_render(document, parts, whole, args))
        _print_reports(name, whole, args)
    if args.format in _AT_THE_END and not args.write_baseline:
        from gec.output import formats

        write(getattr(formats, f"to_{args.format}")(collected))
    if check:
        found, said = check.end()
        for line in said:
            say(line)
        return status or (FINDINGS if found else OK)
    return status


def _check_options(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other rather than ignore one of them."""
    from gec.decoding.strategies import parse, promise

    if args.in_place:
        if not args.files or "-" in args.files:
            raise ConfigError("--in-place needs files, not standard input")
        for option in ("diff", "check", "format"):
            if getattr(args, option):
                raise ConfigError(f"--in-place and --{option} exclude each other")
    if args.diff and args.format not in (None, "text"):
        raise ConfigError(f"--diff and --format {args.format} exclude each other")
    if args.essays:
        for option in ("tokenized", "check"):
            if getattr(args, option):
                raise ConfigError(f"--essays and --{option} exclude each other")
    check_strategy(args)
    if args.trace and promise(*parse(args.strategy)) == "beam":
        raise ConfigError(f"--trace shows greedy and iad decoding, not --strategy {args.strategy}")
    for option in ("config", "baseline", "write_baseline", "learn"):
        if getattr(args, option) and not args.check:
            raise ConfigError(f"--{option.replace('_', '-')} belongs to --check")
    for option in _NOT_LEARNING if args.learn else ():
        value = getattr(args, option)
        if value is not None and value is not False and value != _DEFAULTS.get(option):
            raise ConfigError(f"--learn and --{option.replace('_', '-')} exclude each other")
    if args.format == "junit" and not args.check:
        raise ConfigError("--format junit belongs to --check")
    if not args.check:
        args.files = args.files or ["-"]
    if args.files.count("-") > 1:
        raise ConfigError("standard input (-) can be read only once")


def _begin_check(args: argparse.Namespace) -> Check:
    """Make the check, and take from the project what the command line leaves open."""
    from gec.check.findings import begin, load_options

    check = begin(args)
    args.files = check.files
    for name, value in load_options(check).items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    return check


def _learn(args: argparse.Namespace) -> int:
    """Add to the project's dictionary what its files use as words."""
    from gec.check.findings import find_files
    from gec.check.learn import Lesson, Vocabulary, dictionary_of
    from gec.check.project import find_project
    from gec.check.wordfiles import read_words
    from gec.files import read_document
    from gec.loading import load_speller

    project = find_project(args.config)
    dictionary, settings = dictionary_of(project, args.dictionary)
    files = find_files(args.files, project)
    if not args.files and files == ["-"]:
        raise ConfigError("--learn needs files or folders, or paths in [tool.gec]")
    own = read_words(str(dictionary)) if dictionary.exists() else []
    vocabulary = Vocabulary(load_speller(args.model), own)
    status = OK
    for name in files:
        try:
            ignored = project.rules_of(name).ignored_words
            vocabulary.read(read_document(name).text, name, ignored)
        except GecError as error:
            complain(error, args.debug)
            status = ERROR
    lesson = Lesson(dictionary, settings, vocabulary.terms())
    if args.diff:
        write(lesson.diff(project.root))
    else:
        lesson.write()
        write(lesson.report())
    say(f"gec: {lesson.summary('to add' if args.diff else 'added')}")
    return status


def _correct_document(
    corrector: Corrector, document: Document, args: argparse.Namespace
) -> list[str | Correction]:
    """The document's pieces in order: one Correction, or with --tokenized one a line."""
    if args.essays:
        return _correct_essays(corrector, document, args)
    if not args.tokenized:
        return list(corrector.correct_many([document.text], batch_size=args.batch_size))
    from gec.documents.prose import correct_lines

    return correct_lines(corrector, document.text, batch_size=args.batch_size)


def _correct_essays(
    corrector: Corrector, document: Document, args: argparse.Namespace
) -> list[str | Correction]:
    """The lines before each essay as they are, and the essays corrected."""
    from gec.documents.essays import pieces

    cut = pieces(document.text, document.name)
    parts: list[str | Correction] = [*cut]
    parts[1::2] = corrector.correct_many(cut[1::2], batch_size=args.batch_size)
    return parts


def _join(parts: list[str | Correction]) -> Correction:
    from gec.correct.result import join

    return parts[0] if len(parts) == 1 and not isinstance(parts[0], str) else join(parts)


def _render(
    document: Document,
    parts: list[str | Correction],
    whole: Correction,
    args: argparse.Namespace,
) -> str:
    plain = args.format == "text" or (args.format is None and not args.check)
    if plain and not args.diff:
        return document.bom + whole.text
    from gec.correct.result import join
    from gec.output import formats

    name = document.name
    if args.diff:
        return formats.to_diff(name, join([document.bom, whole]), colour(sys.stdout))
    if args.format == "jsonl":
        numbered = _numbered(parts) if args.tokenized else [(1, whole)]
        return "".join(formats.to_jsonl(name, part, line) for line, part in numbered)
    if args.format == "m2":
        return "".join(formats.to_m2(part) for part in parts if not isinstance(part, str))
    if args.format == "github":
        return formats.to_github(name, whole)
    return formats.to_findings(name, whole)


def _numbered(parts: list[str | Correction]) -> Iterator[tuple[int, Correction]]:
    """The corrections of a tokenized document with their line numbers (parts: line, end, ...)."""
    for index, part in enumerate(parts):
        if not isinstance(part, str):
            yield index // 2 + 1, part


def _rewrite(document: Document, correction: Correction) -> None:
    from gec.files import write_in_place

    write_in_place(document.name, document.bom + correction.text)


def _print_reports(name: str, correction: Correction, args: argparse.Namespace) -> None:
    """What the user asked to be told besides the result."""
    if not (correction.warnings or args.summary or args.trace or args.time):
        return
    from gec.output.formats import label, to_summary, to_timing

    where = label(name)
    for warning in correction.warnings:
        say(f"gec: warning: {where}: {warning}")
    if args.summary:
        say(to_summary(name, correction).rstrip("\n"))
    if args.trace:
        coloured = colour(sys.stderr)
        for trace in correction.trace:
            say(trace.render(coloured))
    if args.time:
        say(to_timing(name, correction).rstrip("\n"))
