"""What the options of all commands are made of: the parser, kinds of values, common options."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NoReturn, TypeVar

from gec import values
from gec.errors import ConfigError

T = TypeVar("T")

Add = Callable[..., argparse.Action]
"""The method ``add_argument`` of a parser or of a group of options."""


class Parser(argparse.ArgumentParser):
    """Usage errors are one line like every other error.

    Attributes:
        status: the exit status after a usage error.
    """

    status = ConfigError.status

    def error(self, message: str) -> NoReturn:
        error = ConfigError(f"{message} (see '{self.prog} --help')")
        error.status = self.status
        raise error


# ------------------------------------------------------------------------------- kinds of values


def reader(kind: Callable[[str], T]) -> Callable[[str], T]:
    """Return ``kind`` as argparse wants it: of a ValueError it would not show the reason."""

    def read(text: str) -> T:
        try:
            return kind(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


number = reader(values.number)
not_negative = reader(values.not_negative)
fraction = reader(values.fraction)
natural = reader(values.natural)
positive = reader(values.positive)


def names(text: str) -> list[str]:
    """Read names separated by commas."""
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"names separated by commas, not {text!r}")
    return found


# -------------------------------------------------------------------------------- common options


def add_batch_size(add: Add, default: int = 32) -> None:
    """Add --batch-size."""
    add(
        "--batch-size",
        type=positive,
        default=default,
        metavar="N",
        help=f"sentences decoded together (default: {default})",
    )


def add_batch_sizes(add: Add) -> None:
    """Add --batch-size of a benchmark, which measures several."""
    add(
        "--batch-size",
        type=positive,
        action="append",
        metavar="N",
        help="sentences decoded together; may be given several times (default: 1)",
    )


def add_seed(add: Add) -> None:
    """Add --seed."""
    add("--seed", type=natural, default=0, metavar="N", help="random seed (default: 0)")


def add_json(add: Add) -> None:
    """Add --json."""
    add("--json", action="store_true", help="print the result as JSON")


def add_limit(add: Add, what: str) -> None:
    """Add --limit, which keeps the first N of ``what``."""
    add("--limit", type=positive, metavar="N", help=f"use only the first N {what}")
