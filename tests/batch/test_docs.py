"""docs/batch.md and docs/ci.md show what happens: files are made, commands run, outputs compared.

Run as a program it writes the outputs into the pages.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import gec.loading
from gec.cli import build_parser, main

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "batch.md"
PAGES = (PAGE, DOCS / "ci.md")
BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```)", re.MULTILINE | re.DOTALL)


def rendered(page: str, folder: Path) -> str:
    """The page with the outputs of its commands as they are."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        return BLOCK.sub(lambda block: "".join(_run(block[1])), page)
    finally:
        os.chdir(before)


def _run(block: str) -> Iterator[str]:
    for step in re.split(r"^(?=\$ )", block, flags=re.MULTILINE):
        command, _, shown = step.partition("\n")
        words = shlex.split(command.removeprefix("$ "))
        output = shown
        if words[:1] == ["cat"]:
            if not Path(words[1]).exists():
                Path(words[1]).write_text(shown)
            output = Path(words[1]).read_text()
        elif words[:2] == ["gec", "batch"] and Path(words[-2]).exists():
            said = io.StringIO()
            with redirect_stderr(said):
                main([*words[1:], "--quiet"])  # no line every 10 seconds
            output = said.getvalue()
        elif words[:3] == ["gec", "correct", "--check"] and "--learn" not in words:
            said, printed = io.StringIO(), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
            with redirect_stderr(said), redirect_stdout(printed):
                main(words[1:])
            output = printed.buffer.getvalue().decode() + said.getvalue()  # type: ignore[attr-defined]
        yield f"{command}\n{output}" if command else ""


@cache
def _load(*arguments: Any, **options: Any) -> Any:
    return _original(*arguments, **options)


_original = gec.loading.load


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.name)
def test_the_page_shows_what_happens(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gec.loading, "load", _load_any)
    (tmp_path / ".git").mkdir()  # no settings from above
    page = file.read_text(encoding="utf-8")
    found = rendered(page, tmp_path)
    assert _roughly(found) == _roughly(page), f"docs/{file.name} is out of date: run this file"


def _roughly(page: str) -> str:
    """Confidences to two digits: processors round sums differently."""
    return re.sub(r'("confidence": \d\.\d\d)\d*', r"\1", page)


def test_commands_and_options_exist() -> None:
    page = PAGE.read_text(encoding="utf-8")
    commands = re.findall(r"^\$ gec (batch [^&\n]*)", page, re.MULTILINE)
    assert len(commands) > 10
    for command in commands:
        build_parser().parse_args(shlex.split(command))
    parser = build_parser()._subparsers
    assert parser is not None
    (choices,) = (a.choices for a in parser._group_actions)
    assert choices is not None
    options = {o for a in dict(choices)["batch"]._actions for o in a.option_strings}
    assert set(re.findall(r"`(--[a-z-]+)", page)) <= options


def _load_any(*arguments: Any, **options: Any) -> Any:
    """Load the model once for all commands that ask for the same."""
    return _load(arguments[0], min_confidence=options.get("min_confidence"))


if __name__ == "__main__":
    gec.loading.load = _load_any
    for file in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, ".git").mkdir()
            page = rendered(file.read_text(encoding="utf-8"), Path(folder))
            file.write_text(page, encoding="utf-8")
    sys.exit()
