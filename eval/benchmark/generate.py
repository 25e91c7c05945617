"""``gec bench generate``: strategies side by side on one test set, as in the papers' tables.

Ge et al. 2022 (Tables 5 to 9, 18; Figures 4, 8) and Xia et al. 2022 (Tables 1, 2, 3, 6): passes of
the verifier, mean accepted tokens a pass, BLEU, speed over beam search and over greedy decoding,
memory, repetitions, where the time goes, and how the speed-up is spread over the sentences.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gec.errors import ConfigError, InputError
from gec.eval.benchmark.machine import describe
from gec.eval.benchmark.strategy_rows import StrategyRow, default_strategies, measure
from gec.eval.benchmark.strategy_tables import (
    check_exact,
    operations_table,
    phase_table,
    speedups,
    strategy_table,
    summary,
)
from gec.eval.benchmark.two_models import families, gamma_plot, gamma_table, tradeoff_plot
from gec.eval.metrics.score import check_parallel, read_lines


def main(args: argparse.Namespace) -> int:
    """Run ``gec bench generate``; exit status 1 when an exact strategy is not."""
    from gec.loading import load_generation_parts

    if args.plot_gamma:
        Path(args.plot_gamma).write_text(gamma_plot() + "\n", encoding="utf-8")
        sys.stdout.write(gamma_table() + "\n")
        if args.sources is None:
            return 0
    if args.sources is None:
        raise ConfigError("name the file of sources, and its references")
    if args.model is None:
        raise ConfigError("name the bundle: --model")
    sources = read_lines(args.sources)
    references = [read_lines(name) for name in args.references]
    named = [(args.sources, sources), *zip(args.references, references, strict=True)]
    check_parallel(named)
    if not sources:
        raise InputError(f"{args.sources} is empty")
    sources = sources[: args.limit]
    references = [lines[: args.limit] for lines in references]
    parts, codec, about = load_generation_parts(
        args.model, device=args.device, precision=args.precision
    )
    ids = [codec.encode(line) for line in sources]
    most = parts.model.max_positions - 1
    for number, found in enumerate(ids, 1):
        if len(found) > most:
            raise InputError(
                f"{args.sources}:{number}: {len(found)} tokens, the model takes {most}: split it"
            )
    strategies = args.strategies or default_strategies(parts, str(about["task"]))
    if len(set(strategies)) < len(strategies):
        raise ConfigError("a strategy is named twice")
    rows = measure(
        parts, codec.decode, ids, references, strategies,
        batch_sizes=args.batch_size or [1], rounds=args.rounds,
        task=str(about.get("task", "translation")),
    )  # fmt: skip
    heading = {
        "machine": describe().line(),
        "file": Path(args.sources).name,
        "sentences": len(sources),
        "model": about["bundle"],
        "parameters": about["parameters"],
        "precision": about["precision"],
    }
    text = ", ".join(f"{name} {value}" for name, value in heading.items())
    text += f"\n\n{strategy_table(rows)}\n"
    if profiles := phase_table(rows):
        text += f"\n{profiles}\n"
    if args.operations:
        text += f"\n{operations_table(parts, strategies, ids)}\n"
    sys.stdout.write(text)
    if args.out:
        _write(Path(args.out), heading, rows, text)
    for line in (wrong := check_exact(rows)):
        print(f"NOT exact: {line}", file=sys.stderr)
    return 1 if wrong else 0


def _write(out: Path, heading: Mapping[str, Any], rows: Sequence[StrategyRow], text: str) -> None:
    from gec.eval.compare import plots

    out.mkdir(parents=True, exist_ok=True)
    (out / "table.md").write_text(text, encoding="utf-8")
    result = dict(heading) | {"rows": [summary(row) for row in rows]}
    (out / "table.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if found := speedups(rows):
        (out / "speedups.svg").write_text(plots.distribution(found), encoding="utf-8")
    if len(points := _tradeoff(rows)) > 1:
        quality = "SARI" if rows[0].sari is not None else "BLEU"
        quality = "ROUGE-L" if rows[0].rougel is not None else quality
        (out / "tradeoff.svg").write_text(tradeoff_plot(points, quality), encoding="utf-8")


def _tradeoff(rows: Sequence[StrategyRow]) -> dict[str, list[tuple[float, float]]]:
    """Return (speed over greedy, quality) of the first batch size by kind of strategy."""
    points: dict[str, list[tuple[float, float]]] = {}
    rows = [row for row in rows if row.batch_size == rows[0].batch_size]
    varying = ("fallback", "rollback", "longest", "k", "beta", "tau", "gamma")
    for name, numbers in families([row.strategy for row in rows], varying).items():
        for row in (rows[number] for number in numbers):
            value = next((v for v in (row.sari, row.rougel, row.bleu) if v is not None), None)
            if row.speedup_greedy is not None and value is not None:
                points.setdefault(name, []).append((row.speedup_greedy, value))
    return points
