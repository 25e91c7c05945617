"""``gec report``: one self-contained HTML page, or JSON, about systems on a test set.

Edits are ERRANT's on the system's side and the gold file's on the other; a sentence counts against
the gold annotator that the scorer chose. The precision-recall curve and the speed plots need what
``gec correct --tokenized --format jsonl`` writes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from gec import __version__
from gec.errors import ConfigError, DataError, InputError
from gec.eval.compare import plots
from gec.eval.compare.examples import differing, example, losses, speed_by_ratio, wins
from gec.eval.compare.files import check_output, output_format, read_system, system_names
from gec.eval.compare.results import Difference, Result, compare_systems, evaluate
from gec.eval.metrics.errant import Annotator, Block, Counts, read_blocks
from gec.eval.metrics.m2 import read_gold
from gec.eval.metrics.pipeline import chosen_pipeline
from gec.eval.metrics.score import write_text
from gec.eval.metrics.significance import Interval

FORMATS = ("html", "json")


def render(
    results: Sequence[Result],
    gold: Sequence[Block],
    *,
    title: str,
    gold_name: str,
    differences: Sequence[Difference],
    settings: Mapping[str, object],
    examples: int = 10,
) -> str:
    """Return the page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("gec.eval.compare", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    chosen = {
        "wins": [[example(n, [r], gold) for n in wins(r)[:examples]] for r in results],
        "losses": [[example(n, [r], gold) for n in losses(r)[:examples]] for r in results],
        "differing": [
            example(n, results, gold) for n in differing(results)[:examples] if len(results) > 1
        ],
    }
    curves = {r.system.name: [(p.recall, p.precision) for p in r.curve] for r in results if r.curve}
    speeds = {r.system.name: speed_by_ratio(r) for r in results if r.system.detailed}
    return environment.get_template("report.html").render(
        title=title,
        gold_name=gold_name,
        sentences=len(gold),
        words_total=sum(len(block.sentence.split()) for block in gold),
        results=results,
        types=sorted({kind for r in results for kind in r.by_type}),
        no_counts=Counts(),
        differences=differences,
        settings=settings,
        curve_plot=plots.precision_recall(curves) if curves else "",
        speed_plot=plots.speed_by_edit_ratio(speeds) if any(speeds.values()) else "",
        version=__version__,
        date=datetime.now(UTC).date().isoformat(),
        **chosen,
    )


def to_json(
    results: Sequence[Result],
    gold: Sequence[Block],
    *,
    title: str,
    gold_name: str,
    differences: Sequence[Difference],
    settings: Mapping[str, object],
    examples: int = 10,
) -> str:
    """Return what the page says as JSON; sentences are numbers from 1."""
    shown = {
        "title": title,
        "gold": gold_name,
        "sentences": len(gold),
        "words": sum(len(block.sentence.split()) for block in gold),
        "settings": settings,
        "gec": __version__,
        "systems": [_fields(result, examples) for result in results],
        "differences": [asdict(difference) for difference in differences],
        "differing": [n + 1 for n in differing(results)[:examples]],
    }
    return json.dumps(shown, ensure_ascii=False, indent=1) + "\n"


def _fields(result: Result, examples: int) -> dict[str, object]:
    names = ("precision", "recall", "f")

    def typed(counts: Counts) -> dict[str, float]:
        scores = zip(names, counts.scores(result.errant.beta), strict=True)
        return counts._asdict() | dict(scores)

    def scored(intervals: Sequence[Interval], signature: str) -> dict[str, object]:
        scores = {name: asdict(x) for name, x in zip(names, intervals, strict=True)}
        return scores | {"signature": signature}

    return {
        "name": result.system.name,
        "m2": scored(result.m2_interval, result.m2.signature),
        "errant": scored(result.errant_interval, result.errant.signature),
        "types": {kind: typed(counts) for kind, counts in sorted(result.by_type.items())},
        "curve": [asdict(point) for point in result.curve],
        "wins": [n + 1 for n in wins(result)[:examples]],
        "losses": [n + 1 for n in losses(result)[:examples]],
    }


def main(args: argparse.Namespace) -> int:
    """``gec report GOLD.m2 HYP... --output PAGE.html``"""
    if "-" in (args.gold, *args.hypotheses):
        raise ConfigError("a report reads files, not standard input (-)")
    names = system_names(args)
    check_output(args.output)
    gold = read_blocks(args.gold)
    if not any(block.sentence.strip() for block in gold):
        raise InputError(f"{args.gold} holds no sentence")
    sources = [block.sentence for block in gold]
    systems = [
        read_system(path, sources, name, allow_empty=args.allow_empty)
        for path, name in zip(args.hypotheses, names, strict=True)
    ]
    annotator = Annotator(chosen_pipeline(args, types=True))
    options = {"beta": args.beta, "samples": args.samples, "seed": args.seed}
    m2_gold = read_gold(args.gold)
    if len(m2_gold) != len(gold):
        raise DataError(f"{args.gold}: M2 and ERRANT disagree on its sentences; is it CRLF?")
    results = [evaluate(system, m2_gold, gold, annotator, **options) for system in systems]
    differences = compare_systems(results, samples=args.samples, seed=args.seed)
    write = to_json if output_format(args, FORMATS) == "json" else render
    page = write(
        results,
        gold,
        title=args.title or Path(args.gold).name,
        gold_name=Path(args.gold).name,
        differences=differences,
        settings=options | annotator.settings,
        examples=args.examples,
    )
    write_text(args.output, [page])
    out = sys.stderr if args.output == "-" else sys.stdout
    for result in results:
        print(f"{result.system.name}: ERRANT F{args.beta:g} {result.errant_interval[2]}", file=out)
        print(f"{result.system.name}: M2 F{args.beta:g} {result.m2_interval[2]}", file=out)
    for difference in differences:
        pair = "" if len(results) == 2 else f", {difference.system} less {difference.other}"
        found = difference.comparison
        print(f"difference in ERRANT F{pair}: {found.difference}, p = {found.p:.4f}", file=out)
    return 0
