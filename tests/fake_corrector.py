"""A corrector without a network, for the tests of everything around it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from gec.correct.result import ENDLESS, Correction, SentenceResult, Warning
from gec.decoding.trace import Pass, Trace
from gec.edits.align import align
from gec.edits.edits import Edit
from gec.text.words import split_tokenized

# What the fake model knows: pattern, replacement, type.
RULES = (
    (r"\bgo\b", "goes", "R:VERB:SVA"),
    (r"\bbook\b(?! s)", "books", "R:NOUN:NUM"),
    (r"(?<=\bhave )(?=dog\b)", "a ", "M:DET"),
    (r"\bmuch (?=very\b)", "", "U:ADV"),
)
CONFIDENCE = 0.75


def fake_correction(text: str) -> Correction:
    """Correct with the rules; a sentence is a line."""
    edits = sorted(
        (
            Edit(
                start=match.start(),
                end=match.end(),
                original=match.group(),
                replacement=replacement,
                type=kind,
                confidence=CONFIDENCE,
                message=f"Use {replacement!r}",
            )
            for pattern, replacement, kind in RULES
            for match in re.finditer(pattern, text)
        ),
        key=lambda edit: edit.start,
    )
    corrected = replaced(text, edits)
    sentences = []
    for match in re.finditer(r"[^\r\n]+", text):
        words = tuple(split_tokenized(match.group(), match.start()))
        after = split_tokenized(replaced(match.group(), edits, match.start()))
        target = tuple(word.text for word in after)
        trace = Trace((Pass(drafted=2, accepted=1, emitted=2),), ("a", "b"))
        sentences.append(
            SentenceResult(match.start(), match.end(), words, target, trace, seconds=0.0125)
        )
    at = text.find("WARN")
    warnings = (Warning(at, at + 4, ENDLESS),) if at >= 0 else ()
    found = Correction(text, corrected, tuple(edits), tuple(sentences), warnings)
    return replace(found, edits=tuple(_in_words(found)))


def _in_words(found: Correction) -> Iterator[Edit]:
    """Give the edits of every sentence the words that they change."""
    for sentence, edits in found.by_sentence():
        changes = align(sentence.source, sentence.target)
        assert len(edits) == len(changes)
        yield from (replace(e, words=c) for e, c in zip(edits, changes, strict=True))


def replaced(text: str, edits: Iterable[Edit], offset: int = 0) -> str:
    """``text``, which begins at ``offset``, with the edits inside it made."""
    out: list[str] = []
    cursor = 0
    for edit in edits:
        start, end = edit.start - offset, edit.end - offset
        if start >= 0 and end <= len(text):
            out += [text[cursor:start], edit.replacement]
            cursor = end
    return "".join([*out, text[cursor:]])


class FakeCorrector:
    """The Corrector's surface; a text with FAIL in it cannot be corrected."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.batch_sizes: list[int] = []

    def correct_many(self, texts: Iterable[str], *, batch_size: int = 32) -> Iterator[Correction]:
        self.batch_sizes.append(batch_size)
        for text in texts:
            if "FAIL" in text:
                raise RuntimeError("the fake model\nfailed")
            yield fake_correction(text)

    correct_tokenized = correct_many

    def correct(self, text: str) -> Correction:
        return next(self.correct_many([text]))

    def info(self) -> dict[str, str | int | float]:
        return {"bundle": "fake", "parameters": 3}
