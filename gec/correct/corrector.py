"""Corrector: text in; corrected text, edits and traces out."""

from __future__ import annotations

import copy
import math
import time
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice, pairwise

from gec.correct.confidence import Calibration, Evidence
from gec.decoding.decoder import Hypothesis
from gec.decoding.model import Model
from gec.decoding.parts import Parts
from gec.decoding.strategies import make_decoder, named, parse
from gec.decoding.trace import Trace
from gec.edits.edits import Edit, WordEdit, align, apply, classify, to_edits
from gec.errors import ConfigError
from gec.text.ngrams import NGrams
from gec.text.protection import Overlaps
from gec.text.segmentation import (
    Sentence,
    looks_english,
    missing_blanks,
    segment,
    windows,
)
from gec.text.spelling import Speller
from gec.text.subwords import WordCodec
from gec.text.words import Word, split_tokenized, tokenize_line

BALANCED = "balanced"
"""The setting where none is asked for."""
WINDOW_WORDS, WINDOW_OVERLAP = 64, 16
"""Longer sentences are corrected in windows of so many words that overlap by so many."""
WINDOW_TOKENS = 200
"""Windows with more subwords than this (names, long unbroken strings) are halved until they fit."""
FEWEST_WORDS = 4
"""No half has fewer words: what does not fit even so is left as it is."""
LOST_WORDS = 8
"""The model has lost its way if it does not end, or if it does not come back to so many of the last
words. A window of at least twice as many is decoded again in halves then."""
BLANK_TYPE, BLANK_CONFIDENCE = "R:ORTH", 0.95
"""Of an edit that puts a missing blank after a full stop or a comma. A rule finds it, no model."""


