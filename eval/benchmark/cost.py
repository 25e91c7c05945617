"""``gec bench cost``: what passes and drafts take on this machine, and so which drafts pay.

The verifier is a bundle's, or one of a given shape with random weights, so that one can decide
before training. The times go into the cost model of :mod:`gec.decoding.cost`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gec.decoding.cost import (
    DRAFTED,
    Curve,
    Drafting,
    Sentence,
    Tokens,
    best,
    counted,
    geometric,
    needed,
    pass_times,
    take_turns,
)
from gec.decoding.drafters.early_exit import ExitModel
from gec.decoding.drafters.heads import HeadsModel
from gec.decoding.drafters.nat import BlockModel
from gec.decoding.model import Model
from gec.decoding.parts import Parts
from gec.decoding.strategies import make_decoder
from gec.errors import ConfigError
from gec.eval.benchmark import shapes
from gec.eval.benchmark.machine import describe, load_average
from gec.eval.benchmark.pages import markdown
from gec.eval.metrics.score import read_lines
from gec.models.network.llama_config import LlamaConfig

RATES = (0.5, 0.6, 0.7, 0.8, 0.9)
TARGETS = (1.0, 1.5, 2.0)
"""Speed-ups whose least acceptance rate is printed."""
LAYERS = ("1", "2")
"""Drafters of a shape for which none are named."""
IN_TURN = (1, 2, 4, 8)
"""Numbers of passes, one after the other, that are measured of a drafting model."""
_SHOWN = (1, 4, 8)  # numbers of drafted tokens whose time is printed


@dataclass(frozen=True, slots=True)
class Setting:
    """What passes are measured on: tokens of source and output, sentences, repetitions."""

    source: int
    output: int
    rows: int
    rounds: int
    clock: Callable[[], float] = time.perf_counter

    @property
    def prefix(self) -> int:
        """Tokens of output before a pass: half of them, as on average."""
        return self.output // 2

    def check(self, name: str, *models: Model | BlockModel) -> None:
        """Raise ConfigError if a model has too few positions for the source or the output."""
        least = min(model.max_positions for model in models)
        if self.source >= least or self.output > least:
            raise ConfigError(
                f"{name}: the verifier and its drafters have {least} positions, so --source may be "
                f"at most {least - 1}, not {self.source}, and --output {least}, not {self.output}"
            )

    def pass_times(
        self,
        model: Model,
        drafted: Sequence[int] = DRAFTED,
        before: Callable[[], object] | None = None,
    ) -> Curve:
        """Time passes of a model."""
        return pass_times(
            model, drafted, prefix=self.prefix, source=self.source, rows=self.rows,
            rounds=self.rounds, before=before, clock=self.clock,
        )  # fmt: skip

    def one_pass(self, model: Model) -> Callable[[], object]:
        """Return what makes a pass over one token of every row."""
        word = [model.bos_id]
        memory = model.start([word * self.source] * self.rows)
        model.verify(memory, [word * (self.prefix + 1)] * self.rows, [0] * self.rows)

        def verify() -> None:
            scores = model.verify(memory, [word] * self.rows, [self.prefix] * self.rows)
            scores.read(scores.best())

        return verify

    def in_turn(self, small: Model, large: Model) -> Curve:
        """Time k passes of a drafting model, one after the other, behind a pass of the verifier."""
        one = self.one_pass(small)

        def way(k: int) -> Callable[[], object]:
            return lambda: [one() for _ in range(k)]

        return self.turns({k: way(k) for k in IN_TURN}, self.one_pass(large))

    def turns(
        self, ways: Mapping[int, Callable[[], object]], before: Callable[[], object] | None = None
    ) -> Curve:
        """Time ways in turn."""
        return take_turns(ways, rounds=self.rounds, before=before, clock=self.clock)

    def reading(self, model: Model) -> float:
        """Return the ms a model takes to read its sources, beyond what a pass takes."""
        word = [model.bos_id]
        sources = [word * self.source] * self.rows

        def begin() -> None:
            scores = model.verify(model.start(sources), [word] * self.rows, [0] * self.rows)
            scores.read(scores.best())

        first = self.turns({0: begin})(0)
        return max(0.0, first - self.pass_times(model, (0,))(0))


@dataclass(frozen=True, slots=True)
class Row:
    """A drafter, and where it was counted the tokens that its drafts gave."""

    drafting: Drafting
    tokens: Tokens | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What was measured of a verifier and of what may draft for it."""

    name: str
    verify: Curve
    sentence: Sentence
    rows: list[Row] = field(default_factory=list)


