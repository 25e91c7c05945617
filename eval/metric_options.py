"""Choices that metrics and the command line share; importing them loads nothing heavy."""

from __future__ import annotations

IMEASURE_OPTIMISED = (
    *("cwacc", "ci", "cf", "cp", "cr", "cacc"),  # of correction
    *("dwacc", "di", "df", "dp", "dr", "dacc"),  # of detection
)
IMEASURE_LEVELS = ("sent", "corpus")
IMEASURE_MOST = 20_000
"""Mixtures of a sentence's edits that are tried."""
