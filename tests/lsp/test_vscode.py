"""The extension for VS Code: its settings are the server's, and its own tests pass."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from gec.lsp.preferences import read_preferences

FOLDER = Path(__file__).resolve().parent.parent.parent / "web/vscode"
MANIFEST = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))


def test_the_server_knows_every_setting_of_the_extension() -> None:
    properties = MANIFEST["contributes"]["configuration"]["properties"]
    given = {name.removeprefix("gec."): about["default"] for name, about in properties.items()}
    preferences, wrong = read_preferences(given)
    assert wrong == ""
    assert preferences.languages == frozenset(given["languages"])
    for name, about in properties.items():
        if "enum" in about:
            for value in about["enum"]:
                assert read_preferences({name.removeprefix("gec."): value})[1] == ""


@pytest.mark.skipif(
    shutil.which("npm") is None or not (FOLDER / "node_modules").is_dir(),
    reason="npm ci was not run in web/vscode",
)
def test_the_extensions_own_tests_pass() -> None:
    done = subprocess.run(["npm", "test"], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# fail 0" in done.stdout
    assert "# pass 5" in done.stdout
