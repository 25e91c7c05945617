"""The console examples of all pages are run, or the page says why not.

Run as a program with names of pages it writes the outputs into them.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import console
import pytest

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
        "b.txt": ERROR,
        "test.src": ERROR,
        "test.m2": f"S {ERROR}A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0\n\n",
    },
}


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def as_it_is(page: Path, folder: Path) -> str:
    """The page with the outputs that its commands print in a folder with the files they name."""
    (folder / ".git").mkdir()  # no settings from above
    for file, text in FILES.get(name(page), {}).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
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


if __name__ == "__main__":
    for given in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as made:
            written = as_it_is(Path(given).resolve(), Path(made))
        Path(given).write_text(written, encoding="utf-8")
