"""``gec bench checkers``: the same texts through our corrector and other checkers, side by side.

Every checker gets the same plain sentences, one at a time as far as the text goes, and of what it
finds the first suggestion is made. Detokenizing, and tokenizing what was changed, is the same for
all (:mod:`.plain_text`), so that text which a checker leaves alone is the source to the letter.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from gec.errors import ConfigError
from gec.eval.benchmark import checker_speed, pages
from gec.eval.benchmark.bench import spread
from gec.eval.benchmark.checker_peers import NAMES
from gec.eval.benchmark.checker_peers.own import bundle_name
from gec.eval.benchmark.checker_peers.worker import Worker
from gec.eval.benchmark.checker_quality import (
    Changes,
    Corrections,
    TextSet,
    correct,
    read_sets,
    scored,
    write_hypotheses,
)
from gec.eval.benchmark.checker_speed import Program, Speed
from gec.eval.benchmark.machine import describe, is_busy, load_average
from gec.eval.compare.plots import quality_over_time
from gec.eval.metrics.score import print_json, use_utf8, warn

SOURCE = "source"
"""The row of the text as it was."""
TEXT_NOTE = (
    "Every sentence is detokenized by gec.eval.benchmark.plain_text and is a text by itself; the "
    "first suggestion of every finding is made; what was changed is tokenized by gec.text.words."
)

Scores = dict[str, dict[str, Corrections | Changes]]
"""By set, then by checker."""


def main(args: argparse.Namespace) -> int:
    """Run ``gec bench checkers``."""
    check(args)
    sets = read_sets(args.files, args.limit, dict(args.references))
    if args.plot and all(one.gold is None for one in sets):
        raise ConfigError("--plot shows F0.5: name a gold file (*.m2)")
    programs = programs_of(args)
    machine, load_before = describe(), load_average()
    facts = {"sentences": sum(len(one.sentences) for one in sets)}
    data: dict[str, object] = {}
    sections: dict[str, str] = {}
    about: dict[str, str] = {}
    scores: Scores = {}
    speeds: dict[str, Speed] = {}
    if args.only != "speed":
        scores, outputs = quality(programs, sets, about)
        data["quality"] = {
            name: {row: _fields(score) for row, score in rows.items()}
            for name, rows in scores.items()
        }
        sections["checkers-quality"] = quality_text(scores)
        if args.hypotheses:
            write_hypotheses(args.hypotheses, sets, outputs)
    if args.only != "quality":
        if is_busy(load_before):
            warn(f"the machine is busy (load average {load_before}): times mean little")
        speeds = speed(args, programs, sets, about)
        facts |= {"timed": min(args.sample, facts["sentences"]), "rounds": args.rounds}
        data["speed"] = {row: asdict(found) for row, found in speeds.items()}
        sections["checkers-speed"] = speed_text(speeds)
    head, described = pages.heading(machine, (load_before, load_average()), sys.argv[1:], facts)
    how = "\n".join(f"- {name}: {text}" for name, text in about.items())
    if args.plot:
        gold = {name: rows for name, rows in scores.items() if _is_gold(rows)}
        Path(args.plot).write_text(plot(gold, speeds), encoding="utf-8")
    if args.format == "json":
        print_json(described | {"checkers": about, "text": TEXT_NOTE} | data)
    else:
        use_utf8()
        print("\n\n".join([head, *sections.values(), how, TEXT_NOTE]))
    if args.write:
        written = {name: f"{head}\n\n{text}\n\n{how}" for name, text in sections.items()}
        pages.write_sections(args.write, written)
    return 0


def check(args: argparse.Namespace) -> None:
    """Refuse what cannot work before anything takes time."""
    for name in args.checkers:
        if name not in (SOURCE, *NAMES):
            known = ", ".join((SOURCE, *NAMES))
            raise ConfigError(f"unknown checker {name!r}, expected some of {known}")
    if "languagetool" in args.checkers and not args.languagetool:
        raise ConfigError("languagetool is a server: give its address after --languagetool")
    if args.hypotheses and args.only == "speed":
        raise ConfigError("--hypotheses needs the texts corrected: leave out --only speed")
    if args.plot and args.only:
        raise ConfigError("--plot shows quality over time: leave out --only")
    if args.plot and not Path(args.plot).parent.is_dir():
        raise ConfigError(f"--plot needs a folder that exists, {Path(args.plot).parent} does not")
    if args.write and not Path(args.write).is_file():
        raise ConfigError(f"--write needs a page that exists, {args.write} does not")


def programs_of(args: argparse.Namespace) -> list[Program]:
    """Return what is to be run, each a process."""
    names = list(dict.fromkeys(args.checkers))
    if args.languagetool and "languagetool" not in names:
        names.append("languagetool")
    found = []
    for name in names:
        if name == "gec":
            found += [_own(args, model) for model in dict.fromkeys(args.model or ["en"])]
        elif name == "languagetool":
            found.append(Program(name, {"url": args.languagetool}, {name: ""}, remote=True))
        elif name != SOURCE:
            found.append(Program(name, {}, {name: ""}))
    return found


def _own(args: argparse.Namespace, model: str) -> Program:
    options = {
        "model": model,
        "device": args.device,
        "precision": args.precision,
        "threads": args.threads,
    }
    name = bundle_name(model)
    return Program("gec", options, {f"gec {name} {setting}": setting for setting in args.settings})


# --------------------------------------------------------------------------------------- measuring


def quality(
    programs: Sequence[Program], sets: Sequence[TextSet], about: dict[str, str]
) -> tuple[Scores, dict[str, list[list[str]]]]:
    """Return all scores, and every row's outputs, [set][sentence]; fill ``about``."""
    outputs = {SOURCE: [one.sources for one in sets]}
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # a thread only waits for its process
        for program, (said, found) in zip(
            programs, pool.map(lambda program: _corrected(program, sets), programs), strict=True
        ):
            about[_label(program)] = said
            outputs |= {row: found[setting] for row, setting in program.rows.items()}
    scores = {
        one.name: {row: scored(one, lines[place]) for row, lines in outputs.items()}
        for place, one in enumerate(sets)
    }
    return scores, outputs