def main(args: argparse.Namespace) -> int:
    """Run ``gec bench cost``."""
    if not args.shape and args.model is None:
        raise ConfigError("name a bundle (--model NAME) or a shape (--shape 6+6x384)")
    if args.drafter and not args.shape:
        raise ConfigError("--drafter belongs to --shape: a bundle has its own drafters")
    if args.file and args.model is None:
        raise ConfigError("a file of texts needs --model: random weights accept nothing")
    clock = time.process_time if args.cpu_time else time.perf_counter
    setting = Setting(args.source, args.output, args.batch_size, args.rounds, clock)
    configs = [shapes.parse(text) for text in args.shape or []]
    drafters = [_drafter(text) for text in args.drafter or LAYERS]
    reports = [of_shape(config, drafters, args, setting) for config in configs]
    if args.model is not None:
        reports.append(of_bundle(args, setting))
    heading = _heading(setting)
    if args.json:
        found = [_values(report) for report in reports]
        sys.stdout.write(json.dumps({"machine": heading, "reports": found}, indent=1) + "\n")
    else:
        sys.stdout.write("\n\n".join([heading, *map(_text, reports)]) + "\n")
    return 0


def _heading(setting: Setting) -> str:
    load = load_average()
    busy = "" if load is None else f", load average {load}"
    clock = "wall clock" if setting.clock is time.perf_counter else "processor time"
    return (
        f"{describe().line()}{busy}; {clock}, batch {setting.rows}, {setting.source} tokens of "
        f"source, {setting.output} of output, medians of {setting.rounds}"
    )


# ------------------------------------------------------------------------------------- shapes


def _drafter(text: str) -> int | shapes.Config:
    """Read a drafter: a number of layers over the verifier's states, or a shape."""
    return int(text) if text.isdecimal() and int(text) else shapes.parse(text)


def of_shape(
    config: shapes.Config,
    drafters: Sequence[int | shapes.Config],
    args: argparse.Namespace,
    setting: Setting,
) -> Report:
    """Measure a verifier of random weights and drafters for it."""
    precision, device = args.precision or "int8", args.device or "cpu"
    model, parameters, engine = shapes.random_model(config, precision, device)
    name = f"{shapes.describe(config)}, {parameters / 1e6:.1f} M weights, {precision}, {engine}"
    owns = [
        replace(
            shapes.shallow(config, drafter) if isinstance(drafter, int) else drafter,
            vocab_size=config.vocab_size,
        )
        for drafter in drafters
    ]
    smalls = [shapes.random_model(own, precision, device)[0] for own in owns]
    setting.check(shapes.describe(config), model, *smalls)
    sentence = Sentence(setting.reading(model), setting.output)
    report = Report(name, setting.pass_times(model), sentence)
    for drafter, own, small in zip(drafters, owns, smalls, strict=True):
        in_turn = setting.in_turn(small, model)
        if isinstance(drafter, int):
            behind = setting.one_pass(model)  # whose weights leave the processor's caches to it
            passes = setting.pass_times(small, (2, 3, 5, 9, 17, 33), behind)
            # its source is the verifier's: it reads none, but a decoder alone has one more cache
            start = setting.reading(small) if isinstance(own, LlamaConfig) else 0.0
            of = f"{drafter} layer{'s'[: drafter > 1]} on the verifier's states"
            report.rows.append(Row(Drafting(f"{of}, a block", _block(passes), start=start)))
            report.rows.append(Row(Drafting(f"{of}, in turn", in_turn, start=start)))
        else:
            start = setting.reading(small)
            of = shapes.describe(own).partition(",")[0]
            report.rows.append(Row(Drafting(f"{of}, in turn", in_turn, start=start)))
    return report


