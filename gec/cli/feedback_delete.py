"""``gec feedback delete``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, natural
from gec.cli.feedback_export import add_file

SUMMARY = "Delete stored sentences with their decisions."


def add_options(parser: Parser) -> None:
    add_file(parser.add_argument)
    add = parser.add_mutually_exclusive_group(required=True).add_argument
    add("--id", metavar="ID", help="the sentence that gec feedback list calls ID")
    add("--text", metavar="TEXT", help="all sentences that contain this text; case counts")
    add("--older-than", type=natural, metavar="DAYS", help="all stored more than DAYS days ago")


def run(args: argparse.Namespace) -> None:
    from gec.web.feedback_records import delete

    count = delete(args.file, id=args.id, text=args.text, days=args.older_than)
    print(f"{count} sentence{'' if count == 1 else 's'} deleted")
