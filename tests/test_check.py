"""``gec correct --check``: settings of a project, rules of a file, comments, baselines, formats."""

from __future__ import annotations

import json
import re
import subprocess
import xml.etree.ElementTree as XML
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_corrector import CONFIDENCE, FakeCorrector, fake_correction

from gec.check.baseline import Baseline, Known, known
from gec.check.findings import is_finding
from gec.check.project import CHECK_CONFIDENCE, Project, Rules, Strictness, find_project, matches
from gec.cli import build_parser, main
from gec.correct.needless import Budget
from gec.correct.options import Options
from gec.correct.result import ENDLESS, Correction, Warning
from gec.edits.edits import Edit
from gec.edits.messages import MESSAGES
from gec.errors import ConfigError

Capture = pytest.CaptureFixture[str]


class Fake(FakeCorrector):
    """The fake model with options: words and spans to leave alone, a least confidence."""

    asked: list[Options | None]

    def correct_many(
        self, texts: Iterable[str], options: Options | None = None, *, batch_size: int = 32
    ) -> Iterator[Correction]:
        self.asked.append(options)
        options = options or Options()
        least = options.min_confidence or self.options.get("min_confidence") or 0
        for text, found in zip(texts, super().correct_many(texts, batch_size=1), strict=False):
            yield found.with_edits(
                {
                    e
                    for e in found.edits
                    if e.confidence >= least
                    and e.original not in options.dictionary
                    and not any(a < e.end and e.start < b for a, b in options.protected)
                },
            )
            assert found.original == text

    correct_tokenized = correct_many


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Fake]:
    """Fakes that are loaded, in a new folder with the top of a repository."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    loaded: list[Fake] = []

    def load(name: str = "en", **options: Any) -> Fake:
        fake = Fake(options)
        fake.asked = []
        loaded.append(fake)
        return fake

    monkeypatch.setattr("gec.loading.load", load)
    monkeypatch.setattr("gec.check.project.CHECK_CONFIDENCE", CONFIDENCE)
    monkeypatch.setattr("gec.check.findings.CHECK_CONFIDENCE", CONFIDENCE)
    return loaded


def write(**files: str) -> None:
    """Files by name; in names __ stands for a slash and _ for a point."""
    for name, text in files.items():
        path = Path(name.replace("__", "/").replace("_", "."))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def check(*arguments: str) -> int:
    return main(["correct", "--check", *arguments])


def places(capsys: Capture) -> list[str]:
    """``file:line:column`` of each finding printed."""
    return [":".join(line.split(":")[:3]) for line in capsys.readouterr().out.splitlines()]


# ------------------------------------------------------------------------------- what is checked


def test_folders_give_prose_and_respect_gitignore(made: list[Fake], capsys: Capture) -> None:
    write(
        _gitignore="docs/built/\n",
        docs__a_md="I go.\n",
        docs__b_rst="I go.\n",
        docs__c_txt="I go.\n",
        docs__d_py="# I go.\n",
        docs__e_json='"I go."\n',
        docs__built__f_md="I go.\n",
    )
    assert check("docs") == 1
    assert places(capsys) == ["docs/a.md:1:3", "docs/b.rst:1:3", "docs/c.txt:1:3"]
    assert check("docs/*.py", "docs/built") == 1  # asked for, so checked
    assert places(capsys) == ["docs/d.py:1:5", "docs/built/f.md:1:3"]


def test_only_prose_is_checked(made: list[Fake], capsys: Capture) -> None:
    write(
        a_md="`go` and **go**\n\n    go\n\n[x](go)\n",
        b_py="go = 'go'  # go\n",
        c_tex="\\begin{document}\n\\go{x} We go $go$.\n\\end{document}\n",
    )
    assert check("a.md", "b.py", "c.tex") == 1
    assert places(capsys) == ["a.md:1:12", "b.py:1:14", "c.tex:2:11"]


def test_paths_of_the_project(
    made: list[Fake], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        pyproject_toml='[tool.gec]\npaths = ["README.md", "docs"]\nexclude = ["docs/old/"]\n',
        README_md="I go.\n",
        other_md="I go.\n",
        docs__a_md="I go.\n",
        docs__old__b_md="I go.\n",
    )
    assert check() == 1
    assert places(capsys) == ["README.md:1:3", "docs/a.md:1:3"]
    monkeypatch.chdir("docs")  # paths are the project's, names are from here
    assert check() == 1
    assert places(capsys) == ["../README.md:1:3", "a.md:1:3"]
    assert check("old/b.md") == 0  # as a hook names it
    assert check("../other.md") == 1


def test_include_says_which_files(made: list[Fake], capsys: Capture) -> None:
    write(
        pyproject_toml='[tool.gec]\npaths = ["."]\ninclude = ["*.py"]\n',
        a_md="I go.\n",
        x__b_py="# I go.\n",
    )
    assert check() == 1
    assert places(capsys) == ["x/b.py:1:5"]


@pytest.mark.parametrize(
    ("settings", "arguments", "said"),
    [
        ('paths = ["nowhere"]', [], "nowhere: no such file"),
        ('paths = ["empty"]', [], r"empty \(paths in pyproject.toml\): no files to check"),
        ("", ["empty"], r"empty \(named\): no files to check"),
        ("", ["*.nothing"], r"\*.nothing: no file matches"),
        ("", ["--write-baseline", "x.md"], "--write-baseline needs --baseline"),
        ("", ["--baseline", "none.json", "x.md"], "none.json: no such baseline; make it with"),
        ("", ["--config", "none.toml", "x.md"], "none.toml: no such file"),
    ],
)
def test_nothing_to_check(
    settings: str, arguments: list[str], said: str, made: list[Fake], capsys: Capture
) -> None:
    Path("empty").mkdir()
    write(pyproject_toml=f"[tool.gec]\n{settings}\n", x_md="I go.\n")
    assert check(*arguments) == 2
    assert re.fullmatch(rf"gec: error: .*{said}.*\n", capsys.readouterr().err)


@pytest.mark.parametrize("option", ["--config=x", "--baseline=x", "--write-baseline"])
def test_options_of_checks_alone(option: str, capsys: Capture) -> None:
    assert main(["correct", option, "x"]) == 2
    assert "belongs to --check" in capsys.readouterr().err


# --------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.gec\n", r"pyproject.toml: .*line 1"),
        ("[tool]\ngec = 1\n", "tool.gec must be a table, not 1"),
        ("[tool.gec]\npath = []\n", r"\[tool.gec\] has no setting 'path'; it has setting, .*paths"),
        ("[tool.gec]\npaths = 'docs'\n", r"\[tool.gec\] paths: must be a list of strings, not 'd"),
        ("[tool.gec]\npaths = ['']\n", "paths: must be a list of strings"),
        ("[tool.gec]\nmin_confidence = 2\n", "min_confidence: must be a number from 0 to 1, not 2"),
        ("[tool.gec]\nmin_confidence = true\n", "min_confidence: must be a number"),
        ("[tool.gec]\nmin_confidence = nan\n", "min_confidence: must be a number"),
        ("[tool.gec]\nmax_needless = 0.1\n", "max_needless: must be a string"),
        ('[tool.gec]\nmax_needless = "x"\n', 'must be a string such as "1/1000"'),
        ("[tool.gec]\ntolerance = -1\n", "tolerance: must be a number of 0 or more, not -1"),
        ("[tool.gec]\nsetting = 'exact'\n", "setting: must be one of precise, balanced, thorough"),
        ("[tool.gec]\ntypes = ['SPEL']\n", "types: there is no error type 'SPEL': write such as"),
        ("[tool.gec]\nbaseline = 1\n", "baseline: must be a string, not 1"),
        ("[tool.gec]\noverrides = 1\n", "overrides: must be tables, each begun with"),
        ("[[tool.gec.overrides]]\n", r"overrides\]\] number 1: files must name at least one"),
        (
            "[[tool.gec.overrides]]\nfiles=['x']\n[[tool.gec.overrides]]\nfiles=['y']\npaths=[]",
            r"\[\[tool.gec.overrides\]\] number 2 has no setting 'paths'",
        ),
    ],
)
def test_wrong_settings(text: str, said: str, made: list[Fake], capsys: Capture) -> None:
    write(pyproject_toml=text, x_md="I go.\n")
    assert check("x.md") == 2
    error = capsys.readouterr().err
    assert re.fullmatch(r"gec: error: pyproject.toml: .*\n", error)
    assert re.search(said, error)
    assert not made  # before a model is loaded


def test_the_nearest_table_within_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(
        pyproject_toml="[tool.gec]\npaths = ['outside']\n",
        a__pyproject_toml="[tool.gec]\npaths = ['top']\n",
        a__b__pyproject_toml="[tool.other]\n",
        a__b__c__x_md="",
        own_toml="[tool.gec]\npaths = ['own']\n",
    )
    monkeypatch.chdir("a/b/c")
    project = find_project()
    assert (project.paths, project.root, project.file) == (
        ("top",),
        tmp_path / "a",
        "../../pyproject.toml",
    )
    (tmp_path / "a/b/.git").touch()  # as in a worktree
    assert find_project() == Project(root=Path.cwd())
    assert find_project("../../../own.toml").paths == ("own",)
    with pytest.raises(ConfigError, match=r"has no table \[tool.gec\]"):
        find_project("../pyproject.toml")


def test_rules_of_a_file(made: list[Fake], capsys: Capture) -> None:
    write(
        pyproject_toml="""
            [tool.gec]
            ignored_words = ["book"]
            [[tool.gec.overrides]]
            files = ["old/*.md"]
            ignored_types = ["VERB"]
            [[tool.gec.overrides]]
            files = ["b.md", "old/b.md"]
            types = ["M"]
        """,
        a_md="I go, book, have dog.\n",
        b_md="I go, book, have dog.\n",
        old__a_md="I go, book, have dog.\n",
        old__b_md="I go, book, have dog.\n",
    )
    assert check(".") == 1
    assert places(capsys) == [
        "a.md:1:3", "a.md:1:18", "b.md:1:18", "old/a.md:1:18", "old/b.md:1:18",
    ]  # fmt: skip


def test_strictness(made: list[Fake]) -> None:
    settings = """
        [tool.gec]
        setting = "precise"
        min_confidence = 0.9
        [[tool.gec.overrides]]
        files = ["b.md"]
        tolerance = 2
        [[tool.gec.overrides]]
        files = ["c.md"]
        setting = "thorough"
    """
    write(a_md="I go.\n", b_md="I go.\n", c_md="I go.\n")

    def asked(*arguments: str) -> tuple[list[Any], list[Any]]:
        check(*arguments, "a.md", "b.md", "c.md")
        fake = made.pop()
        names = ("setting", "tolerance", "min_confidence")
        return (
            [fake.options[name] for name in names],
            [o and [getattr(o, name) for name in names] for o in fake.asked],
        )

    assert asked() == ([None, None, CONFIDENCE], [None, None, None])
    write(pyproject_toml=settings)
    assert asked() == (
        ["precise", None, 0.9],
        [None, ["precise", 2, 0.9], ["thorough", None, None]],
    )
    assert asked("--min-confidence", "0.2") == (
        ["precise", None, 0.2],
        [None, ["precise", 2, 0.2], ["thorough", None, 0.2]],
    )
    assert asked("--setting", "balanced") == (["balanced", None, None], [None, None, None])
    assert asked("--max-needless", "1/100")[0] == ["precise", None, None]


def test_a_budget_by_kind_of_file(made: list[Fake]) -> None:
    settings = """
        [tool.gec]
        max_needless = "0.5%"
        [[tool.gec.overrides]]
        files = ["b.md"]
        max_needless = "1/1000:documentation"
    """
    write(a_md="I go.\n", b_md="I go.\n", pyproject_toml=settings)
    check("a.md", "b.md")
    [fake] = made
    assert fake.options["max_needless"] == Budget(0.005)
    assert fake.options["min_confidence"] is None
    asked = [o and o.max_needless for o in fake.asked]
    assert asked == [None, Budget(0.001, "documentation")]


def test_the_dictionary_of_the_project(made: list[Fake]) -> None:
    write(pyproject_toml='[tool.gec]\ndictionary = "w/words"\n', own="x\n", a_md="I go.\n")
    Path("w").mkdir()
    Path("w/words").write_text("# ours\ngec\n")
    check("a.md")
    check("--dictionary", "own", "a.md")
    assert [fake.options["dictionary"] for fake in made] == [["gec"], ["x"]]


def test_names_of_types() -> None:
    assert not matches("VERB", "R:ADVERB")
    assert not matches("VERB:S", "R:VERB:SVA")
    assert matches("NOUN:NUM", "R:NOUN:NUM")
    assert matches("spelling", "R:SPELL")
    assert matches("U", "U:DET")
    assert all(matches(type, type) for type in MESSAGES)
    assert Rules(types=("VERB",), ignored_types=("VERB:SVA",)).counts("R:VERB:TENSE")
    assert not Rules(types=("VERB",), ignored_types=("VERB:SVA",)).counts("R:VERB:SVA")


def test_a_setting_replaces_numbers_and_a_number_itself() -> None:
    low = Strictness(setting="precise", tolerance=1, min_confidence=0.5)
    assert low.under(Strictness(tolerance=0)) == Strictness(
        setting="precise", tolerance=0, min_confidence=0.5
    )
    assert low.under(Strictness(setting="thorough")) == Strictness(setting="thorough")
    budget = Strictness(setting="precise", tolerance=1, max_needless="1/100")
    assert low.under(Strictness(max_needless="1/100")) == budget
    assert budget.under(Strictness(min_confidence=0.5)) == low


@pytest.mark.parametrize(
    ("text", "original", "replacement", "expected"),
    [
        ("a go b", "go", "goes", True),
        ("a b c d e f", "b c d e", "", False),
        ("a b c d e f", "b c d", "", True),
        ("a go b", "go", "go on and on and", False),
        ("a go\r\n\r\nb", "", ".", False),
        ("a go", "", ".", False),
        ("a go \n", "", ".", False),
        ("a go on", "", ".", True),  # in the middle of a line
    ],
)
def test_what_is_worth_a_finding(
    text: str, original: str, replacement: str, expected: bool
) -> None:
    start = text.index(original) if original else text.index("go") + 2
    edit = Edit(start, start + len(original), original, replacement, "X", 1.0, "")
    assert is_finding(text, edit) is expected


# --------------------------------------------------------------------------------------- comments


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("a.md", "go\n\n<!-- gec: off -->\n\ngo\n\n<!-- gec: on -->\n\ngo\n", [1, 9]),
        ("a.md", "go\n\n<!-- gec: ignore -->\nxx go\n\ngo\n", [1, 6]),
        ("a.md", "one go <!-- gec: ignore -->\ntwo go\n", [2]),
        ("a.md", "Write `<!-- gec: off -->` to\n\ngo\n", [3]),
        ("a.md", "go\n\n<!-- gec: off -->\n\ngo\n", [1]),
        ("a.rst", "We go.\n\n.. gec: off\n\nWe go.\n\n.. gec: on\n\nWe go.\n", [1, 9]),
        ("a.rst", "We go.\n\n.. gec: ignore\n\nWe go.\n\nWe go.\n", [1, 7]),
        ("a.rst", "Write ``.. gec: off`` and go.\n\nWe go.\n", [1, 3]),
        ("a.tex", "We go.\n% gec: off\nWe go.\n% gec: on\nWe go.\n", [1, 5]),
        ("a.tex", "We go.\nWe go. % gec: ignore\nWe go.\n", [1, 3]),
        ("a.py", "# we go\nx = 1\n# gec: off\n# we go\nx = 1\n# gec: on\n# we go\n", [1, 7]),
        ("a.py", "# we go  # gec: ignore\nx = 1\n# we go\n", [3]),
        ("a.js", "// we go\nx\n// gec: off\n// we go\n// gec: on\nx\n/* we go */\n", [1, 7]),
        ("a.html", "<p>go</p>\n<!-- gec: off -->\n<p>go</p>\n<!-- gec: on --><p>go</p>", [1, 4]),
        ("a.txt", "We go.\n# gec: ignore\nWe go.\nWe go.\n", [1, 4]),
    ],
)
def test_comments_switch_checks_off(
    name: str, text: str, lines: list[int], made: list[Fake], capsys: Capture
) -> None:
    Path(name).write_text(text.replace("go\n", "we go\n") if name == "a.md" else text)
    check(name)
    found = [int(place.split(":")[1]) for place in places(capsys)]
    assert found == lines


# --------------------------------------------------------------------------------------- baseline


def test_a_baseline_lets_only_new_findings_fail(made: list[Fake], capsys: Capture) -> None:
    write(docs__a_md="Today I go home.\n\nI have dog.\n", docs__b_md="They go, they go.\n")
    assert check("--baseline", "known.json", "--write-baseline", "docs") == 0
    assert capsys.readouterr() == ("", "gec: known.json: 4 known findings\n")
    assert check("--baseline", "known.json", "docs") == 0
    assert capsys.readouterr() == ("", "gec: 0 new findings in 0 of 2 files\n")
    # moved, in other markup
    write(docs__a_md="# New\n\nI have *dog*.\n\n> Today I go home.\n")
    assert check("--baseline", "known.json", "docs") == 0
    write(docs__a_md="Today I go home.\n\nToday I go home.\n\nI have dog.\n")
    assert check("--baseline", "known.json", "docs/a.md") == 1
    assert places(capsys) == ["docs/a.md:3:9"]
    write(docs__a_md="Today I go there.\n")
    assert check("--baseline", "known.json", "docs/a.md") == 1
    assert "2 known findings gone from the text" in capsys.readouterr().err


def test_a_baseline_of_some_files_keeps_the_others(made: list[Fake], capsys: Capture) -> None:
    write(x__a_md="I go.\n", x__b_md="You go.\n", x__c_md="We go.\n")
    options = ["--baseline", "x/known.json"]
    check(*options, "--write-baseline", "x")
    Path("x/c.md").unlink()
    write(x__a_md="I went.\n")
    check(*options, "--write-baseline", "x/a.md")
    document = json.loads(Path("x/known.json").read_text())
    assert list(document["files"]) == ["b.md"]  # names are from the baseline's folder
    assert check(*options, "x") == 0


def test_the_baseline_of_the_project(
    made: list[Fake], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(pyproject_toml='[tool.gec]\npaths = ["d"]\nbaseline = "known.json"\n', d__a_md="I go.\n")
    assert check() == 2  # not made yet
    assert check("--write-baseline") == 0
    monkeypatch.chdir("d")
    assert check() == 0
    assert check("a.md") == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no baseline: "),
        ("[]", "is no baseline; make one"),
        ('{"files": {}, "version": 9}', "is a baseline of version 9, not 1"),
        ('{"files": [], "version": 1}', "is damaged"),
        ('{"files": {"a": [{}]}, "version": 1}', "is damaged"),
        ('{"files": {"a": [{"original": 1, "replacement": "", "before": "", "after": "", '
         '"count": 1}]}, "version": 1}', "is damaged"),
    ],
)  # fmt: skip
def test_a_baseline_that_is_none(text: str, said: str, made: list[Fake], capsys: Capture) -> None:
    write(a_md="I go.\n", known_json=text)
    assert check("--baseline", "known.json", "a.md") == 2
    assert f"gec: error: known.json: {said}" in capsys.readouterr().err


def test_baselines_count(tmp_path: Path) -> None:
    one, other = Known("go", "goes", "I", "home"), Known("go", "goes", "You", "home")
    baseline = Baseline({"a": Counter([one, one])})
    assert baseline.new("a", [one, other, one, one]) == [False, True, False, True]
    assert baseline.new("b", [one]) == [True]
    assert baseline.gone("a", [one]) == 1
    baseline.write(str(tmp_path / "x"))
    again = Baseline.read(str(tmp_path / "x"))
    assert len(again) == 2
    assert again.to_json() == baseline.to_json()


def test_what_is_known_is_of_one_sentence() -> None:
    text = "One. He  go\nto a school far from here. Two."
    assert known(text, 9, 11, "goes", (5, 38)) == Known("go", "goes", "He", "to a school far")


# ---------------------------------------------------------------------------------------- formats


def test_junit(made: list[Fake], capsys: Capture) -> None:
    write(a_md="I go & `x`, you go.\n", b_md="Fine.\n")
    assert check("--format", "junit", "a.md", "b.md") == 1
    root = XML.fromstring(capsys.readouterr().out)
    assert (root.tag, root.get("failures")) == ("testsuites", "2")
    first, second = root
    assert (first.get("name"), first.get("tests"), first.get("failures")) == ("a.md", "2", "2")
    case = first[1]
    assert case.get("name") == "line 1, column 17: R:VERB:SVA"
    assert (case[0].tag, case[0].get("message")) == ("failure", '"go" → "goes"')
    assert (second.get("tests"), second[0].get("name"), len(second[0])) == ("1", "no findings", 0)
    write(c_txt="\x01go \ufffe\x1b\n")  # what XML does not have
    assert check("--format", "junit", "c.txt") == 1
    XML.fromstring(capsys.readouterr().out)
    assert main(["correct", "--format", "junit", "a.md"]) == 2


def test_every_format_of_a_document(made: list[Fake], capsys: Capture) -> None:
    text = "# We **go**\n\n- you `x` go\n"
    write(a_md=text)

    def out(form: str) -> str:
        assert check("--format", form, "a.md") == 1
        return capsys.readouterr().out

    assert out("text") == text.replace("go", "goes")
    (one,) = json.loads(out("json"))
    assert [(e["line"], e["column"]) for e in one["edits"]] == [(1, 8), (3, 11)]
    assert all(text[e["start"] : e["end"]] == "go" for e in one["edits"])
    assert [text[s["start"] : s["end"]] for s in one["sentences"]] == ["# We **go", "- you `x` go"]
    assert out("github").startswith("::warning file=a.md,line=1,col=8,endColumn=10,")
    assert out("m2").count("\nA ") == 2
    run = json.loads(out("sarif"))["runs"][0]
    assert run["results"][1]["locations"][0]["physicalLocation"]["region"]["startLine"] == 3
    assert check("--diff", "a.md") == 1
    assert "-# We **go**\n+# We **goes**\n" in capsys.readouterr().out


def test_a_diff_of_a_check_is_a_patch(made: list[Fake], capsys: Capture) -> None:
    text = "We **go**\n\n    go\n\nYou go\r\n"
    write(d__a_md=text)
    check("--diff", "d")
    patch = capsys.readouterr().out.encode()
    subprocess.run(["patch", "-p1", "--binary"], input=patch, check=True, capture_output=True)
    assert Path("d/a.md").read_bytes().decode() == "We **goes**\n\n    go\n\nYou goes\r\n"


def test_warnings_name_places_of_the_file(made: list[Fake], capsys: Capture) -> None:
    from gec.documents.prose import correct_prose, in_source

    class Warns:
        def correct_many(self, texts: Iterable[str], *_: Any, **__: Any) -> Iterator[Correction]:
            for text in texts:
                at = text.index("We")
                found = fake_correction(text)
                said = (Warning(at, at + 2, ENDLESS),)
                yield Correction(text, found.text, found.edits, found.sentences, said)

    source = "# Title\n\n    code\n\nWe *go*\n"
    whole = in_source(source, correct_prose(Warns(), source, "a.md"))  # type: ignore[arg-type]
    at = source.index("We")
    assert whole.warnings == (Warning(at, at + 2, ENDLESS),)


# ------------------------------------------------------------------------------------ what is said


ROOT = Path(__file__).resolve().parents[1]


def test_the_page_names_every_setting(made: list[Fake]) -> None:
    page = (ROOT / "docs/ci.md").read_text("utf-8")
    assert f"at least **{CHECK_CONFIDENCE:g}**" in page
    table = page.partition("| setting | is |")[2].partition("\n\n")[0]
    named = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    write(x_toml="[tool.gec]\nnothing = 1\n")
    with pytest.raises(ConfigError) as caught:
        find_project("x.toml")
    assert sorted(named) == sorted(str(caught.value).partition("it has ")[2].split(", "))
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    write(x_toml=example)
    assert find_project("x.toml").overrides


def test_the_hook_is_a_command_of_ours() -> None:
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    (entry,) = re.findall(r"^  entry: gec (.+)$", hook, re.MULTILINE)
    args = build_parser().parse_args([*entry.split(), "a.md", "b.md"])
    assert args.check
    assert args.files == ["a.md", "b.md"]
    assert '".[check]"' in hook
    assert "\ncheck = [" in (ROOT / "pyproject.toml").read_text("utf-8")
