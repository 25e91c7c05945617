"""What every command prints and writes is, byte for byte, what was recorded.

Confidences alone may differ a little. They come of log-probabilities, whose sums over the
vocabulary every engine rounds in its own way; a rounding of 1e-6 there is one of 1e-3 here, where
a token is all but certain.
"""

from __future__ import annotations

import re
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


CONFIDENCE = re.compile(r"\b[01]\.\d+(?:e-\d+)?\b")
CORRECTING = ("correct", "check", "batch")


@pytest.mark.parametrize("name", CASES)
def test_outputs_are_those_recorded(name: str) -> None:
    found, recorded = outputs(name), (RECORDED / f"{name}.txt").read_text(encoding="utf-8")
    if name.startswith(CORRECTING):
        pairs = zip(CONFIDENCE.findall(found), CONFIDENCE.findall(recorded), strict=False)
        for ours, theirs in pairs:
            rounded = 0.51 * 10 ** -len(theirs.partition(".")[2]) if len(theirs) < 8 else 0
            assert float(ours) == pytest.approx(float(theirs), abs=5e-4 + 2 * rounded)
        found, recorded = (CONFIDENCE.sub("P", text) for text in (found, recorded))
    assert found == recorded
