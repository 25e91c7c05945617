"""Edits of the user's text and of words, and how to make them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class WordEdit:
    """Words ``source_start:source_end`` of the source became those words of the target."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int

    def old(self, source: Sequence[str]) -> Sequence[str]:
        """Return the words of the source that the edit takes away."""
        return source[self.source_start : self.source_end]

    def new(self, target: Sequence[str]) -> Sequence[str]:
        """Return the words of the target that the edit puts in their place."""
        return target[self.target_start : self.target_end]

    def touches(self, later: WordEdit) -> bool:
        """Whether no kept word stands between this edit and a later one."""
        return self.source_end == later.source_start and self.target_end == later.target_start


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace ``original == text[start:end]`` by ``replacement``; offsets are code points.

    ``start == end`` inserts. ``type`` is ERRANT's notation, ``confidence`` a probability,
    ``message`` one line of plain English. ``words`` is the same change as one of the sentence's
    words; None if it changes no word (a blank), or if its maker knows no words.
    """

    start: int
    end: int
    original: str
    replacement: str
    type: str
    confidence: float
    message: str
    words: WordEdit | None = field(default=None, compare=False, repr=False)


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return ``text`` with the edits made, in whatever order they come.

    Raises ValueError if one lies outside the text, if its ``original`` is not what stands there,
    and if two overlap or insert at one and the same place.
    """
    pieces: list[str] = []
    at = 0
    previous: Edit | None = None
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if not 0 <= edit.start <= edit.end <= len(text):
            raise ValueError(f"edit {edit.start}-{edit.end} outside a text of {len(text)}: {edit}")
        if text[edit.start : edit.end] != edit.original:
            found = text[edit.start : edit.end]
            raise ValueError(f"expected {edit.original!r} at {edit.start}, found {found!r}")
        if previous and (
            edit.start < previous.end or edit.start == edit.end == previous.start == previous.end
        ):
            raise ValueError(f"edits overlap: {previous} and {edit}")
        pieces += text[at : edit.start], edit.replacement
        at = edit.end
        previous = edit
    return "".join(pieces) + text[at:]
