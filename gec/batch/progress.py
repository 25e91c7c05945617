"""The progress of a run: one line that is rewritten on a terminal, or a line at times in a log."""

from __future__ import annotations

import sys
import time
from typing import IO

SECONDS_A_LINE = 10.0
SECONDS_A_REWRITE = 0.2
_BAR = 20


class Progress:
    """Shows the records done, the share of the input, records a second and the time left.

    The share and the time left count bytes, and are shown only if the size of the input is known.
    """

    def __init__(self, total: int | None, stream: IO[str] | None, *, quiet: bool = False) -> None:
        self._total = total
        self._stream = None if quiet else stream
        self._terminal = bool(stream and stream.isatty())
        self._began = self._said = time.monotonic()
        self._before = 0

    def skipped(self, done: int) -> None:
        """Note the bytes that an earlier run did, which say nothing about this run's speed."""
        self._before = max(self._before, done)

    def show(self, records: int, done: int) -> None:
        """Show the progress, if it is time: ``records`` of this run, ``done`` bytes of input."""
        now = time.monotonic()
        if now - self._said >= (SECONDS_A_REWRITE if self._terminal else SECONDS_A_LINE):
            self._said = now
            self._write(self._line(records, done, now - self._began))

    def _line(self, records: int, done: int, seconds: float) -> str:
        rate = records / max(seconds, 1e-9)
        line = f"{records:,} records, {rate:,.0f} a second"
        if not self._total:
            return line
        share = min(1.0, done / self._total)
        if done > self._before:
            left = seconds * max(0, self._total - done) / (done - self._before)
            line += f", {_clock(left)} left"
        bar = "█" * int(share * _BAR) + "░" * (_BAR - int(share * _BAR))
        return f"{bar} {share:4.0%}  {line}" if self._terminal else f"{share:.0%}: {line}"

    def _write(self, line: str) -> None:
        if self._stream is not None:
            start, end = ("\r\x1b[2K", "") if self._terminal else ("gec: ", "\n")
            self._stream.write(start + line + end)
            self._stream.flush()

    def end(self) -> None:
        """Clear the terminal's line for the next message."""
        if self._terminal and self._stream is not None:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()


def _clock(seconds: float) -> str:
    """Return seconds as hours, minutes and seconds.

    >>> _clock(3725)
    '1:02:05'
    """
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def standard_error() -> IO[str] | None:
    """Return the standard error stream; None if the process has none."""
    return sys.stderr
