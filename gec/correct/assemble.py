"""Assemble a correction: decide the edits of each sentence, and place them in the user's text."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from gec.correct.confidence import Calibration, Evidence
from gec.correct.opinion import SecondOpinion
from gec.correct.plan import Interrupt, Plan
from gec.correct.reading import Done, Reading, Share, shares, unread
from gec.correct.result import Correction, SentenceResult, Warning
from gec.decoding.decoder import Hypothesis
from gec.decoding.trace import Trace
from gec.edits.classify import kind_of
from gec.edits.edits import Edit, WordEdit, apply
from gec.edits.place import to_edits
from gec.text.ngrams import NGrams
from gec.text.protection import Overlaps
from gec.text.segmentation import missing_blanks
from gec.text.spelling import Speller
from gec.text.subwords import WordCodec

BLANK_TYPE, BLANK_CONFIDENCE = "R:ORTH", 0.95
"""Of an edit that puts a missing blank after a full stop or a comma. A rule finds it, no model."""

_NO_CHARACTER = "\ufffd"
"""What stands for bytes that are no UTF-8."""


@dataclass(slots=True)
class _Draft:
    """A sentence as it is written: source words until an edit, its words, source words, ...

    Attributes:
        source: the sentence's words.
        at: the first source word that is neither written nor replaced.
        target: the words written.
        confidences: one for each of them; 1 for a source word.
        edits: what was done.
        carried: the confidence of deletions at the end, which shows in the word that follows.
    """

    source: Sequence[str]
    at: int = 0
    target: list[str] = field(default_factory=list)
    confidences: list[float] = field(default_factory=list)
    edits: list[WordEdit] = field(default_factory=list)
    carried: float = 1.0

    def make(self, start: int, end: int, new: Sequence[str], confidence: float) -> None:
        """Write the source until ``start``, and ``new`` in place of the words until ``end``."""
        self._write(self.source[self.at : start], 1.0)
        first = len(self.target)
        self._write(new, confidence)
        if not new:
            self.carried = min(self.carried, confidence)
        self.edits.append(WordEdit(start, end, first, len(self.target)))
        self.at = end

    def finish(self) -> None:
        """Write the rest of the source, and the end's confidence."""
        self._write(self.source[self.at :], 1.0)
        self.confidences.append(self.carried)

    def _write(self, words: Sequence[str], confidence: float) -> None:
        if words:
            first = min(self.carried, confidence)
            self.confidences += [first] + [confidence] * (len(words) - 1)
            self.target += words
            self.carried = 1.0


