"""Exit statuses of the command line."""

from __future__ import annotations

OK, FINDINGS, ERROR, INTERRUPTED, CLOSED_PIPE = 0, 1, 2, 130, 141
