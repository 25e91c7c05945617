"""What is known of every sentence of an open document, so that only new ones are decoded.

A sentence's edits follow from its text, from what is protected in it, from whether it stands
behind a bullet, from whether a blank separates it from the next one, and from the strictness that
is asked for. These are its key. Sentences that were found in one version are there in the next,
in another document, and after an undo.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING

from gec.check.baseline import Known, known
from gec.check.findings import is_finding
from gec.documents.passage import Passage
from gec.edits.edits import Edit
from gec.lsp.recut import recut
from gec.text.language import looks_english
from gec.text.segmentation import Cuts, Sentence, cut
from gec.text.words import Word

if TYPE_CHECKING:
    from gec.check.project import Strictness
    from gec.correct.corrector import Corrector
    from gec.correct.options import Options
    from gec.correct.result import SentenceResult
    from gec.lsp.outline import Outline

Key = tuple[object, ...]
Place = tuple[int, int]
"""The number of a passage, and the number of a sentence in it."""

MOST_RESULTS = 40_000
"""Sentences that are remembered, those of all documents together."""
_BETWEEN = "\n\n"
_LONG = 2000  # characters of a passage of which not all is cut again
_LINE_END = re.compile(r"[ \t]*(?:[\r\n]|\Z)")
_SHORT = 12  # characters of a bullet, a number or a heading mark


@dataclass(frozen=True, slots=True)
class Proposal:
    """An edit of one sentence; its offsets count from the sentence's beginning.

    Attributes:
        known: what it is recognised by elsewhere.
        final: it puts a period or the like, which is no finding at the end of a line.
    """

    edit: Edit
    known: Known
    final: bool


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one sentence.

    Attributes:
        proposals: those that may be findings.
        words: how many it has.
        english: whether it may be English.
    """

    proposals: tuple[Proposal, ...]
    words: int
    english: bool


class Results:
    """The results used last."""

    def __init__(self, most: int = MOST_RESULTS) -> None:
        self._most = most
        self._found: OrderedDict[Key, Result] = OrderedDict()

    def __contains__(self, key: Key) -> bool:
        return key in self._found

    def get(self, key: Key) -> Result | None:
        """Return a result, which then counts as used last; None if it is not known."""
        found = self._found.get(key)
        if found is not None:
            self._found.move_to_end(key)
        return found

    def put(self, key: Key, result: Result) -> None:
        """Remember a result, and forget the one that was not used for longest."""
        self._found[key] = result
        if len(self._found) > self._most:
            self._found.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Demand:
    """What is asked for: it decides which edits a sentence gets.

    Attributes:
        strictness: how sure an edit must be.
        ignored_words: words that stay.
    """

    strictness: Strictness
    ignored_words: frozenset[str] = frozenset()

    def options(self) -> Options:
        """Return the corrector's options for it."""
        return self.strictness.options(self.ignored_words)


@dataclass(frozen=True, slots=True)
class _Cut:
    """One passage with the keys of its sentences."""

    text: str
    cuts: Cuts
    keys: tuple[Key, ...]

    def found(self, results: Results) -> Iterator[tuple[tuple[int, int], Result]]:
        """Yield the sentences whose results are known: where they stand, and the results."""
        for span, key in zip(self.cuts.spans, self.keys, strict=True):
            result = results.get(key)
            if result is not None:
                yield span, result


@dataclass(frozen=True, slots=True)
class Finding:
    """One proposal with its place in the document."""

    start: int
    end: int
    proposal: Proposal

    @property
    def edit(self) -> Edit:
        """The edit of the document."""
        return replace(self.proposal.edit, start=self.start, end=self.end)


class Reading:
    """The sentences of one version of a document.

    Args:
        outline: where the prose is.
        demand: what is asked for.
        before: the reading of an earlier version: its passages need not be cut again.
    """

    def __init__(self, outline: Outline, demand: Demand, before: Reading | None = None) -> None:
        self.outline = outline
        self.demand = demand
        if before is not None and before.demand != demand:
            before = None
        self._cuts: dict[Key, _Cut] = {}
        self._passages: list[tuple[Passage, _Cut]] = []
        for number, passage in enumerate(outline.found):
            seen = passage.seen(outline.source)
            key = (seen, passage.protected)
            found = self._cuts.get(key)
            if found is None and before is not None:
                found = before._cuts.get(key) or before._again(number, seen, passage, outline)
            if found is None:
                cuts = cut(seen, dictionary=demand.ignored_words, spans=passage.protected)
                found = _Cut(seen, cuts, tuple(_keys(cuts, demand.strictness)))
            self._cuts[key] = found
            self._passages.append((passage, found))

    def _again(self, number: int, seen: str, passage: Passage, outline: Outline) -> _Cut | None:
        """Return a passage of the next version, derived from the one that was in its place."""
        if not outline.guessed or number >= len(self._passages) or len(seen) < _LONG:
            return None
        old = self._passages[number][1]
        words, strictness = self.demand.ignored_words, self.demand.strictness
        new = recut(old.cuts, seen, dictionary=words, spans=passage.protected)
        if new is None:
            return None
        first = max(0, new.same - 1)  # a key holds something of the sentences beside its own
        last = len(new.cuts.spans) - max(0, new.rest - 1)
        fresh = _keys(new.cuts, strictness, first, last)
        rest = old.keys[len(old.keys) - max(0, new.rest - 1) :]
        return _Cut(seen, new.cuts, (*old.keys[:first], *fresh, *rest))

    def missing(self, results: Results, near: int = 0) -> list[Place]:
        """Return the sentences whose results are not known, those nearest to a place first.

        Of equal ones it returns one.
        """
        places = [
            (abs(own.pieces[0][0] + found.cuts.spans[n][0] - near), p, n, key)
            for p, (own, found) in enumerate(self._passages)
            for n, key in enumerate(found.keys)
            if key not in results
        ]
        places.sort(key=itemgetter(0))
        wanted: dict[Key, Place] = {}
        for _, passage, number, key in places:
            wanted.setdefault(key, (passage, number))
        return [*wanted.values()]

    def correct(
        self, corrector: Corrector, results: Results, places: Sequence[Place], batch_size: int
    ) -> None:
        """Correct some sentences, and remember their results."""
        batch = _Batch()
        for passage, number in sorted(places):
            batch.add(passage, self._passages[passage][1], number)
        text, sentences, chosen = batch.whole()
        whole = corrector.correct_sentences(
            text, sentences, self.demand.options(), chosen=chosen, batch_size=batch_size
        )
        for place, (sentence, edits) in enumerate(whole.by_sentence()):
            if place in chosen:
                english = looks_english(sentence.words)
                proposals = tuple(_proposals(text, sentence, edits))
                results.put(chosen[place], Result(proposals, len(sentence.words), english))

    def findings(self, results: Results, counts: Callable[[str], bool]) -> list[Finding]:
        """Return what is found so far, in the document's order; ``counts`` chooses error types.

        As in ``gec correct --check``, nothing is found in a text most of which is foreign.
        """
        found: list[Finding] = []
        words = foreign = 0
        for passage, own in self._passages:
            plain = len(passage.pieces) == 1 and not (passage.ignored or passage.fragment)
            for (start, _), result in own.found(results):
                words += result.words
                if not result.english:
                    foreign += result.words
                for one in result.proposals:
                    if not counts(one.edit.type):
                        continue
                    if one.final and not _goes_on(own.text, start + one.edit.end):
                        continue
                    if plain:
                        at = passage.pieces[0][0] + start
                        found.append(Finding(at + one.edit.start, at + one.edit.end, one))
                    else:
                        found += _outside(passage, one, start)
        if 2 * foreign > words:
            return []
        return sorted(found, key=lambda one: (one.start, one.end))