Decode = Callable[[Sequence[tuple[int, ...]], float], list[Hypothesis]]
"""Decodes sources (token ids) with a tolerance (nats); the results are in their order."""
Interrupt = Callable[[], None]
"""Is called about once a sentence of each phase; what it raises ends the call."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What an edit must overcome to be made.

    Attributes:
        tolerance: nats by which the model must prefer another token to the source's (>= 0).
        min_confidence: the least confidence an edit may have (0 to 1).
        types: error types whose edits need another least confidence (``{"R:PREP": 0.5}``).
    """

    tolerance: float = 0.0
    min_confidence: float = 0.0
    types: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.tolerance) and self.tolerance >= 0):
            raise ConfigError(f"tolerance must be a number of nats >= 0, not {self.tolerance}")
        if not 0 <= self.min_confidence <= 1:
            raise ConfigError(f"min_confidence must lie between 0 and 1, not {self.min_confidence}")
        for name, least in self.types.items():
            if not 0 <= least <= 1:
                raise ConfigError(f"types, {name}: must lie between 0 and 1, not {least}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What one call asks of a corrector; None keeps what the corrector was made with.

    Attributes:
        setting: one of the corrector's named settings: precise, balanced, thorough.
        tolerance: nats, instead of the setting's.
        min_confidence: 0 to 1, instead of the setting's.
        dictionary: words never to change (whole words, case counts), besides the corrector's own.
        protected: spans of the text never to change, as (start, end) in code points.
        spelling: let the dictionary correct misspelt words.
    """

    setting: str | None = None
    tolerance: float | None = None
    min_confidence: float | None = None
    dictionary: Collection[str] = frozenset()
    protected: tuple[tuple[int, int], ...] = ()
    spelling: bool | None = None


@dataclass(frozen=True, slots=True)
class SentenceResult:
    """One sentence: where it stands in the original, its words before and after, and how.

    ``evidence`` is on every edit that the model proposed, made or left out for its confidence.
    """

    start: int
    end: int
    source: tuple[str, ...]
    target: tuple[str, ...]
    trace: Trace | None
    seconds: float
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Correction:
    """A corrected text. ``text`` equals ``apply(original, edits)``; offsets are code points."""

    original: str
    text: str
    edits: tuple[Edit, ...]
    sentences: tuple[SentenceResult, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def trace(self) -> tuple[Trace, ...]:
        """The traces of the sentences that were decoded."""
        return tuple(s.trace for s in self.sentences if s.trace is not None)


@dataclass(frozen=True, slots=True)
class _Rule:
    """One call's options with nothing left open."""

    setting: Setting
    dictionary: frozenset[str]
    protected: tuple[tuple[int, int], ...]
    speller: Speller | None


@dataclass(frozen=True, slots=True)
class _Job:
    """One window of one sentence on its way through the decoder."""

    sentence: int
    start: int  # first word of the window
    end: int  # the word after its last
    places: tuple[int, ...]  # the words in between that the model sees
    words: tuple[Word, ...]  # those
    respelt: dict[int, tuple[str, float]]  # index into words: what the model sees, confidence
    ids: tuple[int, ...]
    whole: bool  # the window ends where the sentence ends

    def place(self, edit: WordEdit) -> WordEdit:
        """Return an edit of the words that the model sees as one of the sentence's words."""
        first, last = edit.source_start, edit.source_end
        start = self.places[first] if first < len(self.places) else self.end
        end = self.places[last - 1] + 1 if last > first else start
        return replace(edit, source_start=start, source_end=end)


@dataclass(frozen=True, slots=True)
class _Plan:
    """A segmented text and what of it shall be decoded: its sentences ``first`` to ``last``.

    ``chosen`` are the sentences to correct; there may be no window of one that is too long.
    """

    text: str
    sentences: Sequence[Sentence]
    jobs: Sequence[_Job]
    chosen: Collection[int]
    first: int
    last: int

    def part(self, first: int, last: int) -> _Plan:
        last = min(last, self.last)
        jobs = [job for job in self.jobs if first <= job.sentence < last]
        return replace(self, jobs=jobs, first=first, last=last)

    def span(self) -> tuple[int, int]:
        """Return where the part stands in the text; blanks belong to what is before them."""
        begin = self.sentences[self.first].start if self.first else 0
        more = self.last < len(self.sentences)
        return begin, self.sentences[self.last].start if more else len(self.text)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The model's output for words ``start`` to ``end`` of a sentence.

    ``probabilities`` has the least of its tokens' for each word, ``entries`` its first token's;
    both have EOS's. ``edits`` count the sentence's words, not the window's; ``respelt`` are the
    places of the words that the speller replaced, with its confidences. ``whole``: the sentence
    ends with it.
    """

    start: int
    end: int
    whole: bool
    words: list[str]
    probabilities: list[float]
    entries: list[float]
    edits: list[WordEdit]
    respelt: dict[int, float]

    def missing(self) -> int:
        """Return how many words at the end the output does not follow.

        They are those behind the last three that are the same in both, if most of them changed.
        """
        at, changed = self.end, 0
        for edit in reversed(self.edits):
            if at - edit.source_end >= 3:
                break
            at, changed = edit.source_start, changed + edit.source_end - edit.source_start
        return self.end - at if 2 * changed > self.end - at else 0


@dataclass(frozen=True, slots=True)
class _Done:
    """A window after the decoder."""

    job: _Job
    hypothesis: Hypothesis
    reading: _Reading
    seconds: float

    @property
    def lost(self) -> bool:
        """Whether the model did not come to the window's end, where its halves may do better."""
        if len(self.job.words) < 2 * LOST_WORDS:
            return False
        return self.hypothesis.truncated or self.reading.missing() >= LOST_WORDS


class Corrector:
    """Corrects texts with one model. Made by :func:`gec.load`.

    Safe to use from several threads as far as its ``decode`` is; the plain one is for one thread.

    Args:
        model: the network that corrects, or all that its bundle has to decode with.
        strategy: a name of the table in gec.decoding.strategies, with options if it needs some
            ("speculative-beam:gamma=3"); the tolerance is the setting's.

    Raises:
        ConfigError: no such strategy, setting or option, a number out of its range, or a strategy
            that leaves no probabilities to weigh edits by.
        ModelError: the bundle lacks what the strategy needs.
    """

    def __init__(
        self,
        model: Model | Parts,
        subwords: WordCodec,
        *,
        strategy: str = "iad",
        settings: Mapping[str, Setting] | None = None,
        options: Options | None = None,
        beam_size: int = 5,
        speller: Speller | None = None,
        ngrams: NGrams | None = None,
        calibration: Calibration | None = None,
        about: dict[str, str | int | float] | None = None,
    ) -> None:
        self._parts = model if isinstance(model, Parts) else Parts("given", model)
        self._parts = replace(self._parts, markers=subwords.markers)
        self.model = self._parts.model
        self.subwords = subwords
        self.settings = dict(settings or {BALANCED: Setting()})
        self._strategy, self._values = parse(strategy)
        if "tolerance" in self._values:
            raise ConfigError(f"strategy {strategy}: the tolerance is the setting's or --tolerance")
        self._tolerant = named(self._strategy).takes("tolerance")
        if named(self._strategy).takes("beam_size"):
            self._values = {"beam_size": beam_size} | self._values
        self._decoder = make_decoder(self._parts, self._strategy, self._values, logprobs=True)
        self._speller = speller
        self._ngrams = ngrams
        self._calibration = calibration or Calibration()
        self._decode: Decode = self.decode
        self._interrupt: Interrupt = _go_on
        self._options = options or Options()
        if self._options.tolerance:
            self._refuse_tolerance()
        rule = self._rule(None)
        self._about = (about or {}) | {"strategy": strategy}
        if self._tolerant:
            self._about["tolerance"] = rule.setting.tolerance
        self._about["min_confidence"] = rule.setting.min_confidence

    def info(self) -> dict[str, str | int | float]:
        """Return bundle, parameters, device, precision, threads, strategy and its setting."""
        return self._about | {"threads": getattr(self.model, "threads", 1)}

    def knows(self, word: str) -> bool:
        """Whether the bundle's dictionary has a word; False where it has no dictionary."""
        return self._speller is not None and self._speller.knows(word)

    def with_decoder(self, decode: Decode, *, interrupt: Interrupt | None = None) -> Corrector:
        """Return the same corrector with another decode function: a queue, a cache.

        ``interrupt`` is called before and between decodings: about once a sentence while a text is
        segmented, spelt, encoded and assembled. It raises where the work shall end: a deadline has
        passed, the caller has gone. None keeps the corrector's own, which never does.
        """
        other = copy.copy(self)
        other._decode = decode
        other._interrupt = interrupt or self._interrupt
        return other

    def decode(
        self,
        sources: Sequence[tuple[int, ...]],
        tolerance: float,
        *,
        batch_size: int | None = None,
    ) -> list[Hypothesis]:
        """Decode token ids (no BOS, no EOS) with the corrector's strategy; in their order.

        All of them together, or ``batch_size`` at a time.
        """
        decoder = self._decoder
        if self._tolerant:
            values = {**self._values, "tolerance": tolerance}
            decoder = make_decoder(self._parts, self._strategy, values, logprobs=True)
        size = max(1, len(sources)) if batch_size is None else batch_size
        return [found[0] for found in decoder.decode(sources, batch_size=size)]

    def correct(
        self, text: str, options: Options | None = None, *, batch_size: int = 32
    ) -> Correction:
        """Correct one text of any length.

        Raises:
            ConfigError: an unknown setting, a number out of its range, a span outside the text.
        """
        return self._correct([text], options, batch_size, tokenized=False)[0]

    def correct_many(
        self, texts: Iterable[str], options: Options | None = None, *, batch_size: int = 32
    ) -> Iterator[Correction]:
        """Correct texts lazily and in order; ``batch_size`` texts are read ahead."""
        yield from self._chunks(texts, options, batch_size, tokenized=False)

    def correct_tokenized(
        self, lines: Iterable[str], options: Options | None = None, *, batch_size: int = 32
    ) -> Iterator[Correction]:
        """Correct sentences whose tokens are set off by blanks, one a line; so are the results."""
        yield from self._chunks(lines, options, batch_size, tokenized=True)

    def stream(
        self, text: str, options: Options | None = None, *, batch_size: int = 32
    ) -> Iterator[Correction]:
        """Correct one text and yield consecutive parts of it, ``batch_size`` sentences each.

        The offsets in a part count from the beginning of the whole text, those in its warnings
        too; ``original`` and ``text`` are the part's own, and put together they are the whole's.
        """
        rule = self._rule(options)
        plan = self._plan(text, rule, tokenized=False)
        for first in range(0, max(1, len(plan.sentences)), max(1, batch_size)):
            part = plan.part(first, first + max(1, batch_size))
            yield from self._finish([part], rule, batch_size, tokenized=False)

    def _chunks(
        self, texts: Iterable[str], options: Options | None, batch_size: int, *, tokenized: bool
    ) -> Iterator[Correction]:
        source = iter(texts)
        while chunk := list(islice(source, max(1, batch_size))):  # _correct refuses less than 1
            yield from self._correct(chunk, options, batch_size, tokenized=tokenized)

    def _correct(
        self, texts: Sequence[str], options: Options | None, batch_size: int, *, tokenized: bool
    ) -> list[Correction]:
        rule = self._rule(options)
        plans = [self._plan(text, rule, tokenized=tokenized) for text in texts]
        return self._finish(plans, rule, batch_size, tokenized=tokenized)

    def _refuse_tolerance(self) -> None:
        if not self._tolerant:
            raise ConfigError(
                f"tolerance needs the iad strategy: {self._strategy} keeps no copied tokens"
            )

    def _rule(self, options: Options | None) -> _Rule:
        """Put a call's options over the corrector's own, and its numbers over its setting's."""
        own, asked = self._options, options or Options()
        name = asked.setting or own.setting or BALANCED
        if name not in self.settings:
            raise ConfigError(
                f"unknown setting {name!r}, this bundle has {', '.join(sorted(self.settings))}"
            )
        setting = self.settings[name]
        layers = [asked] if asked.setting else [asked, own]
        for name in ("tolerance", "min_confidence"):
            given = [value for layer in layers if (value := getattr(layer, name)) is not None]
            if given:
                setting = replace(setting, **{name: given[0]})
                if name == "min_confidence":  # asked for, it holds for all types
                    setting = replace(setting, types={})
        if not self._tolerant:
            if asked.tolerance:
                self._refuse_tolerance()
            setting = replace(setting, tolerance=0.0)
        spelling = own.spelling if asked.spelling is None else asked.spelling
        return _Rule(
            setting,
            frozenset(own.dictionary) | frozenset(asked.dictionary),
            asked.protected or own.protected,
            self._speller if spelling is not False else None,
        )

    def _plan(self, text: str, rule: _Rule, *, tokenized: bool) -> _Plan:
        """Segment a text, spell its words, and cut what shall be decoded into windows."""
        sentences = self._sentences(text, rule, tokenized)
        chosen = _correctable(sentences)
        jobs: list[_Job] = []
        for place in sorted(chosen):
            sentence = sentences[place].words
            respelt = self._respell(rule.speller, sentences[place])
            for start, end in windows(sentence, size=WINDOW_WORDS, overlap=WINDOW_OVERLAP):
                self._interrupt()
                seen = tuple(p for p in range(start, end) if not _is_picture(sentence[p].text))
                words = tuple(sentence[p] for p in seen)
                inside = {i: respelt[p] for i, p in enumerate(seen) if p in respelt}
                ids = tuple(self.subwords.encode(_seen(words, inside)))
                whole = end == len(sentence)
                jobs += self._fitting(_Job(place, start, end, seen, words, inside, ids, whole))
        return _Plan(text, sentences, jobs, chosen, 0, len(sentences))

    def _fitting(self, job: _Job) -> list[_Job]:
        """Return a window, or as many parts of it as have not too many subwords each."""
        if len(job.ids) <= min(WINDOW_TOKENS, self.model.max_positions - 1):
            return [job]
        if len(job.words) < 2 * FEWEST_WORDS:
            return []
        return [part for half in self._halves(job) for part in self._fitting(half)]

    def _halves(self, job: _Job) -> list[_Job]:
        """Return two windows for one; they overlap as windows do."""
        self._interrupt()
        count = len(job.words)
        overlap = min(WINDOW_OVERLAP, count // 4)
        halves = []
        for first, last in windows(job.words, size=(count + overlap + 1) // 2, overlap=overlap):
            words = job.words[first:last]
            respelt = {p - first: r for p, r in job.respelt.items() if first <= p < last}
            halves.append(
                _Job(
                    job.sentence,
                    job.places[first] if first else job.start,
                    job.end if last == count else job.places[last],
                    job.places[first:last],
                    words,
                    respelt,
                    tuple(self.subwords.encode(_seen(words, respelt))),
                    job.whole and last == count,
                )
            )
        return halves

    def _respell(self, speller: Speller | None, sentence: Sentence) -> dict[int, tuple[str, float]]:
        """Return what the dictionary would write, by place; protected words stay."""
        if speller is None:
            return {}
        protected = {place for place, word in enumerate(sentence.words) if word.protected}
        words = [word.text for word in sentence.words]
        return speller.correct(words, protected, interrupt=self._interrupt)

    def _finish(
        self, plans: Sequence[_Plan], rule: _Rule, batch_size: int, *, tokenized: bool
    ) -> list[Correction]:
        """Decode the windows of all plans together, and assemble each text."""
        if batch_size < 1:
            raise ConfigError(f"batch_size must be at least 1, not {batch_size}")
        jobs = [job for plan in plans for job in plan.jobs]
        done = iter(self._done(jobs, rule, batch_size))
        return [
            self._assemble(
                plan,
                [one for parts in islice(done, len(plan.jobs)) for one in parts],
                rule,
                tokenized,
            )
            for plan in plans
        ]

    def _done(self, jobs: Sequence[_Job], rule: _Rule, batch_size: int) -> list[list[_Done]]:
        """Decode windows; return each, or the halves of one in which the model lost its way."""
        order = sorted(range(len(jobs)), key=lambda i: len(jobs[i].ids))
        found: dict[int, list[_Done]] = {}
        halves: dict[int, list[_Job]] = {}
        for at in range(0, len(order), batch_size):
            chosen = order[at : at + batch_size]
            self._interrupt()
            began = time.perf_counter()
            decoded = self._decode([jobs[i].ids for i in chosen], rule.setting.tolerance)
            seconds = (time.perf_counter() - began) / len(chosen)
            for i, hypothesis in zip(chosen, decoded, strict=True):
                one = _Done(jobs[i], hypothesis, self._read(jobs[i], hypothesis), seconds)
                found[i] = [one]
                if one.lost:
                    halves[i] = self._halves(jobs[i])
        if halves:
            parts = [half for i in halves for half in halves[i]]
            again = iter(self._done(parts, rule, batch_size))
            for i in halves:
                [lost] = found[i]
                first, *rest = [one for half in islice(again, len(halves[i])) for one in half]
                found[i] = [replace(first, seconds=first.seconds + lost.seconds), *rest]
        return [found[i] for i in range(len(jobs))]

    def _sentences(self, text: str, rule: _Rule, tokenized: bool) -> list[Sentence]:
        if any(not 0 <= start <= end <= len(text) for start, end in rule.protected):
            raise ConfigError(
                f"protected spans must lie within the text of {len(text)} code points"
            )
        if tokenized:
            words = split_tokenized(text)
            sentences = [Sentence(words[0].start, words[-1].end, tuple(words))] if words else []
        else:
            sentences = segment(
                text,
                dictionary=rule.dictionary,
                spans=rule.protected,
                interrupt=self._interrupt,
            )
        named = Overlaps(rule.protected)
        return [
            replace(s, words=tuple(_protect(word, rule.dictionary, named) for word in s.words))
            for s in sentences
        ]

    def _assemble(
        self, plan: _Plan, decoded: Sequence[_Done], rule: _Rule, tokenized: bool
    ) -> Correction:
        parts: dict[int, list[_Done]] = defaultdict(list)
        for one in decoded:
            parts[one.job.sentence].append(one)
        edits: list[Edit] = []
        results, warnings = [], []
        for place in range(plan.first, plan.last):
            self._interrupt()
            sentence, done = plan.sentences[place], parts[place]
            title = place > 0 and _is_marker(plan.text, plan.sentences[place - 1], sentence)
            source = [word.text for word in sentence.words]
            spoken = _shares([one.reading for one in done])
            target, confidences, known = self._merge(sentence.words, spoken, rule, title)
            if place in plan.chosen:
                warnings += _left(sentence.words, spoken, done)
            made: list[Edit] = []
            if target != source:
                made = to_edits(
                    plan.text,
                    sentence.words,
                    target,
                    confidences=confidences,
                    spaced=True if tokenized else None,
                    misspelt={one.job.words[p].text for one in done for p in one.job.respelt},
                )
            if place in plan.chosen and not tokenized:
                made = _with_blanks(made, plan, place, rule.setting)
            edits += made
            results.append(
                SentenceResult(
                    sentence.start,
                    sentence.end,
                    tuple(source),
                    tuple(target),
                    self._trace([one.hypothesis for one in done]),
                    sum(one.seconds for one in done),
                    tuple(known),
                )
            )
        begin, end = plan.span()
        original = plan.text[begin:end]
        here = [replace(edit, start=edit.start - begin, end=edit.end - begin) for edit in edits]
        return Correction(
            original, apply(original, here), tuple(edits), tuple(results), tuple(warnings)
        )

    def _merge(
        self, sentence: Sequence[Word], spoken: Sequence[_Share], rule: _Rule, title: bool
    ) -> tuple[list[str], list[float], list[Evidence]]:
        """Return the sentence's target words, a confidence for each and for its end, and evidence.

        In an overlap, the reading in whose share the edit begins decides (see :func:`_shares`).
        Edits of protected words and those below ``min_confidence`` are left out; a ``title`` and
        what is as short as one get no final period. There is evidence for every edit but those
        that may not be made at all.
        """
        known: list[Evidence] = []
        source = [word.text for word in sentence]
        target: list[str] = []
        confidences: list[float] = []
        at, carried = 0, 1.0

        def add(words: Sequence[str], confidence: float) -> None:
            nonlocal carried
            if words:  # a deletion's confidence shows in what follows it
                confidences.extend([min(carried, confidence)] + [confidence] * (len(words) - 1))
                target.extend(words)
                carried = 1.0

        for reading, begin, end in spoken:
            respelt = {source[place] for place in reading.respelt}
            for edit in reading.edits:
                start, stop = edit.source_start, edit.source_end
                new = reading.words[edit.target_start : edit.target_end]
                if not max(begin, at) <= start < end:
                    continue
                if any(word.protected for word in sentence[start:stop]):
                    continue
                if (title or len(source) < 4) and start == len(source) and new == ["."]:
                    continue
                if _invents(source[start:stop], new, rule.speller, respelt):
                    continue
                known.append(self._evidence(source, reading, edit))
                confidence = self._calibration(known[-1])
                least = rule.setting.types.get(known[-1].type, rule.setting.min_confidence)
                if confidence < least:
                    continue
                add(source[at:start], 1.0)
                add(new, confidence)
                if not new:
                    carried = min(carried, confidence)
                at = stop
        add(source[at:], 1.0)
        return target, [*confidences, carried], known

    def _read(self, job: _Job, hypothesis: Hypothesis) -> _Reading:
        """Take the output for a window to pieces; of one without end, what follows the source."""
        lost = hypothesis.truncated
        if not lost and not job.respelt and tuple(hypothesis.tokens) == job.ids:  # as most are
            return _Reading(job.start, job.end, job.whole, [], [], [], [], {})
        spans = self.subwords.decode_spans(hypothesis.tokens)
        seen, words = [_model_word(word) for word in job.words], [word for word, _, _ in spans]
        first, last = _followed(seen, words) if lost else (len(seen), len(words))
        logprobs = hypothesis.logprobs
        end = math.exp(logprobs[-1])
        return _Reading(
            job.start,
            job.places[first] if first < len(seen) else job.end,
            job.whole and not lost,
            words[:last],
            [*(math.exp(min(logprobs[a:b])) for _, a, b in spans), end][: last + 1],
            [*(math.exp(logprobs[a]) for _, a, _ in spans), end][: last + 1],
            [job.place(edit) for edit in align(seen[:first], words[:last])],
            {job.places[i]: confidence for i, (_, confidence) in job.respelt.items()},
        )

    def _evidence(self, source: Sequence[str], reading: _Reading, edit: WordEdit) -> Evidence:
        """Return what is known of one edit of a sentence's words."""
        first, last = edit.target_start, edit.target_end
        places = range(edit.source_start, edit.source_end)
        old, new = [source[p] for p in places], reading.words[first:last]
        kind, _ = classify(old, new, {source[p] for p in places if p in reading.respelt})
        return Evidence(
            edit.source_start,
            edit.source_end,
            tuple(new),
            kind,
            probability=min(reading.probabilities[first:last], default=1.0),
            following=reading.entries[last],
            spelling=math.prod(reading.respelt.get(place, 1.0) for place in places),
            fluency=self._ngrams.prefers(reading.words, first, last, old) if self._ngrams else 0.0,
            others=len(reading.edits) - 1,
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


def _correctable(sentences: Sequence[Sentence]) -> set[int]:
    """Return which sentences to decode: English ones with a word that may change.

    Where most words stand in foreign sentences, the undecided short ones are foreign too.
    """
    foreign = [
        place for place, sentence in enumerate(sentences) if not looks_english(sentence.words)
    ]
    words = [len(sentence.words) for sentence in sentences]
    if 2 * sum(words[place] for place in foreign) > sum(words):
        return set()
    return {
        place
        for place, sentence in enumerate(sentences)
        if place not in foreign and not all(word.protected for word in sentence.words)
    }


def _is_marker(text: str, before: Sentence, sentence: Sentence) -> bool:
    """Whether ``before`` is the bullet or heading mark on whose line ``sentence`` stands."""
    return all(word.protected for word in before.words) and not any(
        c in "\r\n" for c in text[before.end : sentence.start]
    )


def _protect(word: Word, dictionary: Collection[str], named: Overlaps) -> Word:
    """Protect numbers, pictures, unassigned characters, and in tokenized text what is named."""
    if (
        word.text in dictionary
        or named(word.start, word.end)
        or _has_digit(word.text)
        or _is_picture(word.text)
        or _is_unassigned(word.text)
    ):
        return replace(word, protected=True)
    return word


# Asked of every word of every text, and most words come again.
@lru_cache(maxsize=2**16)
def _has_digit(word: str) -> bool:
    return any(c.isdigit() for c in word)


@lru_cache(maxsize=2**16)
def _is_picture(word: str) -> bool:
    """Whether a word is emoji or the like, which the model has not learnt: it does not see them."""
    return not any(
        unicodedata.category(c)[0] in "LNP" or unicodedata.category(c) in ("Sm", "Sc") for c in word
    )


@lru_cache(maxsize=2**16)
def _is_unassigned(word: str) -> bool:
    """Whether a word holds a character that no vocabulary need be able to write back."""
    return not word.isascii() and any(unicodedata.category(c) == "Cn" for c in word)


def _go_on() -> None:
    """Interrupt nothing."""


def _seen(words: Sequence[Word], respelt: Mapping[int, tuple[str, float]]) -> list[str]:
    """Return the words as the model sees them."""
    seen: list[str] = []
    for place, word in enumerate(words):
        if place in respelt:
            seen += tokenize_line(respelt[place][0])  # a lot, did n't
        else:
            seen.append(_model_word(word))
    return seen


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


def _followed(source: Sequence[str], output: Sequence[str]) -> tuple[int, int]:
    """Return how many words of an output without end follow the source, and how many of that.

    It is where the words that agree most outnumber those that do not, so the last ones agree.

    >>> _followed("he go home with it".split(), "he goes home with of of of of".split())
    (4, 4)
    """
    best = (0, 0, 0)  # agreeing less others, and the least output that has as many
    row = [-j for j in range(len(output) + 1)]
    for i, word in enumerate(source, 1):
        above, row = row, [-i]
        for j, other in enumerate(output, 1):
            row.append(max(above[j - 1] + (1 if word == other else -1), above[j] - 1, row[-1] - 1))
        j = max(range(len(row)), key=lambda place: (row[place], -place))
        best = max(best, (row[j], i, j), key=lambda found: (found[0], -found[2]))
    return best[1:]


_Share = tuple[_Reading, int, int]
"""What the model says of a sentence, and the places between which its edits may begin."""


def _shares(readings: Iterable[_Reading]) -> list[_Share]:
    """Divide a sentence among the readings of it: where two overlap, see :func:`_boundary`.

    A window that was cut out of a sentence says nothing of the places where it was cut, and one
    inside another nothing at all.
    """
    ordered: list[_Reading] = []
    for reading in sorted(readings, key=lambda reading: (reading.start, -reading.end)):
        if reading.start < reading.end and not (ordered and reading.end <= ordered[-1].end):
            ordered.append(reading)
    begins = [reading.start + (reading.start > 0) for reading in ordered]
    ends = [reading.end + reading.whole for reading in ordered]
    for place, (left, right) in enumerate(pairwise(ordered)):
        if right.start <= left.end:
            ends[place] = begins[place + 1] = _boundary(left, right)
    shares = []
    at = 0
    for reading, begin, end in zip(ordered, begins, ends, strict=True):
        begin, at = max(begin, at), max(begin, at, end)
        shares.append((reading, begin, at))
    return shares


def _boundary(left: _Reading, right: _Reading) -> int:
    """Return the word of two windows' overlap from which on the right one speaks.

    It is as near to the middle as neither has an edit: two alignments may place one and the same
    change before a word or after it, and it must be made once.
    """
    touched = {
        place
        for reading in (left, right)
        for edit in reading.edits
        for place in range(edit.source_start, edit.source_end + 1)
    }
    middle = (right.start + left.end) // 2
    overlap = range(right.start, left.end + 1)
    return min(overlap, key=lambda p: (p in touched, abs(p - middle)))


def _with_blanks(edits: Sequence[Edit], plan: _Plan, place: int, setting: Setting) -> list[Edit]:
    """Return a sentence's edits and those that put the blanks that are missing after its marks.

    What replaces such a mark takes the blank along; what is put or removed behind it decides.
    """
    following = plan.sentences[place + 1].start if place + 1 < len(plan.sentences) else None
    found = [*edits]
    if setting.types.get(BLANK_TYPE, setting.min_confidence) > BLANK_CONFIDENCE:
        return found
    behind = {e.start for e in edits if e.start == e.end or e.replacement.strip(" ") == ""}
    behind |= {e.start for e in edits if e.replacement.startswith(" ")}
    changed = Overlaps((edit.start, edit.end) for edit in edits)
    last = {edit.end: number for number, edit in enumerate(edits) if edit.start < edit.end}
    for mark in missing_blanks(plan.sentences[place].words, following):
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


def _left(words: Sequence[Word], shares: Sequence[_Share], done: Sequence[_Done]) -> list[str]:
    """Return a warning for every part of a sentence of which the model says nothing."""
    warnings = []
    at, behind = 0, len(words) + 1
    for begin, end in [*((begin, end) for _, begin, end in shares), (behind, behind)]:
        if at < begin:
            first, last = words[min(at, len(words) - 1)], words[min(begin, len(words)) - 1]
            lost = any(
                one.hypothesis.truncated and one.job.start < begin and at <= one.job.end
                for one in done
            )
            said = (
                "no end within the length limit, left as it was"
                if lost
                else "words too long for the model, left as they were"
            )
            warnings.append(f"characters {first.start}-{last.end}: {said}")
        at = max(at, end)
    return warnings


def _model_word(word: Word) -> str:
    """Return the word as the model sees it: blanks inside a protected span joined."""
    return word.text.replace(" ", "\u00a0")
