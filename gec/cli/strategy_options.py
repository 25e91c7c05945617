"""The options of ``gec generate`` that belong to its strategies."""

from __future__ import annotations

import argparse
from typing import Any

from gec.cli.arguments import Add, reader
from gec.decoding.strategies import STRATEGIES, options


def add_strategies(add: Add) -> None:
    """Add --strategy and the options of all strategies."""
    add(
        "--strategy",
        choices=tuple(STRATEGIES),
        help="how to decode (default: auto, greedy decoding's output by what is fastest here; with "
        "an option of another strategy iad for simplification, else greedy)",
    )
    for option, owners in options().values():
        default = "" if option.default is None else f"; default: {_shown(option.default)}"
        add(
            f"--{option.name}",
            type=reader(option.kind),
            metavar=option.name.rpartition("-")[2].upper(),
            help=f"{option.help} ({', '.join(owners)}{default})",
        )


def _shown(value: Any) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else f"{value}"


def given(args: argparse.Namespace) -> dict[str, Any]:
    """Return the strategies' options that a command line gives."""
    values = {key: getattr(args, key) for key in options()}
    return {key: value for key, value in values.items() if value is not None}
