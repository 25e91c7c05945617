"""Which files a run takes: folders, patterns, .gitignore, and where the output goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gec.batch.inputs import find
from gec.documents.kinds import kind_of
from gec.errors import ConfigError, InputError


def make(kind: str | None, name: str) -> Any:
    return kind


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Make files with a text each in a fresh current directory."""
    monkeypatch.chdir(tmp_path)

    def plant(*names: str, **contents: str) -> Path:
        for name in names:
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("I go\n")
        for name, content in contents.items():
            Path(name.replace("__", "/").replace("IGNORE", ".gitignore")).write_text(content)
        return tmp_path

    return plant


def pairs(*arguments: Any, **options: Any) -> list[tuple[str, str]]:
    return [(t.input, t.output) for t in find(*arguments, make, **options)]


def test_kinds() -> None:
    assert kind_of("a/b.CSV.gz") == "csv"
    assert kind_of("x.md") == "markdown"
    assert kind_of("x.py") == "code"
    assert kind_of("x.en") is None


def test_a_folder(tree: Any) -> None:
    tree("d/b.md", "d/a.txt", "d/sub/c.rst", "d/image.png", "d/build/x.md", "d/sub/x.md",
         "d/sub/keep.md", "d/.git/x.md", "d/out/a.txt", d__IGNORE="build/\nx.md\nkeep.md\n",
         d__sub__IGNORE="!keep.md\n")  # fmt: skip
    assert pairs(["d"], "d/out") == [
        ("d/a.txt", "d/out/a.txt"),
        ("d/b.md", "d/out/b.md"),
        ("d/sub/c.rst", "d/out/sub/c.rst"),
        ("d/sub/keep.md", "d/out/sub/keep.md"),
    ]
    assert Path("d/out/sub").is_dir()
    assert pairs(["d"], "o", include=["*.md"], exclude=["sub/"]) == [("d/b.md", "o/b.md")]
    assert pairs(["d"], "o", include=["*.png"]) == [("d/image.png", "o/image.png")]
    with pytest.raises(InputError, match="no files"):
        pairs(["d"], "o", include=["*.nothing"])


def test_a_pattern(tree: Any) -> None:
    tree("d/a.md", "d/x/b.md", "d/x/c.txt")
    assert pairs(["d/**/*.md"], "o") == [("d/a.md", "o/a.md"), ("d/x/b.md", "o/x/b.md")]
    assert pairs(["d/**/*"], "o", exclude=["*.md"]) == [("d/x/c.txt", "o/x/c.txt")]


def test_a_pattern_leaves_out_what_gitignore_names(tree: Any) -> None:
    tree(".git/x", "a.md", "d/a.md", "d/x.md", "d/build/b.md", "d/sub/keep.md", "d/sub/x.md",
         IGNORE="build/\nkeep.md\n", d__IGNORE="x.md\n", d__sub__IGNORE="!keep.md\n")  # fmt: skip
    assert pairs(["d/**/*.md"], "o") == [("d/a.md", "o/a.md"), ("d/sub/keep.md", "o/sub/keep.md")]
    assert pairs(["**/*.md"], "o")[0] == ("a.md", "o/a.md")
    assert pairs(["d/build/*.md"], "o") == [("d/build/b.md", "o/b.md")]  # who asks for it wants it
    assert pairs(["d/x.md"], "o.md") == [("d/x.md", "o.md")]


def test_one_file_and_several(tree: Any) -> None:
    tree("a.txt", "b.txt", "[x].txt", "sub/a.txt")
    assert pairs(["a.txt"], "o.txt") == [("a.txt", "o.txt")]
    assert pairs(["a.txt"], "sub2/") == [("a.txt", "sub2/a.txt")]
    assert pairs(["a.txt", "b.txt"], "o") == [("a.txt", "o/a.txt"), ("b.txt", "o/b.txt")]
    assert pairs(["[x].txt"], "o.txt") == [("[x].txt", "o.txt")]
    assert pairs(["-"], "-") == [("-", "-")]


def test_kind_of_standard_input_is_the_outputs(tree: Any) -> None:
    assert find(["-"], "o.csv.gz", make)[0].format == "csv"  # type: ignore[comparison-overlap]


def test_clashes(tree: Any) -> None:
    tree("a.txt", "sub/a.txt")
    with pytest.raises(ConfigError, match=r"a\.txt and sub/a\.txt would both be written to"):
        pairs(["a.txt", "sub/a.txt"], "o")
    with pytest.raises(ConfigError, match=r"a\.txt: is an input"):
        pairs(["a.txt"], "./a.txt")
    with pytest.raises(ConfigError, match="need a folder as OUTPUT"):
        pairs(["sub"], "-")
    Path("file").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        pairs(["sub"], "file/o")
