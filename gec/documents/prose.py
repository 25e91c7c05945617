"""A document's prose: its passages are corrected together, and their edits are the document's."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from gec.correct.options import Options
from gec.correct.result import Correction, shift
from gec.documents import commit
from gec.documents.kinds import kind_of
from gec.documents.markup import PARSERS, passages
from gec.documents.passage import Passage
from gec.edits.edits import Edit, apply
from gec.text.lines import split_lines

if TYPE_CHECKING:
    from gec.correct.corrector import Corrector
    from gec.correct.result import SentenceResult, Warning

_BETWEEN = "\n\n"  # ends a paragraph


def prose_kind(name: str) -> str:
    """Return how a file's prose is found: a key of :data:`gec.documents.markup.PARSERS`."""
    if PurePath(name).name in commit.NAMES:
        return "commit"
    kind = kind_of(name)
    return kind if kind in PARSERS else "plain"


def correct_prose(
    corrector: Corrector,
    source: str,
    name: str,
    options: Options | None = None,
    *,
    batch_size: int = 32,
) -> list[tuple[Passage, Correction]]:
    """Correct the passages of a document, all in one text, so that their sentences share batches.

    Edits that would cross markup and those in what is ignored are left out.

    Raises:
        DataError: it is not of the kind that its name says.
    """
    found = passages(prose_kind(name), source, name)
    if not found:
        return []
    texts = [passage.text(source) for passage in found]
    starts = [0]
    for text in texts[:-1]:
        starts.append(starts[-1] + len(text) + len(_BETWEEN))
    spans = tuple(
        (at + start, at + end)
        for at, passage in zip(starts, found, strict=True)
        for start, end in passage.protected
    )
    if spans:
        options = replace(options or Options(), protected=spans)
    asked = [options] if options else []
    seen = _BETWEEN.join(passage.seen(source) for passage in found)
    (whole,) = corrector.correct_many([seen], *asked, batch_size=batch_size)
    parts = _parts(whole, texts, starts)
    return [
        (passage, part.with_edits({e for e in part.edits if [*passage.outside([e])]}))
        for passage, part in zip(found, parts, strict=True)
    ]


def correct_lines(
    corrector: Corrector, text: str, options: Options | None = None, *, batch_size: int = 32
) -> list[str | Correction]:
    """Correct tokenized sentences, one a line; blank lines and line ends stay as they are.

    Return the pieces of the text in order: a sentence, its line end, ...
    """
    lines = split_lines(text)
    asked = [options] if options else []
    corrections = corrector.correct_tokenized(
        (line for line, _ in lines if line.strip()), *asked, batch_size=batch_size
    )
    parts: list[str | Correction] = []
    for line, end in lines:
        parts += [next(corrections) if line.strip() else line, end]
    return parts


def in_source(source: str, pairs: Sequence[tuple[Passage, Correction]]) -> Correction:
    """Return the correction of a document, from those of its passages."""
    edits = [e for passage, part in pairs for e in passage.outside(part.edits)]
    edits.sort(key=lambda edit: (edit.start, edit.end))
    return Correction(
        original=source,
        text=apply(source, edits),
        edits=tuple(edits),
        sentences=tuple(s.moved(passage.place) for passage, part in pairs for s in part.sentences),
        warnings=tuple(w.moved(passage.place) for passage, part in pairs for w in part.warnings),
    )


def _parts(whole: Correction, texts: Sequence[str], starts: Sequence[int]) -> Iterator[Correction]:
    """Cut the correction of a joined text into those of its parts; what crosses them is lost."""
    edits: list[list[Edit]] = [[] for _ in texts]
    sentences: list[list[SentenceResult]] = [[] for _ in texts]
    warnings: list[list[Warning]] = [[] for _ in texts]

    def owner(start: int) -> tuple[int, int]:
        number = bisect_right(starts, start) - 1
        return number, starts[number]

    for edit in whole.edits:
        number, at = owner(edit.start)
        if edit.end <= at + len(texts[number]):
            edits[number].append(replace(edit, start=edit.start - at, end=edit.end - at))
    for sentence in whole.sentences:
        number, at = owner(sentence.start)
        sentences[number].append(sentence.moved(shift(-at)))
    for warning in whole.warnings:
        number, at = owner(warning.start)
        warnings[number].append(warning.moved(shift(-at)))
    for text, own, found, said in zip(texts, edits, sentences, warnings, strict=True):
        yield Correction(text, apply(text, own), tuple(own), tuple(found), tuple(said))
