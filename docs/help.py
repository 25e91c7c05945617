"""Write the option tables of docs/cli.md from the command line's own parser (``make docs``)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from gec.cli import build_parser

PAGE = Path(__file__).with_name("cli.md")
BEGIN, END = "<!-- made by: make docs -->", "<!-- end -->"


def tables(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Markdown of every command that does something, in the order of --help."""
    commands = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    for action in commands:
        for command in action.choices.values():
            yield from tables(command)
    if commands:
        return
    usage = " ".join(_shown(a) for a in parser._actions if not a.option_strings)
    yield f"### `{parser.prog}`\n\n{parser.description}\n\n"
    yield f"`{parser.prog} [OPTION...]{' ' if usage else ''}{usage}`\n\n"
    yield "| option | meaning |\n|---|---|\n"
    for option in parser._actions:
        if "--help" not in option.option_strings:
            yield f"| `{_shown(option)}` | {option.help} |\n"
    yield "\n"


def _shown(action: argparse.Action) -> str:
    values = "\\|".join(map(str, action.choices)) if action.choices else action.metavar
    if not action.option_strings:
        optional = {"*": f"[{values}...]", "+": f"{values}...", "?": f"[{values}]"}
        return optional.get(str(action.nargs), str(values))
    name = ", ".join(action.option_strings)
    return name if action.nargs == 0 else f"{name} {values}"


def page(text: str) -> str:
    """The page with its generated part renewed."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{''.join(tables(build_parser()))}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
