"""The options of ``gec serve`` and ``gec feedback``; this module imports nothing heavy."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from gec.arguments import Commands, command, natural, number, positive
from gec.web.config import KINDS, Config

Run = Callable[[argparse.Namespace], int | None]

_METAVARS = {
    "host": "ADDRESS", "model": "NAME", "device": "DEVICE", "precision": "TYPE",
    "setting": "NAME", "timeout": "SECONDS", "drain": "SECONDS", "max_body": "BYTES",
    "cors": "ORIGIN", "allowed_host": "HOST", "trusted_proxy": "ADDRESS", "picky": "NAME",
    "feedback": "FILE.sqlite", "feedback_quota": "BYTES",
}  # fmt: skip
_NOT_ON_THE_LINE = {"token"}  # everybody on the machine can read a command line


def add_serve(commands: Commands[argparse.ArgumentParser], run: Run) -> None:
    """Add the command ``gec serve`` with its options; ``run`` runs it."""
    parser = command(commands, "serve", run, "Serve the editor and the APIs.")
    add = parser.add_argument
    add("--config", metavar="FILE", help="a TOML file; its table [serve] has these settings")
    for setting in fields(Config):
        if setting.name not in _NOT_ON_THE_LINE:
            _add_setting(parser, setting.name, setting.metadata["help"], setting.default)
    add("--token-file", metavar="FILE", help="file with the bearer token that the APIs ask for")
    add(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="what to log on standard error; never a text (default: info)",
    )


def _add_setting(parser: argparse.ArgumentParser, name: str, help: str, default: Any) -> None:
    kind = KINDS[name]
    options: dict[str, Any] = {"metavar": _METAVARS.get(name, "N"), "help": help}
    if kind == tuple[str, ...]:
        options |= {"action": "append", "help": f"{help}; may be given several times"}
    elif kind is float:
        options["type"] = number
    elif kind in (int, int | None):
        options["type"] = positive if name in ("torch_threads", "batch_size") else natural
    if default is not None and default != ():
        shown = f"{default:g}" if isinstance(default, float) else default
        options["help"] += f" (default: {shown})"
    parser.add_argument(f"--{name.replace('_', '-')}", **options)


def add_feedback(commands: Commands[argparse.ArgumentParser], run: Run) -> None:
    """Add the command ``gec feedback`` with its steps; ``run`` runs it."""
    summary = "Use what users accepted and ignored in the editor."
    parser = commands.add_parser("feedback", help=summary, description=summary, allow_abbrev=False)
    steps = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    export = command(steps, "export", run, "Write the decided sentences for training.")
    export.set_defaults(step="export")
    export.add_argument(
        "--format",
        choices=("m2", "parallel"),
        default="m2",
        help="M2 with the accepted edits, or lines of sentence, tab, corrected sentence "
        "(default: m2)",
    )
    shown = command(steps, "list", run, "Write all that is stored, with ids, as JSON Lines.")
    shown.set_defaults(step="list")
    for parser in (export, shown):
        parser.add_argument(
            "--output", "-o", default="-", metavar="FILE", help="file to write (default: -, stdout)"
        )
    delete = command(steps, "delete", run, "Delete stored sentences with their decisions.")
    delete.set_defaults(step="delete")
    for parser in (export, shown, delete):
        parser.add_argument(
            "file", metavar="FILE.sqlite", help="what gec serve --feedback has written"
        )
    which = delete.add_mutually_exclusive_group(required=True)
    which.add_argument("--id", metavar="ID", help="the sentence that gec feedback list calls ID")
    which.add_argument(
        "--text", metavar="TEXT", help="all sentences that contain this text; case counts"
    )
    which.add_argument(
        "--older-than", type=natural, metavar="DAYS", help="all stored more than DAYS days ago"
    )
