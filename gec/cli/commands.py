"""The commands, in the order of ``gec --help``, and the parser that is made of them.

A command is a file with ``SUMMARY``, ``add_options`` and ``run``; to add one, write the file and
name it here. The file is imported when the command is asked for, so that none waits for the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Protocol, cast

from gec import __version__
from gec.cli.arguments import Parser


class Command(Protocol):
    """A command's file."""

    SUMMARY: str

    def add_options(self, parser: Parser) -> None:
        """Add what the command takes."""

    def run(self, args: argparse.Namespace) -> int | None:
        """Do it; return the exit status, None for 0."""


class Group:
    """Commands with a first word in common.

    Attributes:
        name: that word.
        summary: what the help says of them.
        commands: they, by their second word.
        usual: the command that is meant if the next word names none; empty if it must name one.
        kind: what the help calls its commands.
    """

    def __init__(
        self, name: str, summary: str, commands: str, *, usual: str = "", kind: str = "command"
    ) -> None:
        self.name, self.summary, self.usual, self.kind = name, summary, usual, kind
        self.commands = cast("Mapping[str, Command]", Commands(commands.split(), f"{name} "))


class Commands(Mapping[str, Command | Group]):
    """Commands by name; a look-up imports the command's file."""

    def __init__(self, commands: Sequence[str | Group], group: str = "") -> None:
        self._groups = {one.name: one for one in commands if isinstance(one, Group)}
        self._names = [one.name if isinstance(one, Group) else one for one in commands]
        self._group = group

    def __getitem__(self, name: str) -> Command | Group:
        if name in self._groups:
            return self._groups[name]
        if name not in self._names:
            raise KeyError(name)
        file = f"{self._group}{name}".replace(" ", "_").replace("-", "_")
        return cast(Command, import_module(f"gec.cli.{file}"))

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


COMMANDS = Commands(
    [
        "correct",
        "batch",
        "generate",
        "info",
        Group(
            "score",
            "Evaluate: numbers equal to the reference tools'.",
            """m2 errant gleu bleu chrf rouge sari green cleme gotoscorer imeasure pt-m2 pt-errant
            rates clean exact""",
            kind="metric",
        ),
        Group(
            "errant",
            "Annotate and compare edits as the ERRANT commands do.",
            "parallel m2 compare agreement",
        ),
        "report",
        "leaderboard",
        Group("meta", "Correlate metrics with human judgments.", "system sentence"),
        Group("essays", "Turn files of MultiGEC's essays into lines and back.", "lines back"),
        Group(
            "bench",
            "Measure decoding: correct (the default) or generate; compare checkers; time gec lsp; "
            "foretell which drafts pay.",
            "generate checkers lsp cost correct",
            usual="correct",
        ),
        "train",
        "distill",
        Group("data", "Prepare training data.", "prepare noise break"),
        "bundle",
        Group("model", "Fetch, list and remove models.", "get make list remove"),
        "convert",
        "calibrate",
        "serve",
        "lsp",
        Group(
            "feedback",
            "Use what users accepted and ignored in the editor.",
            "export list delete",
        ),
    ]
)
"""Every command by its name."""


def build_parser(arguments: Sequence[str] = ()) -> Parser:
    """Make the parser of all commands and options; docs/cli.md is generated from it.

    If ``arguments``, a command line, begins with a command, make only what that one needs.
    """
    parser = Parser(
        prog="gec",
        description="Grammatical error correction: draft, verify, accept.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gec {__version__}")
    _add(parser, COMMANDS, "command", arguments)
    return parser


def _add(
    parser: Parser, commands: Mapping[str, Command | Group], kind: str, arguments: Sequence[str]
) -> None:
    parsers = parser.add_subparsers(title=f"{kind}s", metavar=kind.upper(), required=True)
    asked = arguments[:1] if arguments and arguments[0] in commands else commands
    for name in asked:
        command = commands[name]
        summary = command.summary if isinstance(command, Group) else command.SUMMARY
        own = parsers.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        if isinstance(command, Group):
            _add(own, command.commands, command.kind, arguments[1:])
            continue
        own.set_defaults(run=command.run)
        own.add_argument("--debug", action="store_true", help="print the traceback of an error")
        command.add_options(own)


def named(arguments: Sequence[str]) -> list[str]:
    """Return a command line in which a group's usual command is named.

    >>> named(["bench", "--quick"])
    ['bench', 'correct', '--quick']
    """
    words = list(arguments)
    group = COMMANDS[words[0]] if words and words[0] in COMMANDS else None
    if isinstance(group, Group) and group.usual:
        if words[1:2] and words[1] in {*group.commands, "-h", "--help"}:
            return words
        words.insert(1, group.usual)
    return words
