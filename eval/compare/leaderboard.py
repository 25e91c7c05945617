"""``gec leaderboard``: systems ranked by several metrics, as text, JSON or a page."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gec import __version__
from gec.errors import ConfigError
from gec.eval.compare import plots
from gec.eval.compare.board_metrics import DEFAULT, METRICS, read_test_set
from gec.eval.compare.files import check_output, output_format, system_names
from gec.eval.compare.ranking import Pair, Ranking, Tests, default_samples, rank_all
from gec.eval.metrics.score import check_samples, warn, write_text
from gec.eval.metrics.significance import samples_needed

FORMATS = ("text", "json", "html")


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """All rankings, and how they were made."""

    title: str
    gold: str
    sentences: int
    settings: Mapping[str, object]
    rankings: tuple[Ranking, ...]

    def to_text(self) -> str:
        return "\n".join([f"{self.title}: {self.sentences} sentences", *map(_table, self.rankings)])

    def to_json(self) -> str:
        fields = dataclasses.asdict(self) | {"gec": __version__}
        return json.dumps(fields, ensure_ascii=False, indent=1) + "\n"

    def to_html(self) -> str:
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("gec.eval.compare", "templates"), autoescape=True,
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        return environment.get_template("leaderboard.html").render(
            board=self,
            matrices=[_matrix(ranking) for ranking in self.rankings],
            plot=plots.rankings(
                {
                    f"{ranking.title} {ranking.main}": [
                        (row.system, row.scores[ranking.main], row.cluster) for row in ranking.rows
                    ]
                    for ranking in self.rankings
                }
            ),
            version=__version__,
            date=datetime.now(UTC).date().isoformat(),
        )


def _table(ranking: Ranking) -> str:
    """Return a ranking as text, with a line between clusters."""
    others = [name for name in ranking.rows[0].scores if name != ranking.main]
    cells = [("ranks", "system", f"{ranking.title} {ranking.main}", *others)]
    for row in ranking.rows:
        low, high = row.ranks
        cells.append(
            (
                str(low) if low == high else f"{low}-{high}",
                row.system,
                str(row.scores[ranking.main]),
                *(f"{row.scores[name].value:.4f}" for name in others),
            )
        )
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    text = ["", lines[0]]
    last = 0
    for row, line in zip(ranking.rows, lines[1:], strict=True):
        if row.cluster != last:
            text.append("-" * (sum(widths) + 2 * len(widths) - 2))
        text.append(line)
        last = row.cluster
    return "\n".join([*text, ""])


def _matrix(ranking: Ranking) -> list[list[Pair | None]]:
    """Return for every system its pairs with those below it; None where there is none."""
    names = [row.system for row in ranking.rows]
    pairs = {(pair.system, pair.other): pair for pair in ranking.pairs}
    return [[pairs.get((system, other)) for other in names] for system in names]


# --------------------------------------------------------------------------------------- command


def main(args: argparse.Namespace) -> int:
    """``gec leaderboard GOLD HYP...``"""
    if "-" in (args.gold, *args.hypotheses, *args.references):
        raise ConfigError("a leaderboard reads files, not standard input (-)")
    if len(args.hypotheses) < 2:
        raise ConfigError("a leaderboard ranks at least 2 systems; name more HYP files")
    check_output(args.output)
    if not 0 < args.alpha < 1:
        raise ConfigError(f"--alpha must lie between 0 and 1, not {args.alpha:g}")
    names = system_names(args)
    metrics = _metrics(args)
    samples = _samples(args)
    test = read_test_set(args)
    how = Tests(samples, args.seed, args.alpha, args.test)
    rankings = rank_all(test, names, metrics, how, jobs=args.jobs or os.cpu_count() or 1)
    board = Leaderboard(
        title=args.title or Path(args.gold).name,
        gold=Path(args.gold).name,
        sentences=len(test.blocks),
        settings={
            "beta": args.beta,
            "samples": samples,
            "seed": args.seed,
            "test": args.test,
            "adjusted": "holm",
            "alpha": args.alpha,
        },
        rankings=tuple(rankings),
    )
    write_text(args.output, [_rendered(board, output_format(args, FORMATS))])
    for ranking in rankings:
        print(ranking.signature, file=sys.stderr)
    return 0


def _rendered(board: Leaderboard, how: str) -> str:
    if how == "json":
        return board.to_json()
    return board.to_html() if how == "html" else board.to_text()


def _metrics(args: argparse.Namespace) -> list[str]:
    given = bool(args.references)
    if args.metrics is None:
        return [name for name in DEFAULT if given or not METRICS[name].needs_references]
    names = list(dict.fromkeys(args.metrics.split(",")))
    for name in names:
        if name not in METRICS:
            raise ConfigError(f"no metric {name!r}; choose among {', '.join(METRICS)}")
        if METRICS[name].needs_references and not given:
            raise ConfigError(f"{name} needs references: name their files after -r")
    return names


def _samples(args: argparse.Namespace) -> int:
    systems = len(args.hypotheses)
    if args.samples is None:
        return default_samples(systems, args.alpha)
    check_samples(args.samples)
    if args.samples == 0:
        raise ConfigError("--samples must be at least 2: without resamples nothing is compared")
    if args.samples < (least := samples_needed(systems, args.alpha)):
        warn(
            f"with {args.samples} resamples no pair of {systems} systems can differ significantly "
            f"at {args.alpha:g} after Holm's adjustment; that takes at least {least}"
        )
    return int(args.samples)
