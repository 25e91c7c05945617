"""The prose of git's commit messages: what is above the scissors, without comments and trailers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gec.documents.passage import Passage
from gec.text.protection import Span

NAMES = frozenset({"COMMIT_EDITMSG", "MERGE_MSG", "TAG_EDITMSG", "SQUASH_MSG"})
"""Files in which git lets one write."""
_SCISSORS = re.compile(r"^# -+ >8 -+$", re.MULTILINE)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_TRAILER = re.compile(r"[A-Za-z][A-Za-z-]*-[A-Za-z-]+:[ \t]|(?:Fixes|Closes|Refs?|CC|Cc):[ \t]")
_PREFIX = re.compile(r"(?:fixup! |squash! |amend! )*(?:[\w.()/*-]+!?:[ \t]+)?")
"""Before the subject: ``fixup!``, ``feat(parser):``, ``docs:``."""


def passages(source: str, name: str) -> Iterator[Passage]:
    """Yield the subject, which needs no period, and the paragraphs of the body."""
    cut = _SCISSORS.search(source)
    pieces: list[Span] = []
    subject = True
    for line in _LINE.finditer(source, 0, cut.start() if cut else len(source)):
        start, end = line.span()
        text = line[0]
        if text.startswith("#"):
            continue
        if text.strip() and not _TRAILER.match(text):
            if subject and not pieces:
                start += len(_PREFIX.match(text)[0])  # type: ignore[index]
            pieces.append((start, end))
        elif pieces:
            yield Passage(tuple(pieces), fragment=subject)
            pieces, subject = [], False
    if pieces:
        yield Passage(tuple(pieces), fragment=subject)
