"""One thread that decodes for all requests: merged batches, a bounded queue, deadlines, a cache.

A request asks for sentences (token ids) at one tolerance and waits. Requests take turns, sentence
by sentence, to fill each batch, so that a long document does not hold up a short one. What two
requests want at the same time is decoded once. Whatever the model raises costs the sentences that
raise it, never the thread.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gec.decoding.decoder import Hypothesis

Source = tuple[int, ...]
Key = tuple[Source, float]
"""A sentence and the tolerance: what a hypothesis depends on."""

TOKENS_PER_PLACE = 64
"""A hypothesis of so many tokens takes one place in the cache, a longer one several."""


class QueueFull(Exception):
    """The sentences that wait are as many as may; ``retry_after`` says for how many seconds."""

    def __init__(self, retry_after: float) -> None:
        super().__init__("the queue is full")
        self.retry_after = retry_after


class DeadlineExceeded(Exception):
    """The request's time ran out before all its sentences were decoded."""


class Closed(Exception):
    """The service is shutting down."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A sentence's hypothesis, its share of the batch's seconds, and whether it was known."""

    hypothesis: Hypothesis
    seconds: float
    cached: bool


class Cache:
    """The hypotheses used last, within ``places``. Not thread safe: its owner holds a lock."""

    def __init__(self, places: int) -> None:
        self.places = places
        self.used = 0
        self._found: OrderedDict[Key, Hypothesis] = OrderedDict()

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: Key) -> Hypothesis | None:
        hypothesis = self._found.get(key)
        if hypothesis is not None:
            self._found.move_to_end(key)
        return hypothesis

    def put(self, key: Key, hypothesis: Hypothesis) -> None:
        if self.places < 1 or key in self._found:
            return
        self._found[key] = hypothesis
        self.used += _places(key, hypothesis)
        while self.used > self.places:
            oldest, dropped = self._found.popitem(last=False)
            self.used -= _places(oldest, dropped)


def _places(key: Key, hypothesis: Hypothesis) -> int:
    size = len(key[0]) + len(hypothesis.tokens) + len(hypothesis.steps)
    return 1 + size // TOKENS_PER_PLACE