@dataclass(frozen=True, slots=True)
class Assembler:
    """Assembles the corrections of one corrector.

    Attributes:
        subwords: the model's tokens, for traces.
        calibration: makes one confidence of what is known of an edit.
        ngrams: says how much more fluent an edit makes a sentence; None says nothing.
        second: what another network says of the edits; None says nothing.
        interrupt: ends the work if it raises.
    """

    subwords: WordCodec
    calibration: Calibration
    ngrams: NGrams | None
    second: SecondOpinion | None
    interrupt: Interrupt

    def assemble(self, plan: Plan, decoded: Sequence[Done]) -> Correction:
        """Return the correction of the part of a text that was planned and decoded."""
        parts: dict[int, list[Done]] = defaultdict(list)
        for one in decoded:
            parts[one.job.sentence].append(one)
        edits: list[Edit] = []
        sentences: list[SentenceResult] = []
        warnings: list[Warning] = []
        for place in range(plan.first, plan.last):
            self.interrupt()
            done = parts.get(place, [])
            if len(done) == 1 and done[0].unchanged:  # as most are
                sentence, own = self._result(plan, place, done)
            else:
                spoken = shares(one.reading for one in done)
                if place in plan.chosen:
                    warnings += unread(plan.sentences[place].words, spoken, done)
                sentence, own = self._sentence(plan, place, spoken, done)
            sentences.append(sentence)
            edits += own
        begin, end = plan.span()
        original = plan.text[begin:end]
        here = edits
        if begin:
            here = [replace(edit, start=edit.start - begin, end=edit.end - begin) for edit in edits]
        return Correction(
            original, apply(original, here), tuple(edits), tuple(sentences), tuple(warnings)
        )

    def _sentence(
        self, plan: Plan, place: int, spoken: Sequence[Share], done: Sequence[Done]
    ) -> tuple[SentenceResult, list[Edit]]:
        """Return one sentence, and its edits of the whole text."""
        sentence, tokenized = plan.sentences[place], plan.rule.tokenized
        draft, known = self._decide(plan, place, spoken)
        edits: list[Edit] = []
        if draft.edits:
            edits = to_edits(
                plan.text,
                sentence.words,
                draft.target,
                changes=draft.edits,
                confidences=draft.confidences,
                spaced=True if tokenized else None,
                misspelt={one.job.words[p].text for one in done for p in one.job.respelt},
            )
        return self._result(plan, place, done, draft.target, known, edits)

    def _result(
        self,
        plan: Plan,
        place: int,
        done: Sequence[Done],
        target: Sequence[str] | None = None,
        known: Sequence[Evidence] = (),
        edits: list[Edit] | None = None,
    ) -> tuple[SentenceResult, list[Edit]]:
        """Return one sentence, without a target an unchanged one, and all edits made in it."""
        sentence, edits = plan.sentences[place], edits or []
        if place in plan.chosen and not plan.rule.tokenized:
            edits = _with_blanks(edits, plan, place)
        result = SentenceResult(
            sentence.start,
            sentence.end,
            sentence.words,
            tuple([word.text for word in sentence.words] if target is None else target),
            self._trace([one.hypothesis for one in done]),
            sum(one.seconds for one in done),
            tuple(known),
        )
        return result, edits

    def _decide(
        self, plan: Plan, place: int, spoken: Sequence[Share]
    ) -> tuple[_Draft, list[Evidence]]:
        """Return a sentence with the edits to be made, and evidence of all that might be made.

        In an overlap of windows, the reading in whose share an edit begins decides (see
        :func:`gec.correct.reading.shares`). An edit that is less sure than its type must be is
        not made.
        """
        words = plan.sentences[place].words
        source = [word.text for word in words]
        draft = _Draft(source)
        known: list[Evidence] = []
        for reading, begin, end in spoken:
            respelt = {source[place] for place in reading.respelt}
            for edit, opinion in zip(reading.edits, self._opinions(source, reading), strict=True):
                start, stop = edit.source_start, edit.source_end
                new = reading.words[edit.target_start : edit.target_end]
                if not max(begin, draft.at) <= start < end:
                    continue
                if any(word.protected for word in words[start:stop]):
                    continue
                ends = start == len(source) and new == ["."]
                if ends and (len(source) < 4 or plan.is_title(place)):
                    continue
                if _invents(source[start:stop], new, plan.rule.speller, respelt):
                    continue
                if _unpairs(source, start, stop, new) or _garbles(source[start:stop], new):
                    continue
                known.append(self._evidence(source, reading, edit, opinion))
                confidence = self.calibration(known[-1])
                if confidence >= plan.rule.setting.least(known[-1].type):
                    draft.make(start, stop, new, confidence)
        draft.finish()
        return draft, known

    def _opinions(self, source: Sequence[str], reading: Reading) -> list[float]:
        """Return the second network's opinion of each edit of a reading."""
        if self.second is None:
            return [0.0] * len(reading.edits)
        return self.second(
            source,
            [
                (e.source_start, e.source_end, reading.words[e.target_start : e.target_end])
                for e in reading.edits
            ],
        )

    def _evidence(
        self, source: Sequence[str], reading: Reading, edit: WordEdit, opinion: float
    ) -> Evidence:
        """Return what is known of one edit of a sentence's words."""
        first, last = edit.target_start, edit.target_end
        places = range(edit.source_start, edit.source_end)
        old, new = [source[p] for p in places], reading.words[first:last]
        kind = kind_of(old, new, {source[p] for p in places if p in reading.respelt})
        return Evidence(
            edit.source_start,
            edit.source_end,
            tuple(new),
            kind,
            probability=reading.probability(first, last),
            following=reading.entry(last),
            spelling=math.prod(reading.respelt.get(place, 1.0) for place in places),
            fluency=self.ngrams.prefers(reading.words, first, last, old) if self.ngrams else 0.0,
            opinion=opinion,
            others=len(reading.edits) - 1,
            distance=_distance(old, new),
        )

    def _trace(self, hypotheses: Sequence[Hypothesis]) -> Trace | None:
        if not hypotheses:
            return None
        steps = tuple(step for hypothesis in hypotheses for step in hypothesis.steps)
        tokens: list[str] = []
        for hypothesis in hypotheses:
            tokens += self.subwords.pieces(hypothesis.tokens)
            if not hypothesis.truncated:
                tokens.append("</s>")
        return Trace(steps, tuple(tokens))


