"""Where the time of a whole correction goes, by part: the network, and everything around it.

Functions of the running corrector are wrapped with clocks; a part's time is its own, without that
of the parts it calls. Processor time counts, in one thread: other programs disturb it least.
"""

from __future__ import annotations

import gc
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gec.correct import assemble, corrector, plan
from gec.correct.assemble import Assembler
from gec.correct.corrector import Corrector
from gec.correct.plan import Planner
from gec.eval.benchmark.pages import markdown
from gec.text.ngrams import NGrams
from gec.text.spelling import Speller

NETWORK, REST = "network", "the rest"
BATCH = 32
"""Sentences that are decoded together."""
_METHODS = ("start", "verify", "select", "join", "best", "top", "logits")


@dataclass(frozen=True, slots=True)
class Parts:
    """Milliseconds of processor time by part, ``first`` with every word seen for the first time."""

    first: Mapping[str, float]
    again: Mapping[str, float]
    texts: int

    def text(self) -> str:
        """Return a table: parts down, milliseconds and shares."""
        runs = self.first, self.again
        totals = [sum(run.values()) for run in runs]
        rows = [
            [part, *(f"{run[part]:.1f} ({run[part] / t:5.1%})" for run, t in _pairs(runs, totals))]
            for part in self.first
        ]
        around = [f"{t - run[NETWORK]:.1f} ({1 - run[NETWORK] / t:.1%})" for run, t in _pairs(
            runs, totals)]  # fmt: skip
        rows.append([f"all but the {NETWORK}", *around])
        rows.append(["all", *(f"{total:.1f} (100.0%)" for total in totals)])
        return markdown([f"ms, {self.texts} texts", "the first time", "again"], rows)


def measure_parts(made: Corrector, texts: Sequence[str], batch_size: int) -> Parts:
    """Correct the texts twice with clocks on every part."""
    clocks = _Clock(), _Clock()
    gc.collect()
    gc.freeze()  # as the command line does with what is loaded
    try:
        for clock in clocks:
            with clock.on(_parts(made)):
                timed = made.with_decoder(made.decode)  # the one with the clock
                clock.wrap(REST, _all)(timed, texts, batch_size)
    finally:
        gc.unfreeze()
    found = [
        {part: 1000 * clock.seconds.get(part, 0.0) for part in (*clocks[0].names, REST)}
        for clock in clocks
    ]
    return Parts(found[0], found[1], len(texts))


def _all(made: Corrector, texts: Sequence[str], batch_size: int) -> None:
    deque(made.correct_many(texts, batch_size=batch_size), maxlen=0)


def _pairs(
    runs: Sequence[Mapping[str, float]], totals: Sequence[float]
) -> Iterator[tuple[Mapping[str, float], float]]:
    return zip(runs, totals, strict=True)


def _parts(made: Corrector) -> Iterator[tuple[str, Any, str]]:
    """Yield what has a clock: part, owner, name."""
    yield "sentences and words", plan, "segment"
    yield "language", plan, "looks_english"
    yield "spelling", Speller, "correct"
    yield "tokens", type(made.subwords), "encode"
    yield "tokens", type(made.subwords), "pieces"
    yield "planning", Planner, "plan"
    network = getattr(made.model, "network", made.model)
    if not any(hasattr(type(network), name) for name in _METHODS):
        network = made.model  # torch's is no object of calls
    for name in _METHODS:
        if hasattr(type(network), name):
            yield NETWORK, type(network), name
    yield "decoding loop", Corrector, "decode"
    yield "rounds", corrector, "in_rounds"
    yield "reading, alignment", corrector, "read"
    yield "confidence", Assembler, "_evidence"
    yield "confidence", type(made._calibration), "__call__"
    yield "n-grams", NGrams, "prefers"
    yield "placing", assemble, "to_edits"
    yield "assembling", Assembler, "assemble"


def _holder(owner: Any, name: str) -> Any:
    """Return the class that defines a method, or the module itself."""
    return next(o for o in getattr(owner, "__mro__", (owner,)) if name in vars(o))


class _Clock:
    """Adds up the time of wrapped functions, each without what it calls."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.names: dict[str, None] = {}
        self._inner: list[float] = [0.0]

    def wrap(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **options: Any) -> Any:
            self._inner.append(0.0)
            began = time.process_time()
            try:
                return function(*args, **options)
            finally:
                whole = time.process_time() - began
                self.seconds[part] += whole - self._inner.pop()
                self._inner[-1] += whole

        return timed

    @contextmanager
    def on(self, functions: Iterator[tuple[str, Any, str]]) -> Iterator[None]:
        """Wrap functions (part, owner, name) for a while."""
        kept = [
            (part, own, name, vars(own)[name])
            for part, owner, name in functions
            for own in [_holder(owner, name)]
        ]
        for part, owner, name, function in kept:
            self.names[part] = None
            setattr(owner, name, self.wrap(part, function))
        try:
            yield
        finally:
            for _, owner, name, function in kept:
                setattr(owner, name, function)
