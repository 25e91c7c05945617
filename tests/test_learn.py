"""``gec correct --check --learn``: terms and misspellings, and what becomes of the dictionary."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fake_corrector import FakeCorrector

from gec.check import learn
from gec.check.learn import Term, Vocabulary
from gec.check.project import find_project
from gec.check.wordfiles import read_words
from gec.cli import main
from gec.loading import load_speller
from gec.text.spelling import Speller

Capture = pytest.CaptureFixture[str]

COUNTS = dict.fromkeys(
    """
    we they have the this that call use network networks receive unicorn quiet path paths near
    first second third fourth with and then here today for every widget widgets
    """.split(),
    50_000,
)
LISTS = {"recieve": {"receive": 5}, "stoer": {"store": 1}}
ORDERS = "first second third fourth".split()


@pytest.fixture
def speller() -> Speller:
    return Speller(COUNTS, LISTS)


def sentences(word: str, times: int) -> str:
    """``times`` different sentences, each a paragraph, with a word in each."""
    return "".join(f"We use the {word} here {'and then ' * n}today.\n\n" for n in range(times))


def terms(speller: Speller, *texts: str, own: Sequence[str] = (), name: str = "a.md") -> list[Term]:
    vocabulary = Vocabulary(speller, own)
    for text in texts:
        vocabulary.read(text, name)
    return vocabulary.terms()


def learned(speller: Speller, *texts: str, **options: Any) -> list[str]:
    return [form for t in terms(speller, *texts, **options) if not t.doubt for form in t.forms]


# ------------------------------------------------------------------- what is a term


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        (sentences("frobnicator", 3), ""),
        (sentences("recieve", 3), "a common misspelling of “receive”"),
        (sentences("recieve", 30), "a common misspelling of “receive”"),
        (sentences("recieve", 3) + "`recieve` `recieve`", "a common misspelling of “receive”"),
        (sentences("netwrok", 3), "probably “network”"),
        (sentences("uvicorn", 10), ""),
        (sentences("uvicorn", 3) + "`uvicorn`\n", "probably “unicorn”"),
        (sentences("uvicorn", 3) + "`uvicorn`\n\n```\nimport uvicorn\n```\n", ""),
        (sentences("uvicorn", 3) + "[x](https://uvicorn.org) <uvicorn@x.org>\n", ""),
        (
            sentences("rpath", 12) + sentences("path", 12).replace("use", "have"),
            "close to “path”, which is more frequent",
        ),
        (sentences("rpath", 12) + sentences("path", 11).replace("use", "have"), ""),
        (
            sentences("frobnicater", 3) + sentences("frobnicator", 4).replace("use", "have"),
            "close to “frobnicator”, which is more frequent",
        ),
        (sentences("Stoer", 3), ""),  # a name; one list is too little evidence
        (sentences("stoer", 3), "a common misspelling of “store”"),
        (sentences("Kubernetes", 3) + sentences("Kubernets", 3), ""),
        (
            sentences("Kubernets", 3) + sentences("Kubernetes", 4).replace("use", "have"),
            "close to “kubernetes”, which is more frequent",
        ),
        (sentences("RECIEVE", 3), ""),  # an abbreviation, for all that anybody knows
    ],
)
def test_terms_and_misspellings(text: str, doubt: str, speller: Speller) -> None:
    word = re.findall(r"the (\w+) here", text)[0]
    (found,) = [term for term in terms(speller, text) if word in term.forms]
    assert found.doubt == doubt


@pytest.mark.parametrize(
    "text",
    [
        sentences("frobnicator", 2),
        sentences("network", 9),  # known
        sentences("io", 9),  # short
        "We use the frobnicator. " * 9,  # a sentence that is repeated
        "We use the frobnicator.\n\n" * 9,  # a paragraph that is repeated
        sentences("`frobnicator`", 9),
        sentences("frobni_cator", 9),
        "```\n" + sentences("frobnicator", 9) + "```\n",
        "<!-- gec: off -->\n\n" + sentences("frobnicator", 9),
        "\n\n".join(
            f"Nous avons {n} le frobnicateur pour les machines dans la rue." for n in ORDERS
        ),
    ],
)
def test_what_is_no_term(text: str, speller: Speller) -> None:
    assert terms(speller, text) == []


def test_a_sentence_that_is_in_several_files_counts_once(speller: Speller) -> None:
    one = sentences("frobnicator", 2)
    assert terms(speller, one, one + "More text.", f"> {one}") == []
    assert learned(speller, one, "They have a frobnicator.") == ["frobnicator"]


def test_forms_of_a_word_count_together(speller: Speller) -> None:
    text = "Frobnicators have the frobnicator's path. They frobnicated. We have FROBNICATORS here."
    assert terms(speller, text) == []
    text += " Frobnicate it! We frobnicate paths, and they have the frobnicators' path."
    assert [(term.forms, term.sentences) for term in terms(speller, text)] == [
        (("Frobnicate", "frobnicate", "frobnicated"), 3),
        (("frobnicator", "FROBNICATORS", "Frobnicators", "frobnicators"), 3),
    ]
    text = (
        "We use Kubernetes. They use Kubernetes' path. The dataclasses have dataclass-like paths, "
    )
    text += "and this dataclass. Dataclasses have paths. Have we KUBERNETES? Use a dataclass."
    assert learned(speller, text) == [
        "dataclass", "Dataclasses", "dataclasses", "KUBERNETES", "Kubernetes",
    ]  # fmt: skip


@pytest.mark.parametrize("word", ["naïveté", "Größe", "Żurek", "Москва", "Ωmega"])
def test_words_of_any_letters(word: str, speller: Speller) -> None:
    assert learned(speller, sentences(word, 3)) == [word]


def test_combining_marks_and_letters_are_one_word(speller: Speller) -> None:
    text = "We use the cafe\u0301teria. They have the caf\u00e9teria. This is the cafe\u0301teria."
    assert learned(speller, text) == ["caféteria"]


def test_names_in_code_are_terms_in_prose(speller: Speller) -> None:
    source = "import uvicorn\n\n# We use the uvicorn here.\nuvicorn.run()  # They use uvicorn.\n"
    source += "x = 1  # This uvicorn and that path.\n"
    (term,) = terms(speller, source, name="a.py")
    assert term == Term(("uvicorn",), 3, 2)


def test_words_that_the_project_knows(speller: Speller) -> None:
    text = sentences("frobnicator", 3) + "We have frobnicators.\n"
    assert learned(speller, text, own=["frobnicator"]) == ["frobnicators"]
    assert terms(speller, text, own=["frobnicator", "frobnicators"]) == []
    assert learned(speller, sentences("Foo uvicorn", 3), own=["Foo uvicorn"]) == []
    doubtful = sentences("netwrok", 3) + sentences("netwroks", 1)
    assert learned(speller, doubtful, own=["netwrok"]) == ["netwroks"]
    vocabulary = Vocabulary(speller)
    vocabulary.read(text, "a.md", ["frobnicator"])
    assert vocabulary.terms() == []


def test_the_shipped_dictionary(speller: Speller) -> None:
    words = ["asyncio", "Kubernetes", "dataclass", "frobnicator", "recieve", "seperate", "teh"]
    text = "".join(sentences(word, 3).replace("and then ", f"with {word[0]} ") for word in words)
    found = terms(load_speller("en"), text)
    assert [(term.forms, bool(term.doubt)) for term in found] == [
        (("dataclass",), False),  # asyncio and Kubernetes are known
        (("frobnicator",), False),
        (("recieve",), True),
        (("seperate",), True),
        (("teh",), True),
    ]


def test_five_megabytes(speller: Speller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each paragraph is looked at once, and each word that recurs."""
    looked = []

    def cut(text: str, **options: Any) -> Any:
        looked.append(len(text))
        return segment(text, **options)

    segment = learn.segment
    monkeypatch.setattr(learn, "segment", cut)
    letters = "bcdfghklmnprstvz"
    words = [f"{a}oku{b}i{c}emo" for a in letters for b in letters for c in letters]
    assert len(words) == 4096
    text = "\n\n".join(
        f"{order} we use the {' and the '.join(words[n : n + 64])}."
        for order in ORDERS
        for n in range(0, len(words), 64)
    )
    source = f"{text}\n\n" * (5_000_000 // len(text) + 1)
    assert len(source) > 5_000_000
    assert len(terms(speller, source)) == len(words)
    assert sum(looked) < 2 * len(text)


# ------------------------------------------------------------------------------ the command


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, speller: Speller) -> Path:
    monkeypatch.chdir(tmp_path)
    Path(".git").mkdir()
    Path("docs").mkdir()
    Path("docs/a.md").write_text(sentences("frobnicator", 2) + sentences("recieve", 3))
    Path("docs/b.md").write_text("Frobnicator we have.\n")
    Path("pyproject.toml").write_text('[project]\n\n[tool.gec]\npaths = ["docs"]\n')
    return tmp_path


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, speller: Speller) -> None:
    monkeypatch.setattr("gec.loading.load_speller", lambda name: speller)


