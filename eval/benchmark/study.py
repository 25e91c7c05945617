"""One architecture timed: contenders made, their agreement checked, then turns taken.

A study is of the bundle itself, end to end, or a replay: another shape with random weights that
writes what the bundle wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from gec.decoding.drafters.reentry import Vocabulary
from gec.decoding.model import Model
from gec.errors import ConfigError, ModelError
from gec.eval.benchmark.agreement import Agreement, compare
from gec.eval.benchmark.contenders import Contender, Floor, Ids, Ours, beam_size, model_of
from gec.eval.benchmark.harness import ROUNDS
from gec.eval.benchmark.peers import Setup, gather
from gec.eval.benchmark.replay import Replay, architecture, random_bundle
from gec.eval.benchmark.speed import Timing, measure
from gec.models.load.bundle import Bundle

SAMPLE = 32
"""Sentences on which everything must agree before anything is timed."""
REFERENCE = "fp32"

Outputs = Mapping[Ids, Ids]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is compared, and how. ``strategies`` may hold ``floor``."""

    strategies: Sequence[str]
    precisions: Sequence[str]
    batch_sizes: Sequence[int] = (1,)
    rounds: int = ROUNDS
    peers: Sequence[str] = ()
    threads: int = 1
    device: torch.device
    fairseq_python: str = ""


@dataclass(frozen=True, slots=True)
class Study:
    """What one architecture gave. Without timings a contender was found to disagree."""

    architecture: str
    replayed: bool
    parameters: int
    timings: tuple[Timing, ...]
    agreements: tuple[Agreement, ...]
    missing: Mapping[str, str]

    @property
    def agrees(self) -> bool:
        return all(agreement.holds for agreement in self.agreements)


def length_limit(sources: Iterable[Ids], model: Model) -> int:
    """Return one limit for all outputs and engines: the product's rule for the longest source."""
    longest = max(map(len, sources))
    return min(int(1.5 * longest) + 20, model.max_positions)


def record(bundle: Bundle, sources: Sequence[Ids], device: torch.device) -> dict[Ids, Ids]:
    """Return what greedy decoding of the bundle in float32 gives for every source."""
    model = model_of(bundle.network, REFERENCE, device)
    return _decode(model, "greedy", REFERENCE, sources, length_limit(sources, model))


