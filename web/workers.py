"""``gec serve --workers N``: a process that loads the model, and N that serve with it.

The first process loads the model and forks the workers, so that all read one copy of the weights.
Nothing has been computed before the fork. Each worker then makes the application, warms it up in
threads of its own, and takes connections from one listening socket, which outlives every worker:
a connection that a dead worker has not accepted goes to another. The first process serves nothing;
it starts a worker for each one that ends, and ends all when it is told to.

What workers share are files: those of :mod:`gec.web.shared` and of the metrics in a folder of
their own, and the feedback.
"""

from __future__ import annotations

import gc
import logging
import os
import secrets
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from gec.errors import ConfigError, GecError
from gec.web import logs
from gec.web.app import check, create_app, engine_of, load_to_share, use_threads
from gec.web.calls import Engine
from gec.web.config import Config
from gec.web.server import Server, address_of, announce, listen
from gec.web.shared import Shared

if TYPE_CHECKING:
    from gec.correct.corrector import Corrector

log = logging.getLogger("gec.web")
FIRST_PAUSE, LAST_PAUSE = 0.5, 30.0
"""Seconds until another worker starts: doubled each time that a worker ends early."""
STEADY = 60.0
"""Seconds after which a worker's end is no sign that the next one will end as well."""
_END = (signal.SIGTERM, signal.SIGINT)


def serve(config: Config, log_level: str = "info") -> int:
    """Load the model, serve with ``config.workers`` processes, and return the exit status.

    Raises:
        GecError: the settings, the model, the address or the feedback file cannot be used.
    """
    if not hasattr(os, "fork"):
        raise ConfigError("this system cannot fork processes; take 1 worker")
    check(config)
    listening = listen(config.host, config.port)
    corrector = load_to_share(config)
    folder = Path(tempfile.mkdtemp(prefix="gec-"))
    try:
        gc.collect()
        gc.freeze()  # the collector would write to objects, and so copy their pages
        return Workers(config, corrector, listening, folder, log_level).run()
    finally:
        listening.close()
        shutil.rmtree(folder, ignore_errors=True)


def threads_of(config: Config) -> int:
    """Return the threads a worker computes on: those asked for, else its share of the cores."""
    if config.torch_threads is not None:
        return config.torch_threads
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, cores // config.workers)


@dataclass(slots=True)
class _Worker:
    """A process that serves. ``pipe`` says that it is ready, and closes when it ends."""

    pid: int
    pipe: int
    began: float
    ready: bool = False


