"""One request's way through the corrector, within its limits of time, sentences and places."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gec import __version__
from gec.correct.options import Options
from gec.errors import ConfigError
from gec.text.segmentation import Sentence, segment
from gec.web.config import Config
from gec.web.decoding import Closed, DeadlineExceeded, Decoded, DecodingService, QueueFull
from gec.web.problems import Problem
from gec.web.rates import client_of

if TYPE_CHECKING:
    from gec.correct.corrector import Corrector
    from gec.correct.result import Correction, SentenceResult
    from gec.decoding.decoder import Hypothesis

Span = tuple[int, int]

RESERVED = 3
"""Threads that no correction may take: they answer health checks and the page."""
ALL_AT_ONCE = 2**30
"""Batch size of the corrector: it hands all sentences together to the decoding service, which makes
the real batches."""


class Engine:
    """The corrector with the decoding service behind it, for all requests."""

    def __init__(
        self,
        corrector: Corrector,
        config: Config,
        on_batch: Callable[[int, float], None] | None = None,
    ) -> None:
        self.corrector = corrector
        self.config = config
        self.service = DecodingService(
            lambda sources, tolerance: corrector.decode(
                sources, tolerance, batch_size=config.batch_size
            ),
            batch_size=config.batch_size,
            queue_size=config.queue,
            client_size=max(config.max_sentences, config.queue // 2),
            cache_size=config.cache,
            on_batch=on_batch,
        )
        self._places = Places(config.threads - RESERVED, config.client_requests)
        self.draining = False
        self.ticks: list[Callable[[], None]] = []  # called by a worker's main loop, often
        self.closing: list[Callable[[], None]] = []  # called by close(), the last one first

    def warm_up(self) -> None:
        """Correct a sentence, so that the first request need not wait for anything to load."""
        with self.call(now() + 600, "") as call:
            call.correct(["This are a sentense."], self.options({}))

    @property
    def model(self) -> dict[str, str]:
        """The names of the model and the version of gec, for answers."""
        return {"name": str(self.corrector.info().get("bundle", "unknown")), "gec": __version__}

    @property
    def default_setting(self) -> str:
        """The setting of requests that name none."""
        return self.config.setting or "balanced"

    def options(self, values: dict[str, Any], protected: tuple[Span, ...] = ()) -> Options:
        """Return the corrector's options for a request's options and protected spans."""
        return Options(
            setting=values.get("setting") or self.config.setting,
            tolerance=values.get("tolerance"),
            min_confidence=values.get("min_confidence"),
            dictionary=frozenset(values.get("ignore_words", ())),
            protected=protected,
            spelling=values.get("spelling"),
        )

    @contextmanager
    def call(self, began: float, address: str) -> Iterator[Call]:
        """Take one of the places for corrections while the context lasts.

        ``began`` is the reading of :func:`now` when the request came in; the time limit counts
        from there. ``address`` is the client's IP address.

        Raises:
            Problem: 503, all places are taken; 429, the client has as many as one may have; and
                the problems that :class:`Call` raises.
        """
        client = client_of(address)
        self._places.take(client)
        try:
            yield Call(self, began + self.config.timeout, client)
        finally:
            self._places.leave(client)

    def not_ready(self) -> str:
        """Return why new requests should go to another server, or "" if they need not."""
        if self.draining:
            return "the server is shutting down"
        if self.service.stuck(max(60.0, 2 * self.config.timeout)):
            return "the model does not answer"
        return "the queue is full" if self.service.full else ""

    def close(self) -> None:
        """Decode what is in the queue, end the decoding thread, and close everything else."""
        self.draining = True
        self.service.close(timeout=self.config.drain)
        while self.closing:
            self.closing.pop()()


class Places:
    """The places for corrections; one client may have only some of them."""

    def __init__(self, places: int, per_client: int) -> None:
        self._free = places
        self._per_client = per_client or places
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    def take(self, client: str) -> None:
        """Take a place; raises Problem, 503 or 429, if there is none for the client."""
        with self._lock:
            if self._free < 1:
                raise Problem(503, "busy", "too many requests at once; try again", retry_after=1)
            if self._taken[client] >= self._per_client:
                text = f"more than {self._per_client} requests at once from one client; try again"
                raise Problem(429, "too_many_at_once", text, retry_after=1)
            self._free -= 1
            self._taken[client] += 1

    def leave(self, client: str) -> None:
        """Give a place back."""
        with self._lock:
            self._free += 1
            self._taken[client] -= 1
            if not self._taken[client]:
                del self._taken[client]


class Call:
    """Corrections for one client's request, until ``deadline``, a reading of :func:`now`."""

    def __init__(self, engine: Engine, deadline: float, client: str) -> None:
        self._engine = engine
        self._deadline = deadline
        self._client = client
        self._corrector = engine.corrector.with_decoder(self._decode, interrupt=self._in_time)
        self.corrected = 0
        """Sentences of the texts that have been corrected, for the log."""
        self._asked = 0
        self._found: dict[int, Decoded] = {}
        self._written: dict[tuple[int, ...], Decoded] = {}

    def correct(self, texts: Sequence[str], options: Options) -> list[Correction]:
        """Return the corrections of texts, in order.

        Raises:
            Problem: 400, the options do not fit; 413, too many sentences; 503, the queue is full;
                504, the time is up.
        """
        with _as_problems():
            found = self._corrector.correct_many(texts, options, batch_size=ALL_AT_ONCE)
            corrections = list(found)
        self.corrected += sum(len(correction.sentences) for correction in corrections)
        return corrections

    def stream(self, text: str, options: Options) -> Iterator[Correction]:
        """Yield the correction of each part of a text; raises as :meth:`correct` does."""
        with _as_problems():
            size = self._engine.config.batch_size
            for part in self._corrector.stream(text, options, batch_size=size):
                self.corrected += len(part.sentences)
                yield part

    def sentences(self, text: str) -> list[Sentence]:
        """Return the sentences of a text, uncorrected; raises as :meth:`correct` does."""
        with _as_problems():
            return segment(text, interrupt=self._in_time)

    def cost(self, sentence: SentenceResult) -> tuple[float, bool]:
        """Return the milliseconds of a sentence's decoding, and whether the cache had it."""
        steps = sentence.trace.steps if sentence.trace else ()
        # the steps of a trace are the same objects as the steps of its windows' hypotheses
        windows = [self._found[id(step)] for step in steps if id(step) in self._found]
        seconds = sum(window.seconds for window in windows)
        return round(seconds * 1000, 3), bool(windows) and all(w.cached for w in windows)

    def _decode(self, sources: Sequence[tuple[int, ...]], tolerance: float) -> list[Hypothesis]:
        limit = self._engine.config.max_sentences
        # what an earlier round wrote is no further sentence of the text
        self._asked += sum(source not in self._written for source in sources)
        if self._asked > limit:
            raise Problem(
                413, "too_many_sentences", f"a request may have {limit} sentences, not more"
            )
        decoded = self._engine.service.decode(sources, tolerance, self._deadline, self._client)
        for source, one in zip(sources, decoded, strict=True):
            if earlier := self._written.get(source):
                seconds, cached = earlier.seconds + one.seconds, earlier.cached and one.cached
                one = Decoded(one.hypothesis, seconds, cached)
            if one.hypothesis.tokens != source:
                self._written[one.hypothesis.tokens] = one
            if one.hypothesis.steps:
                self._found[id(one.hypothesis.steps[0])] = one
        return [one.hypothesis for one in decoded]

    def _in_time(self) -> None:
        if now() > self._deadline:
            raise DeadlineExceeded


@contextmanager
def _as_problems() -> Iterator[None]:
    try:
        yield
    except QueueFull as error:
        raise Problem(
            503, "queue_full", "too much text is waiting; try again", retry_after=error.retry_after
        ) from None
    except DeadlineExceeded:
        raise Problem(504, "timeout", "the text was not corrected in time; send less") from None
    except Closed:
        raise Problem(503, "closing", "the server is shutting down", retry_after=5) from None
    except ConfigError as error:
        raise Problem(400, "invalid_request", str(error)) from None


def now() -> float:
    """Return the reading, in seconds, of the clock that deadlines count by."""
    return time.monotonic()
