"""``gec serve``"""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Any

from gec.cli.arguments import Parser, natural, number, positive
from gec.web.config import KINDS, Config

SUMMARY = "Serve the editor and the APIs."
_METAVARS = {
    "host": "ADDRESS", "model": "NAME", "device": "DEVICE", "precision": "TYPE",
    "setting": "NAME", "timeout": "SECONDS", "drain": "SECONDS", "max_body": "BYTES",
    "cors": "ORIGIN", "allowed_host": "HOST", "trusted_proxy": "ADDRESS", "picky": "NAME",
    "log_format": "NAME", "feedback": "FILE.sqlite", "feedback_quota": "BYTES",
}  # fmt: skip
_NOT_ON_THE_LINE = {"token"}  # everybody on the machine can read a command line


def add_options(parser: Parser) -> None:
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


def _add_setting(parser: Parser, name: str, help: str, default: Any) -> None:
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


def run(args: argparse.Namespace) -> int | None:
    from gec.web.server import main

    return main(args)