class Workers:
    """The workers by number, from the first process's side."""

    def __init__(
        self,
        config: Config,
        corrector: Corrector,
        listening: socket.socket,
        folder: Path,
        log_level: str,
    ) -> None:
        self._config = config
        self._corrector = corrector
        self._listening = listening
        self._folder = folder
        self._log_level = log_level
        self._key = secrets.token_bytes(16)
        self._alive: dict[int, _Worker] = {}
        self._due = dict.fromkeys(range(config.workers), 0.0)  # when to start whom
        self._early = dict.fromkeys(range(config.workers), 0)  # ends in a row that came early
        self._starts = dict.fromkeys(range(config.workers), 0)
        self._announced = False
        self._stopping = False
        self._status = 0

    def run(self) -> int:
        """Keep all workers serving until a signal says otherwise; return the exit status."""
        with self._signals() as woken:
            while not self._stopping:
                self._start_due()
                self._wait(woken, self._until_due())
            self._stop(woken)
        return self._status

    # --------------------------------------------------------------------------------- starting

    def _start_due(self) -> None:
        now = time.monotonic()
        for number in [n for n, due in self._due.items() if due <= now]:
            del self._due[number]
            self._start(number)

    def _start(self, number: int) -> None:
        ours, theirs = os.pipe()
        shared = Shared(self._folder, number, self._starts[number], self._key)
        self._starts[number] += 1
        sys.stdout.flush()
        sys.stderr.flush()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _END)  # until the child's own handlers
        pid = os.fork()
        if not pid:
            os.close(ours)
            self._begin(shared, theirs)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(theirs)
        self._alive[number] = _Worker(pid, ours, time.monotonic())

    def _begin(self, shared: Shared, pipe: int) -> NoReturn:
        """Be a worker, in the new process, and end with it."""
        status = 1
        try:
            parent = os.getppid()
            signal.set_wakeup_fd(-1)
            for other in self._alive.values():
                os.close(other.pipe)
            logs.set_up(self._log_level, self._config.log_format, shared.worker)
            use_threads(threads_of(self._config))
            _work(self._config, self._corrector, self._listening, shared, parent, pipe)
            status = 0
        except GecError as error:
            log.error("%s", error)
            status = error.status
        except BaseException as error:
            log.error("%s", logs.place_of(error))
        finally:
            logging.shutdown()
            os._exit(status)

    # ---------------------------------------------------------------------------------- waiting

    @contextmanager
    def _signals(self) -> Iterator[int]:
        """While the context lasts, signals that end the server wake the one who waits for it."""
        reading, writing = os.pipe()
        for end in (reading, writing):
            os.set_blocking(end, False)

        def stop(number: int, frame: FrameType | None) -> None:
            self._stopping = True

        before = {number: signal.signal(number, stop) for number in (*_END, signal.SIGHUP)}
        wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        try:
            yield reading
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(reading)
            os.close(writing)

    def _until_due(self) -> float | None:
        if not self._due:
            return None
        return max(0.0, min(self._due.values()) - time.monotonic())

    def _wait(self, woken: int, timeout: float | None) -> None:
        """Wait until a signal comes, a worker is ready or ends, or the time is up."""
        numbers = {worker.pipe: number for number, worker in self._alive.items()}
        found, _, _ = select.select([woken, *numbers], [], [], timeout)
        for pipe in found:
            if pipe == woken:
                with suppress(BlockingIOError):
                    os.read(pipe, 512)
            elif os.read(pipe, 1):
                self._is_ready(numbers[pipe])
            else:
                self._has_ended(numbers[pipe])

    def _is_ready(self, number: int) -> None:
        worker = self._alive[number]
        worker.ready = True
        log.info("worker %d serves, process %d", number, worker.pid)
        ready = sum(other.ready for other in self._alive.values())
        if not self._announced and ready == self._config.workers:
            self._announced = True
            announce(address_of(self._listening))

    def _has_ended(self, number: int) -> None:
        worker = self._alive.pop(number)
        os.close(worker.pipe)
        status = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        if self._stopping:
            return
        how = f"with status {status}" if status >= 0 else f"by signal {-status}"
        if not self._announced:
            log.error("worker %d, process %d, ended %s at the start", number, worker.pid, how)
            self._stopping, self._status = True, status if status > 0 else 1
            return
        now = time.monotonic()
        early = now - worker.began < STEADY
        self._early[number] = self._early[number] + 1 if early else 0
        pause = min(LAST_PAUSE, FIRST_PAUSE * 2 ** min(10, max(0, self._early[number] - 1)))
        self._due[number] = now + pause
        text = "worker %d, process %d, ended %s; another starts in %g seconds"
        log.error(text, number, worker.pid, how, pause)

    # ----------------------------------------------------------------------------------- the end

    def _stop(self, woken: int) -> None:
        """Let all workers finish the requests that have come in; end those that do not."""
        self._listening.close()  # or the system would go on to take connections
        self._signal_all(signal.SIGTERM)
        # a worker drains its connections, then its queue
        deadline = time.monotonic() + 2 * self._config.drain + 5
        while self._alive and time.monotonic() < deadline:
            self._wait(woken, max(0.0, deadline - time.monotonic()))
        if self._alive:
            log.error("%d workers did not end and are killed", len(self._alive))
            self._signal_all(signal.SIGKILL)
        while self._alive:
            self._wait(woken, None)

    def _signal_all(self, number: signal.Signals) -> None:
        for worker in self._alive.values():
            with suppress(ProcessLookupError):
                os.kill(worker.pid, number)


def _work(
    config: Config,
    corrector: Corrector,
    listening: socket.socket,
    shared: Shared,
    parent: int,
    pipe: int,
) -> None:
    """Serve in this process until SIGTERM, SIGINT, or the parent's end."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the parent's to answer
    for number in _END:
        signal.signal(number, _leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _END)
    app = create_app(config, corrector=corrector, shared=shared)
    server = Server(app, config, listening, lambda: look_after(server, engine_of(app), parent))
    for number in _END:
        signal.signal(number, _stop_of(server))
    os.write(pipe, b"1")
    server.run()


def look_after(server: Server, engine: Engine, parent: int) -> None:
    """End a worker that has lost its parent or its model, and publish its numbers."""
    if os.getppid() != parent:  # nobody would start or end us any more
        server.stop()
    if not engine.draining and engine.service.stuck(max(60.0, 2 * engine.config.timeout)):
        log.error("the model does not answer; this worker ends")
        os._exit(1)
    for call in engine.ticks:
        call()


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    os._exit(0)  # nothing is served yet


def _stop_of(server: Server) -> Callable[[int, FrameType | None], None]:
    def stop(number: int, frame: FrameType | None) -> None:
        server.stop()

    return stop
