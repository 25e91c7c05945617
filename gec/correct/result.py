"""What a corrector returns: values that keep the place of everything in the user's text."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gec.edits.edits import Edit, apply
from gec.text.words import Word

if TYPE_CHECKING:
    from gec.correct.confidence import Evidence
    from gec.decoding.trace import Trace

Move = Callable[[int, int], tuple[int, int]]
"""Takes the start and end of a span in one text and returns them in another."""

ENDLESS, TOO_LONG = "endless", "too long"
_SAID = {
    ENDLESS: "no end within the length limit, left as it was",
    TOO_LONG: "words too long for the model, left as they were",
}


@dataclass(frozen=True, slots=True)
class Warning:
    """A part of the text that the corrector left as it was, although it is English.

    Attributes:
        start, end: code points of the original.
        kind: why: ``ENDLESS`` if the model found no end, ``TOO_LONG`` if it could not begin.
    """

    start: int
    end: int
    kind: str

    def __str__(self) -> str:
        return f"characters {self.start}-{self.end}: {_SAID[self.kind]}"

    def moved(self, move: Move) -> Warning:
        """Return the warning with its place in another text."""
        start, end = move(self.start, self.end)
        return replace(self, start=start, end=end)


@dataclass(frozen=True, slots=True)
class SentenceResult:
    """One sentence: where it stands in the original, its words before and after, and how.

    Attributes:
        start, end: code points of the original.
        words: the words before, each with its own place in the original.
        target: the words after; ``Edit.words`` counts in both.
        trace: how the model decoded the sentence; None if it did not.
        seconds: how long that took.
        evidence: what is known of every edit that the model proposed, made or left out for its
            confidence.
    """

    start: int
    end: int
    words: tuple[Word, ...]
    target: tuple[str, ...]
    trace: Trace | None
    seconds: float
    evidence: tuple[Evidence, ...] = ()

    @property
    def source(self) -> tuple[str, ...]:
        """The words before, as the model sees them."""
        return tuple(word.text for word in self.words)

    def has(self, edit: Edit) -> bool:
        """Whether an edit, which is not an earlier sentence's, is this one's and not a later's.

        An insertion where two sentences touch follows a word of the first, or none.
        """
        if edit.words is not None and edit.start == edit.end == self.end:
            return edit.words.source_start > 0
        return edit.end <= self.end

    def moved(self, move: Move) -> SentenceResult:
        """Return the sentence with its place and its words' places in another text."""
        start, end = move(self.start, self.end)
        words = []
        for word in self.words:
            first, last = move(word.start, word.end)
            words.append(Word(word.text, first, last, word.protected))
        return replace(self, start=start, end=end, words=tuple(words))


@dataclass(frozen=True, slots=True)
class Correction:
    """A corrected text. ``text`` equals ``apply(original, edits)``; offsets are code points."""

    original: str
    text: str
    edits: tuple[Edit, ...]
    sentences: tuple[SentenceResult, ...] = ()
    warnings: tuple[Warning, ...] = ()

    @property
    def trace(self) -> tuple[Trace, ...]:
        """The traces of the sentences that were decoded."""
        return tuple(s.trace for s in self.sentences if s.trace is not None)

    def by_sentence(self) -> Iterator[tuple[SentenceResult, list[Edit]]]:
        """Yield each sentence with its edits; the last sentence has all edits after it, too."""
        edits = deque(self.edits)
        for number, sentence in enumerate(self.sentences, 1):
            own: list[Edit] = []
            last = number == len(self.sentences)
            while edits and (last or sentence.has(edits[0])):
                own.append(edits.popleft())
            yield sentence, own

    def with_edits(self, edits: Collection[Edit]) -> Correction:
        """Return the correction with some of its edits only."""
        kept = tuple(edit for edit in self.edits if edit in edits)
        return replace(self, text=apply(self.original, kept), edits=kept)


def join(parts: Sequence[str | Correction]) -> Correction:
    """Return one correction for consecutive pieces of a text; a string is an unchanged piece."""
    original: list[str] = []
    text: list[str] = []
    edits: list[Edit] = []
    sentences: list[SentenceResult] = []
    warnings: list[Warning] = []
    offset = 0
    for part in parts:
        if isinstance(part, str):
            part = Correction(part, part, ())
        move = shift(offset)
        original.append(part.original)
        text.append(part.text)
        edits += [replace(e, start=e.start + offset, end=e.end + offset) for e in part.edits]
        sentences += [sentence.moved(move) for sentence in part.sentences]
        warnings += [warning.moved(move) for warning in part.warnings]
        offset += len(part.original)
    return Correction(
        "".join(original), "".join(text), tuple(edits), tuple(sentences), tuple(warnings)
    )


def shift(by: int) -> Move:
    """Return the move of a text's spans ``by`` so many code points."""
    return lambda start, end: (start + by, end + by)