def _block(passes: Curve) -> Callable[[int], float]:
    """Return the time of k MASKs in one pass, with two tokens that the output gained before."""
    return lambda k: passes(k + 1)


# ------------------------------------------------------------------------------------- bundles


def of_bundle(args: argparse.Namespace, setting: Setting) -> Report:
    """Measure a bundle's verifier and its drafters; count what their drafts give of a file."""
    from gec.loading import load_parts

    parts, codec, about = load_parts(args.model, device=args.device, precision=args.precision)
    name = (
        f"{about['bundle']}, {int(about['parameters']) / 1e6:.1f} M weights, {about['precision']}"
    )
    blocks = [] if parts.blocks is None else [parts.blocks]
    setting.check(str(about["bundle"]), parts.model, *blocks, *parts.smaller[-1:])
    sentence = Sentence(setting.reading(parts.model), setting.output)
    report = Report(name, setting.pass_times(parts.model), sentence)
    sources = None
    if args.file:
        if codec is None:
            raise ConfigError(f"{args.model} corrects: gec bench FILE measures it on text")
        lines = read_lines(args.file)[: args.limit]
        most = parts.model.max_positions - 1
        sources = [codec.encode(line)[:most] for line in lines]
    for specification, drafting in _draftings(parts, setting):
        tokens = _counted(parts, specification, sources) if sources else None
        report.rows.append(Row(drafting, tokens))
    return report


def _counted(parts: Parts, specification: str, sources: Sequence[Sequence[int]]) -> Tokens:
    name, _, value = specification.partition("=")
    name, _, key = name.partition(":")
    decoder = make_decoder(parts, name, {key: int(value)} if key else {})
    found = decoder.decode(sources)
    return counted(step for [hypothesis] in found for step in hypothesis.steps)


def _draftings(parts: Parts, setting: Setting) -> list[tuple[str, Drafting]]:
    """Return the strategies that draft for a bundle, with drafts as long as can be, and costs."""
    found = [("iad", Drafting("iad", lambda k: 0.0))]
    if parts.blocks is not None:
        drafting = _of_blocks(parts.blocks, parts.model, setting)
        found.append((f"gad:k={drafting.longest}", drafting))
    if parts.heads is not None:
        drafting = _of_heads(parts.heads, setting)
        found.append((f"blockwise:k={drafting.longest + 1}", drafting))
    if parts.early is not None:
        found.append(("early-exit:gamma=8", _of_exit(parts.early, setting)))
    if parts.smaller:
        small = parts.smaller[-1]
        start, in_turn = setting.reading(small), setting.in_turn(small, parts.model)
        found.append(("speculative:gamma=8", Drafting("speculative", in_turn, 32, start)))
    return found


def _of_blocks(blocks: BlockModel, model: Model, setting: Setting) -> Drafting:
    sources = [[blocks.bos_id] * setting.source] * setting.rows
    longest = min(blocks.block, blocks.max_positions - setting.prefix - 1)
    output = [blocks.bos_id] * setting.prefix
    memory: list[Any] = [None]

    behind = setting.one_pass(model)

    def begin() -> None:  # what is cached of the output but for its last two tokens
        memory[0] = blocks.start(sources)
        blocks.draft(memory[0], [output[:-2]] * setting.rows, 1)
        behind()

    def way(k: int) -> Callable[[], object]:
        return lambda: blocks.draft(memory[0], [output] * setting.rows, k)

    sizes = [k for k in DRAFTED if 0 < k <= longest]
    times = setting.turns({k: way(k) for k in sizes}, begin)
    start = setting.turns({0: lambda: blocks.start(sources)})(0)
    return Drafting("gad", times, longest, start)


