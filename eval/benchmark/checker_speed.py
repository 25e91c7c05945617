"""How long checkers take and what memory they need, each in a process of its own.

All are loaded first. Every sentence is then given to one after the other, ``rounds`` times over,
so that whatever else the machine does falls on all of them alike. A cold start is a new process
until it has answered for one sentence: interpreter, imports, model or dictionary, first answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from gec.eval.benchmark.checker_peers.worker import Worker
from gec.eval.benchmark.harness import Times, Way, take_turns
from gec.eval.benchmark.process import MIB, STARTS


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
        ways = {
            row: _way(worker, setting)
            for program, worker in zip(programs, workers, strict=True)
            for row, setting in program.rows.items()
        }
        say(f"{len(texts)} sentences, {rounds} rounds")
        seconds, _ = take_turns(
            list(ways.values()), texts, rounds=rounds, pause=0, what="checkers", say=say
        )
        times = {
            row: Times(own, np.ones(len(texts))) for row, own in zip(ways, seconds, strict=True)
        }
        peaks = [None if p.remote else w.peak() for p, w in zip(programs, workers, strict=True)]
    starts = [None if program.remote else cold_start(program, texts[0]) for program in programs]
    return {
        row: _speed(times[row], peak, start)
        for program, peak, start in zip(programs, peaks, starts, strict=True)
        for row in program.rows
    }


def _way(worker: Worker, setting: str) -> Way[str, object]:
    """Return a way to check a text that counts what the worker says it took."""
    return lambda text: worker.check([text], setting)


def cold_start(program: Program, text: str) -> float:
    """Return the median seconds from the start of a process to its first answer."""

    def start(text: str) -> tuple[None, float]:
        began = time.perf_counter()
        with Worker(program.name, program.options) as worker:
            worker.check([text], next(iter(program.rows.values())))
            return None, time.perf_counter() - began

    seconds, _ = take_turns([start], [text], rounds=STARTS, warm_up=0)
    return Times(seconds[0], np.ones(1)).total


def _speed(times: Times, peak: int | None, start: float | None) -> Speed:
    median = float(np.median(1000 * times.medians))
    memory = None if peak is None else peak / MIB
    return Speed(median, times.quartiles, times.milliseconds, memory, start)
