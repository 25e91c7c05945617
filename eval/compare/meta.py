"""``gec meta``: does a metric rank systems, and single outputs, as people do?

System level: the correlation of a metric's scores with human scores over systems, and over every
window of systems that are neighbours in the human ranking (Kobayashi et al. 2024), which tells
whether a metric still separates systems that are about equally good.

Sentence level: of all pairs of outputs that a person ranked differently, the share that the metric
orders alike (accuracy) and that share less the others' (Kendall's tau as in WMT and SEEDA).
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal

from gec.errors import ConfigError, DataError
from gec.eval.compare import correlation
from gec.eval.compare.human import (
    Judgment,
    chosen,
    read_judgments,
    read_sentence_scores,
    read_system_scores,
)
from gec.eval.metrics.score import once, print_json, show, signature

Ties = Literal["seeda", "wrong", "skip"]
TIES: tuple[Ties, ...] = ("seeda", "wrong", "skip")


@dataclass(frozen=True, slots=True)
class Correlations:
    """Of two lists of scores; None where one of them is constant."""

    pearson: float | None
    spearman: float | None
    kendall: float | None

    def __str__(self) -> str:
        values = (self.pearson, self.spearman, self.kendall)
        return "\t".join("-" if value is None else f"{value:.4f}" for value in values)


@dataclass(frozen=True, slots=True)
class Window:
    """Correlations over the systems of human ranks ``first`` to ``last``, both included."""

    first: int
    last: int
    correlations: Correlations


@dataclass(frozen=True, slots=True)
class SystemMeta:
    """How a metric agrees with people about systems.

    ``systems`` are in the order of the human scores, the best first.
    """

    metric: str
    correlations: Correlations
    windows: tuple[Window, ...]
    systems: tuple[str, ...]
    signature: str

    def __str__(self) -> str:
        lines = [f"{self.metric}\tall {len(self.systems)}\t{self.correlations}"]
        lines += [f"{self.metric}\t{w.first}-{w.last}\t{w.correlations}" for w in self.windows]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class SentenceMeta:
    """How a metric agrees with people about pairs of outputs.

    Attributes:
        agree: pairs that both order alike.
        pairs: all pairs that count.
    """

    metric: str
    agree: int
    pairs: int
    accuracy: float
    kendall: float
    signature: str

    def __str__(self) -> str:
        return f"{self.metric}\t{self.accuracy:.4f}\t{self.kendall:.4f}\t{self.agree}\t{self.pairs}"


def meta_system(
    human: Mapping[str, float],
    metric: Mapping[str, float],
    *,
    name: str = "metric",
    systems: str = "all",
    window: int | None = None,
    lower: bool = False,
) -> SystemMeta:
    """Correlate a metric's scores of systems with human ones.

    Args:
        systems: a set of SEEDA's (``base``, ``+INPUT``, ``+REF-F_GPT-3.5``, ``all``) or names
            separated by commas.
        window: so many neighbours in the human ranking are correlated at a time.
        lower: lower scores of the metric are better.

    Raises:
        ConfigError: a system that only one side has, too few of them, or a window that does not
            fit.
    """
    taken = chosen(list(human), systems)
    if missing := [system for system in taken if system not in metric]:
        raise ConfigError(f"{name} has no score for {', '.join(missing)}")
    if len(taken) < 2:
        raise ConfigError(f"a correlation needs at least 2 systems, not {len(taken)}")
    if window is not None and not 2 <= window <= len(taken):
        raise ConfigError(f"a window must hold 2 to {len(taken)} systems, not {window}")
    taken.sort(key=lambda system: -human[system])
    people = [human[system] for system in taken]
    scores = [-metric[system] if lower else metric[system] for system in taken]

    def over(start: int, end: int) -> Correlations:
        sides = people[start:end], scores[start:end]
        return Correlations(
            correlation.pearson(*sides), correlation.spearman(*sides), correlation.kendall(*sides)
        )

    settings: dict[str, object] = {"systems": systems, "order": "lower" if lower else "higher"}
    windows: list[Window] = []
    if window is not None:
        settings["window"] = window
        starts = range(len(taken) - window + 1)
        windows = [Window(i + 1, i + window, over(i, i + window)) for i in starts]
    made = signature("meta_system", **settings)
    return SystemMeta(name, over(0, len(taken)), tuple(windows), tuple(taken), made)


def meta_sentence(
    judgments: Sequence[Judgment],
    metric: Mapping[str, Sequence[float]],
    *,
    name: str = "metric",
    systems: str = "all",
    first_id: int = 0,
    ties: Ties = "seeda",
    lower: bool = False,
) -> SentenceMeta:
    """Compare a metric's scores of single outputs with human rankings.

    Scores belong either to all sentences of the test set, at the position that a judgment names,
    or, if there are as many as different sentences were judged, to these in ascending order, as
    SEEDA's do.

    Args:
        systems: as for :func:`meta_system`.
        first_id: the ``src-id`` of the test set's first sentence; not used for SEEDA's subset.
        ties: equal scores of the metric: ``seeda`` orders them by name, as SEEDA's script does:
            the later is better, or with ``lower`` the earlier; ``wrong`` counts them as not ordered
            alike; ``skip`` leaves them out.
        lower: lower scores of the metric are better.

    Raises:
        ConfigError: an unknown system or rule for ties.
        DataError: a judgment of a sentence without scores, or no pair to compare.
    """
    if ties not in TIES:
        raise ConfigError(f"ties must be one of {', '.join(TIES)}, not {ties!r}")
    taken = sorted(chosen(sorted(metric), systems))
    places, subset = _places(judgments, metric, name, first_id)
    agree = pairs = 0
    for judgment in judgments:
        at = places[judgment.source]
        judged = [system for system in taken if system in judgment.ranks]
        for a, b in combinations(judged, 2):
            better = judgment.ranks[b] - judgment.ranks[a]  # positive: a is better
            gap = metric[a][at] - metric[b][at]
            if better == 0 or (gap == 0 and ties == "skip"):
                continue
            pairs += 1
            if gap == 0:  # SEEDA's script asks whether the first is better, with > or with <=
                agree += ties == "seeda" and (better > 0) == lower
            else:
                agree += ((gap > 0) != lower) == (better > 0)
    if not pairs:
        raise DataError(f"{name}: no pair of its systems is ranked differently in the judgments")
    settings = {
        "systems": systems, "order": "lower" if lower else "higher", "ties": ties,
        "sentences": "judged" if subset else f"all from {first_id}",
    }  # fmt: skip
    made = signature("meta_sentence", **settings)
    return SentenceMeta(name, agree, pairs, agree / pairs, (2 * agree - pairs) / pairs, made)


def _places(
    judgments: Sequence[Judgment], metric: Mapping[str, Sequence[float]], name: str, first_id: int
) -> tuple[dict[int, int], bool]:
    """Return where each judged sentence's scores are, and whether these are of judged ones only."""
    length = len(next(iter(metric.values())))
    judged = sorted({judgment.source for judgment in judgments})
    if length == len(judged):
        return {source: at for at, source in enumerate(judged)}, True
    places = {source: source - first_id for source in judged}
    outside = [source for source, at in places.items() if not 0 <= at < length]
    if outside:
        raise DataError(
            f"{name}: {length} scores, but sentence {outside[0]} was judged; scores are needed for "
            f"the {len(judged)} judged sentences or for the whole test set (--first-id)"
        )
    return places, False


