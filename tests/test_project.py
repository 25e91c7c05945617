"""The frame: what is installed, what is public, what is documented, who may import whom."""

from __future__ import annotations

import argparse
import ast
import doctest
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fake_corrector import FakeCorrector
from packaging.requirements import Requirement

import gec
import gec.loading
from gec.cli import build_parser, parse

if TYPE_CHECKING:
    from setuptools import Distribution

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {"gec": "gec", "models": "gec.models", "eval": "gec.eval", "web": "gec.web"}
# Where the rooms are put together; everything else in gec/ knows none of them.
COMPOSITION_ROOTS = {"gec/loading.py"} | {
    path.relative_to(ROOT).as_posix() for path in (ROOT / "gec/cli").glob("*.py")
}


@pytest.fixture(scope="module")
def distribution() -> Iterator[Distribution]:
    """The metadata of setup.py and pyproject.toml, without building anything."""
    import setuptools  # noqa: F401 - puts distutils in place
    from distutils.core import run_setup  # isort: skip

    before = Path.cwd()
    os.chdir(ROOT)
    try:
        yield run_setup("setup.py", stop_after="config")
    finally:
        os.chdir(before)


def python_files() -> Iterator[tuple[Path, str]]:
    """Every source file of the rooms with its import name."""
    for folder, package in ROOMS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            yield path, ".".join([package, *parts])


# ----------------------------------------------------------------------------------- installation


def test_only_gec_is_installed(distribution: Distribution) -> None:
    packages = distribution.packages or []
    assert {name.split(".")[0] for name in packages} == {"gec"}
    assert len(packages) == len(set(packages))
    assert not distribution.py_modules
    assert [e.name for e in distribution.ext_modules] == ["gec.models.native._gec_native"]
    assert not distribution.data_files
    assert distribution.entry_points == {"console_scripts": ["gec = gec.cli:main"]}


def test_every_source_file_is_installed(distribution: Distribution) -> None:
    build = distribution.get_command_obj("build_py")
    build.ensure_finalized()
    prefix = f"{build.build_lib}/"
    outputs = {name.removeprefix(prefix) for name in build.get_outputs(include_bytecode=False)}
    expected = {
        name.replace(".", "/") + ("/__init__.py" if path.name == "__init__.py" else ".py")
        for path, name in python_files()
    }
    assert {name for name in outputs if name.endswith(".py")} == expected
    assert all(name.startswith("gec/") for name in outputs)
    data = {name for name in outputs if not name.endswith(".py")}
    assert "gec/py.typed" in data
    recipes = {f"gec/models/recipes/{p.name}" for p in (ROOT / "models/recipes").glob("*.toml")}
    bundles = {f"gec/{p.relative_to(ROOT)}" for p in (ROOT / "models/bundles").rglob("config.json")}
    assert recipes | bundles <= data


def test_requirements_and_pins_agree(distribution: Distribution) -> None:
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.M))
    wanted = list(distribution.install_requires)
    for requirements in distribution.extras_require.values():
        wanted += requirements
    assert "torch" in {Requirement(text).name for text in wanted}
    for requirement in map(Requirement, wanted):
        assert requirement.name in pinned
        assert requirement.specifier.contains(pinned[requirement.name]), requirement


def test_no_test_can_hang(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.pluginmanager.hasplugin("timeout")
    assert 0 < float(pytestconfig.getini("timeout")) <= 600


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("present", [True, False])
def test_only_missing_system_packages_are_installed(present: bool, tmp_path: Path) -> None:
    """With stand-ins for apt-get, dpkg-query and id; everything but chromium may be missing."""
    answer = "echo installed" if present else 'case "$*" in *chromium) echo installed; esac'
    programs = {"dpkg-query": answer, "apt-get": f'echo "$@" >> {tmp_path}/log', "id": "echo 0"}
    for name, body in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["make", "-C", str(ROOT), "system-packages"], check=True, capture_output=True,
                   env={**os.environ, "PATH": path})  # fmt: skip
    log = tmp_path / "log"
    if present:
        assert not log.exists()
    else:
        update, install = log.read_text().splitlines()
        assert "update" in update
        assert "g++ neovim nginx python3-dev" in install
        assert "chromium" not in install


def test_no_machine_is_named() -> None:
    """Configuration holds no path and no package host of the machine it was written on."""
    for name in ("constraints.txt", "Makefile", "setup.py", "pyproject.toml", ".ci/run"):
        text = (ROOT / name).read_text()
        assert not re.search(r"https?://|file://|--index-url|--find-links|/root/|/home/", text), (
            name
        )


