"""``gec bench checkers --languagetool`` against our own server, which speaks that protocol."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gec.cli import main
from gec.web.server import Server


def test_our_own_server(
    listening: Callable[..., Server], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The fake corrector behind it writes "goes" for "go"."""
    clean = tmp_path / "clean.txt"
    clean.write_text("We go 😀 home and go .\nFine .\n", encoding="utf-8")
    server = listening()
    command = ["bench", "checkers", str(clean), "--checkers", "source", "--sample", "2",
               "--languagetool", server.address, "--rounds", "1", "--format", "json"]  # fmt: skip
    assert main([*command, "--hypotheses", str(tmp_path / "out")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["checkers"]["languagetool"].startswith("gec ")
    output = (tmp_path / "out/clean/languagetool.txt").read_text(encoding="utf-8")
    assert output == "We goes 😀 home and goes .\nFine .\n"
    assert found["quality"]["clean"]["languagetool"]["changes"] == 2
    assert found["speed"]["languagetool"]["peak"] is None
