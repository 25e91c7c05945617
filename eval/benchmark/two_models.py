"""What ``gec bench generate`` tells of two models: their passes, the choice of gamma, the sweeps.

Leviathan et al. 2023 (Theorem 3.8 and its curves); Kim et al. 2023 (Figures 4, 5, 8, 10, Table 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from gec.decoding.decoder import Decoder
from gec.decoding.drafters.small_model import SmallModelDrafter
from gec.decoding.lengths import gamma_curves
from gec.decoding.model import Model
from gec.eval.compare.plots import figure, plain, svg

RATES = tuple(i / 20 for i in range(20))
COSTS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)


def drafting_models(decoder: Decoder) -> list[Model]:
    """Return the models that draft, the largest first."""
    found, drafter = [], decoder.drafter
    while isinstance(drafter, SmallModelDrafter):
        found.append(drafter.model)
        drafter = drafter.drafter
    return found


@contextmanager
def counted_passes(decoder: Decoder) -> Iterator[list[int]]:
    """Count the passes of every drafting model, the largest first, while the block runs."""
    models = drafting_models(decoder)
    counts = [0] * len(models)

    def wrapped(number: int, method: Any) -> Any:
        def call(*args: Any) -> Any:
            counts[number] += 1
            return method(*args)

        return call

    for number, model in enumerate(models):
        vars(model)["verify"] = wrapped(number, model.verify)
    try:
        yield counts
    finally:
        for model in models:
            del vars(model)["verify"]


def gamma_table(costs: Sequence[float] = COSTS, rates: Sequence[float] = RATES[10:]) -> str:
    """Return a Markdown table of the best gamma and its improvement."""
    curves = gamma_curves(rates, costs)
    lines = [
        f"| acceptance rate | {' | '.join(curves)} |",
        "|---|" + "---|" * len(curves),
    ]
    for place, rate in enumerate(rates):
        cells = (f"{int(c[place][1])} ({c[place][2]:.2f} x)" for c in curves.values())
        lines.append(f"| {rate:.2f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def gamma_plot(costs: Sequence[float] = COSTS, rates: Sequence[float] = RATES) -> str:
    """Return an SVG: over the acceptance rate the best gamma, and the improvement it brings."""
    drawn, axes = figure(2)
    for name, points in gamma_curves(rates, costs).items():
        x, gamma, gain = zip(*points, strict=True)
        axes[0].step(x, gamma, where="mid", label=name)
        axes[1].plot(x, gain, label=name)
    for axis, label in zip(axes, ("best gamma", "times as fast"), strict=True):
        axis.set(xlabel="acceptance rate", ylabel=label, xlim=(0, 1), ylim=(0, None))
        axis.legend(frameon=False)
    return svg(drawn)


def tradeoff_plot(points: Mapping[str, Sequence[tuple[float, float]]], quality: str) -> str:
    """Return an SVG of quality over speed: a line a strategy, a point for each of its settings."""
    drawn, axes = figure(1)
    for name, found in points.items():
        speed, value = zip(*sorted(found), strict=True)
        line = "-" if len(found) > 1 else ""
        axes[0].plot(speed, value, line, marker="o", markersize=4, label=plain(name))
    axes[0].set(xlabel="times as fast as greedy", ylabel=quality)
    drawn.set_figwidth(7.5)
    drawn.legend(loc="outside right upper", frameon=False, fontsize="small")
    return svg(drawn)


def families(specifications: Sequence[str], varying: Sequence[str]) -> dict[str, list[int]]:
    """Group the rows of a sweep: those that differ only in the ``varying`` options.

    >>> families(["greedy", "bild:fallback=0.5", "bild:fallback=0.7"], ["fallback"])
    {'greedy': [0], 'bild': [1, 2]}
    """
    found: dict[str, list[int]] = {}
    for number, specification in enumerate(specifications):
        name, _, rest = specification.partition(":")
        options = [o for o in rest.split(",") if o and o.partition("=")[0] not in varying]
        found.setdefault(":".join([name, *filter(None, [",".join(options)])]), []).append(number)
    return found
