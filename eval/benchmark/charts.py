"""Speed as pictures: over the edit ratio, batch size, sentence length and the length of a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from gec.eval.benchmark.growth import GrowthPoint
from gec.eval.benchmark.harness import Floats
from gec.eval.benchmark.speed import Timing
from gec.eval.benchmark.study import Study
from gec.eval.compare.plots import figure, svg

FEWEST = 3
"""Sentences that a median must stand on."""
RATIO_BIN, LAST_RATIO_BIN = 0.05, 12
LENGTH_BIN = 10


def edit_ratios(timing: Timing) -> Floats:
    """Return per sentence the edit distance of its output from its source, over its length."""
    pairs = zip(timing.sources, timing.outputs, strict=True)
    return np.array([Levenshtein.distance(s, o) / max(1, len(s)) for s, o in pairs])


def draw(
    studies: Sequence[Study], growth: Sequence[GrowthPoint], folder: str | Path
) -> dict[str, str]:
    """Write the plots that the measurements allow as SVG; return their file names with titles."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    made: dict[str, str] = {}
    real = [study for study in studies if not study.replayed and study.timings]
    single = [t for study in real for t in study.timings if t.batch_size == 1]
    if speedups := _speedups(single):
        _scatter(speedups, folder / "bench-edit-ratio.svg")
        made["bench-edit-ratio.svg"] = "Speed-up of iad over greedy, by edit ratio"
    if single:
        _lengths(single, folder / "bench-length.svg")
        made["bench-length.svg"] = "Latency by sentence length, batch size 1"
    rows = [t for study in real for t in study.timings]
    if len({timing.batch_size for timing in rows}) > 1:
        _batches(rows, folder / "bench-batch.svg")
        made["bench-batch.svg"] = "Time a sentence by batch size"
    if growth:
        _growth(growth, folder / "bench-growth.svg")
        made["bench-growth.svg"] = "Time a word as the text grows"
    return made


def _speedups(single: Sequence[Timing]) -> dict[str, tuple[Floats, Floats]]:
    """Return per precision the edit ratio and speed-up of each sentence (Ge et al., Fig. 5)."""
    named = {timing.name: timing for timing in single}
    found = {}
    for precision in dict.fromkeys(timing.precision for timing in single):
        iad, greedy = (named.get(f"gec {s} {precision}") for s in ("iad", "greedy"))
        if iad and greedy:
            found[precision] = edit_ratios(iad), greedy.medians / iad.medians
    return found


def _scatter(points: Mapping[str, tuple[Floats, Floats]], path: Path) -> None:
    drawn, axes = _figure("edit ratio (tokens)", "times faster than greedy")
    for number, (name, (ratios, times)) in enumerate(points.items()):
        bins = np.minimum((ratios / RATIO_BIN).astype(int), LAST_RATIO_BIN)
        axes.scatter(ratios, times, s=4, alpha=0.25, color=f"C{number}")
        axes.plot(*_medians(bins, ratios, times), marker="o", label=f"{name}, median")
    axes.legend(frameon=False)
    _save(drawn, path)


def _lengths(single: Sequence[Timing], path: Path) -> None:
    drawn, axes = _figure("source length (tokens)", "ms a sentence")
    for timing in single:
        lengths = np.array([len(source) for source in timing.sources], dtype=np.float64)
        bins = (lengths / LENGTH_BIN).astype(int)
        axes.plot(*_medians(bins, lengths, 1000 * timing.medians), marker=".", label=timing.name)
    axes.set_yscale("log")
    axes.legend(frameon=False, fontsize="x-small", ncols=2)
    _save(drawn, path)


def _batches(rows: Sequence[Timing], path: Path) -> None:
    drawn, axes = _figure("batch size", "ms a sentence")
    for name in dict.fromkeys(timing.name for timing in rows):
        own = sorted((t.batch_size, t.milliseconds) for t in rows if t.name == name)
        axes.plot(*zip(*own, strict=True), marker="o", label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.legend(frameon=False, fontsize="x-small", ncols=2)
    _save(drawn, path)


def _growth(points: Sequence[GrowthPoint], path: Path) -> None:
    drawn, axes = _figure("words of the text", "ms a word")
    axes.plot([p.words for p in points], [p.milliseconds for p in points], marker="o")
    axes.set_xscale("log")
    axes.set_ylim(0, None)
    _save(drawn, path)


def _medians(bins: NDArray[np.int_], x: Floats, y: Floats) -> tuple[list[float], list[float]]:
    """Return the medians of x and y in every bin that holds enough."""
    used = [number for number in np.unique(bins) if (bins == number).sum() >= FEWEST]
    return [float(np.median(x[bins == b])) for b in used], [
        float(np.median(y[bins == b])) for b in used
    ]


def _figure(x: str, y: str) -> tuple[Any, Any]:
    drawn, [axes] = figure(1, width=6, height=4)
    axes.set(xlabel=x, ylabel=y)
    return drawn, axes


def _save(drawn: Any, path: Path) -> None:
    path.write_text(svg(drawn), encoding="utf-8")
