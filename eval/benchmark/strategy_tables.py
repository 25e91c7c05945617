"""Rows of ``gec bench generate`` as Markdown and JSON, and what they break of a promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from gec.decoding.strategies import Parts, parse
from gec.errors import ModelError
from gec.eval.benchmark.profiling import PHASES
from gec.eval.benchmark.strategy_rows import BASE, GREEDY, StrategyRow, promised

_COLUMNS = (
    ("strategy", "strategy", "{}"),
    ("batch", "batch_size", "{}"),
    ("passes", "passes", "{}"),
    ("drafter's", "drafter_passes", "{}"),
    ("tokens/pass", "per_pass", "{:.2f}"),
    ("accepted", "accepted", "{:.2f}"),
    ("fallback", "fallback", "{:.1%}"),
    ("rollback", "rollback", "{:.1%}"),
    ("SARI", "sari", "{:.2f}"),
    ("ROUGE-1", "rouge1", "{:.2f}"),
    ("ROUGE-2", "rouge2", "{:.2f}"),
    ("ROUGE-L", "rougel", "{:.2f}"),
    ("BLEU", "bleu", "{:.2f}"),
    ("chrF", "chrf", "{:.2f}"),
    ("as greedy", "as_greedy", "{:.1%}"),
    ("as beam", "as_beam", "{:.1%}"),
    ("repeated", "repeated", "{:.2%}"),
    ("truncated", "truncated", "{}"),
    ("seconds", "seconds", "{:.1f}"),
    ("rounds ±", "unsteadiness", "{:.0%}"),
    ("x beam 5", "speedup", "{:.2f}"),
    ("95 % interval", "speedup_interval", "{0[0]:.2f} - {0[1]:.2f}"),
    ("x greedy", "speedup_greedy", "{:.2f}"),
    ("95 % interval", "speedup_greedy_interval", "{0[0]:.2f} - {0[1]:.2f}"),
    ("peak MB", "memory", "{:.0f}"),
)


def strategy_table(rows: Sequence[StrategyRow]) -> str:
    """Return the rows as a Markdown table; columns nothing is known of are left out."""
    columns = [c for c in _COLUMNS if any(getattr(row, c[1]) is not None for row in rows)]
    lines = ["| " + " | ".join(head for head, _, _ in columns) + " |"]
    lines.append("|" + "---|" * len(columns))
    for row in rows:
        cells = ((getattr(row, attribute), form) for _, attribute, form in columns)
        lines.append(
            "| " + " | ".join("-" if v is None else form.format(v) for v, form in cells) + " |"
        )
    return "\n".join(lines)


def phase_table(rows: Sequence[StrategyRow]) -> str:
    """Return the profiles as a Markdown table, empty without any."""
    if not any(row.profile for row in rows):
        return ""
    lines = [f"| strategy | batch | {' | '.join(PHASES)} |", "|---|---|" + "---|" * len(PHASES)]
    for row in rows:
        shares = " | ".join(f"{row.profile.get(phase, 0):.1%}" for phase in PHASES)
        lines.append(f"| {row.strategy} | {row.batch_size} | {shares} |")
    return "\n".join(lines)


def summary(row: StrategyRow) -> dict[str, Any]:
    """Return a row for JSON."""
    return asdict(row) | {"per_pass": row.per_pass}


def operations_table(
    parts: Parts, strategies: Sequence[str], sources: Sequence[Sequence[int]]
) -> str:
    """Return the work of each strategy, one sentence at a time (Kim et al. 2023, Figure 8).

    Of the verifier and of the smaller models together, in fp32; a strategy that needs another
    drafter has a dash.
    """
    from gec.loading import work_of

    lines = ["| strategy | GFLOP | GB moved | operations a byte |", "|---|---|---|---|"]
    for strategy in strategies:
        try:
            work = work_of(parts, *parse(strategy), sources)
        except ModelError:
            lines.append(f"| {strategy} | - | - | - |")
            continue
        flops, moved = (sum(model[i] for model in work) for i in (1, 2))
        lines.append(
            f"| {strategy} | {flops / 1e9:.2f} | {moved / 1e9:.2f} | {flops / moved:.2f} |"
        )
    return "\n".join(lines)


def speedups(rows: Sequence[StrategyRow]) -> Mapping[str, list[float]]:
    """Return per strategy every sentence's speed-up over beam search at batch size 1."""
    base = next((row for row in rows if row.strategy == BASE and row.sentence_seconds), None)
    if base is None:
        return {}
    return {
        row.strategy: [
            b / s for b, s in zip(base.sentence_seconds, row.sentence_seconds, strict=True)
        ]
        for row in rows
        if row.sentence_seconds and row is not base
    }


def check_exact(rows: Sequence[StrategyRow]) -> list[str]:
    """Return a line for each strategy whose outputs are not those that it promises."""
    wrong = []
    for row in rows:
        same = {GREEDY: row.as_greedy, BASE: row.as_beam}.get(promised(row.strategy) or "")
        if same is not None and same < 1:
            as_what = "beam search" if row.as_beam is not None else "greedy"
            wrong.append(f"{row.strategy}, batch {row.batch_size}: {same:.2%} as {as_what}")
    return wrong
