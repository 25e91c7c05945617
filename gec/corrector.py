"""Corrector: text in; corrected text, edits and traces out."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise

import torch

from gec.decoding.acceptance import Acceptance, Conservative
from gec.decoding.beam import BeamSearch
from gec.decoding.decoder import Decoder, Hypothesis
from gec.decoding.drafters import Drafter, NoDraft
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.model import Model
from gec.decoding.trace import Trace
from gec.errors import ConfigError
from gec.text.edits import Edit, WordEdit, align, apply, to_edits
from gec.text.segmentation import Sentence, looks_english, segment, windows
from gec.text.spelling import Speller
from gec.text.subwords import Subwords
from gec.text.words import Word, split_tokenized, tokenize_line

STRATEGIES = ("iad", "greedy", "beam")
WINDOW_WORDS, WINDOW_OVERLAP = 64, 16
"""Longer sentences are corrected in windows of so many words that overlap by so many."""
WINDOW_TOKENS = 200
"""Windows with more subwords than this (long unbroken strings) are left as they are."""


@dataclass(frozen=True, slots=True)
class SentenceResult:
    """One sentence: where it stands in the original, its words before and after, and how."""

    start: int
    end: int
    source: tuple[str, ...]
    target: tuple[str, ...]
    trace: Trace | None
    seconds: float


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
class _Job:
    """One window of one sentence on its way through the decoder."""

    text: int
    sentence: int
    start: int  # first word of the window
    words: tuple[Word, ...]
    respelt: dict[int, tuple[str, float]]  # place in the window: what the model sees, confidence

    def seen(self) -> list[str]:
        """Return the words as the model sees them."""
        words: list[str] = []
        for place, word in enumerate(self.words):
            if place in self.respelt:
                words += tokenize_line(self.respelt[place][0])  # a lot, did n't
            else:
                words.append(_model_word(word))
        return words


@dataclass(frozen=True, slots=True)
class _Reading:
    """The model's output for words ``start`` to ``end`` of a sentence.

    ``probabilities`` has the least of its tokens' for each word, and EOS's; ``edits`` count the
    sentence's words, not the window's; ``respelt`` are the words that the speller replaced.
    """

    start: int
    end: int
    words: list[str]
    probabilities: list[float]
    edits: list[WordEdit]
    respelt: frozenset[str]


class Corrector:
    """Corrects texts with one model. Made by :func:`gec.load`."""

    def __init__(
        self,
        model: Model,
        subwords: Subwords,
        *,
        strategy: str = "iad",
        tolerance: float | None = None,
        default_tolerance: float = 0.0,
        beam_size: int = 5,
        min_confidence: float = 0.0,
        dictionary: Collection[str] = (),
        speller: Speller | None = None,
        about: dict[str, str | int | float] | None = None,
    ) -> None:
        if strategy not in STRATEGIES:
            raise ConfigError(
                f"unknown strategy {strategy!r}, expected one of {', '.join(STRATEGIES)}"
            )
        if tolerance and strategy != "iad":
            raise ConfigError("tolerance needs the iad strategy: greedy and beam copy no source")
        if not 0 <= min_confidence <= 1:
            raise ConfigError(f"min_confidence must lie between 0 and 1, not {min_confidence}")
        self.subwords = subwords
        self._dictionary = frozenset(dictionary)
        self._speller = speller
        self._min_confidence = min_confidence
        self._tolerance = default_tolerance if tolerance is None else tolerance
        drafter: Drafter = CopyDrafter() if strategy == "iad" else NoDraft()
        acceptance: Acceptance = Conservative(
            self._tolerance if strategy == "iad" else 0.0, logprobs=True
        )
        if strategy == "beam":
            acceptance = BeamSearch(beam_size)
        self.model = model
        self._decoder = Decoder(model, drafter, acceptance)
        self._about = (about or {}) | {"strategy": strategy}
        if strategy == "iad":
            self._about["tolerance"] = self._tolerance

    def info(self) -> dict[str, str | int | float]:
        """Return bundle, parameters, device, precision, threads, strategy and tolerance."""
        return self._about | {"threads": torch.get_num_threads()}

    def correct(self, text: str, *, batch_size: int = 32) -> Correction:
        """Correct one text of any length."""
        return self._correct([text], batch_size, tokenized=False)[0]

    def correct_many(self, texts: Iterable[str], *, batch_size: int = 32) -> Iterator[Correction]:
        """Correct texts lazily and in order; ``batch_size`` texts are read ahead."""
        yield from self._stream(texts, batch_size, tokenized=False)

    def correct_tokenized(
        self, lines: Iterable[str], *, batch_size: int = 32
    ) -> Iterator[Correction]:
        """Correct sentences whose tokens are set off by blanks, one a line; so are the results."""
        yield from self._stream(lines, batch_size, tokenized=True)

    def _stream(
        self, texts: Iterable[str], batch_size: int, *, tokenized: bool
    ) -> Iterator[Correction]:
        source = iter(texts)
        while chunk := list(islice(source, max(1, batch_size))):  # _correct refuses less than 1
            yield from self._correct(chunk, batch_size, tokenized=tokenized)

    def _correct(
        self, texts: Sequence[str], batch_size: int, *, tokenized: bool
    ) -> list[Correction]:
        if batch_size < 1:
            raise ConfigError(f"batch_size must be at least 1, not {batch_size}")
        documents = [self._sentences(text, tokenized) for text in texts]
        jobs, sources = [], []
        too_long: set[tuple[int, int]] = set()
        longest = min(WINDOW_TOKENS, self.model.max_positions - 1)
        for number, sentences in enumerate(documents):
            eligible = _correctable(sentences)
            for place, sentence in enumerate(sentences):
                if place not in eligible:
                    continue
                spans = windows(sentence.words, size=WINDOW_WORDS, overlap=WINDOW_OVERLAP)
                respelt = self._respell(sentence)
                for start, end in spans:
                    inside = {p - start: respelt[p] for p in respelt if start <= p < end}
                    job = _Job(number, place, start, sentence.words[start:end], inside)
                    ids = self.subwords.encode(job.seen())
                    if len(ids) <= longest:
                        jobs.append(job)
                        sources.append(ids)
                    else:
                        too_long.add((number, place))
        found: dict[tuple[int, int], list[tuple[_Job, Hypothesis, float]]] = {}
        order = sorted(range(len(jobs)), key=lambda i: len(sources[i]))
        for at in range(0, len(order), batch_size):
            chosen = order[at : at + batch_size]
            began = time.perf_counter()
            outputs = self._decoder.decode([sources[i] for i in chosen], batch_size=batch_size)
            seconds = (time.perf_counter() - began) / len(chosen)
            for i, hypotheses in zip(chosen, outputs, strict=True):
                job = jobs[i]
                key = (job.text, job.sentence)
                found.setdefault(key, []).append((job, hypotheses[0], seconds))
        return [
            self._assemble(
                text,
                sentences,
                [
                    sorted(found.get((number, place), []), key=lambda f: f[0].start)
                    for place in range(len(sentences))
                ],
                {place for owner, place in too_long if owner == number},
                tokenized,
            )
            for number, (text, sentences) in enumerate(zip(texts, documents, strict=True))
        ]

    def _sentences(self, text: str, tokenized: bool) -> list[Sentence]:
        if tokenized:
            words = split_tokenized(text)
            sentences = [Sentence(words[0].start, words[-1].end, tuple(words))] if words else []
        else:
            sentences = segment(text, dictionary=self._dictionary)
        return [
            replace(sentence, words=tuple(self._protect(word) for word in sentence.words))
            for sentence in sentences
        ]

    def _protect(self, word: Word) -> Word:
        """Protect numbers, and in tokenized text what the dictionary names."""
        if word.text in self._dictionary or any(c.isdigit() for c in word.text):
            return replace(word, protected=True)
        return word

    def _respell(self, sentence: Sentence) -> dict[int, tuple[str, float]]:
        """Return what the dictionary would write, by place; protected words stay."""
        if self._speller is None:
            return {}
        protected = {place for place, word in enumerate(sentence.words) if word.protected}
        return self._speller.correct([word.text for word in sentence.words], protected)

    def _assemble(
        self,
        text: str,
        sentences: Sequence[Sentence],
        decoded: Sequence[Sequence[tuple[_Job, Hypothesis, float]]],
        too_long: Collection[int],
        tokenized: bool,
    ) -> Correction:
        edits: list[Edit] = []
        results, warnings = [], []
        before: Sentence | None = None
        for place, (sentence, parts) in enumerate(zip(sentences, decoded, strict=True)):
            source = [word.text for word in sentence.words]
            title = before is not None and _is_marker(text, before, sentence)
            target, confidences = self._merge(sentence.words, parts, title)
            before = sentence
            where = f"characters {sentence.start}-{sentence.end}"
            if any(hypothesis.truncated for _, hypothesis, _ in parts):
                warnings.append(f"{where}: no end within the length limit, left as it was")
            if place in too_long:
                warnings.append(f"{where}: words too long for the model, left as they were")
            if target != source:
                edits += to_edits(
                    text,
                    sentence.words,
                    target,
                    confidences=confidences,
                    spaced=True if tokenized else None,
                    misspelt={job.words[p].text for job, _, _ in parts for p in job.respelt},
                )
            results.append(
                SentenceResult(
                    sentence.start,
                    sentence.end,
                    tuple(source),
                    tuple(target),
                    self._trace([hypothesis for _, hypothesis, _ in parts]),
                    sum(seconds for _, _, seconds in parts),
                )
            )
        return Correction(text, apply(text, edits), tuple(edits), tuple(results), tuple(warnings))

    def _merge(
        self,
        sentence: Sequence[Word],
        parts: Sequence[tuple[_Job, Hypothesis, float]],
        title: bool = False,
    ) -> tuple[list[str], list[float]]:
        """Return the sentence's target words, and a probability for each and for its end.

        Where windows overlap an edit is the one's in whose part it begins (see :func:`_boundary`).
        Edits of protected words and those below ``min_confidence`` are left out; a ``title`` gets
        no final period.
        """
        source = [word.text for word in sentence]
        target: list[str] = []
        confidences: list[float] = []
        at, carried = 0, 1.0

        def add(words: Sequence[str], probabilities: Sequence[float]) -> None:
            nonlocal carried
            if words:  # a deletion's probability shows in what follows it
                confidences.extend([min(carried, probabilities[0]), *probabilities[1:]])
                target.extend(words)
                carried = 1.0

        readings = [self._read(job, found) for job, found, _ in parts if not found.truncated]
        bounds = [0, *(_boundary(*pair) for pair in pairwise(readings)), len(source) + 1]
        for reading, (begin, end) in zip(readings, pairwise(bounds), strict=False):
            words, probabilities = reading.words, reading.probabilities
            for edit in reading.edits:
                start, stop = edit.source_start, edit.source_end
                first, last = edit.target_start, edit.target_end
                if not max(begin, at) <= start < end:
                    continue
                if min(probabilities[first : max(last, first + 1)]) < self._min_confidence:
                    continue
                if any(word.protected for word in sentence[start:stop]):
                    continue
                if title and start == len(source) and words[first:last] == ["."]:
                    continue
                if self._invents(source[start:stop], words[first:last], reading.respelt):
                    continue
                add(source[at:start], [1.0] * (start - at))
                add(words[first:last], probabilities[first:last])
                if first == last:
                    carried = min(carried, probabilities[last])
                at = stop
        add(source[at:], [1.0] * (len(source) - at))
        return target, [*confidences, carried]

    def _invents(self, old: Sequence[str], new: Sequence[str], respelt: Collection[str]) -> bool:
        """Whether an edit writes a word that no dictionary has, or replaces one: a name, a term.

        A small model spells rare words badly; those that the speller left alone stay.
        """
        if self._speller is None:
            return False
        kept = {word.lower() for word in old} & {word.lower() for word in new}
        return any(
            len(word) > 2 and word.isalpha() and not self._speller.knows(word)
            for words in (new, [word for word in old if word not in respelt])
            for word in words
            if word.lower() not in kept
        )

    def _read(self, job: _Job, hypothesis: Hypothesis) -> _Reading:
        spans = self.subwords.decode_spans(hypothesis.tokens)
        words = [word for word, _, _ in spans]
        logprobs = hypothesis.logprobs
        probabilities = [math.exp(min(logprobs[a:b])) for _, a, b in spans]
        edits = []
        for edit in align([_model_word(word) for word in job.words], words):
            start, end = edit.source_start, edit.source_end
            for place in job.respelt.keys() & set(range(start, end)):
                for target in range(edit.target_start, edit.target_end):
                    probabilities[target] *= job.respelt[place][1]
            edits.append(replace(edit, source_start=job.start + start, source_end=job.start + end))
        end = job.start + len(job.words)
        respelt = frozenset(job.words[place].text for place in job.respelt)
        return _Reading(
            job.start, end, words, [*probabilities, math.exp(logprobs[-1])], edits, respelt
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
    return min(overlap, key=lambda p: (p in touched, abs(p - middle)), default=right.start)


def _model_word(word: Word) -> str:
    """Return the word as the model sees it: blanks inside a protected span joined."""
    return word.text.replace(" ", "\u00a0")
