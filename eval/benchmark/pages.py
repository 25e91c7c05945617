"""Measurements as Markdown tables and JSON, and in a page between markers."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gec.errors import ConfigError
from gec.eval.benchmark.agreement import Agreement
from gec.eval.benchmark.harness import ratio
from gec.eval.benchmark.machine import Machine
from gec.eval.benchmark.speed import Timing
from gec.eval.benchmark.study import Study

BASES = ("fairseq beam5 fp32", "gec greedy fp32")
"""The row that speed-ups are over: the first of these that was timed, else the first row."""

RATIOS = (
    ("gec iad int8", "fairseq beam5 fp32"),
    ("gec iad int8", "fairseq greedy fp32"),
    ("gec iad int8", "ctranslate2 greedy int8"),
    ("gec iad int8", "gec greedy int8"),
    ("gec iad fp32", "fairseq beam5 fp32"),
    ("gec iad fp32", "ctranslate2 greedy fp32"),
    ("gec iad fp32", "gec greedy fp32"),
    ("gec floor int8", "gec iad int8"),
    ("gec floor fp32", "gec iad fp32"),
)
"""The faster and the slower of each comparison worth a line."""

END = "<!-- end -->"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return a Markdown table with aligned columns, the first ``left`` of them to the left."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = (
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return f"| {' | '.join(cells)} |"

    rule = ("-" * w if i < left else "-" * (w - 1) + ":" for i, w in enumerate(widths))
    return "\n".join([line(head), f"| {' | '.join(rule)} |", *map(line, rows)])


def speed_table(study: Study) -> str:
    """Return one row a contender and batch size."""
    head = (
        "engine", "strategy", "type", "batch", "ms/sentence", "quartiles", "rounds ±", "passes",
        "accepted", "speed-up",
    )  # fmt: skip
    rows = []
    for timing in study.timings:
        low, high = timing.quartiles
        base = _base(study, timing.batch_size)
        rows.append(
            (
                timing.engine,
                timing.strategy,
                timing.precision,
                str(timing.batch_size),
                f"{timing.milliseconds:.2f}",
                f"{low:.2f} - {high:.2f}",
                f"{timing.unsteadiness:.0%}",
                _number(timing.passes, ".2f"),
                _number(timing.accepted, ".1%"),
                f"{base.milliseconds / timing.milliseconds:.2f} x",
            )
        )
    return markdown(head, rows, left=3)


def ratios(study: Study) -> list[dict[str, Any]]:
    """Return the comparisons of RATIOS for which both were timed, with 95 % intervals."""
    found: list[dict[str, Any]] = []
    for size in dict.fromkeys(timing.batch_size for timing in study.timings):
        named = {t.name: t for t in study.timings if t.batch_size == size}
        for fast, slow in RATIOS:
            if fast in named and slow in named:
                times = ratio(named[slow], named[fast])
                found.append(
                    {"batch_size": size, "fast": fast, "slow": slow}
                    | {"ratio": times.value, "low": times.low, "high": times.high}
                )
    return found


def ratio_table(study: Study) -> str:
    rows = [
        (
            r["fast"],
            r["slow"],
            str(r["batch_size"]),
            f"{r['ratio']:.2f} x",
            f"{r['low']:.2f} - {r['high']:.2f}",
        )
        for r in ratios(study)
    ]
    head = ("this is faster", "than this", "batch", "by", "95 % interval")
    return markdown(head, rows, left=2) if rows else ""


def title(study: Study) -> str:
    size = f"{study.parameters / 1e6:.1f} M parameters"
    if study.replayed:
        return f"{study.architecture}, {size}, replayed (random weights, recorded outputs)"
    return f"{study.architecture}, {size}, real (its own weights end to end)"


def speed_text(studies: Sequence[Study]) -> str:
    """Return all studies: tables, agreement, what is missing."""
    parts = []
    for study in studies:
        parts.append(f"**{title(study)}**")
        if study.timings:
            sizes = dict.fromkeys(timing.batch_size for timing in study.timings)
            bases = dict.fromkeys(_base(study, size).name for size in sizes)
            parts += [
                f"Speed-up over {', '.join(bases)} at the same batch size.",
                speed_table(study),
            ]
            parts += [table] if (table := ratio_table(study)) else []
        notes = _agreement_lines(study.agreements)
        notes += [f"missing: {name}: {reason}" for name, reason in study.missing.items()]
        parts += ["\n".join(f"- {note}" for note in notes)] if notes else []
    return "\n\n".join(parts)


def _agreement_lines(agreements: Sequence[Agreement]) -> list[str]:
    """Return one line for all that agree everywhere, and one each for the others."""
    whole = [agreement for agreement in agreements if not agreement.disagreements]
    lines = [agreement.line() for agreement in agreements if agreement.disagreements]
    if whole:
        names = ", ".join(agreement.name for agreement in whole)
        alike = f"all {whole[0].sentences} outputs as ours by the same search (peers: as in fp32)"
        lines.insert(0, f"{alike}: {names}")
    return lines


def study_json(study: Study) -> dict[str, Any]:
    return {
        "architecture": study.architecture,
        "replayed": study.replayed,
        "parameters": study.parameters,
        "timings": [timing_json(timing) for timing in study.timings],
        "ratios": ratios(study),
        "agreements": [
            {
                "name": a.name,
                "reference": a.reference,
                "sentences": a.sentences,
                "agreed": a.agreed,
                "ties": a.ties,
                "holds": a.holds,
                "gaps": [d.gap for d in a.disagreements],
            }
            for a in study.agreements
        ],
        "missing": dict(study.missing),
    }


def timing_json(timing: Timing) -> dict[str, Any]:
    """Return a row with every turn's rounds; NaN, which JSON lacks, becomes null."""
    low, high = timing.quartiles
    return {
        "engine": timing.engine,
        "strategy": timing.strategy,
        "precision": timing.precision,
        "batch_size": timing.batch_size,
        "ms_per_sentence": timing.milliseconds,
        "quartiles": [low, high],
        "unsteadiness": timing.unsteadiness,
        "passes": None if math.isnan(timing.passes) else timing.passes,
        "accepted": None if math.isnan(timing.accepted) else timing.accepted,
        "turns": timing.sizes.astype(int).tolist(),
        "seconds": [[round(s, 6) for s in row] for row in timing.seconds.tolist()],
    }


