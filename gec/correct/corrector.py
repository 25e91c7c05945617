"""Corrector: text in; corrected text, edits and traces out."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from gec.correct.assemble import Assembler
from gec.correct.confidence import Calibration
from gec.correct.needless import Needless
from gec.correct.opinion import SecondOpinion
from gec.correct.options import BALANCED, Options, Setting
from gec.correct.plan import Interrupt, Job, Plan, Planner, Rule
from gec.correct.reading import Done, read
from gec.correct.result import Correction
from gec.correct.rounds import in_rounds
from gec.decoding.decoder import Hypothesis
from gec.decoding.model import Model
from gec.decoding.parts import Parts
from gec.decoding.strategies import make_decoder, named, parse
from gec.errors import ConfigError
from gec.text.ngrams import NGrams
from gec.text.segmentation import Sentence
from gec.text.spelling import Speller
from gec.text.subwords import WordCodec

Decode = Callable[[Sequence[tuple[int, ...]], float], list[Hypothesis]]
"""Decodes sources (token ids) with a tolerance (nats); the results are in their order."""


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
        second: SecondOpinion | None = None,
        calibration: Calibration | None = None,
        needless: Mapping[str, Needless] | None = None,
        about: dict[str, str | int | float] | None = None,
    ) -> None:
        self._parts = model if isinstance(model, Parts) else Parts("given", model)
        self._parts = replace(self._parts, words=subwords)
        self.model = self._parts.model
        self.subwords = subwords
        self.settings = dict(settings or {BALANCED: Setting()})
        self._needless = dict(needless or {})
        self._strategy, self._values = parse(strategy)
        if "tolerance" in self._values:
            raise ConfigError(f"strategy {strategy}: the tolerance is the setting's or --tolerance")
        self._tolerant = named(self._strategy).takes("tolerance")
        if named(self._strategy).takes("beam_size"):
            self._values = {"beam_size": beam_size} | self._values
        self._decoder = make_decoder(self._parts, self._strategy, self._values, logprobs=True)
        self._speller = speller
        self._ngrams = ngrams
        self._second = second
        self._calibration = calibration or Calibration()
        self._decode: Decode = self.decode
        self._interrupt: Interrupt = _go_on
        self._options = options or Options()
        if self._options.tolerance:
            self._refuse_tolerance()
        setting = self._rule(None).setting
        self._about = (about or {}) | {"strategy": strategy}
        if second is not None:
            self._about["second_opinion"] = second.name
        if self._tolerant:
            self._about["tolerance"] = setting.tolerance
        self._about["min_confidence"] = setting.min_confidence

    def info(self) -> dict[str, str | int | float]:
        """Return bundle, parameters, device, precision, threads, strategy and its setting."""
        return self._about | {"threads": getattr(self.model, "threads", 1)}

    def knows(self, word: str) -> bool:
        """Whether the bundle's dictionary has a word; False if it has no dictionary."""
        return self._speller is not None and self._speller.knows(word)

    def with_decoder(self, decode: Decode, *, interrupt: Interrupt | None = None) -> Corrector:
        """Return the same corrector with another decode function: a queue, a cache.

        ``interrupt`` is called before and between decodings: about once a sentence while a text is
        segmented, spelt, encoded and assembled. It raises if the work shall end: a deadline has
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

        All of them together, or ``batch_size`` at a time; of a model that says how many tokens of
        sources are enough together (``most_tokens``) no more than these.
        """
        decoder = self._decoder
        if self._tolerant and tolerance:
            values = {**self._values, "tolerance": tolerance}
            decoder = make_decoder(self._parts, self._strategy, values, logprobs=True)
        size = max(1, len(sources)) if batch_size is None else batch_size
        most = getattr(self.model, "most_tokens", None)
        groups = [sources] if most is None else _groups(sources, most)
        return [found[0] for group in groups for found in decoder.decode(group, batch_size=size)]

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

    def correct_sentences(
        self,
        text: str,
        sentences: Sequence[Sentence],
        options: Options | None = None,
        *,
        chosen: Collection[int] | None = None,
        batch_size: int = 32,
    ) -> Correction:
        """Correct some sentences of a text that the caller has cut, for example those that changed.

        Args:
            sentences: with the words that :func:`gec.text.segmentation.cut` found. Of the whole
                text suffice those to correct, the one before and the one behind each of them.
            chosen: which of ``sentences`` to correct; None is all.

        The language of the text is for the caller to judge: only foreign sentences stay.
        """
        rule = self._rule(options)
        places = range(len(sentences)) if chosen is None else chosen
        plan = self._planner().plan_sentences(text, rule, sentences, places)
        return self._finish([plan], rule, batch_size)[0]

    def stream(
        self, text: str, options: Options | None = None, *, batch_size: int = 32
    ) -> Iterator[Correction]:
        """Correct one text and yield consecutive parts of it, ``batch_size`` sentences each.

        The offsets in a part count from the beginning of the whole text, those in its warnings
        too; ``original`` and ``text`` are the part's own, and put together they are the whole's.
        """
        rule = self._rule(options)
        plan = self._planner().plan(text, rule)
        for first in range(0, max(1, len(plan.sentences)), max(1, batch_size)):
            part = plan.part(first, first + max(1, batch_size))
            yield from self._finish([part], rule, batch_size)

    def _chunks(
        self, texts: Iterable[str], options: Options | None, batch_size: int, *, tokenized: bool
    ) -> Iterator[Correction]:
        source = iter(texts)
        while chunk := list(islice(source, max(1, batch_size))):  # _correct refuses less than 1
            yield from self._correct(chunk, options, batch_size, tokenized=tokenized)

    def _correct(
        self, texts: Sequence[str], options: Options | None, batch_size: int, *, tokenized: bool
    ) -> list[Correction]:
        rule = self._rule(options, tokenized=tokenized)
        planner = self._planner()
        return self._finish([planner.plan(text, rule) for text in texts], rule, batch_size)

    def _refuse_tolerance(self) -> None:
        if not self._tolerant:
            raise ConfigError(
                f"tolerance needs the iad strategy: {self._strategy} keeps no copied tokens"
            )

    def _rule(self, options: Options | None, *, tokenized: bool = False) -> Rule:
        """Put a call's options over the corrector's own, and its numbers over its setting's."""
        asked = (options or Options()).over(self._options)
        setting = asked.choose(self.settings, self._needless)
        if not self._tolerant:
            if options and options.tolerance:
                self._refuse_tolerance()
            setting = replace(setting, tolerance=0.0)
        return Rule(
            setting,
            frozenset(asked.dictionary),
            asked.protected,
            self._speller if asked.spelling is not False else None,
            tokenized,
        )

    def _planner(self) -> Planner:
        return Planner(self.subwords, self.model.max_positions - 1, self._interrupt)

    def _finish(self, plans: Sequence[Plan], rule: Rule, batch_size: int) -> list[Correction]:
        """Decode the windows of all plans together, and assemble each text."""
        if batch_size < 1:
            raise ConfigError(f"batch_size must be at least 1, not {batch_size}")
        jobs = [job for plan in plans for job in plan.jobs]
        done = iter(self._done(jobs, rule.setting, batch_size))
        assembler = Assembler(
            self.subwords, self._calibration, self._ngrams, self._second, self._interrupt
        )
        return [
            assembler.assemble(
                plan, [one for parts in islice(done, len(plan.jobs)) for one in parts]
            )
            for plan in plans
        ]

    def _done(self, jobs: Sequence[Job], setting: Setting, batch_size: int) -> list[list[Done]]:
        """Decode windows; return each, or the halves of one in which the model lost its way."""
        order = sorted(range(len(jobs)), key=lambda i: len(jobs[i].ids))
        found: dict[int, list[Done]] = {}
        halves: dict[int, list[Job]] = {}
        for at in range(0, len(order), batch_size):
            chosen = order[at : at + batch_size]
            self._interrupt()
            began = time.perf_counter()
            decoded = in_rounds(
                lambda sources: self._decode(sources, setting.tolerance),
                [jobs[i].ids for i in chosen],
                setting.rounds,
                self.model.max_positions - 1,
            )
            seconds = (time.perf_counter() - began) / len(chosen)
            for i, hypothesis in zip(chosen, decoded, strict=True):
                reading = read(jobs[i], hypothesis, self.subwords)
                one = Done(jobs[i], hypothesis, reading, seconds)
                found[i] = [one]
                if one.lost:
                    halves[i] = self._planner().halves(jobs[i])
        if halves:
            parts = [half for i in halves for half in halves[i]]
            again = iter(self._done(parts, setting, batch_size))
            for i in halves:
                [lost] = found[i]
                first, *rest = [one for half in islice(again, len(halves[i])) for one in half]
                found[i] = [replace(first, seconds=first.seconds + lost.seconds), *rest]
        return [found[i] for i in range(len(jobs))]


def _groups(sources: Sequence[tuple[int, ...]], most: int) -> Iterator[Sequence[tuple[int, ...]]]:
    """Cut sources into runs of at most so many tokens, padded to the longest, or of one source."""
    begin = longest = 0
    for place, source in enumerate(sources):
        if place > begin and (place + 1 - begin) * max(longest, len(source)) > most:
            yield sources[begin:place]
            begin, longest = place, 0
        longest = max(longest, len(source))
    yield sources[begin:]


def _go_on() -> None:
    """Interrupt nothing."""
