"""Dictionaries: files of words that stay as they are."""

from __future__ import annotations

from pathlib import Path

from gec.errors import InputError
from gec.files import read_document, write_in_place
from gec.text.lines import split_lines


def read_words(name: str) -> list[str]:
    """Read the words never to change: one a line, no empty lines and none that begin with #.

    Raises:
        InputError: the file cannot be read.
    """
    words = (line.strip() for line, _ in split_lines(read_document(name).text))
    return [word for word in words if word and not word.startswith("#")]


def add_word(name: str | Path, word: str) -> bool:
    """Add a word at the end of a dictionary, which is made if it does not exist.

    Return whether the word is new.

    Raises:
        InputError: the file cannot be read or written.
    """
    path = Path(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
    if word in read_words(str(path)):
        return False
    document = read_document(str(path))
    text = document.text
    end = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith(("\n", "\r")):
        text += end
    return write_in_place(path, f"{document.bom}{text}{word}{end}")