class _Ticket:
    """One request: what it still waits for, and what it got."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance
        self.queued: deque[_Task] = deque()  # those that this request has brought
        self.open: dict[Key, _Task] = {}  # all that it waits for
        self.found: dict[Key, Decoded] = {}
        self.error: BaseException | None = None
        self.done = threading.Event()


class _Task:
    """One sentence on its way; ``tickets`` are the requests that want it."""

    __slots__ = ("key", "tickets")

    def __init__(self, key: Key, ticket: _Ticket) -> None:
        self.key = key
        self.tickets = [ticket]


class DecodingService:
    """Decodes sentences of many requests in one thread.

    Args:
        decode: gives the hypotheses of sources, in order; only ever called in the one thread.
        batch_size: sentences decoded together.
        queue_size: sentences that may wait; a request with more is refused.
        cache_size: places of the cache; 0 remembers nothing.
        on_batch: told the size and the seconds of each batch.
    """

    def __init__(
        self,
        decode: Callable[[Sequence[Source], float], Sequence[Hypothesis]],
        *,
        batch_size: int = 32,
        queue_size: int = 4000,
        cache_size: int = 20_000,
        on_batch: Callable[[int, float], None] | None = None,
    ) -> None:
        self._decode = decode
        self.batch_size = batch_size
        self.queue_size = queue_size
        self.cache = Cache(cache_size)
        self._on_batch = on_batch or (lambda size, seconds: None)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._tickets: deque[_Ticket] = deque()  # those with sentences in the queue
        self._tasks: dict[Key, _Task] = {}  # all queued or being decoded
        self._closing = False
        self._busy_since: float | None = None
        self._pace = 0.02  # seconds a sentence, smoothed
        self.queued = 0
        self.hits = 0
        self.misses = 0
        self.failures = 0
        self._thread = threading.Thread(target=self._run, name="gec-decoding", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------------------- requests' side

    def decode(self, sources: Sequence[Source], tolerance: float, deadline: float) -> list[Decoded]:
        """Return what the model makes of the sources, in order; wait until ``deadline`` at most.

        ``deadline`` is a reading of :func:`time.monotonic`.

        Raises:
            QueueFull: too many sentences wait already.
            DeadlineExceeded: it is late; sentences that nobody else wants leave the queue.
            Closed: the service does not go on.
            Exception: what the model raised at one of these sources.
        """
        keys = [(tuple(source), tolerance) for source in sources]
        ticket = self._submit(keys, tolerance)
        finished = ticket.done.wait(max(0.0, deadline - time.monotonic()))
        if not finished or ticket.error is not None:
            with self._lock:
                self._abandon(ticket)
        if ticket.error is not None:
            raise ticket.error
        if not finished:
            raise DeadlineExceeded
        return [ticket.found[key] for key in keys]

    def _submit(self, keys: Iterable[Key], tolerance: float) -> _Ticket:
        ticket = _Ticket(tolerance)
        with self._lock:
            if self._closing:
                raise Closed
            fresh: list[Key] = []
            for key in dict.fromkeys(keys):
                known = self.cache.get(key)
                if known is not None:
                    ticket.found[key] = Decoded(known, 0.0, cached=True)
                elif (task := self._tasks.get(key)) is not None:
                    ticket.open[key] = task
                else:
                    fresh.append(key)
            if self.queued + len(fresh) > self.queue_size:
                raise QueueFull(self.queued * self._pace)
            self.hits += len(ticket.found) + len(ticket.open)
            self.misses += len(fresh)
            for task in ticket.open.values():
                task.tickets.append(ticket)
            for key in fresh:
                task = self._tasks[key] = ticket.open[key] = _Task(key, ticket)
                ticket.queued.append(task)
            self._enqueue(ticket, len(fresh))
            if not ticket.open:
                ticket.done.set()
        return ticket

    def _enqueue(self, ticket: _Ticket, count: int) -> None:
        if count:
            self.queued += count
            if ticket not in self._tickets:
                self._tickets.append(ticket)
            self._changed.notify()

    def _abandon(self, ticket: _Ticket) -> None:
        """Take a request's sentences out of the queue, but for those that others wait for."""
        for task in ticket.open.values():
            task.tickets.remove(ticket)
        ticket.open = {}
        if ticket in self._tickets:
            self._tickets.remove(ticket)
        self.queued -= len(ticket.queued)
        for task in ticket.queued:
            if task.tickets:
                heir = task.tickets[0]
                heir.queued.append(task)
                self._enqueue(heir, 1)
            else:
                del self._tasks[task.key]
        ticket.queued.clear()

    # --------------------------------------------------------------------------- the one thread

    def _run(self) -> None:
        while batch := self._take():
            try:
                self._decode_batch(batch)
            except BaseException as error:  # the thread must outlive whatever a model does
                for task in batch:
                    self._fail(task, error)

    def _take(self) -> list[_Task]:
        """Wait for sentences and return the next batch: a sentence of each request in turn."""
        with self._lock:
            self._busy_since = None
            while not self._tickets:
                if self._closing:
                    return []
                self._changed.wait()
            tolerance = self._tickets[0].tolerance
            turns = deque(t for t in self._tickets if t.tolerance == tolerance)
            batch: list[_Task] = []
            served: set[_Ticket] = set()
            while turns and len(batch) < self.batch_size:
                ticket = turns.popleft()
                batch.append(ticket.queued.popleft())
                served.add(ticket)
                if ticket.queued:
                    turns.append(ticket)
            self.queued -= len(batch)
            # who was served goes to the end of the line
            line = [t for t in self._tickets if t not in served]
            line += [t for t in self._tickets if t in served and t.queued]
            self._tickets = deque(line)
            self._busy_since = time.monotonic()
            return batch

    def _decode_batch(self, batch: list[_Task]) -> None:
        """Decode a batch; if the model refuses, each sentence alone, so that only one fails."""
        with self._lock:
            for task in batch:
                if not task.tickets:  # given up in the meantime
                    self._tasks.pop(task.key, None)
            batch = [task for task in batch if task.tickets]
        if not batch:
            return
        sources = [task.key[0] for task in batch]
        began = time.monotonic()
        try:
            hypotheses = self._decode(sources, batch[0].key[1])
            if len(hypotheses) != len(batch):
                raise RuntimeError(f"{len(hypotheses)} hypotheses for {len(batch)} sources")
        except Exception as error:
            if len(batch) == 1:
                self._fail(batch[0], error)
            for task in batch if len(batch) > 1 else ():
                self._decode_batch([task])
            return
        seconds = time.monotonic() - began
        self._on_batch(len(batch), seconds)
        self._finish(batch, hypotheses, seconds / len(batch))

    def _finish(
        self, batch: Sequence[_Task], hypotheses: Sequence[Hypothesis], seconds: float
    ) -> None:
        with self._lock:
            self._pace += 0.2 * (seconds - self._pace)
            for task, hypothesis in zip(batch, hypotheses, strict=True):
                self.cache.put(task.key, hypothesis)
                self._tasks.pop(task.key, None)
                for number, ticket in enumerate(task.tickets):
                    ticket.found[task.key] = Decoded(hypothesis, seconds, cached=number > 0)
                    ticket.open.pop(task.key, None)
                    if not ticket.open:
                        ticket.done.set()

    def _fail(self, task: _Task, error: BaseException) -> None:
        with self._lock:
            self.failures += 1
            self._tasks.pop(task.key, None)
            for ticket in task.tickets:
                ticket.error = error
                ticket.done.set()

    # --------------------------------------------------------------------------------- state

    @property
    def full(self) -> bool:
        return self.queued >= self.queue_size

    def stuck(self, seconds: float) -> bool:
        """Whether the thread is gone, or has been at one batch for so long."""
        since = self._busy_since
        late = since is not None and time.monotonic() - since > seconds
        return late or not self._thread.is_alive()

    def close(self, timeout: float | None = None) -> None:
        """Refuse new sentences, decode those in the queue, and end the thread."""
        with self._lock:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout)
