"""How long checkers take and what memory they need, each in a process of its own.

All are loaded first. Every sentence is then given to one after the other, ``rounds`` times over,
so that whatever else the machine does falls on all of them alike. A cold start is a new process
until it has answered for one sentence: interpreter, imports, model or dictionary, first answer.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from gec.eval.benchmark.checker_peers.process import Worker
from gec.eval.benchmark.process import MIB, STARTS

WARM_UP = 8
"""Sentences that every checker has seen before any is timed."""


@dataclass(frozen=True, slots=True)
class Program:
    """A checker with its options, and the settings in which it is run; ``rows`` are their names.

    Attributes:
        remote: it asks a server, whose memory and start are not seen from here.
    """

    name: str
    options: Mapping[str, Any]
    rows: Mapping[str, str]
    remote: bool = False


@dataclass(frozen=True, slots=True)
class Speed:
    """Milliseconds a sentence; MiB; seconds. Memory and start are those of the whole process."""

    median: float
    quartiles: tuple[float, float]
    mean: float
    peak: float | None
    start: float | None


def measure(
    programs: Sequence[Program], texts: Sequence[str], rounds: int, say: Callable[[str], None]
) -> dict[str, Speed]:
    """Measure every row of every program."""
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(p.name, p.options)) for p in programs]
        turns = [
            (row, worker, setting)
            for program, worker in zip(programs, workers, strict=True)
            for row, setting in program.rows.items()
        ]
        for text in texts[:: max(1, len(texts) // WARM_UP)][:WARM_UP]:
            for _, worker, setting in turns:
                worker.check([text], setting)
        say(f"{len(texts)} sentences, {rounds} rounds")
        seconds: dict[str, list[float]] = {row: [] for row, *_ in turns}
        for text in texts:
            taken: dict[str, list[float]] = {row: [] for row, *_ in turns}
            for _ in range(rounds):
                for row, worker, setting in turns:
                    taken[row].append(worker.check([text], setting)[1])
            for row, times in taken.items():
                seconds[row].append(statistics.median(times))
        peaks = [None if p.remote else w.peak() for p, w in zip(programs, workers, strict=True)]
    starts = [None if program.remote else cold_start(program, texts[0]) for program in programs]
    return {
        row: _speed(seconds[row], peak, start)
        for program, peak, start in zip(programs, peaks, starts, strict=True)
        for row in program.rows
    }


def cold_start(program: Program, text: str) -> float:
    """Return the median seconds from the start of a process to its first answer."""
    seconds = []
    for _ in range(STARTS):
        began = time.perf_counter()
        with Worker(program.name, program.options) as worker:
            worker.check([text], next(iter(program.rows.values())))
            seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def _speed(seconds: Sequence[float], peak: int | None, start: float | None) -> Speed:
    milliseconds = 1000 * np.array(seconds)
    low, median, high = np.quantile(milliseconds, [0.25, 0.5, 0.75]).tolist()
    mean = float(milliseconds.mean())
    return Speed(median, (low, high), mean, None if peak is None else peak / MIB, start)
