"""What holds for a document: its project's settings, the dictionaries, the editor's preferences."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from gec.check.baseline import Baseline
from gec.check.project import CHECK_CONFIDENCE, Project, Rules, Strictness, find_project, match
from gec.check.wordfiles import (
    PROJECT_WORDS,
    add_to_project,
    add_word,
    own_dictionary,
    read_words,
)
from gec.errors import GecError, InputError
from gec.files import read_document, write_in_place
from gec.lsp.preferences import Preferences
from gec.lsp.sentences import Demand


@dataclass(frozen=True, slots=True)
class Rulebook:
    """What holds for one document.

    Attributes:
        demand: which edits are asked for.
        counts: whether an error type is shown.
        baseline: findings that are known; they are not shown.
        baseline_name: how the baseline calls the document.
        project: the project that it belongs to; None if there are no settings of one.
    """

    demand: Demand
    counts: Callable[[str], bool]
    baseline: Baseline | None = None
    baseline_name: str = ""
    project: Project | None = None


class Workspace:
    """The projects and dictionaries of the open documents, read once until a file of them changes.

    Args:
        say: tells the user what is wrong with a file; each message once until :meth:`forget`.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self.preferences = Preferences()
        self.folders: list[Path] = []
        self._say = say
        self._said: set[str] = set()
        self._projects: dict[Path, Project] = {}
        self._words: dict[str, frozenset[str]] = {}
        self._baselines: dict[str, Baseline | None] = {}

    def forget(self) -> None:
        """Read all files again when they are needed."""
        self._said.clear()
        self._projects.clear()
        self._words.clear()
        self._baselines.clear()

    def rules_of(self, name: str, language: str) -> Rulebook | None:
        """Return what holds for a document; None if it is not to be checked."""
        preferences = self.preferences
        if not preferences.enabled:
            return None
        if preferences.languages and language not in preferences.languages:
            return None
        project = self.project_of(name)
        file = str(Path(name).absolute())
        if project.file and project.exclude and match(project.exclude, project.inner(file)):
            return None
        rules = project.rules_of(file).under(preferences.rules)
        words = set(rules.ignored_words) | self._read(preferences.user_dictionary, False)
        if project.dictionary:
            words |= self._read(str(project.root / project.dictionary), True)
        baseline = self._baseline(project)
        demand = Demand(_strictness(project, rules), frozenset(words))
        return Rulebook(
            demand,
            rules.counts,
            baseline,
            _baseline_name(project, file),
            project if project.file else None,
        )

    def project_of(self, name: str) -> Project:
        """Return the project that a file belongs to; without one the default settings."""
        folder = Path(name).absolute().parent
        if folder not in self._projects:
            try:
                self._projects[folder] = find_project(start=folder)
            except GecError as error:
                self._complain(f"{error}; the defaults hold")
                self._projects[folder] = Project(root=folder)
        return self._projects[folder]

    def watches(self, path: str) -> bool:
        """Whether a file has settings or words of ours."""
        file = Path(path)
        return (
            file.name in ("pyproject.toml", PROJECT_WORDS)
            or path in self._words
            or path in self._baselines
            or str(file) == str(Path(self.preferences.user_dictionary))
        )

    def add_to_user(self, word: str) -> str:
        """Add a word to the user's dictionary; return the file."""
        name = self.preferences.user_dictionary
        add_word(name, word)
        self.forget()
        return name

    def add_to_project(self, word: str, name: str) -> str:
        """Add a word to the dictionary of a file's project, which gets one if it has none.

        Return the dictionary's file.
        """
        project = self.project_of(name)
        if (words := own_dictionary(project)) is not None:
            add_word(words, word)
        else:
            settings = Path(project.file) if project.file else self._top(name) / "pyproject.toml"
            words = settings.parent / PROJECT_WORDS
            add_to_project(words, [word], settings)
        self.forget()
        return str(words)

    def ignore_type(self, type: str, name: str) -> bool:
        """Write into the settings of a file's project that an error type does not count in it.

        Return whether it has settings.

        Raises:
            InputError: they cannot be written.
        """
        project = self.project_of(name)
        inner = project.inner(str(Path(name).absolute()))
        if not project.file or inner.startswith("../"):
            return False
        pattern = "/" + re.sub(r"([\\*?\[\]!#])", r"\\\1", inner)
        document = read_document(project.file)
        text = document.text
        end = "\r\n" if "\r\n" in text else "\n"
        lines = [
            "",
            "[[tool.gec.overrides]]",
            f"files = [{json.dumps(pattern)}]",
            f"ignored_types = [{json.dumps(type)}]",
            "",
        ]
        gap = "" if text.endswith(end) else end
        write_in_place(project.file, f"{document.bom}{text}{gap}{end.join(lines)}")
        return True

    def _top(self, name: str) -> Path:
        """Return the folder of the workspace that a file is in, else the file's own."""
        file = Path(name).absolute()
        inside = [folder for folder in self.folders if folder in file.parents]
        return max(inside, key=lambda folder: len(folder.parts), default=file.parent)

    def _read(self, name: str, wanted: bool) -> frozenset[str]:
        """Read a dictionary; one that does not exist is empty, unless it is ``wanted``."""
        if name not in self._words:
            words: list[str] = []
            if wanted or Path(name).exists():
                try:
                    words = read_words(name)
                except InputError as error:
                    self._complain(str(error))
            self._words[name] = frozenset(words)
        return self._words[name]

    def _baseline(self, project: Project) -> Baseline | None:
        if project.baseline is None:
            return None
        name = str(project.root / project.baseline)
        if name not in self._baselines:
            self._baselines[name] = None
            if Path(name).exists():
                try:
                    self._baselines[name] = Baseline.read(name)
                except GecError as error:
                    self._complain(str(error))
        return self._baselines[name]

    def _complain(self, message: str) -> None:
        if message not in self._said:
            self._said.add(message)
            self._say(message)


def _strictness(project: Project, rules: Rules) -> Strictness:
    """Return how strict to be: in a project as ``gec correct --check``, else as the bundle."""
    least = CHECK_CONFIDENCE if project.file else None
    return Strictness(min_confidence=least).under(rules.strictness)


def _baseline_name(project: Project, file: str) -> str:
    """Return how the project's baseline calls a file: from its own folder."""
    folder = (project.root / (project.baseline or "")).parent
    return replace(project, root=folder).inner(file)
