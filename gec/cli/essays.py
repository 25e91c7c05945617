"""Options of ``gec essays``; the work is in :mod:`gec.eval.essays`."""

from __future__ import annotations

import argparse

from gec.cli.arguments import Commands, command


def add_essays(commands: Commands[argparse.ArgumentParser]) -> None:
    summary = "Turn files of MultiGEC's essays into lines and back."
    parser = commands.add_parser("essays", help=summary, description=summary, allow_abbrev=False)
    steps = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_lines(steps)
    _add_back(steps)


def _lines(args: argparse.Namespace) -> int:
    from gec.eval.essays import lines_main

    return lines_main(args)


def _back(args: argparse.Namespace) -> int:
    from gec.eval.essays import back_main

    return back_main(args)


def _add_lines(steps: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        steps, "lines", _lines, "Write one line an essay, in the order of the first file's essays."
    )
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="essays: originals, outputs, references")
    add("--output", "-o", required=True, metavar="DIR", help="the folder for the lines, NAME.txt")
    add(
        "--tokenize",
        metavar="CODE",
        help="put blanks between tokens by spaCy's rules for this language, such as sv",
    )
    add("--fill", metavar="FILE", help="take essays that a file lacks from this one")


def _add_back(steps: Commands[argparse.ArgumentParser]) -> None:
    parser = command(steps, "back", _back, "Write lines as essays.")
    add = parser.add_argument
    add("lines", metavar="LINES", help="one line an essay")
    add("essays", metavar="ESSAYS", help="the file whose essays they are, for their ids")
    add("--output", "-o", default="-", metavar="FILE", help="default: -, standard output")
