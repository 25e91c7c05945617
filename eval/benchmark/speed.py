"""Decoding time side by side: same weights, same sentences, strategies interleaved, medians.

Only decoding is timed (encoder and decoder passes, drafting, acceptance); splitting text into
subwords and back is not.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from gec.decoding.beam import BeamSearch
from gec.decoding.decoder import Decoder
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.model import Model
from gec.errors import ConfigError

ROUNDS = 3
WARM_UP = 8


@dataclass(frozen=True, slots=True)
class Measurement:
    """One strategy at one batch size; times in milliseconds, passes of the decoder a sentence."""

    strategy: str
    batch_size: int
    ms_per_sentence: float
    passes_per_sentence: float
    accepted_share: float
    speedup: float


def decoder_for(strategy: str, model: Model) -> Decoder:
    """Return the decoder of a strategy: greedy, iad, or beam with a size, as in ``beam5``."""
    if strategy == "greedy":
        return Decoder(model)
    if strategy == "iad":
        return Decoder(model, CopyDrafter())
    if strategy.startswith("beam") and (strategy[4:] or "5").isdecimal():
        return Decoder(model, None, BeamSearch(int(strategy[4:] or 5)))
    raise ConfigError(f"unknown strategy {strategy!r}, expected greedy, iad, beam or beam5")


def measure(
    model: Model,
    sources: Sequence[Sequence[int]],
    *,
    strategies: Sequence[str] = ("greedy", "iad"),
    batch_sizes: Sequence[int] = (1,),
    rounds: int = ROUNDS,
) -> list[Measurement]:
    """Time every strategy on every batch in turn (A B A B ...), ``rounds`` times, after a warm-up.

    A batch's time is the median of its rounds; the sum over batches is reported. ``speedup`` is
    over the first strategy at the same batch size.
    """
    measurements: list[Measurement] = []
    decoders = {name: decoder_for(name, model) for name in strategies}
    ordered = sorted(sources, key=len)
    for size in batch_sizes:
        batches = [ordered[i : i + size] for i in range(0, len(ordered), size)]
        for decoder in decoders.values():
            for batch in batches[:: max(1, len(batches) // WARM_UP)][:WARM_UP]:
                decoder.decode(batch, batch_size=size)
        times: dict[str, float] = dict.fromkeys(decoders, 0.0)
        passes, drafted, accepted = (dict.fromkeys(decoders, 0) for _ in range(3))
        for batch in batches:
            taken: dict[str, list[float]] = {name: [] for name in decoders}
            for repeat in range(rounds):
                for name, decoder in decoders.items():
                    began = _now()
                    found = decoder.decode(batch, batch_size=size)
                    taken[name].append(_now() - began)
                    if repeat == 0:
                        steps = [step for hypotheses in found for step in hypotheses[0].steps]
                        passes[name] += len(steps)
                        drafted[name] += sum(step.drafted for step in steps)
                        accepted[name] += sum(step.accepted for step in steps)
            for name in decoders:
                times[name] += statistics.median(taken[name])
        base = times[strategies[0]]
        measurements += (
            Measurement(
                name,
                size,
                1000 * times[name] / len(sources),
                passes[name] / len(sources),
                accepted[name] / max(1, drafted[name]),
                base / times[name],
            )
            for name in decoders
        )
    return measurements


def _now() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def table(measurements: Sequence[Measurement]) -> str:
    """Return the measurements as a table of aligned columns."""
    head = ("strategy", "batch", "ms/sentence", "passes", "accepted", "speed-up")
    rows = [
        (
            m.strategy,
            str(m.batch_size),
            f"{m.ms_per_sentence:.2f}",
            f"{m.passes_per_sentence:.2f}",
            f"{m.accepted_share:.1%}" if m.accepted_share else "-",
            f"{m.speedup:.2f} x",
        )
        for m in measurements
    ]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True))
        for row in [head, *rows]
    )
