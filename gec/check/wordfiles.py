"""Dictionaries: files of words that stay as they are."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gec.errors import ConfigError, InputError
from gec.files import Document, read_document, write_in_place
from gec.text.lines import split_lines

if TYPE_CHECKING:
    from gec.check.project import Project

PROJECT_WORDS = "gec-words.txt"
"""The dictionary that a project gets if it has none."""
_TABLE = re.compile(r"^\[tool\.gec\][ \t]*(?:#[^\r\n]*)?(?=\r?$)", re.MULTILINE)


def read_words(name: str) -> list[str]:
    """Read the words never to change: one a line, no empty lines and none that begin with #.

    Raises:
        InputError: the file cannot be read.
    """
    words = (line.strip() for line, _ in split_lines(read_document(name).text))
    return [word for word in words if word and not word.startswith("#")]


def add_word(name: str | Path, word: str) -> bool:
    """Add a word as :func:`add_words` does; return whether it is new."""
    return bool(add_words(name, [word]))


def add_words(name: str | Path, words: Iterable[str]) -> list[str]:
    """Add words at the end of a dictionary, which is made if it does not exist.

    Return those that are new. All other lines stay as they are.

    Raises:
        InputError: the file cannot be read or written.
    """
    path = Path(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
    document = read_document(str(path))
    new = missing(document.text, words)
    write_in_place(path, document.bom + document.text + lines_for(document.text, new))
    return new


def missing(text: str, words: Iterable[str]) -> list[str]:
    """Return those of some words, each once, that a dictionary's text does not have."""
    known = {line.strip() for line, _ in split_lines(text)}
    return [word for word in dict.fromkeys(words) if word not in known]


def lines_for(text: str, words: Sequence[str]) -> str:
    """Return what adds words to a dictionary's text: lines that end as its others do."""
    end = "\r\n" if "\r\n" in text else "\n"
    begin = end if words and text and not text.endswith(("\n", "\r")) else ""
    return begin + "".join(word + end for word in words)


def own_dictionary(project: Project) -> Path | None:
    """Return the dictionary that a project's settings name, to be written; None if they name none.

    Raises:
        ConfigError: it is no file in the project's folder, links followed.
    """
    if not project.dictionary:
        return None
    found = Path(project.root, project.dictionary)
    if not Path(os.path.realpath(found)).is_relative_to(os.path.realpath(project.root)):
        raise ConfigError(
            f"{project.file}: {project.dictionary}: is not in the project's folder; words are not "
            "added to a dictionary outside of it"
        )
    return found


def add_to_project(dictionary: Path, words: Iterable[str], settings: Path) -> list[str]:
    """Add words to a project's dictionary, and write into its settings that it has this one.

    Return those that are new.

    Raises:
        InputError: a file cannot be read or written.
        ConfigError: the settings are written in another way than in a table of their own; then
            nothing is written.
    """
    document = read_document(str(settings)) if settings.exists() else Document(str(settings), "")
    text = with_dictionary(document)
    new = add_words(dictionary, words)
    settings.touch()
    write_in_place(settings, document.bom + text)
    return new


def with_dictionary(settings: Document) -> str:
    """Return the text of settings, such as a pyproject.toml, with the dictionary's name in it.

    Raises:
        ConfigError: they are written in another way than in a table of their own.
    """
    line = f'dictionary = "{PROJECT_WORDS}"'
    text = settings.text
    end = "\r\n" if "\r\n" in text else "\n"
    if (table := _TABLE.search(text)) is not None:
        found = f"{text[: table.end()]}{end}{line}{text[table.end() :]}"
    else:
        before = "" if not text else end if text.endswith(end) else 2 * end
        found = f"{text}{before}[tool.gec]{end}{line}{end}"
    if not _names_it(found, text):
        raise ConfigError(f"{settings.name}: write {line} into the settings of gec, then try again")
    return found


def _names_it(text: str, old: str) -> bool:
    """Whether TOML says what another one says, and the dictionary's name."""
    try:
        wanted, found = _values(old), _values(text)
    except tomllib.TOMLDecodeError:
        return False
    wanted.setdefault("tool", {}).setdefault("gec", {})["dictionary"] = PROJECT_WORDS
    return wanted == found


def _values(text: str) -> dict[str, Any]:
    return tomllib.loads(text, parse_float=str)  # nan would not equal itself