@pytest.mark.parametrize(("path", "module"), [*python_files()], ids=lambda value: str(value))
def test_importing_needs_no_posix(path: Path, module: str) -> None:
    """Windows lacks these modules, so only functions import them."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    assert not names & {"fcntl", "grp", "posix", "pty", "pwd", "resource", "termios", "tty"}


# --------------------------------------------------------------------------------- public surface


def test_public_surface() -> None:
    assert sorted(gec.__all__) == [
        "ConfigError",
        "Correction",
        "Corrector",
        "DataError",
        "Edit",
        "GecError",
        "InputError",
        "ModelError",
        "Options",
        "__version__",
        "load",
    ]
    for name in gec.__all__:
        assert getattr(gec, name) is not None
        assert name in dir(gec)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        gec.nothing  # noqa: B018


PUBLIC = ("gec", "gec.decoding", "gec.models", "gec.eval")


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_name_is_there_and_explained(package: str) -> None:
    module = import_module(package)
    assert module.__all__ == sorted(module.__all__)
    assert {*module._HOMES} <= {*module.__all__} <= {*dir(module)}
    for name in module.__all__:
        found = getattr(module, name)
        assert name == "__version__" or found.__doc__, f"{package}.{name}"
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        module.nothing  # noqa: B018


@pytest.mark.parametrize("package", PUBLIC)
def test_a_public_name_is_imported_when_it_is_used(package: str) -> None:
    code = f"import sys, {package}\nassert not {{'torch', 'spacy', 'numpy'}} & {{*sys.modules}}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_one_exception_tree() -> None:
    for error in (gec.ModelError, gec.InputError, gec.ConfigError, gec.DataError):
        assert error.__bases__ == (gec.GecError,)


# ---------------------------------------------------------------------------------- documentation


def test_command_line_page_is_current() -> None:
    namespace = runpy.run_path(str(ROOT / "docs/help.py"))
    text = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    assert namespace["page"](text) == text, "docs/cli.md is out of date: make docs"


def test_api_page_is_current() -> None:
    namespace = runpy.run_path(str(ROOT / "docs/api.py"))
    text = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    assert namespace["page"](text) == text, "docs/api.md is out of date: make docs"


def test_examples_of_the_api_page() -> None:
    names: dict[str, object] = {}
    for package in PUBLIC:
        module = import_module(package)
        names |= {name: getattr(module, name) for name in module.__all__}
    page = str(ROOT / "docs/api.md")
    failed, tried = doctest.testfile(page, module_relative=False, globs=names)
    assert not failed
    assert tried >= 10


def options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    """Every option of every command, with the command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from options(command)
        else:
            yield parser.prog, action


def test_the_defaults_that_the_help_names_are_the_defaults() -> None:
    compared = 0
    for command, action in options(build_parser()):
        said = re.search(r"\(default: ([\w.]+)[,;)]", action.help or "")
        default = action.default
        if said and isinstance(default, str | int | float) and not isinstance(default, bool):
            compared += 1
            shown = f"{default:g}" if isinstance(default, float) else str(default)
            assert said[1] == shown, f"{command} {action.option_strings}"
    assert compared > 20


def links(page: Path) -> Iterator[Path]:
    """The files that a Markdown page links to."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not re.match(r"[a-z]+:", target):
            yield (page.parent / target).resolve()


PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "models/bundles").glob("*/MODEL_CARD.md"),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    for target in links(page):
        assert target.exists(), f"{page} links to {target}, which does not exist"


def test_links_lead_from_the_readme_to_every_page() -> None:
    found, new = set(), {ROOT / "README.md"}
    while new:
        found |= new
        new = {to for page in new for to in links(page) if to.suffix == ".md" and to.exists()}
        new -= found
    assert set(PAGES) <= found


def paths(text: str) -> set[str]:
    """Return all that is written as a path, and every name of a file."""
    suffix = r"\.(?:c|cff|cfg|css|gz|html|js|json|md|py|svg|toml|tsv|txt)\.?$"
    words = re.findall(r"[\w./-]+", text.replace("\\n", " "))  # a new line in a diagram
    return {word.rstrip(".") for word in words if "/" in word or re.search(suffix, word)}


def test_every_path_on_the_page_of_the_architecture_exists() -> None:
    assert paths(r"gec/cli/, a.py. a\nweb/x, gec.eval") == {"gec/cli/", "a.py", "web/x"}
    found = paths((ROOT / "docs/architecture.md").read_text(encoding="utf-8"))
    assert len(found) > 100
    assert not {path for path in found if not (ROOT / path).exists()}


@pytest.mark.parametrize("page", ["README.md", "docs/cli.md"])
def test_commands_in_the_documentation_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    commands = re.findall(r"^\$ (?:echo .*\| )?gec ([^|>#\n]*)", text, re.M)
    assert commands
    for command in commands:
        parse(shlex.split(command.replace("<", "")))


def test_python_in_the_readme_runs(
    loads: list[FakeCorrector], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sentences.txt").write_text("I go\n")
    monkeypatch.setattr(gec, "load", gec.loading.load)  # the fake, also if gec.load is known
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
        exec(compile(block, "README.md", "exec"), {})


def test_citation_names_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {gec.__version__}\n" in text
    assert "\nlicense: Apache-2.0\n" in text


# ------------------------------------------------------------------------------------------ arrows


def imports(path: Path, module: str) -> Iterator[str]:
    """Absolute names of everything a file imports, at any depth."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


