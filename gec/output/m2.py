"""CoNLL's M2: a sentence a block, with its edits of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gec.correct.result import Correction, SentenceResult
    from gec.edits.edits import Edit
    from gec.text.words import Word


def to_m2(correction: Correction) -> str:
    """Return a line S for each sentence, and a line A for each of its edits that change words.

    A sentence without such edits has a ``noop``.
    """
    return "".join(
        _block(correction.original, sentence, edits)
        for sentence, edits in correction.by_sentence()
        if sentence.words or sentence.target
    )


def _block(text: str, sentence: SentenceResult, edits: Sequence[Edit]) -> str:
    lines = ["S " + " ".join(_own_word(text, word) for word in sentence.words)]
    for edit in edits:
        if edit.words is not None:
            new = " ".join(edit.words.new(sentence.target))
            lines.append(_line(edit.words.source_start, edit.words.source_end, edit.type, new))
    if len(lines) == 1:
        lines.append(_line(-1, -1, "noop", "-NONE-"))
    return "\n".join(lines) + "\n\n"


def _line(start: int, end: int, kind: str, words: str) -> str:
    return f"A {start} {end}|||{kind}|||{words}|||REQUIRED|||-NONE-|||0"


def _own_word(text: str, word: Word) -> str:
    """Return the user's spelling of a word, unless M2 cannot hold it."""
    own = text[word.start : word.end]
    return own if len(own.split()) == 1 else word.text