def _distance(old: Sequence[str], new: Sequence[str]) -> float:
    """Return the share of letters that replacing ``old`` by ``new`` changes; 0 without either."""
    if not (old and new):
        return 0.0
    return _letter_distance(" ".join(old).lower(), " ".join(new).lower())


@lru_cache(maxsize=2**14)
def _letter_distance(old: str, new: str) -> float:
    """Return how many letters differ as a share of the longer string's length.

    A letter put in, taken out, replaced, or swapped with its neighbour counts one (optimal string
    alignment): "teh" is as near to "the" as a misspelling can be.
    """
    full = (1 << len(old)) - 1
    last = 1 << len(old) - 1
    equal: dict[str, int] = {}
    for place, letter in enumerate(old):
        equal[letter] = equal.get(letter, 0) | 1 << place
    more, less, distance = full, 0, len(old)  # bits: where a column's numbers grow, and shrink
    before = level = 0
    for letter in new:  # Hyyrö 2003, figures 3 and 4
        same = equal.get(letter, 0)
        swapped = ((~level & same) << 1) & before
        level = ((((same & more) + more) ^ more) | same | less | swapped) & full
        down = less | full & ~(level | more)
        up = more & level
        distance += bool(down & last) - bool(up & last)
        down, up = down << 1 | 1, up << 1
        less, more = down & level & full, (up | ~(level | down)) & full
        before = same
    return distance / max(len(old), len(new))


def _unpairs(source: Sequence[str], start: int, stop: int, new: Sequence[str]) -> bool:
    """Tell whether an edit changes brackets without bringing them nearer to pairs.

    >>> _unpairs(["see", "[", "1", "]"], 3, 4, ["."]), _unpairs(["see", "1", ")"], 2, 3, ["."])
    (True, False)
    """
    old, text, written = ("".join(words) for words in (source[start:stop], source, new))
    for opening, closing in ("()", "[]", "{}"):
        if all(old.count(mark) == written.count(mark) for mark in (opening, closing)):
            continue
        before = text.count(opening) - text.count(closing)
        change = written.count(opening) - written.count(closing)
        change -= old.count(opening) - old.count(closing)
        if abs(before + change) >= abs(before):
            return True
    return False


def _garbles(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether an edit writes bytes that are no character: a network may spell by bytes."""
    return "".join(new).count(_NO_CHARACTER) > "".join(old).count(_NO_CHARACTER)


def _invents(
    old: Sequence[str], new: Sequence[str], speller: Speller | None, respelt: Collection[str]
) -> bool:
    """Whether an edit writes a word that no dictionary has, or replaces one: a name, a term.

    A small model spells rare words badly; those that the speller left alone stay.
    """
    if speller is None:
        return False
    kept = {word.lower() for word in old} & {word.lower() for word in new}
    return any(
        len(word) > 2 and word.isalpha() and not speller.knows(word)
        for words in (new, [word for word in old if word not in respelt])
        for word in words
        if word.lower() not in kept
    )


def _with_blanks(edits: Sequence[Edit], plan: Plan, place: int) -> list[Edit]:
    """Return a sentence's edits and those that put the blanks that are missing after its marks.

    What replaces such a mark takes the blank along; what is put or removed behind it decides.
    """
    marks = [*missing_blanks(plan.sentences[place].words, plan.following(place))]
    found = [*edits]
    if not marks or plan.rule.setting.least(BLANK_TYPE) > BLANK_CONFIDENCE:
        return found
    behind = {e.start for e in edits if e.start == e.end or e.replacement.strip(" ") == ""}
    behind |= {e.start for e in edits if e.replacement.startswith(" ")}
    changed = Overlaps((edit.start, edit.end) for edit in edits)
    last = {edit.end: number for number, edit in enumerate(edits) if edit.start < edit.end}
    for mark in marks:
        if mark.end in behind:
            continue
        if mark.end in last:
            edit = edits[last[mark.end]]
            found[last[mark.end]] = replace(edit, replacement=edit.replacement.rstrip(" ") + " ")
        elif not changed(mark.start, mark.end):
            old = plan.text[mark.start : mark.end]
            said = f"Put a space after “{old}”."
            found.append(
                Edit(mark.start, mark.end, old, f"{old} ", BLANK_TYPE, BLANK_CONFIDENCE, said)
            )
    return sorted(found, key=lambda edit: (edit.start, edit.end))