def heading(
    machine: Machine,
    load: Sequence[float | None],
    argv: Sequence[str],
    facts: Mapping[str, object],
) -> tuple[str, dict[str, Any]]:
    """Return what stands above every table, and the same for JSON."""
    command = shown_command(argv)
    about = ", ".join(f"{name} {value}" for name, value in facts.items())
    first, last = (("unknown" if value is None else f"{value:.2f}") for value in load)
    text = (
        f"```\n$ {command}\n```\n\n{about}. {machine.line()}. Load average before and after: "
        f"{first}, {last}."
    )
    return text, {"command": command, "machine": asdict(machine), "load": list(load), **facts}


def shown_command(argv: Sequence[str]) -> str:
    """Return the command line without the folders of this machine."""

    def plain(word: str) -> str:
        name, equals, value = word.rpartition("=")
        if value.startswith(("/", "~", "..")):
            value = Path(value).name
        return f"{name}{equals}{value}"

    return shlex.join(["gec", *map(plain, argv)])


def write_sections(path: str, sections: Mapping[str, str]) -> None:
    """Replace what stands between ``<!-- bench: NAME -->`` and the next end marker.

    Raises:
        ConfigError: a section has no marker in the page, or no end.
    """
    page = Path(path)
    text = page.read_text(encoding="utf-8")
    for name, content in sections.items():
        begin = f"<!-- bench: {name} -->"
        before, found, rest = text.partition(begin)
        _, ended, after = rest.partition(END)
        if not (found and ended):
            raise ConfigError(f"{path} has no {begin} ... {END} to write to")
        text = f"{before}{begin}\n\n{content.strip()}\n\n{END}{after}"
    page.write_text(text, encoding="utf-8")


def _base(study: Study, batch_size: int) -> Timing:
    rows = [timing for timing in study.timings if timing.batch_size == batch_size]
    named = {timing.name: timing for timing in rows}
    return next((named[name] for name in BASES if name in named), rows[0])


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)