def real(bundle: Bundle, sources: Sequence[Ids], outputs: Outputs, options: Options) -> Study:
    """Time the bundle's own weights."""
    precisions = dict.fromkeys([*options.precisions, REFERENCE])
    models = {name: model_of(bundle.network, name, options.device) for name in precisions}
    limit = length_limit(sources, models[REFERENCE])
    with _peers(bundle, options, outputs, None, limit) as (peers, missing):
        judge = _Judge(models, sources, outputs, limit)
        known = {name: judge.expected("greedy", name) for name in options.precisions}
        words = bundle.subwords
        contenders = [*_ours(models, models, known, options, limit, words=words), *peers]
        ordered = sorted(set(sources), key=len)
        sample = ordered[:: max(1, len(ordered) // SAMPLE)][:SAMPLE]
        before = [
            judge(c, sample, c.decode(sample, options.batch_sizes[0]).outputs) for c in contenders
        ]
        checked = [agreement for agreement in before if agreement]
        timings: list[Timing] = []
        if all(agreement.holds for agreement in checked):
            timings = _measure(contenders, sources, options)
            after = [judge(t, t.sources, t.outputs, t.batch_size) for t in timings]
            checked = [agreement for agreement in after if agreement]
    return _study("the bundle", False, bundle, timings, checked, missing)


def replayed(
    bundle: Bundle,
    shape: str,
    vocabulary: int | None,
    sources: Sequence[Ids],
    outputs: Outputs,
    options: Options,
) -> Study:
    """Time random weights of another shape that write what the bundle wrote.

    Raises:
        ConfigError: no such shape.
        ModelError: a contender of ours wrote something else.
    """
    config = architecture(shape, bundle.transformer.config, vocabulary)
    other = random_bundle(bundle, config)
    models: dict[str, Model] = {}
    replays: dict[str, Model] = {}
    beams: dict[str, Model] = {}
    for name in options.precisions:
        models[name] = model_of(other.network, name, options.device)
        replays[name] = Replay(models[name], outputs)
        if any((beam_size(strategy) or 1) > 1 for strategy in options.strategies):
            logits = model_of(other.network, name, options.device, in_torch=True)
            beams[name] = Replay(logits, outputs)  # a beam asks for more than the best
    limit = 1 + max(len(output) for output in outputs.values())
    lengths = {source: 1 + len(output) for source, output in outputs.items()}
    with _peers(other, options, outputs, lengths, limit) as (peers, missing):
        known = dict.fromkeys(options.precisions, outputs)
        words = bundle.subwords
        contenders = [*_ours(replays, models, known, options, limit, beams, words), *peers]
        timings = _measure(contenders, sources, options)
    for timing in timings:
        if timing.engine == Ours.engine and timing.strategy != Floor.strategy:
            _check_replay(timing, outputs)
    return _study(shape, True, other, timings, [], missing)


@contextmanager
def _peers(
    bundle: Bundle,
    options: Options,
    outputs: Outputs,
    lengths: Mapping[Ids, int] | None,
    limit: int,
) -> Iterator[tuple[list[Contender], dict[str, str]]]:
    """Export to the peers asked for; close them and remove the exports in the end."""
    with TemporaryDirectory(prefix="gec-bench-") as folder, ExitStack() as stack:
        setup = Setup(
            bundle=bundle,
            folder=Path(folder),
            strategies=options.strategies,
            precisions=options.precisions,
            outputs=outputs,
            lengths=lengths,
            limit=limit,
            threads=options.threads,
            device=options.device,
            fairseq_python=options.fairseq_python,
            stack=stack,
        )
        yield gather(options.peers, setup)


def _ours(
    models: Mapping[str, Model],
    bare: Mapping[str, Model],
    outputs: Mapping[str, Outputs],
    options: Options,
    limit: int,
    beams: Mapping[str, Model] | None = None,
    words: Vocabulary | None = None,
) -> list[Contender]:
    """Return our strategies with ``models``, and the floor with the network ``bare`` of replay.

    Args:
        outputs: by precision: the floor is fed what the network itself writes.
        beams: the models of beam search, where they are others.
        words: the models' vocabulary; None: subwords as in ``en``.
    """
    found: list[Contender] = []
    for precision in options.precisions:
        for strategy in options.strategies:
            if strategy == Floor.strategy:
                found.append(Floor(bare[precision], outputs[precision], precision))
            else:
                own = beams if beams and (beam_size(strategy) or 1) > 1 else models
                found.append(Ours(own[precision], strategy, precision, limit, words=words))
    return found


def _measure(
    contenders: Sequence[Contender], sources: Sequence[Ids], options: Options
) -> list[Timing]:
    if not contenders:
        raise ConfigError("nothing to time: name strategies of gec, or peers that are installed")
    return [
        timing
        for size in options.batch_sizes
        for timing in measure(contenders, sources, size, rounds=options.rounds)
    ]


def _decode(
    model: Model, strategy: str, precision: str, sources: Sequence[Ids], limit: int
) -> dict[Ids, Ids]:
    unique = list(dict.fromkeys(sources))
    answer = Ours(model, strategy, precision, limit).decode(unique, 32)
    return dict(zip(unique, answer.outputs, strict=True))


class _Judge:
    """Compares outputs with what ours gave: the same strategy, in float32 for the peers."""

    def __init__(
        self,
        models: Mapping[str, Model],
        sources: Sequence[Ids],
        outputs: Outputs,
        limit: int,
    ) -> None:
        self.models, self.sources, self.limit = models, sources, limit
        self._known: dict[tuple[str, str], Outputs] = {("greedy", REFERENCE): outputs}

    def __call__(
        self,
        what: Contender | Timing,
        sources: Sequence[Ids],
        outputs: Sequence[Ids],
        batch_size: int | None = None,
    ) -> Agreement | None:
        """Return the agreement; None for what has no output of its own to compare."""
        own = what.engine in (Ours.engine, "torch")  # the same loop
        if what.strategy == Floor.strategy and not own:
            return None
        size = beam_size(what.strategy)
        strategy = f"beam{size}" if size and size > 1 else "greedy"
        precision = what.precision if own else REFERENCE
        strict = own or what.precision == REFERENCE
        name = f"{what.engine} {what.strategy} {what.precision}"
        return compare(
            name if batch_size is None else f"{name}, batch {batch_size}",
            strategy,
            what.precision,
            dict(zip(sources, outputs, strict=True)),
            self.expected(strategy, precision),
            self.models[precision],
            reference=f"gec {strategy} {precision}",
            strict=strict,
            limit=self.limit,
        )

    def expected(self, strategy: str, precision: str) -> Outputs:
        """Return what ours gives for every source."""
        key = strategy, precision
        if key not in self._known:
            model = self.models[precision]
            self._known[key] = _decode(model, strategy, precision, self.sources, self.limit)
        return self._known[key]


def _check_replay(timing: Timing, outputs: Outputs) -> None:
    for source, output in zip(timing.sources, timing.outputs, strict=True):
        if output != outputs[source]:
            raise ModelError(f"{timing.name} did not write what was recorded: please report it")


def _study(
    architecture: str,
    replayed: bool,
    bundle: Bundle,
    timings: Sequence[Timing],
    agreements: Sequence[Agreement],
    missing: Mapping[str, str],
) -> Study:
    parameters = sum(p.numel() for p in bundle.network.parameters())
    return Study(
        architecture, replayed, parameters, tuple(timings), tuple(agreements), dict(missing)
    )