def run(*arguments: str) -> int:
    return main(["correct", "--check", "--learn", *arguments])


def files() -> dict[Path, tuple[int, int]]:
    """All files; a file that is written anew is another one."""
    return {p: (p.stat().st_ino, p.stat().st_mtime_ns) for p in Path().rglob("*") if p.is_file()}


REPORT = (
    "+ Frobnicator frobnicator (3 sentences)\n"
    "? recieve (3 sentences): a common misspelling of “receive”\n"
)


def test_the_command(known: None, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run() == 0
    said = "gec-words.txt: 2 words added, 1 in doubt; add by hand what is no misspelling"
    assert capsys.readouterr() == (REPORT, f"gec: {said}\n")
    assert Path("gec-words.txt").read_text() == "Frobnicator\nfrobnicator\n"
    settings = '[project]\n\n[tool.gec]\ndictionary = "gec-words.txt"\npaths = ["docs"]\n'
    assert Path("pyproject.toml").read_text() == settings
    loaded: list[FakeCorrector] = []

    def load(name: str, **options: Any) -> FakeCorrector:
        loaded.append(FakeCorrector(options))
        return loaded[-1]

    monkeypatch.setattr("gec.loading.load", load)
    assert main(["correct", "--check"]) == 0
    assert loaded[0].options["dictionary"] == ["Frobnicator", "frobnicator"]


def test_a_second_run_changes_nothing(known: None, capsys: Capture) -> None:
    run()
    before = files()
    capsys.readouterr()
    assert run() == 0
    out, err = capsys.readouterr()
    assert out == REPORT.partition("\n")[2]
    assert "gec-words.txt: 0 words added" in err
    assert files() == before


@pytest.mark.parametrize(
    "before", ["# ours\n\nzeta\n Foo bar \n", "# ours\r\nzeta", "\ufeffzeta\n"]
)
def test_lines_of_the_dictionary_stay(before: str, known: None) -> None:
    Path("words").write_bytes(before.encode())
    Path("pyproject.toml").write_text('[tool.gec]\ndictionary = "words"\npaths = ["docs"]\n')
    settings = Path("pyproject.toml").read_bytes()
    assert run() == 0
    end = "\r\n" if "\r\n" in before else "\n"
    gap = "" if before.endswith(end) else end
    after = f"{before}{gap}Frobnicator{end}frobnicator{end}"
    assert Path("words").read_bytes() == after.encode()
    assert Path("pyproject.toml").read_bytes() == settings
    assert read_words("words")[-3:][0] in ("zeta", "Foo bar")


def test_a_dictionary_that_is_named(known: None, capsys: Capture) -> None:
    settings = Path("pyproject.toml").read_bytes()
    assert run("--dictionary", "new/words", "docs/a.md", "docs/b.md") == 0
    assert read_words("new/words") == ["Frobnicator", "frobnicator"]
    assert Path("pyproject.toml").read_bytes() == settings
    assert not Path("gec-words.txt").exists()


def test_without_terms_nothing_is_written(known: None, capsys: Capture) -> None:
    Path("docs/a.md").write_text("We have paths.\n")
    assert run() == 0
    assert capsys.readouterr() == ("", "gec: gec-words.txt: 0 words added\n")
    assert not Path("gec-words.txt").exists()


def test_a_diff_shows_what_would_change(known: None, capsys: Capture) -> None:
    before = Path("pyproject.toml").read_bytes()
    assert run("--diff") == 0
    patch, err = capsys.readouterr()
    assert err.startswith("gec: gec-words.txt: 2 words to add, 1 in doubt")
    assert Path("pyproject.toml").read_bytes() == before
    assert not Path("gec-words.txt").exists()
    subprocess.run(["git", "apply", "-"], input=patch.encode(), check=True, capture_output=True)
    assert run("--diff") == 0
    assert capsys.readouterr().out == ""
    assert read_words("gec-words.txt") == ["Frobnicator", "frobnicator"]
    Path("gec-words.txt").write_text("zeta")
    run("--diff")
    patch = capsys.readouterr().out
    subprocess.run(["git", "apply", "-"], input=patch.encode(), check=True, capture_output=True)
    assert Path("gec-words.txt").read_text() == "zeta\nFrobnicator\nfrobnicator\n"


def test_ignored_words_of_some_files(known: None) -> None:
    Path("pyproject.toml").write_text(
        '[tool.gec]\n[[tool.gec.overrides]]\nfiles = ["docs/a.md"]\n'
        'ignored_words = ["frobnicator"]\n'
    )
    assert run("docs") == 0
    assert not Path("gec-words.txt").exists()


def test_a_file_that_cannot_be_read(known: None, capsys: Capture) -> None:
    Path("docs/c.md").write_bytes(b"\0")
    assert run() == 2
    out, err = capsys.readouterr()
    assert out == REPORT
    assert err.startswith("gec: error: docs/c.md: looks binary (NUL byte at offset 0)\ngec: ")


@pytest.mark.parametrize(
    ("settings", "arguments", "said"),
    [
        (None, ["docs"], r"--learn writes to a project's dictionary: write the table \[tool.gec\]"),
        ("[project]\n", ["docs"], r"--learn writes to a project's dictionary"),
        ("[tool.gec]\n", [], r"--learn needs files or folders, or paths in \[tool.gec\]"),
        ("[tool.gec]\n", ["*.none"], "none: no file matches"),
        ('[tool.gec]\ndictionary = "docs"\n', ["docs"], "docs: is a directory"),
        ("[tool.gec]\n", ["docs", "--dictionary", "docs/a.md/x"], "docs/a.md/x: cannot be written"),
        ("tool.gec.paths = ['docs']\n", [], 'write dictionary = "gec-words.txt" into the settings'),
        ("[tool.gec]\n", ["docs", "--format", "json"], "--learn and --format exclude each other"),
        ("[tool.gec]\n", ["docs", "--write-baseline"], "--learn and --write-baseline exclude"),
        ("[tool.gec]\n", ["docs", "--tokenized"], "--learn and --tokenized exclude each other"),
        ("[tool.gec]\n", ["docs", "--no-spelling"], "--learn and --no-spelling exclude each other"),
        (
            "[tool.gec]\n",
            ["docs", "--strategy", "beam"],
            "--learn and --strategy exclude each other",
        ),
        ("[tool.gec]\n", ["docs", "--setting", "precise"], "--learn and --setting exclude"),
        ("[tool.gec]\n", ["docs", "--tolerance", "0"], "--learn and --tolerance exclude"),
        ("[tool.gec]\n", ["docs", "--min-confidence", "0"], "--learn and --min-confidence exclude"),
        ("[tool.gec]\n", ["docs", "--max-needless", "1/9"], "--learn and --max-needless exclude"),
        ("[tool.gec]\n", ["docs", "--rounds", "1"], "--learn and --rounds exclude each other"),
        ("[tool.gec]\n", ["docs", "--batch-size", "2"], "--learn and --batch-size exclude"),
        ("[tool.gec]\n", ["docs", "--dictionary", "-"], "--learn writes to a file: name another"),
        ('[tool.gec]\ndictionary = "-"\n', ["docs"], "--learn writes to a file: name another"),
        (
            '[tool.gec]\ndictionary = "../words"\n',
            ["docs"],
            "words: is not in the project's folder",
        ),
        (
            '[tool.gec]\ndictionary = "/x/words"\n',
            ["docs"],
            "words: is not in the project's folder",
        ),
        ('[tool.gec]\ndictionary = "a\\u0000"\n', ["docs"], "dictionary: must have no NUL"),
        ('[tool.gec]\npaths = ["a\\u0000"]\n', [], "paths: must have no NUL"),
    ],
)
def test_what_is_refused(
    settings: str | None, arguments: list[str], said: str, known: None, capsys: Capture
) -> None:
    Path("pyproject.toml").unlink()
    if settings is not None:
        Path("pyproject.toml").write_text(settings)
    assert run(*arguments) == 2
    out, err = capsys.readouterr()
    assert re.fullmatch(rf"(gec: error: [^\n]*{said}[^\n]*\n)", err)
    assert out == ""
    assert not Path("gec-words.txt").exists()


@pytest.mark.parametrize("arguments", [(), ("--diff",)])
@pytest.mark.parametrize(
    "settings",
    [
        '  [tool.gec]\npaths = ["docs"]\n',
        '[tool."gec"]\npaths = ["docs"]\n',
        '[tool.gec ]\npaths = ["docs"]\n',
        '[tool] # c\ngec.paths = ["docs"]\n',
        '[tool]\r\ngec.paths = ["docs"]\r\n',
        'tool = {gec = {paths = ["docs"]}}\n',
        'text = """\n[tool.gec]\n"""\n[tool.gec]\npaths = ["docs"]\n',
    ],
)
def test_settings_that_are_written_in_another_way(
    settings: str, arguments: tuple[str, ...], known: None, capsys: Capture
) -> None:
    Path("pyproject.toml").write_bytes(settings.encode())
    assert run(*arguments) == 2
    out, err = capsys.readouterr()
    said = 'pyproject.toml: write dictionary = "gec-words.txt" into the settings of gec'
    assert err == f"gec: error: {said}, then try again\n"
    assert out == ""
    assert Path("pyproject.toml").read_bytes() == settings.encode()
    assert not Path("gec-words.txt").exists()


@pytest.mark.parametrize(
    "settings",
    [
        '[tool.gec]  # ours\r\npaths = ["docs"]\r\n[tool]\r\nx = nan\r\n',
        '[[tool.gec.overrides]]\nfiles = ["a"]\n[tool.gec]\npaths = ["docs"]',
    ],
)
def test_settings_that_are_written_as_usual(settings: str, known: None) -> None:
    Path("pyproject.toml").write_bytes(settings.encode())
    assert run() == 0
    project = find_project()
    assert (project.dictionary, project.paths) == ("gec-words.txt", ("docs",))


@pytest.mark.skipif(os.name == "nt", reason="links need rights")
def test_a_link_out_of_the_project(known: None, capsys: Capture, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-words"
    outside.write_text("zeta\n")
    Path("words").symlink_to(outside)
    Path("pyproject.toml").write_text('[tool.gec]\ndictionary = "words"\n')
    assert run("docs") == 2
    said = "pyproject.toml: words: is not in the project's folder"
    assert capsys.readouterr().err.startswith(f"gec: error: {said}")
    assert outside.read_text() == "zeta\n"
    assert run("docs", "--dictionary", str(outside)) == 0
    assert read_words(str(outside)) == ["zeta", "Frobnicator", "frobnicator"]
    capsys.readouterr()
    assert run("docs", "--diff", "--dictionary", f"{outside}2") == 2
    assert "is outside of" in capsys.readouterr().err


def test_a_dictionary_that_nothing_names_yet(known: None, capsys: Capture) -> None:
    """A run was interrupted after the dictionary was written, or somebody wrote it by hand."""
    Path("gec-words.txt").write_text("Frobnicator\nfrobnicator\n")
    before = Path("pyproject.toml").read_text()
    assert run("--diff") == 0
    assert "\n+dictionary = " in capsys.readouterr().out
    assert Path("pyproject.toml").read_text() == before
    assert run() == 0
    assert find_project().dictionary == "gec-words.txt"
    assert read_words("gec-words.txt") == ["Frobnicator", "frobnicator"]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("words", ["", "zeta", "a\u2028b{}c\x85d{}e\x0cf{}g\rh{}"])
def test_git_applies_a_diff(mark: str, end: str, words: str, known: None, capsys: Capture) -> None:
    settings = f'{mark}# a\u2028b{end}[tool.gec]{end}paths = ["docs"]{end}'
    Path("pyproject.toml").write_bytes(settings.encode())
    Path("gec-words.txt").write_bytes((mark + words.replace("{}", end)).encode())
    Path(".git").rmdir()
    git("init", "-q")
    git_applies_what_is_written(capsys)


def git_applies_what_is_written(capsys: Capture) -> None:
    """A diff, applied at the repository's top, makes what the command would write itself."""
    top = Path(git("rev-parse", "--show-toplevel").strip())
    before = {p: p.read_bytes() for p in top.rglob("*") if p.is_file() and ".git" not in p.parts}
    assert run("--diff") == 0
    patch = capsys.readouterr().out
    assert patch.count("\n+++ b/") == 2
    assert run() == 0
    after = {p: p.read_bytes() for p in top.rglob("*") if p.is_file() and ".git" not in p.parts}
    assert before != after
    for path in after:
        path.unlink()
    for path, data in before.items():
        path.write_bytes(data)
    subprocess.run(["git", "apply", "-"], input=patch.encode(), check=True, cwd=top)
    assert {path: path.read_bytes() for path in after} == after


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("below", ["docs", ""])
def test_a_diff_of_a_project_below_the_top(
    below: str, known: None, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(".git").rmdir()
    git("init", "-q")
    sub = tmp_path / "my sub"
    sub.mkdir()
    Path("docs").rename(sub / "docs")
    Path("pyproject.toml").rename(sub / "pyproject.toml")
    monkeypatch.chdir(sub / below)
    git_applies_what_is_written(capsys)
    assert (sub / "gec-words.txt").exists()


def test_a_diff_without_a_repository(
    known: None, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(".git").rmdir()
    monkeypatch.chdir("docs")
    assert run("--diff") == 0
    out = capsys.readouterr().out
    names = re.findall(r"(?m)^(?:---|\+\+\+) (.*)$", out)
    assert names == ["/dev/null", "b/gec-words.txt", "a/pyproject.toml", "b/pyproject.toml"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="who may write everywhere")
def test_a_dictionary_that_may_not_be_written(known: None, capsys: Capture) -> None:
    Path("words").write_text("zeta\n")
    Path("words").chmod(0o444)
    assert run("--dictionary", "words", "docs") == 2
    assert capsys.readouterr().err.startswith("gec: error: words: ")


def test_a_bundle_without_a_dictionary(tmp_path: Path, capsys: Capture) -> None:
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    (bundle / "config.json").write_text("{}")
    assert run("--model", str(bundle)) == 2
    assert "bundle: has no dictionary" in capsys.readouterr().err


def test_it_belongs_to_checks(capsys: Capture) -> None:
    assert main(["correct", "--learn", "docs/a.md"]) == 2
    assert "--learn belongs to --check" in capsys.readouterr().err
