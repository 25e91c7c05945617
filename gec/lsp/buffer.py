"""An open document as a value: what the editor sent, and what became of it by its changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from gec.lsp.languages import kind_of
from gec.lsp.positions import Text, difference


@dataclass(frozen=True, slots=True)
class Change:
    """One change: what takes the place of a range; the range of the whole text is None."""

    range: tuple[tuple[int, int], tuple[int, int]] | None
    new: str


@dataclass(frozen=True, slots=True)
class Buffer:
    """One version of an open document.

    Attributes:
        uri: how the editor calls it.
        version: the editor's number of it.
        language: the editor's name of its language.
        text: with its lines.
        touched: the code point behind the last change, or what the user asked about last: where
            the user looks.
    """

    uri: str
    version: int
    language: str
    text: Text
    touched: int = 0

    @property
    def name(self) -> str:
        """The file's path; for one that is not saved what the URI ends in."""
        return path_of(self.uri)

    @property
    def prose(self) -> tuple[str, str] | None:
        """How its prose is found: see :func:`gec.lsp.languages.kind_of`."""
        return kind_of(self.language, self.name)

    def changed(self, version: int, changes: Sequence[Change]) -> Buffer:
        """Return the next version.

        Positions outside the text are moved into it, and a range that ends before it begins is
        turned round: the editor and we would differ, but no text is lost.
        """
        text, touched = self.text, self.touched
        for change in changes:
            if change.range is None:
                _, _, touched = difference(text.value, change.new)
                text = Text.of(change.new, text.encoding)
            else:
                start, end = sorted(text.offset(*place) for place in change.range)
                text = text.replaced(start, end, change.new)
                touched = start + len(change.new)
        return replace(self, version=version, text=text, touched=touched)

    def looked_at(self, offset: int) -> Buffer:
        """Return the same version with another place at which the user looks."""
        return replace(self, touched=offset)


def path_of(uri: str) -> str:
    """Return the path of a file's URI; of another URI its last part.

    >>> path_of("file:///home/me/a%20b.md"), path_of("untitled:Untitled-1")
    ('/home/me/a b.md', 'Untitled-1')
    """
    parts = urlsplit(uri)
    if parts.scheme == "file":
        path = url2pathname(parts.path)
        return path if not parts.netloc else f"//{parts.netloc}{path}"
    return unquote(parts.path).rpartition("/")[2] or "untitled"


def uri_of(path: str | Path) -> str:
    """Return the URI of a file."""
    return Path(path).absolute().as_uri()
