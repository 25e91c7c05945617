"""One thread that decodes for all requests: merged batches, a bounded queue, deadlines, a cache.

A request asks for sentences (token ids) at one tolerance and waits. Clients take turns to fill each
batch, and so do the requests of one client, sentence by sentence: neither a long document nor many
requests hold up another client's short text. If two requests wait for the same sentence, it is
decoded once. An exception of the model fails only the sentences that raise it; the thread goes on.

The thread starts with the first sentence. If a process forks, as some servers do after they have
loaded the application, the child has an empty queue, an empty cache and no thread.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gec.decoding.decoder import Hypothesis

Source = tuple[int, ...]
Key = tuple[Source, float]
"""A sentence and the tolerance, on which a hypothesis depends."""

TOKENS_PER_PLACE = 64
"""A hypothesis of so many tokens takes one place in the cache, a longer one takes several."""


class QueueFull(Exception):
    """No more sentences may wait; ``retry_after`` is the number of seconds until there is room."""

    def __init__(self, retry_after: float) -> None:
        super().__init__("the queue is full")
        self.retry_after = retry_after


class DeadlineExceeded(Exception):
    """The request's time ran out before all its sentences were decoded."""


class Closed(Exception):
    """The service is shutting down."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A sentence's hypothesis, its share of the batch's seconds, and whether the cache had it."""

    hypothesis: Hypothesis
    seconds: float
    cached: bool


class Cache:
    """The hypotheses used last, within ``places``.

    The cache is not thread safe: its owner holds a lock.
    """

    def __init__(self, places: int) -> None:
        self.places = places
        self.used = 0
        self._found: OrderedDict[Key, Hypothesis] = OrderedDict()

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: Key) -> Hypothesis | None:
        """Return the hypothesis of a key, which then counts as used last, or None."""
        hypothesis = self._found.get(key)
        if hypothesis is not None:
            self._found.move_to_end(key)
        return hypothesis

    def put(self, key: Key, hypothesis: Hypothesis) -> None:
        """Keep a hypothesis, and drop those not used for longest until all fit."""
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
    """One request: the sentences that it waits for, and those that it has got."""

    def __init__(self, tolerance: float, client: object | None = None) -> None:
        self.tolerance = tolerance
        self.client = self if client is None else client
        self.queued: deque[_Task] = deque()  # sentences that this request put into the queue
        self.open: dict[Key, _Task] = {}  # all sentences that the request waits for
        self.found: dict[Key, Decoded] = {}
        self.error: BaseException | None = None
        self.done = threading.Event()


class _Task:
    """One sentence on its way; ``tickets`` are the requests that wait for it."""

    __slots__ = ("key", "tickets")

    def __init__(self, key: Key, ticket: _Ticket) -> None:
        self.key = key
        self.tickets = [ticket]


