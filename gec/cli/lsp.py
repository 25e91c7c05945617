"""``gec lsp``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser
from gec.cli.model_options import add_model_options

SUMMARY = "Check and correct in an editor: the Language Server Protocol."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add("--stdio", action="store_true", help="use standard input and output (the default)")
    add(
        "--tcp",
        type=_address,
        metavar="HOST:PORT",
        help="wait for one editor at an address instead, such as 127.0.0.1:5007",
    )
    add(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="warning",
        help="what to log on standard error; never a text (default: warning)",
    )
    add_model_options(parser)


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isdecimal() and int(port) < 65536):
        raise argparse.ArgumentTypeError(f"an address as HOST:PORT, not {text!r}")
    return host.strip("[]"), int(port)


def run(args: argparse.Namespace) -> int:
    import logging

    from gec.cli.model_options import load_corrector
    from gec.lsp.server import serve

    logging.basicConfig(format="gec: %(levelname)s: %(message)s")
    logging.getLogger("gec").setLevel(args.log_level.upper())
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)  # it would log texts
    return serve(lambda: load_corrector(args), address=args.tcp)
