"""A real editor, with the settings of docs/editors.md: Neovim without a screen."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = "# My day\n\nShe go to school every day.\n\nI have a dog, and he are happy. `go`\n"
DRIVE = """
vim.ui.select = function(items, options, choose) choose(items[1], 1) end
local function found() return vim.diagnostic.get(0) end
local function step(name, done)
  if not vim.wait(240000, done, 50) then error("waited in vain: " .. name) end
end
local function report()
  step("diagnostics", function() return #found() > 0 end)
  local out = { found = found() }
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  vim.diagnostic.goto_next({ float = false })
  out.cursor = vim.api.nvim_win_get_cursor(0)
  local before = vim.api.nvim_buf_get_changedtick(0)
  vim.lsp.buf.code_action({ context = { diagnostics = {}, only = { "quickfix" } } })
  step("one fix", function() return vim.api.nvim_buf_get_changedtick(0) > before end)
  out.once = vim.api.nvim_buf_get_lines(0, 0, -1, true)
  step("less to do", function() return #found() == #out.found - 1 end)
  before = vim.api.nvim_buf_get_changedtick(0)
  vim.lsp.buf.code_action({ context = { diagnostics = {}, only = { "source.fixAll" } } })
  step("all fixes", function() return vim.api.nvim_buf_get_changedtick(0) > before end)
  step("nothing to do", function() return #found() == 0 end)
  vim.cmd("write")
  return out
end
local ok, out = pcall(report)
local file = io.open(os.getenv("GEC_TEST_OUT"), "w")
file:write(vim.fn.json_encode(ok and out or { failed = tostring(out) }))
file:close()
vim.cmd("qall!")
"""


@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
def test_neovim_shows_and_fixes(tmp_path: Path) -> None:
    page = (ROOT / "docs/editors.md").read_text(encoding="utf-8")
    settings = re.search(r"neovim: begin -->\n```lua\n(.*?)```", page, re.S)
    assert settings
    assert len(settings[1].splitlines()) <= 5
    (tmp_path / "init.lua").write_text(settings[1])
    (tmp_path / "drive.lua").write_text(DRIVE)
    (tmp_path / "day.md").write_text(TEXT)
    command = tmp_path / "bin" / "gec"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gec "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        ["nvim", "--headless", "-n", "-u", "init.lua", "day.md", "-c", "luafile drive.lua"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "XDG_CONFIG_HOME": str(tmp_path),
             "XDG_CACHE_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path),
             "XDG_DATA_HOME": str(tmp_path), "GEC_TEST_OUT": str(tmp_path / "out.json")},
        check=True,
        timeout=580,
        capture_output=True,
    )  # fmt: skip
    out = json.loads((tmp_path / "out.json").read_text())
    assert "failed" not in out, out
    assert [(d["code"], d["lnum"], d["col"]) for d in out["found"]] == [
        ("R:VERB:SVA", 2, 4), ("R:VERB:SVA", 4, 21),
    ]  # fmt: skip
    assert out["cursor"] == [3, 4]
    assert out["once"][2] == "She goes to school every day."
    assert (tmp_path / "day.md").read_text() == TEXT.replace("She go", "She goes").replace(
        "he are", "he is"
    )