def _corrected(program: Program, sets: Sequence[TextSet]) -> tuple[str, dict[str, list[list[str]]]]:
    """Return what a checker says of itself, and its outputs by setting."""
    remembering = {"remember": True} if program.name == "gec" else {}
    with Worker(program.name, {**program.options, **remembering}) as worker:
        return worker.about, correct(worker, list(program.rows.values()), sets, _say)


def speed(
    args: argparse.Namespace,
    programs: Sequence[Program],
    sets: Sequence[TextSet],
    about: dict[str, str],
) -> dict[str, Speed]:
    """Return every row's speed; fill ``about``."""
    texts = [sentence.text for one in sets for sentence in one.sentences]
    for program in programs:
        if _label(program) not in about:
            with Worker(program.name, program.options) as worker:
                about[_label(program)] = worker.about
    return checker_speed.measure(programs, spread(texts, args.sample), args.rounds, _say)


def _label(program: Program) -> str:
    model = program.options.get("model")
    return f"gec {bundle_name(model)}" if model else program.name


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


# ------------------------------------------------------------------------------------------ output


def quality_text(scores: Scores) -> str:
    """Return all sets beside each other, then each gold file's table."""
    gold = {name: rows for name, rows in scores.items() if _is_gold(rows)}
    clean = {name: rows for name, rows in scores.items() if not _is_gold(rows)}
    parts = [_overview(gold, clean)]
    parts += [f"{name}\n\n{_gold_table(rows)}" for name, rows in gold.items()]
    parts += [f"{name}, no errors\n\n{_clean_table(rows)}" for name, rows in clean.items()]
    return "\n\n".join(parts)


def _is_gold(rows: Mapping[str, Corrections | Changes]) -> bool:
    return isinstance(next(iter(rows.values())), Corrections)


def _overview(gold: Scores, clean: Scores) -> str:
    head = ["checker", *(f"{name} F0.5" for name in gold)]
    head += ["changed of 1,000 clean sentences", "changes in 1,000 clean words"] if clean else []
    rows = []
    for row in next(iter((gold | clean).values())):
        cells = [row]
        for found in gold.values():
            score = found[row]
            assert isinstance(score, Corrections)
            cells.append(f"{score.f:.4f}")
        if clean:
            whole = _together([found[row] for found in clean.values()])
            cells += [f"{whole.per_1000_sentences:.1f}", f"{whole.per_1000_words:.2f}"]
        rows.append(cells)
    return pages.markdown(head, rows)


def _together(changes: Sequence[Corrections | Changes]) -> Changes:
    whole = Changes(0, 0, 0, 0)
    for one in changes:
        assert isinstance(one, Changes)
        whole = whole + one
    return whole


def _gold_table(rows: Mapping[str, Corrections | Changes]) -> str:
    cells = [
        (row, *(f"{value:.4f}" for value in asdict(score).values())) for row, score in rows.items()
    ]
    return pages.markdown(("checker", "M2 precision", "recall", "F0.5", "GLEU"), cells)


def _clean_table(rows: Mapping[str, Corrections | Changes]) -> str:
    head = ("checker", "sentences changed", "of 1,000", "changes", "in 1,000 words")
    cells = []
    for row, score in rows.items():
        assert isinstance(score, Changes)
        cells.append(
            (
                row,
                f"{score.changed} of {score.sentences}",
                f"{score.per_1000_sentences:.1f}",
                f"{score.changes} in {score.words}",
                f"{score.per_1000_words:.2f}",
            )
        )
    return pages.markdown(head, cells)


def plot(gold: Scores, speeds: Mapping[str, Speed]) -> str:
    """Return F0.5 over the median milliseconds of a sentence as SVG, a plot for each gold file."""
    points = {}
    for name, rows in gold.items():
        points[name] = {
            row: (speeds[row].median, score.f)
            for row, score in rows.items()
            if row in speeds and isinstance(score, Corrections)
        }
    return quality_over_time(points, "ms a sentence", "F0.5")


def speed_text(speeds: Mapping[str, Speed]) -> str:
    head = ("checker", "ms/sentence", "quartiles", "mean", "peak MiB", "cold start s")
    cells = [
        (
            row,
            f"{found.median:.2f}",
            f"{found.quartiles[0]:.2f} - {found.quartiles[1]:.2f}",
            f"{found.mean:.2f}",
            "-" if found.peak is None else f"{found.peak:.0f}",
            "-" if found.start is None else f"{found.start:.2f}",
        )
        for row, found in speeds.items()
    ]
    return pages.markdown(head, cells)


def _fields(score: Corrections | Changes) -> dict[str, float]:
    fields = asdict(score)
    if isinstance(score, Changes):
        fields["per_1000_sentences"] = score.per_1000_sentences
        fields["per_1000_words"] = score.per_1000_words
    return fields