def room(name: str) -> str:
    """The room a module belongs to: gec.models, gec.eval, gec.web or the core, gec."""
    head = ".".join(name.split(".")[:2])
    return head if head in ROOMS.values() else name.split(".")[0]


@pytest.mark.parametrize(("path", "module"), [*python_files()], ids=lambda value: str(value))
def test_arrows_point_to_the_core(path: Path, module: str) -> None:
    name = path.relative_to(ROOT).as_posix()
    allowed = {"gec", room(module)} | (set(ROOMS.values()) if name in COMPOSITION_ROOTS else set())
    if name.startswith("eval/benchmark/"):
        allowed.add("gec.models")  # it measures networks, random ones and exported ones too
    wrong = {n for n in imports(path, module) if room(n) in ROOMS.values()} - {
        n for n in imports(path, module) if room(n) in allowed
    }
    assert not wrong, f"{name} reaches into another room"
    bare = {n for n in imports(path, module) if n.split(".")[0] in ("models", "eval", "web")}
    assert not bare, f"{name} imports a folder: say gec.{bare}"


# What the parts of the core may import; its single files import no part.
PARTS: dict[str, set[str]] = {
    "gec.text": set(),
    "gec.edits": {"gec.text"},
    "gec.decoding": set(),
    "gec.correct": {"gec.decoding", "gec.edits", "gec.text"},
    "gec.generate": {"gec.decoding", "gec.text"},
    "gec.output": {"gec.correct", "gec.edits", "gec.text"},
    "gec.documents": {"gec.correct", "gec.edits", "gec.text"},
    "gec.check": {"gec.correct", "gec.documents", "gec.edits", "gec.output", "gec.text"},
    "gec.lsp": {"gec.check", "gec.correct", "gec.documents", "gec.edits", "gec.text"},
    "gec.batch": {"gec.correct", "gec.decoding", "gec.documents", "gec.edits", "gec.text"},
}
# In the other rooms a part imports those before it.
MODELS = [
    f"gec.models.{name}"
    for name in ("network", "native", "engines", "load", "convert", "fetch", "training")
]
EVAL = [f"gec.eval.{name}" for name in ("metrics", "compare", "benchmark")]
PARTS |= {name: {*own[:place]} for own in (MODELS, EVAL) for place, name in enumerate(own)}


def part(name: str) -> str | None:
    """The part of a room that a module belongs to, None if it is a single file of the room."""
    return next((part for part in PARTS if f"{name}.".startswith(f"{part}.")), None)


@pytest.mark.parametrize("name", PARTS)
def test_arrows_between_the_parts_of_a_room(name: str) -> None:
    found = {
        to
        for path, module in python_files()
        if part(module) == name
        for to in map(part, imports(path, module))
        if to is not None and room(to) == room(name)
    }
    assert found
    assert found <= PARTS[name] | {name}


def test_single_files_of_the_core_import_no_part() -> None:
    for path, module in python_files():
        if path.parent == ROOT / "gec" and path.stem not in ("__init__", "__main__", "loading"):
            assert not {*filter(None, map(part, imports(path, module)))}, path.name


def test_only_entry_points_import_the_command_line() -> None:
    """eval/benchmark/process.py measures the command itself."""
    found = {
        path.relative_to(ROOT).as_posix()
        for path, module in python_files()
        if not module.startswith("gec.cli")
        and any(room(n) == "gec" and f"{n}.".startswith("gec.cli.") for n in imports(path, module))
    }
    assert found == {
        "gec/__main__.py", "eval/benchmark/around.py", "eval/benchmark/process.py",
    }  # fmt: skip


def test_the_core_parses_no_command_line() -> None:
    """argparse is for gec/cli/; what a project's options mean is read in gec/check/."""
    for path, module in python_files():
        if (part(module) or "") in ("gec.decoding", "gec.text", "gec.edits", "gec.correct"):
            assert "argparse" not in {*imports(path, module)}, path.name
