"""Workers: two threads around one model, or processes with a model each."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any

from gec.batch.blocks import Block, Correct, Format, Result
from gec.batch.streams import compress
from gec.errors import ModelError

Load = Callable[[int, int], Correct]
"""Makes the :class:`Correct` of worker i of n; must be picklable if workers are processes."""

Item = tuple[Any, Block | None]
"""A tag of the caller's, and a block to work on, or None if there is nothing to do."""


@dataclass(frozen=True, slots=True)
class Work:
    """A block, its format, and the compression of its result."""

    format: Format
    block: Block
    compression: str | None = None

    def do(self, correct: Correct) -> tuple[Result, bytes]:
        """Return the result without its data, and the data compressed."""
        result = self.format.process(self.block, correct)
        counts = Result(b"", result.failures, result.records, result.changed, result.edits)
        return counts, compress(result.data, self.compression)


class Pool:
    """Does work in order while the caller reads ahead and writes.

    With one job, two threads share one model: while one thread decodes, the other plans the next
    block and assembles the last one. With several jobs, each job is a process.
    """

    def __init__(self, load: Load, jobs: int = 1) -> None:
        self.jobs = jobs
        self._executor: Executor
        self._do: Callable[[Work], tuple[Result, bytes]]
        self._stop: Callable[[], None] | None = None
        if jobs == 1:
            correct = load(0, 1)
            self._stop = getattr(correct, "stop", None)
            self._executor = ThreadPoolExecutor(2, "gec-batch")
            self._do = lambda work: work.do(correct)
        else:
            # fork would copy the locks of torch's threads but not the threads
            context = multiprocessing.get_context("spawn")
            self._executor = ProcessPoolExecutor(
                jobs, context, _start, (load, jobs, context.Value("i", 0))
            )
            self._do = _do_in_process
        self._ahead = 2 * max(jobs, 2)

    def run(
        self, items: Iterable[tuple[Any, Work | None]]
    ) -> Iterator[tuple[Any, Work | None, tuple[Result, bytes] | None]]:
        """Yield the items in order with their results; only few items are read ahead.

        Raises:
            ModelError: a worker process died.
        """
        waiting: deque[tuple[Any, Work | None, Future[tuple[Result, bytes]] | None]] = deque()
        try:
            for tag, work in items:
                future = self._executor.submit(self._do, work) if work else None
                waiting.append((tag, work, future))
                while len(waiting) >= self._ahead or (waiting and _ready(waiting[0][2])):
                    yield _result(*waiting.popleft())
            while waiting:
                yield _result(*waiting.popleft())
        except BrokenProcessPool:
            raise ModelError(
                "a worker process died (out of memory?); go on with --resume, with fewer --jobs or "
                "a smaller --batch-size"
            ) from None

    def close(self) -> None:
        """End the workers, also in the middle of a block: Ctrl-C must not wait for a block."""
        processes = list((getattr(self._executor, "_processes", None) or {}).values())
        self._executor.shutdown(wait=False, cancel_futures=True)
        if self._stop is not None:
            self._stop()
        for process in processes:
            process.terminate()


def _ready(future: Future[tuple[Result, bytes]] | None) -> bool:
    return future is None or future.done()


def _result(
    tag: Any, work: Work | None, future: Future[tuple[Result, bytes]] | None
) -> tuple[Any, Work | None, tuple[Result, bytes] | None]:
    return tag, work, future.result() if future else None


# ---------------------------------------------------------------------------- in a worker process

_correct: Correct | None = None


def _start(load: Load, jobs: int, counter: Any) -> None:
    global _correct
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the main process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with counter.get_lock():
        number = counter.value
        counter.value += 1
    _correct = load(number, jobs)


def _do_in_process(work: Work) -> tuple[Result, bytes]:
    assert _correct is not None
    return work.do(_correct)


def _end_with_parent() -> None:
    """End this worker when the main process dies: a killed process cannot end its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
