"""The console examples of all pages are run, or the page says why not.

Run as a program with names of pages it writes the outputs into them.
"""

from __future__ import annotations

import doctest
import gzip
import io
import re
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import console
import pytest

from gec.web import feedback

ROOT = Path(__file__).resolve().parents[2]
PATHS = [ROOT / "docs/index.md", *sorted((ROOT / "docs/start").glob("*.md"))]
PAGES = [
    *PATHS,
    ROOT / "README.md",
    *sorted(path for path in (ROOT / "docs").glob("*.md") if path not in PATHS),
    *sorted((ROOT / "models").glob("*/*/MODEL_CARD.md")),
    ROOT / "web/vscode/README.md",
]
# What sets up an environment, and what fetches.
LEFT_OUT = re.compile(
    r"python3 -m venv |pip install |make demo|gec model get |gec correct --model en-large"
)
ERROR = "She go to school every day and have two book .\n"
# Files that examples name and no example makes.
FILES = {
    "README.md": {"essay.txt": ERROR, "draft.txt": ERROR, "chapters/1.txt": ERROR},
    "docs/cli.md": {
        "essay.txt": ERROR,
        "chapters/1.txt": ERROR,
        "docs/guide.md": ERROR,
        "test.tok": ERROR,
    },
    "docs/batch.md": {
        "docs/CHANGELOG.md": ERROR,
        "docs/guide.md": ERROR,
        "a.txt": ERROR,
        "b.txt.gz": ERROR,
        "test.src": ERROR,
        "test.m2": f"S {ERROR}A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0\n\n",
    },
}


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def as_it_is(page: Path, folder: Path) -> str:
    """The page with the outputs that its commands print in a folder with the files they name."""
    (folder / ".git").mkdir()  # no settings from above
    if page.name == "server.md":
        feedback.Store(str(folder / "FILE.sqlite")).close()
    for file, text in FILES.get(name(page), {}).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        (folder / file).write_bytes(gzip.compress(data) if file.endswith(".gz") else data)
    text = page.read_text(encoding="utf-8")
    return console.rendered(text, folder, leave=LEFT_OUT.match, full=page in PATHS)


def roughly(page: str) -> str:
    """Confidences to two digits, because processors round sums differently; times say nothing."""
    page = re.sub(r'("confidence": ?\d\.\d\d)\d*', r"\1", page)
    return re.sub(r'("milliseconds": ?)[\d.]+', r"\1 0", page)


def runs(page: Path) -> bool:
    found = console.examples(page.read_text(encoding="utf-8"))
    return any(run and not all(LEFT_OUT.match(s.command) for s in steps) for _, steps, run in found)


@pytest.mark.parametrize("page", [page for page in PAGES if runs(page)], ids=name)
def test_a_page_shows_what_its_commands_print(page: Path, tmp_path: Path) -> None:
    assert roughly(as_it_is(page, tmp_path)) == roughly(page.read_text(encoding="utf-8")), (
        f"{name(page)} is out of date: python {name(Path(__file__))} {name(page)}"
    )


@pytest.mark.parametrize("page", PATHS, ids=name)
def test_python_on_a_path_prints_what_the_page_shows(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", text, re.M | re.S)
    assert len(found) == text.count("```python")
    for code, shown in found:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(code, name(page), "exec"), {})
        assert printed.getvalue() == shown


def test_every_path_is_run_whole() -> None:
    for page in PATHS:
        found = [*console.examples(page.read_text(encoding="utf-8"))]
        assert found
        assert all(run for _, _, run in found), name(page)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_has_a_prompt(page: Path) -> None:
    """Otherwise nobody would run it."""
    for block in console.BLOCK.finditer(page.read_text(encoding="utf-8")):
        if not re.search(r"^ *\$ ", block[2], re.MULTILINE):
            assert not re.match(r" *(?:gec|make|npm|pip|python3?) ", block[2]), block[2]


def test_steps() -> None:
    assert doctest.testmod(console) == (0, 1)


def test_an_example_that_lies_is_found(tmp_path: Path) -> None:
    page = "```console\n$ cat a\n1\n$ cat a\n2\n```\n\n    ```\n    $ echo 3\n    4\n    ```\n"
    shown = console.rendered(page, tmp_path, leave=lambda _: False, full=True)
    assert shown == page.replace("2\n", "1\n").replace("4\n", "3\n")
    for note in (
        "\n*Not run by the tests: no.*\n",
        "\n*No command of this page is run by the tests: no.*\n",
    ):
        noted = f"```\n$ exit 3\n4\n```\n{note}"
        assert console.rendered(noted, tmp_path, leave=lambda _: False, full=True) == noted
    page = "```\n$ echo b\nb\n$ cat b\n2\n```\n"
    shown = console.rendered(page, tmp_path, leave=lambda _: False, full=True)
    assert shown == page.replace("2\n", "cat: b: No such file or directory\n")
    for command, why in (("ls none", "ls none ended with 2"), ("rm a", "do not run rm; write why")):
        page = f"```\n$ {command}\n```\n"
        with pytest.raises(AssertionError, match=why):
            console.rendered(page, tmp_path, leave=lambda _: False, full=True)


if __name__ == "__main__":
    for given in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as made:
            written = as_it_is(Path(given).resolve(), Path(made))
        Path(given).write_text(written, encoding="utf-8")
