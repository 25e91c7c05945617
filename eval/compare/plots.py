"""Plots as SVG text, for pages that load nothing from outside."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gec.eval.metrics.significance import Interval


def precision_recall(curves: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Return precision over recall, one line a system; points are (recall, precision)."""
    drawn, axes = figure(1)
    for name, points in curves.items():
        recall, precision = zip(*points, strict=True)
        axes[0].plot(recall, precision, marker="o", markersize=3, label=plain(name))
    axes[0].set(xlabel="recall", ylabel="precision", ylim=(0, 1), xlim=(0, None))
    axes[0].legend(frameon=False)
    return svg(drawn)


def speed_by_edit_ratio(points: Mapping[str, Sequence[tuple[float, float, float]]]) -> str:
    """Return tokens a pass and ms a token over the edit ratio, a point a sentence, bin medians.

    Without any time (NaN) there is no second plot.
    """
    timed = any(not np.isnan(row[2]) for rows in points.values() for row in rows)
    drawn, axes = figure(2 if timed else 1)
    for number, (name, rows) in enumerate(points.items()):
        if not rows:
            continue
        values = np.array(rows)
        bins = np.minimum((values[:, 0] * 20).astype(int), 12)  # steps of 5 %, the rest together
        used = [b for b in range(13) if (bins == b).sum() >= 3]
        for axis, column in zip(axes, (1, 2), strict=False):
            colour = f"C{number}"
            axis.scatter(values[:, 0], values[:, column], s=4, alpha=0.25, color=colour)
            medians = [np.median(values[bins == b, column]) for b in used]
            middles = [np.median(values[bins == b, 0]) for b in used]
            axis.plot(middles, medians, marker="o", color=colour, label=f"{plain(name)}, median")
    for axis, label in zip(axes, ("tokens a pass", "ms a token"), strict=False):
        axis.set(xlabel="edit ratio", ylabel=label, ylim=(0, None))
        axis.legend(frameon=False)
    return svg(drawn)


def quality_over_time(
    points: Mapping[str, Mapping[str, tuple[float, float]]], time: str, quality: str
) -> str:
    """Return quality over time, a plot for each file; points are (time, quality) by their name."""
    drawn, axes = figure(len(points))
    for axis, (file, named) in zip(axes, points.items(), strict=True):
        for name, (x, y) in named.items():
            axis.scatter(x, y, s=16)
            axis.annotate(plain(name), (x, y), (4, 3), textcoords="offset points", fontsize=7)
        axis.set(xlabel=time, ylabel=f"{plain(file)}, {quality}", xlim=(0, None))
        axis.margins(x=0.3)
    return svg(drawn)


def distribution(values: Mapping[str, Sequence[float]], label: str = "speed-up") -> str:
    """Return how one number is spread over the sentences, a curve of shares a system."""
    drawn, axes = figure(1)
    for name, numbers in values.items():
        shares = np.arange(1, len(numbers) + 1) / len(numbers)
        axes[0].step(np.sort(np.array(numbers)), shares, where="post", label=plain(name))
    axes[0].set(xlabel=label, ylabel="share of the sentences", ylim=(0, 1), xlim=(0, None))
    axes[0].legend(frameon=False, fontsize=7)
    return svg(drawn)


def reliability(bins: Sequence[tuple[int, float, float]]) -> str:
    """Return how often what was held for likely came true; bins are (number, confidence, share).

    Bars are Wilson's 95 % intervals of the shares; on the diagonal confidence is honest.
    """
    z = 1.96
    number, confidence, share = (np.array(column, float) for column in zip(*bins, strict=True))
    middle = (share + z * z / (2 * number)) / (1 + z * z / number)
    half = z * np.sqrt(share * (1 - share) / number + (z / (2 * number)) ** 2)
    half /= 1 + z * z / number
    bars = np.clip([share - middle + half, middle + half - share], 0, None)
    drawn, axes = figure(1)
    axes[0].plot([0, 1], [0, 1], color="0.7", linewidth=1)
    axes[0].errorbar(confidence, share, yerr=bars, fmt="o", capsize=2)
    axes[0].set(xlabel="confidence", ylabel="share right", xlim=(0, 1), ylim=(0, 1))
    return svg(drawn)


def rankings(metrics: Mapping[str, Sequence[tuple[str, Interval, int]]]) -> str:
    """Return scores with their intervals, a plot a metric, the best system on top.

    A system is its name, its score and the number of its cluster, which decides its colour.
    """
    most = max(map(len, metrics.values()))
    drawn, axes = figure(len(metrics), height=1 + 0.25 * most)
    for axis, (title, rows) in zip(axes, metrics.items(), strict=True):
        for place, (_, score, cluster) in enumerate(rows):
            sides = [[max(0.0, score.value - score.low)], [max(0.0, score.high - score.value)]]
            colour = f"C{(cluster - 1) % 10}"
            axis.errorbar([score.value], [place], xerr=sides, fmt="o", capsize=2, color=colour)
        axis.set_yticks(range(len(rows)), [plain(name) for name, _, _ in rows])
        axis.set(xlabel=title)
        axis.invert_yaxis()
    return svg(drawn)


def plain(name: str) -> str:
    """Return a name that is neither drawn as a formula nor, with a leading _, left out."""
    return "\u200b" + name.replace("$", r"\$")


def figure(columns: int, width: float = 5, height: float = 3.6) -> tuple[Any, Any]:
    """Return a figure of plots side by side, each ``width`` by ``height`` inches, and its axes."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(width * columns, height), layout="constrained")
    axes = drawn.subplots(1, columns, squeeze=False)[0]
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.2)
    return drawn, axes


def svg(drawn: Any) -> str:
    """Return an ``<svg>`` element; the same figure gives the same text."""
    import matplotlib

    stream = io.StringIO()
    salt = f"gec{len(drawn.axes)}"  # no two of a page's plots may share their ids
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": salt}):
        drawn.savefig(stream, format="svg", metadata={"Date": None})
    text = stream.getvalue()
    return text[text.index("<svg") :]
