"""``gec feedback list``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser
from gec.cli.feedback_export import add_file, add_output, write_lines

SUMMARY = "Write all that is stored, with ids, as JSON Lines."


def add_options(parser: Parser) -> None:
    add_output(parser.add_argument)
    add_file(parser.add_argument)


def run(args: argparse.Namespace) -> None:
    from gec.web.feedback_records import listed

    write_lines(listed(args.file), args.output)
