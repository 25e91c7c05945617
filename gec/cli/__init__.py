"""The command ``gec``: what a command takes and does is in the file that has its name.

``gec score m2`` is gec/cli/score_m2.py; gec/cli/commands.py lists them all. A command's file
imports what it needs in its functions, so that --help is quick.

Exit status: 0 clean; 1 findings (``--check``); 2 usage or runtime error, said in one line on
standard error; 130 after Ctrl-C; 141 when the reader of our output went away. Results go to
standard output, as UTF-8 whatever the locale, everything else to standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from gec.cli.commands import build_parser, named
from gec.cli.console import discard_output
from gec.cli.failures import complain
from gec.cli.status import CLOSED_PIPE, ERROR, INTERRUPTED, OK
from gec.errors import GecError
from gec.memory import reuse_memory

__all__ = ["build_parser", "main", "parse"]


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status; every error becomes one line."""
    arguments = sys.argv[1:] if argv is None else argv
    debug = "--debug" in arguments
    try:
        try:
            args = parse(arguments)
            reuse_memory()
            run: Callable[[argparse.Namespace], int | None] = args.run
            status = run(args) or OK
        except SystemExit as stop:  # --help and --version
            status = stop.code if isinstance(stop.code, int) else OK
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        discard_output()
        return INTERRUPTED
    except BrokenPipeError:
        discard_output()
        return CLOSED_PIPE
    except Exception as error:
        discard_output()
        complain(error, debug)
        return error.status if isinstance(error, GecError) else ERROR


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return what the command line says.

    Raises:
        ConfigError: it is no command line of ours.
    """
    words = named(arguments)
    parser = build_parser(words)
    args, rest = parser.parse_known_args(words)
    if rest:
        take: Callable[[argparse.Namespace, list[str]], bool] | None
        take = getattr(args, "take_rest", None)  # of a command that does not leave all to argparse
        if take is None or not take(args, rest):
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return args