def _of_heads(heads: HeadsModel, setting: Setting) -> Drafting:
    rows, prefix = setting.rows, setting.prefix
    memory = heads.start([[heads.bos_id] * setting.source] * rows)
    heads.verify(memory, [[heads.bos_id] * (prefix + 1)] * rows, [0] * rows)

    def way(k: int) -> Callable[[], object]:
        return lambda: heads.propose(memory, [0] * rows, k)

    sizes = sorted({k for k in DRAFTED if 0 < k <= heads.heads} | {heads.heads})
    times = setting.turns({k: way(k) for k in sizes})
    return Drafting("blockwise", times, heads.heads)


def _of_exit(early: ExitModel, setting: Setting) -> Drafting:
    """Time the first layers; that the verifying pass goes on from there is not counted."""
    rows, prefix = setting.rows, setting.prefix
    memory = early.start([[early.bos_id] * setting.source] * rows)
    early.verify(memory, [[early.bos_id] * (prefix + 1)] * rows, [0] * rows)

    def draft() -> None:
        scores = early.exit.verify(memory, [[early.bos_id]] * rows, [prefix] * rows)
        scores.read(scores.best())

    once = setting.turns({1: draft})(1)
    return Drafting("early-exit", lambda k: k * once)


# -------------------------------------------------------------------------------------- tables


def _text(report: Report) -> str:
    """Return the two tables of a verifier."""
    greedy = report.verify(0)
    drafted = sorted(report.verify.points)
    head = ["drafted tokens", *map(str, drafted)]
    passes = [
        ["pass, ms", *(f"{report.verify(k):.2f}" for k in drafted)],
        ["times one token", *(f"{report.verify(k) / greedy:.2f}" for k in drafted)],
    ]
    once = f"reading the source {report.sentence.encode:.2f} ms"
    return f"**{report.name}**: {once}\n\n{markdown(head, passes)}\n\n{_drafters(report)}"


def _drafters(report: Report) -> str:
    head = ["drafter", *(f"ms, k = {k}" for k in _SHOWN), "start, ms"]
    head += [f"a for {target:g} x" for target in TARGETS] + [f"a = {rate:g}" for rate in RATES]
    counting = any(row.tokens for row in report.rows)
    rows = []
    for row in report.rows:
        drafting = row.drafting
        times = [f"{drafting.time(k):.2f}" if k <= drafting.longest else "-" for k in _SHOWN]
        least = [needed(report.verify, drafting, t, report.sentence) for t in TARGETS]
        cells = [drafting.name, *times, f"{drafting.start:.2f}"]
        cells += ["never" if rate is None else f"{rate:.2f}" for rate in least]
        cells += [_best(report, drafting, geometric(rate)) for rate in RATES]
        if counting:
            cells.append(_best(report, drafting, row.tokens) if row.tokens else "-")
        rows.append(cells)
    return markdown([*head, *(["as counted"] if counting else [])], rows)


def _best(report: Report, drafting: Drafting, tokens: Tokens) -> str:
    k, gain = best(report.verify, drafting, tokens, report.sentence)
    return f"{k} ({gain:.2f} x)"


def _values(report: Report) -> dict[str, Any]:
    """Return a report for JSON."""
    rows = []
    for row in report.rows:
        drafting = row.drafting
        found: dict[str, Any] = {
            "drafter": drafting.name,
            "milliseconds": {k: drafting.time(k) for k in DRAFTED if 0 < k <= drafting.longest},
            "start": drafting.start,
            "needed": {t: needed(report.verify, drafting, t, report.sentence) for t in TARGETS},
            "best": {
                rate: best(report.verify, drafting, geometric(rate), report.sentence)
                for rate in RATES
            },
        }
        if row.tokens:
            found["counted"] = best(report.verify, drafting, row.tokens, report.sentence)
        rows.append(found)
    return {
        "verifier": report.name,
        "milliseconds": dict(report.verify.points),
        "reading": report.sentence.encode,
        "drafters": rows,
    }
