"""Dictionaries: files of words that stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from gec.errors import ConfigError, InputError
from gec.files import Document, read_document, write_in_place
from gec.text.lines import split_lines

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


def name_dictionary(settings: Path) -> None:
    """Write into a project's settings that it has a dictionary.

    Raises:
        ConfigError: the settings are written in another way than in a table of its own.
    """
    document = read_document(str(settings)) if settings.exists() else Document(str(settings), "")
    text = with_dictionary(document)
    settings.touch()
    write_in_place(settings, document.bom + text)


def with_dictionary(settings: Document) -> str:
    """Return the text of settings, such as a pyproject.toml, with the dictionary's name in it.

    Raises:
        ConfigError: they are written in another way than in a table of their own.
    """
    line = f'dictionary = "{PROJECT_WORDS}"'
    text = settings.text
    end = "\r\n" if "\r\n" in text else "\n"
    if (table := _TABLE.search(text)) is not None:
        return f"{text[: table.end()]}{end}{line}{text[table.end() :]}"
    if re.search(r"^\s*\[tool\][ \t]*$|^\s*tool\.gec|^\s*gec\s*=", text, re.MULTILINE):
        raise ConfigError(f"{settings.name}: write {line} into the settings of gec, then try again")
    before = "" if not text else end if text.endswith(end) else 2 * end
    return f"{text}{before}[tool.gec]{end}{line}{end}"