def _keys(
    cuts: Cuts, strictness: Strictness, first: int = 0, last: int | None = None
) -> Iterator[Key]:
    """Yield the keys of a passage's sentences from the first to before the last."""
    before = cuts.spans[first - 1] if first else (0, 0)
    how = repr(strictness)  # a string knows its hash
    for number in range(first, len(cuts.spans) if last is None else last):
        start, end = cuts.spans[number]
        kept = tuple((first - start, last - start) for first, last in cuts.kept(number))
        following = cuts.spans[number + 1][0] if number + 1 < len(cuts.spans) else None
        bullet = _bullet(cuts, number, before, start)
        yield cuts.text[start:end], kept, bullet, following == end, how
        before = (start, end)


def _bullet(cuts: Cuts, number: int, before: tuple[int, int], start: int) -> str | bool:
    """Return what stands before a sentence on its line, if it may be the mark of a bullet."""
    between = cuts.text[before[1] : start]
    if not number or "\n" in between or "\r" in between:
        return False
    if before[1] - before[0] <= _SHORT:
        return cuts.text[slice(*before)]
    return before in cuts.kept(number - 1)


class _Batch:
    """Sentences of several passages on their way to the corrector, in one text."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._starts: dict[int, int] = {}
        self._length = 0
        self._sentences: dict[tuple[int, int], Sentence] = {}
        self._keys: dict[tuple[int, int], Key] = {}

    def add(self, passage: int, found: _Cut, number: int) -> None:
        """Add a sentence with its neighbours, whose places it is judged by."""
        if passage not in self._starts:
            self._starts[passage] = self._length
            self._texts.append(found.text)
            self._length += len(found.text) + len(_BETWEEN)
        for other in range(max(0, number - 1), min(number + 2, len(found.keys))):
            if (passage, other) not in self._sentences:
                sentence = found.cuts.sentence(other)
                self._sentences[passage, other] = _shifted(sentence, self._starts[passage])
        self._keys[passage, number] = found.keys[number]

    def whole(self) -> tuple[str, list[Sentence], dict[int, Key]]:
        """Return the text, the sentences, and the keys of those to correct by their place."""
        order = sorted(self._sentences)
        chosen = {n: self._keys[place] for n, place in enumerate(order) if place in self._keys}
        return _BETWEEN.join(self._texts), [self._sentences[place] for place in order], chosen


def _shifted(sentence: Sentence, by: int) -> Sentence:
    if not by:
        return sentence
    words = (Word(w.text, w.start + by, w.end + by, w.protected) for w in sentence.words)
    return Sentence(sentence.start + by, sentence.end + by, tuple(words))


def _proposals(text: str, sentence: SentenceResult, edits: Iterable[Edit]) -> Iterator[Proposal]:
    """Yield those of a sentence's edits that may be findings, whatever follows the sentence."""
    span = (sentence.start, sentence.end)
    for edit in edits:
        final = not is_finding(f"{edit.original}\n", replace(edit, start=0, end=len(edit.original)))
        own = replace(edit, start=edit.start - span[0], end=edit.end - span[0])
        if is_finding(f"{edit.original}x", replace(edit, start=0, end=len(edit.original))):
            name = known(text, edit.start, edit.end, edit.replacement, span)
            yield Proposal(own, name, final)


def _goes_on(text: str, end: int) -> bool:
    """Whether anything follows a place on its line."""
    return not _LINE_END.match(text, end)


def _outside(passage: Passage, one: Proposal, start: int) -> Iterator[Finding]:
    """Yield a proposal of a passage's sentence as a finding, unless markup stands in its way."""
    here = replace(one.edit, start=one.edit.start + start, end=one.edit.end + start)
    for there in passage.outside([here]):
        yield Finding(there.start, there.end, one)