class DecodingService:
    """Decodes sentences of many requests in one thread.

    Args:
        decode: returns the hypotheses of sources, in order; only the one thread calls it.
        batch_size: number of sentences decoded together.
        queue_size: number of sentences that may wait; a request with more is refused.
        client_size: number of one client's sentences that may wait; None is no limit.
        cache_size: places of the cache; 0 remembers nothing.
        on_batch: called with the size and the seconds of each batch.
    """

    def __init__(
        self,
        decode: Callable[[Sequence[Source], float], Sequence[Hypothesis]],
        *,
        batch_size: int = 32,
        queue_size: int = 4000,
        client_size: int | None = None,
        cache_size: int = 20_000,
        on_batch: Callable[[int, float], None] | None = None,
    ) -> None:
        self._decode = decode
        self.batch_size = batch_size
        self.queue_size = queue_size
        self.client_size = queue_size if client_size is None else client_size
        self._on_batch = on_batch or (lambda size, seconds: None)
        self._pace = 0.02  # seconds per sentence, smoothed
        self.hits = 0
        self.misses = 0
        self.failures = 0
        self._begin(cache_size)
        _services.add(self)

    def _begin(self, cache_size: int) -> None:
        """Set an empty queue and no thread, in the constructor and in a child after a fork."""
        self.cache = Cache(cache_size)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        # the requests of each client with sentences in the queue; the next client stands first
        self._line: OrderedDict[object, deque[_Ticket]] = OrderedDict()
        self._tasks: dict[Key, _Task] = {}  # all sentences in the queue or in the current batch
        self._closing = False
        self._busy_since: float | None = None
        self.queued = 0
        self._thread: threading.Thread | None = None

    def after_fork(self) -> None:
        """Begin anew in a child process, which has neither the thread nor waiting requests."""
        self._begin(self.cache.places)

    # ------------------------------------------------------------------------- requests' side

    def decode(
        self,
        sources: Sequence[Source],
        tolerance: float,
        deadline: float,
        client: str | None = None,
    ) -> list[Decoded]:
        """Return the hypotheses of the sources, in order; wait until ``deadline`` at most.

        ``deadline`` is a reading of :func:`time.monotonic`. Without a ``client`` the request is a
        client of its own.

        Raises:
            QueueFull: too many sentences wait already, in all or of this client.
            DeadlineExceeded: the deadline has passed; sentences that no other request waits for
                leave the queue.
            Closed: the service has ended.
            Exception: the exception that the model raised at one of these sources.
        """
        keys = [(tuple(source), tolerance) for source in sources]
        ticket = self._submit(keys, _Ticket(tolerance, client))
        finished = ticket.done.wait(max(0.0, deadline - time.monotonic()))
        if not finished or ticket.error is not None:
            with self._lock:
                self._abandon(ticket)
        if ticket.error is not None:
            raise ticket.error
        if not finished:
            raise DeadlineExceeded
        return [ticket.found[key] for key in keys]

    def _submit(self, keys: Iterable[Key], ticket: _Ticket) -> _Ticket:
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
            self._check_room(len(fresh), ticket.client)
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

    def _check_room(self, count: int, client: object) -> None:
        own = sum(len(ticket.queued) for ticket in self._line.get(client, ()))
        if self.queued + count > self.queue_size or own + count > self.client_size:
            raise QueueFull(self.queued * self._pace)

    def _enqueue(self, ticket: _Ticket, count: int) -> None:
        if count:
            self.queued += count
            own = self._line.setdefault(ticket.client, deque())
            if ticket not in own:
                own.append(ticket)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="gec-decoding", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _abandon(self, ticket: _Ticket) -> None:
        """Take a request's sentences out of the queue, unless other requests wait for them."""
        for task in ticket.open.values():
            task.tickets.remove(ticket)
        ticket.open = {}
        self._leave_line(ticket)
        self.queued -= len(ticket.queued)
        for task in ticket.queued:
            if task.tickets:
                heir = task.tickets[0]
                heir.queued.append(task)
                self._enqueue(heir, 1)
            else:
                del self._tasks[task.key]
        ticket.queued.clear()

    def _leave_line(self, ticket: _Ticket) -> None:
        own = self._line.get(ticket.client, deque())
        if ticket in own:
            own.remove(ticket)
            if not own:
                del self._line[ticket.client]

    # --------------------------------------------------------------------------- the one thread

    def _run(self) -> None:
        while batch := self._take():
            try:
                self._decode_batch(batch)
            except BaseException as error:  # the thread must survive every fault of a model
                for task in batch:
                    self._fail(task, error)

    def _take(self) -> list[_Task]:
        """Wait for sentences; return the next batch, with a sentence of each client in turn."""
        with self._lock:
            self._busy_since = None
            while not self._line:
                if self._closing:
                    return []
                self._changed.wait()
            tolerance = next(iter(self._line.values()))[0].tolerance
            turns: deque[deque[_Ticket]] = deque()
            for own in self._line.values():
                if fitting := deque(t for t in own if t.tolerance == tolerance):
                    turns.append(fitting)
            batch: list[_Task] = []
            served: dict[_Ticket, None] = {}
            while turns and len(batch) < self.batch_size:
                tickets = turns.popleft()
                ticket = tickets.popleft()
                batch.append(ticket.queued.popleft())
                served.pop(ticket, None)
                served[ticket] = None
                if ticket.queued:
                    tickets.append(ticket)
                if tickets:
                    turns.append(tickets)
            self.queued -= len(batch)
            for ticket in served:  # a served client goes to the end of the line
                self._leave_line(ticket)
                if ticket.queued:
                    self._line.setdefault(ticket.client, deque()).append(ticket)
                if ticket.client in self._line:
                    self._line.move_to_end(ticket.client)
            self._busy_since = time.monotonic()
            return batch

    def _decode_batch(self, batch: list[_Task]) -> None:
        """Decode a batch; if that fails, decode each sentence alone, so that only one fails."""
        with self._lock:
            for task in batch:
                if not task.tickets:  # all its requests have given up
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
        """Whether no more sentences may wait."""
        return self.queued >= self.queue_size

    def stuck(self, seconds: float) -> bool:
        """Whether the thread is gone, or has decoded one batch for so many seconds."""
        since, thread = self._busy_since, self._thread
        late = since is not None and time.monotonic() - since > seconds
        gone = self._closing if thread is None else not thread.is_alive()
        return late or gone

    def close(self, timeout: float | None = None) -> None:
        """Refuse new sentences, decode those in the queue, and end the thread."""
        with self._lock:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout)


_services: weakref.WeakSet[DecodingService] = weakref.WeakSet()


def _after_fork() -> None:
    for service in list(_services):
        service.after_fork()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_after_fork)
