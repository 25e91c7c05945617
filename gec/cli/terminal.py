"""Standard output and standard error: results go to the one, everything else to the other."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import IO

from gec.errors import InputError


def write(text: str) -> None:
    """Write a result: as UTF-8 whatever the locale says, and no newline translation."""
    if sys.stdout is None:
        raise InputError("standard output is closed")
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def say(message: str) -> None:
    """Write a line to standard error."""
    if sys.stderr is not None:
        print(message, file=sys.stderr, flush=True)


def colour(stream: IO[str] | None) -> bool:
    """Return whether to colour: https://no-color.org, then FORCE_COLOR, then for a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def discard_output() -> None:
    """Point standard output at nothing, or the interpreter's last flush prints a traceback."""
    with suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
