"""``gec model list``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser

SUMMARY = "List the models that are here or can be fetched."


def add_options(parser: Parser) -> None:
    """Add nothing: the command takes no options."""


def run(args: argparse.Namespace) -> int | None:
    from gec.models.fetch.store import list_main

    return list_main(args)
