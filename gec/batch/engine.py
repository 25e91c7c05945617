"""Corrects the texts of a block with a Corrector, each different sentence once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import TYPE_CHECKING

from gec.batch.blocks import Outcome
from gec.correct.corrector import Corrector
from gec.correct.options import Options
from gec.correct.result import Correction
from gec.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from gec.decoding.decoder import Hypothesis
    from gec.text.protection import Span

Spans = tuple["Span", ...]

_BATCHES = 4
"""Batches decoded in one call: enough that waiting sentences refill a batch, few enough that Ctrl-C
ends the call soon."""


@dataclass(slots=True)
class Engine:
    """A :class:`gec.batch.blocks.Correct` that several threads may call.

    The threads take turns at decoding: while one thread decodes, another segments and spells the
    next block or assembles the last one.

    Attributes:
        corrector: made by gec.load.
        batch_size: number of sentences decoded together.
        tokenized: whether the texts are tokenized sentences.
        max_chars: length in code points above which a text fails.
    """

    corrector: Corrector
    batch_size: int = 32
    tokenized: bool = False
    max_chars: int = 1_000_000
    _turn: Lock = field(default_factory=Lock)
    _stopped: Event = field(default_factory=Event)

    def stop(self) -> None:
        """End all calls after their current batches: Ctrl-C must not wait for a whole block."""
        self._stopped.set()

    def __call__(
        self, texts: Sequence[str], protected: Sequence[Spans] | None = None
    ) -> list[Outcome]:
        spans: Sequence[Spans] = protected or [()] * len(texts)
        known = {(text, own): self._refused(text) for text, own in zip(texts, spans, strict=True)}
        by_spans: dict[Spans, list[str]] = {}
        for (text, own), outcome in known.items():
            if outcome is None:
                by_spans.setdefault(own, []).append(text)
        corrector = self.corrector.with_decoder(self._once())
        for own, todo in by_spans.items():
            for text, outcome in zip(todo, self._tried(corrector, todo, own), strict=True):
                known[text, own] = outcome
        return [found for key in zip(texts, spans, strict=True) if (found := known[key])]

    def _refused(self, text: str) -> Outcome | None:
        if not text.strip():
            return Outcome(Correction(text, text, ()))
        if len(text) > self.max_chars:
            return Outcome(None, f"too long: {len(text)} characters, at most {self.max_chars}")
        if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            return Outcome(None, "half a surrogate pair: not text")
        return None

    def _tried(self, corrector: Corrector, texts: Sequence[str], spans: Spans) -> Iterator[Outcome]:
        """Correct texts together; if that fails, correct halves, down to the text at fault."""
        correct = corrector.correct_tokenized if self.tokenized else corrector.correct_many
        options = Options(protected=spans) if spans else None
        try:
            # all texts are planned at once, so that sentences of similar length share a batch
            found = list(correct(texts, options, batch_size=len(texts)))
        except (ConfigError, ModelError):
            raise
        except Exception as error:
            if len(texts) == 1:
                yield Outcome(None, " ".join(f"{type(error).__name__}: {error}".split()))
            else:
                middle = len(texts) // 2
                yield from self._tried(corrector, texts[:middle], spans)
                yield from self._tried(corrector, texts[middle:], spans)
            return
        for correction in found:
            yield Outcome(correction, "; ".join(map(str, correction.warnings)) or None)

    def _once(self) -> _Once:
        return _Once(self)


class Stopped(BaseException):
    """The run ended before this block was done; this is not the failure of a record."""


class _Once:
    """A decode function for one block that decodes each source only once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[tuple[tuple[int, ...], float], Hypothesis] = {}

    def __call__(self, sources: Sequence[tuple[int, ...]], tolerance: float) -> list[Hypothesis]:
        new = [s for s in dict.fromkeys(sources) if (s, tolerance) not in self._known]
        if new:
            engine = self._engine
            new.sort(key=len)
            with engine._turn:
                size = engine.batch_size
                for at in range(0, len(new), _BATCHES * size):
                    if engine._stopped.is_set():
                        raise Stopped
                    some = new[at : at + _BATCHES * size]
                    found = engine.corrector.decode(some, tolerance, batch_size=size)
                    self._known.update(zip([(s, tolerance) for s in some], found, strict=True))
        return [self._known[source, tolerance] for source in sources]
