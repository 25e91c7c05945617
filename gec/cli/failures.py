"""What is said about an error: one line."""

from __future__ import annotations

import sys

from gec.cli.terminal import say
from gec.errors import GecError


def complain(error: Exception, debug: bool) -> None:
    """Say what went wrong in one line, and with --debug print the traceback above it."""
    if debug and sys.stderr is not None:
        import traceback

        traceback.print_exception(error)
    say("gec: error: " + " ".join(_explain(error).split()))


def _explain(error: Exception) -> str:
    if isinstance(error, GecError):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and error.name:
        from gec.extras import missing

        if error.name.partition(".")[0] == "gec":
            return f"this installation has no {error.name}; install the whole package again"
        return missing(error.name)
    if isinstance(error, OSError):
        return str(error)
    if isinstance(error, MemoryError):
        return "out of memory; try a smaller --batch-size"
    hint = f"{type(error).__name__}: {error}"
    return f"unexpected {hint} (run again with --debug for the traceback, and please report it)"