def system_main(args: argparse.Namespace) -> int:
    """``gec meta system HUMAN METRIC...``"""
    once([args.human, *args.metrics])
    human = read_system_scores(args.human, args.names)
    found = [
        meta_system(
            human,
            read_system_scores(name, args.names),
            name=Path(name).stem,
            systems=args.systems,
            window=args.window,
            lower=args.order == "lower",
        )
        for name in args.metrics
    ]
    _show(found, "metric\tsystems\tPearson\tSpearman\tKendall", args.json)
    return 0


def sentence_main(args: argparse.Namespace) -> int:
    """``gec meta sentence JUDGMENTS METRIC...``"""
    once([args.judgments, *args.metrics])
    judgments = read_judgments(args.judgments)
    found = [
        meta_sentence(
            judgments,
            read_sentence_scores(name),
            name=Path(name).stem,
            systems=args.systems,
            first_id=args.first_id,
            ties=args.ties,
            lower=args.order == "lower",
        )
        for name in args.metrics
    ]
    _show(found, "metric\taccuracy\tKendall\tagree\tpairs", args.json)
    return 0


def _show(found: Sequence[SystemMeta] | Sequence[SentenceMeta], head: str, as_json: bool) -> None:
    """Print the rows under one head, and one signature: they were made alike."""
    if as_json:
        print_json([asdict(row) for row in found])
        return
    show(_Table("\n".join([head, *map(str, found)]), found[0].signature))


@dataclass(frozen=True, slots=True)
class _Table:
    text: str
    signature: str

    def __str__(self) -> str:
        return self.text
