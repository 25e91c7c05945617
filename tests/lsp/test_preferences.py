"""The editor's settings, and what a project adds to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gec.check.project import Strictness
from gec.check.wordfiles import PROJECT_WORDS, add_word, read_words
from gec.errors import ConfigError, InputError
from gec.lsp.preferences import Preferences, read_preferences, user_dictionary
from gec.lsp.workspace import Workspace


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"fixConfidence": 2}, "fixConfidence must be a number from 0 to 1"),
        ({"debounce": "x"}, "debounce must be a number"),
        ({"maxCharacters": 0}, "maxCharacters must be a number of 1 or more"),
        ({"enabled": 1}, "enabled must be true or false"),
        ({"types": ["X"]}, "there is no error type 'X'"),
        ({"minConfidence": 7}, "min_confidence: must be a number from 0 to 1, not 7"),
        ({"other": 1}, "have no 'other'"),
        ([], "must be a table"),
    ],
)
def test_what_is_wrong_is_said_and_all_else_counts(given: Any, said: str) -> None:
    if isinstance(given, dict):
        given = {**given, "severity": "hint", "setting": "thorough"}
    found, wrong = read_preferences(given)
    assert said in wrong
    if isinstance(given, dict):
        assert found.severity == "hint"
        assert found.rules.strictness == Strictness(setting="thorough")


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_preferences(None) == (Preferences(), "")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/x")
    assert user_dictionary() == str(Path("/x/gec/dictionary.txt"))


def test_the_editor_comes_over_the_project(tmp_path: Path) -> None:
    said: list[str] = []
    workspace = Workspace(said.append)
    file = tmp_path / "a.md"
    (tmp_path / ".git").mkdir()
    bare = workspace.rules_of(str(file), "markdown")
    assert bare is not None
    assert bare.demand.strictness == Strictness()  # the bundle's own
    (tmp_path / "pyproject.toml").write_text(
        '[tool.gec]\nmin_confidence = 0.7\nignored_words = ["a"]\n'
        '[[tool.gec.overrides]]\nfiles = ["a.md"]\nignored_types = ["DET"]\n'
    )
    workspace.preferences, _ = read_preferences({"minConfidence": 0.8, "ignoredWords": ["b"]})
    workspace.forget()
    found = workspace.rules_of(str(file), "markdown")
    assert found is not None
    assert found.demand.strictness.min_confidence == 0.8
    assert found.demand.ignored_words >= {"a", "b"}
    assert not found.counts("M:DET")
    assert found.counts("R:SPELL")
    workspace.preferences, _ = read_preferences({"languages": ["latex"]})
    assert workspace.rules_of(str(file), "markdown") is None
    assert not said


def test_known_findings_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.gec]\nbaseline = "known.json"\n')
    (tmp_path / "known.json").write_text('{"version": 1, "files": {}}')
    said: list[str] = []
    workspace = Workspace(said.append)
    found = workspace.rules_of(str(tmp_path / "sub" / "a.md"), "markdown")
    assert found is not None
    assert found.baseline is not None
    assert found.baseline_name == "sub/a.md"
    (tmp_path / "known.json").write_text("{")
    workspace.forget()
    found = workspace.rules_of(str(tmp_path / "sub" / "a.md"), "markdown")
    assert found is not None
    assert found.baseline is None
    assert "is no baseline" in said[0]


def test_words_are_added_once(tmp_path: Path) -> None:
    file = tmp_path / "new" / "words"
    assert add_word(file, "one")
    assert not add_word(file, "one")
    file.write_bytes(b"# mine\r\nzwei")
    assert add_word(file, "drei")
    assert file.read_bytes() == b"# mine\r\nzwei\r\ndrei\r\n"
    assert read_words(str(file)) == ["zwei", "drei"]
    with pytest.raises(InputError, match="cannot be written"):
        add_word(file / "below", "x")


def test_settings_that_cannot_be_changed_are_left(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    settings = tmp_path / "pyproject.toml"
    settings.write_text("tool.gec.min_confidence = 0.5\n")
    workspace = Workspace(lambda message: None)
    with pytest.raises(ConfigError, match=f'write dictionary = "{PROJECT_WORDS}" into'):
        workspace.add_to_project("word", str(tmp_path / "a.md"))
    assert settings.read_text() == "tool.gec.min_confidence = 0.5\n"


@pytest.mark.parametrize(
    "text", ['[tool."gec"]\nmin_confidence = 0.5\n', 'text = """\n[tool.gec]\n"""\n', "[broken\n"]
)
def test_settings_in_another_way_and_the_dictionary_are_left(text: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    settings = tmp_path / "pyproject.toml"
    settings.write_text(text)
    with pytest.raises(ConfigError, match=f'write dictionary = "{PROJECT_WORDS}" into'):
        Workspace(lambda message: None).add_to_project("word", str(tmp_path / "a.md"))
    assert settings.read_text() == text
    assert not (tmp_path / PROJECT_WORDS).exists()


def test_a_dictionary_outside_of_the_project_is_left(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / ".git").mkdir()
    (project / "pyproject.toml").write_text('[tool.gec]\ndictionary = "../words"\n')
    with pytest.raises(ConfigError, match="is not in the project's folder"):
        Workspace(lambda message: None).add_to_project("word", str(project / "a.md"))
    assert not (tmp_path / "words").exists()
