"""What every command prints and writes is, byte for byte, what was recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden.cases import CASES, RECORDED, outputs


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("FORCE_COLOR", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", CASES)
def test_outputs_are_those_recorded(name: str) -> None:
    assert outputs(name) == (RECORDED / f"{name}.txt").read_text(encoding="utf-8")
