"""``gec feedback export``"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from gec.cli.arguments import Add, Parser
from gec.errors import InputError

SUMMARY = "Write the decided sentences for training."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "--format",
        choices=("m2", "parallel"),
        default="m2",
        help="M2 with the accepted edits, or lines of sentence, tab, corrected sentence "
        "(default: m2)",
    )
    add_output(add)
    add_file(add)


def run(args: argparse.Namespace) -> None:
    from gec.web.feedback_records import export

    write_lines(export(args.file, args.format), args.output)


def add_output(add: Add) -> None:
    """Add --output."""
    add("--output", "-o", default="-", metavar="FILE", help="file to write (default: -, stdout)")


def add_file(add: Add) -> None:
    """Add the file with the feedback."""
    add("file", metavar="FILE.sqlite", help="what gec serve --feedback has written")


def write_lines(lines: Iterator[str], output: str) -> None:
    """Write to a file or standard output; a bad input is found before a file is overwritten."""
    from itertools import chain
    from pathlib import Path

    lines = chain([next(lines, "")], lines)
    if output == "-":
        for line in lines:
            sys.stdout.buffer.write(line.encode())
        return
    try:
        with Path(output).open("w", encoding="utf-8", newline="") as file:
            file.writelines(lines)
    except OSError as error:
        raise InputError(f"{output}: cannot be written ({error.strerror})") from None
