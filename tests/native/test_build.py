"""Which compiler compiles the library: named, Python's, cc, or that of the package ziglang."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from gec.models.native import build as module
from gec.models.native.build import default_compiler, main

ZIG = [sys.executable, "-m", "ziglang", "cc"]


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the only folder of PATH, which is empty; Python's compiler is some-cc -pthread."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_config_var", {"CC": "some-cc -pthread"}.get)
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    return tmp_path


def program(path: Path, name: str, status: int) -> None:
    made = path / name
    made.write_text(f"#!/bin/sh\nexit {status}\n")
    made.chmod(0o755)


def test_pythons_compiler_comes_before_cc(path: Path) -> None:
    program(path, "cc", 0)
    assert default_compiler() == ["cc"]
    program(path, "some-cc", 0)
    assert default_compiler() == ["some-cc", "-pthread"]


def test_a_compiler_that_only_says_what_to_install_is_none(path: Path) -> None:
    program(path, "some-cc", 1)
    program(path, "cc", 0)
    assert default_compiler() == ["cc"]


def test_ziglang_compiles_if_no_other_does(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", {"ziglang": object()}.get)
    assert default_compiler() == ZIG
    program(path, "cc", 0)
    assert default_compiler() == ["cc"]


def test_the_one_that_is_named_is_taken(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(path, "cc", 0)
    monkeypatch.setattr(module, "find_spec", {"ziglang": object()}.get)
    monkeypatch.setenv("CC", "none-is-wanted -x")
    assert default_compiler() == ["none-is-wanted", "-x"]


def test_without_any_the_error_names_pythons(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert default_compiler() == ["some-cc", "-pthread"]
    monkeypatch.setattr(sys, "argv", ["build.py"])
    with pytest.raises(SystemExit, match=r"^no library: the compiler some-cc does not start$"):
        main()
    program(path, "cc", 0)
    main()
    assert capsys.readouterr().out == "cc\n"
