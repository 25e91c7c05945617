"""``gec bench`` from its options to what is printed and written."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import torch

import gec
from gec.errors import ConfigError, InputError
from gec.eval.benchmark import pages as report
from gec.eval.benchmark.contenders import Ids, model_of
from gec.eval.benchmark.growth import GrowthPoint, growth_table, measure_growth
from gec.eval.benchmark.lossless import check_lossless
from gec.eval.benchmark.machine import describe, is_busy, load_average
from gec.eval.benchmark.parts import BATCH, measure_parts
from gec.eval.benchmark.peers import check_names
from gec.eval.benchmark.peers.fairseq import interpreter
from gec.eval.benchmark.process import measure_process
from gec.eval.benchmark.profiling import profile, profile_table
from gec.eval.benchmark.replay import architecture
from gec.eval.benchmark.study import Options, Study, real, record, replayed
from gec.files import read_document
from gec.loading import device_of
from gec.models.load.bundle import Bundle, load
from gec.models.load.verifiers import verifier

FOUND = 1
PROFILED = ("greedy", "iad")

T = TypeVar("T")


def read_sentences(path: str) -> list[list[str]]:
    """Return the words of every non-empty line; of an M2 file (``*.m2``) those of its S lines."""
    lines = read_document(path).text.splitlines()
    if path.endswith(".m2"):
        lines = [line[2:] for line in lines if line.startswith("S ")]
    sentences = [line.split() for line in lines if line.strip()]
    if not sentences:
        raise InputError(f"{path} holds no sentence to decode")
    return sentences


def spread(items: Sequence[T], count: int | None) -> list[T]:
    """Return ``count`` items, evenly spread, or all of them if there are fewer."""
    if count is None or count >= len(items):
        return list(items)
    return [items[number * len(items) // count] for number in range(count)]


def main(args: argparse.Namespace) -> int:
    """Run ``gec bench``; exit status 1 when outputs differ that should not."""
    if args.quick:
        return quick_main(args)
    check(args)
    run = begin(args)
    sections = dict[str, str]()
    status = 0
    machine, load_before = describe(), load_average()
    if is_busy(load_before):
        print(
            f"gec: warning: the machine is busy (load average {load_before}): times mean little",
            file=sys.stderr,
        )
    print(", ".join(f"{name} {value}" for name, value in run.facts.items()))
    print(machine.line())
    for name, text, ok in parts(run):
        print(f"\n{text}", flush=True)
        sections[name] = text
        status = status if ok else FOUND
        head, about = report.heading(
            machine, (load_before, load_average()), sys.argv[1:], run.facts
        )
        if args.json:
            content = json.dumps(about | run.data, indent=1, default=_plain)
            Path(args.json).write_text(content + "\n", encoding="utf-8")
        if args.write:
            report.write_sections(args.write, {name: f"{head}\n\n{text}"})
    return status


@dataclass(slots=True)
class Run:
    """What all parts of a run share; ``data`` gathers what goes into the JSON."""

    args: argparse.Namespace
    bundle: Bundle
    sentences: list[list[str]]
    sources: list[Ids]
    options: Options
    facts: dict[str, object]
    data: dict[str, Any] = field(default_factory=dict)
    studies: list[Study] = field(default_factory=list)
    growth: list[GrowthPoint] = field(default_factory=list)


def check(args: argparse.Namespace) -> None:
    """Refuse what cannot work before anything takes time."""
    if args.record:
        raise ConfigError("--record belongs to --quick")
    if args.vocabulary and not args.replay:
        raise ConfigError("--vocabulary belongs to --replay")
    if args.write and not Path(args.write).is_file():
        raise ConfigError(f"--write needs a page that exists, {args.write} does not")
    check_names(args.peers or [])


def begin(args: argparse.Namespace) -> Run:
    """Load the bundle and encode the sentences."""
    device = device_of(args.device)
    bundle = load(args.model)
    for shape in args.replay or []:
        # complains before hours of timing
        architecture(shape, bundle.transformer.config, args.vocabulary)
    sentences = spread(read_sentences(args.file)[: args.limit], args.sample)
    encoded = [tuple(bundle.subwords.encode(words)) for words in sentences]
    # fits the source with its EOS, and an output that is no longer
    longest = verifier(bundle.network).max_positions - 1
    kept = [i for i, source in enumerate(encoded) if len(source) <= longest]
    if len(kept) < len(encoded):
        left_out = len(encoded) - len(kept)
        print(f"{left_out} sentences of more than {longest} tokens left out", file=sys.stderr)
    if not kept:
        raise InputError(f"{args.file} has no sentence of at most {longest} tokens")
    sources = [encoded[i] for i in kept]
    strategies = list(args.strategies)
    options = Options(
        strategies=strategies,
        precisions=_precisions(args.precision, device),
        batch_sizes=args.batch_size,
        rounds=args.rounds,
        peers=check_names(args.peers or []),
        threads=torch.get_num_threads(),
        device=device,
        fairseq_python=interpreter(args.fairseq_python),
    )
    facts = {
        "file": Path(args.file).name,
        "sentences": len(sources),
        "tokens": sum(map(len, sources)),
        "model": bundle.name,
        "parameters": sum(p.numel() for p in bundle.network.parameters()),
        "rounds": args.rounds,
    }
    return Run(args, bundle, [sentences[i] for i in kept], sources, options, facts)


def parts(run: Run) -> Iterator[tuple[str, str, bool]]:
    """Do what was asked for; yield a name, a text, and whether all is well, part by part."""
    args = run.args
    only = args.check_lossless or args.profile or args.parts or args.memory or args.growth
    if args.check_lossless:
        yield "lossless", *lossless_part(run)
    if not only or args.peers or args.replay:
        yield "speed", *speed_part(run)
    if args.profile:
        yield "profile", profile_part(run), True
    if args.parts:
        yield "parts", parts_part(run), True
    if args.memory:
        found = measure_process(args.model, run.sentences, run.options.threads)
        run.data["process"] = asdict(found) | {"above": found.above}
        yield "memory", found.text(), True
    if args.growth:
        yield "growth", growth_part(run), True
    if args.plots:
        yield "plots", plots_part(run), True


def lossless_part(run: Run) -> tuple[str, bool]:
    reports = [
        check_lossless(
            model_of(run.bundle.network, precision, run.options.device),
            run.sources,
            batch_sizes=tuple(dict.fromkeys((1, 32, *run.options.batch_sizes))),
            precision=precision,
            words=run.bundle.subwords,
        )
        for precision in run.options.precisions
    ]
    run.data["lossless"] = [asdict(found) | {"lossless": found.lossless} for found in reports]
    text = "\n\n".join(found.describe(run.bundle.subwords) for found in reports)
    return f"```\n{text}\n```", all(found.lossless for found in reports)


def speed_part(run: Run) -> tuple[str, bool]:
    outputs = record(run.bundle, run.sources, run.options.device)
    run.studies.append(real(run.bundle, run.sources, outputs, run.options))
    if run.studies[0].agrees:
        run.studies += [
            replayed(run.bundle, shape, run.args.vocabulary, run.sources, outputs, run.options)
            for shape in run.args.replay or []
        ]
    run.data["studies"] = [report.study_json(study) for study in run.studies]
    return report.speed_text(run.studies), run.studies[0].agrees


def profile_part(run: Run) -> str:
    profiles = [
        profile(  # which looks into torch's modules
            model_of(run.bundle.network, precision, run.options.device, in_torch=True),
            strategy,
            precision,
            run.sources,
            size,
        )
        for size in run.options.batch_sizes
        for strategy in PROFILED
        for precision in run.options.precisions
    ]
    run.data["profile"] = [asdict(found) for found in profiles]
    return profile_table(profiles)


def parts_part(run: Run) -> str:
    from gec.loading import use_threads

    use_threads(1)
    corrector = gec.load(run.args.model, device=run.args.device)
    found = measure_parts(corrector, [" ".join(words) for words in run.sentences], BATCH)
    use_threads(run.options.threads)
    run.data["parts"] = asdict(found)
    precision = corrector.info()["precision"]
    return f"`gec.load(...)` in {precision}, {BATCH} sentences at a time.\n\n{found.text()}"


def growth_part(run: Run) -> str:
    corrector = gec.load(run.args.model, device=run.args.device)
    run.growth += measure_growth(corrector, run.sentences, run.args.growth, rounds=run.args.rounds)
    run.data["growth"] = [asdict(point) for point in run.growth]
    precision = corrector.info()["precision"]
    return f"`gec.load(...).correct(text)` in {precision}.\n\n{growth_table(run.growth)}"


def plots_part(run: Run) -> str:
    from gec.eval.benchmark.charts import draw

    made = draw(run.studies, run.growth, run.args.plots)
    # a page links to them from where it stands
    start = Path(run.args.write).parent if run.args.write else Path()
    place = Path(run.args.plots)
    folder = place.relative_to(start) if place.is_relative_to(start) else place
    images = [f"![{title}]({(folder / name).as_posix()})" for name, title in made.items()]
    return "\n\n".join(images) or "No plot: too little was measured."


def quick_main(args: argparse.Namespace) -> int:
    """Run ``gec bench --quick``."""
    from gec.eval.benchmark import quick
    from gec.models.load.bundle import find

    if args.file:
        raise ConfigError("--quick has its own sentences: it takes no FILE")
    bundle = load(args.model)
    found = quick.run(bundle, find(args.model))
    if args.record:
        quick.write_record(found)
        found = quick.run(bundle, find(args.model))
    for each in found.reports.values():
        print(each.describe(bundle.subwords))
    print("\n".join(found.lines()))
    return 0 if found.holds else FOUND


def _precisions(given: str | None, device: torch.device) -> list[str]:
    if given is None:
        return ["fp32", "int8"] if device.type == "cpu" else ["fp32", "fp16"]
    return list(dict.fromkeys(name.strip() for name in given.split(",")))


def _plain(value: object) -> object:
    """Make JSON of what dataclasses hold."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"no JSON for {type(value).__name__}")
