"""Where the time goes, by part of the network and of the loop (Ge et al. 2022, Tables 15 and 18).

Methods of the running network are wrapped with clocks; a part's time is its own, without that of
the parts it calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from gec.decoding.decoder import Decoder
from gec.decoding.model import Model
from gec.eval.benchmark.contenders import Ids, batches, decoder_for
from gec.eval.benchmark.harness import now
from gec.eval.benchmark.pages import markdown
from gec.models.engines.graphs import GraphEngine
from gec.models.engines.verifier import TransformerVerifier, Verifier
from gec.models.network.cache import LayerCache
from gec.models.network.transformer import DecoderLayer, Transformer

PARTS = (
    "encoder",
    "decoder, self-attention",
    "decoder, cross-attention",
    "decoder, feed-forward",
    "decoder, norms and embedding",
    "vocabulary projection",
    "drafting",
    "acceptance",
    "the rest",
)
PHASES = ("encode", "draft", "verify", "rest")
"""Where the time of any network goes: both encoders, the drafter's passes, the verifier's, all the
rest."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Milliseconds a sentence by part; their sum is ``total``."""

    strategy: str
    precision: str
    batch_size: int
    parts: Mapping[str, float]
    calls: Mapping[str, int]

    @property
    def total(self) -> float:
        return sum(self.parts.values())


def profile(
    model: Model,
    strategy: str,
    precision: str,
    sources: Sequence[Ids],
    batch_size: int = 1,
    warm_up: int = 3,
) -> Profile:
    """Decode the sources with clocks on every part.

    Passes are not captured for it: in a CUDA graph there are no parts.
    """
    if isinstance(model, Verifier) and isinstance(model.engine, GraphEngine):
        model = TransformerVerifier(model.network)
    decoder = decoder_for(strategy, model)
    ordered = sorted(sources, key=len)
    turns = list(batches(ordered, batch_size))
    for turn in turns[-warm_up:]:
        decoder.decode(turn, batch_size=batch_size)
    clock = _Clock()
    with clock.on(_network(model), decoder):
        began = now()
        for turn in turns:
            decoder.decode(turn, batch_size=batch_size)
        total = now() - began
    seconds = dict(clock.seconds)
    seconds["the rest"] = total - sum(seconds.values())
    parts = {part: 1000 * seconds.get(part, 0.0) / len(sources) for part in PARTS}
    return Profile(strategy, precision, batch_size, parts, dict(clock.calls))


def phase_shares(decoder: Decoder, sources: Sequence[Sequence[int]]) -> dict[str, float]:
    """Return which share of decoding goes into each of :data:`PHASES` (Ge et al. 2022, Table 18).

    The network may be any that meets the protocol: the methods of the protocol have the clocks.
    """
    methods: list[tuple[str, object, str]] = [
        ("encode", decoder.model, "start"),
        ("verify", decoder.model, "verify"),
        ("encode", decoder.drafter, "start"),
        ("draft", decoder.drafter, "propose"),
        ("draft", decoder.drafter, "observe"),
    ]
    clock = _Clock()
    with clock.wrapped([method for method in methods if hasattr(*method[1:])]):
        began = now()
        decoder.decode(sources, batch_size=len(sources))
        whole = now() - began
    spent = {phase: clock.seconds.get(phase, 0.0) for phase in PHASES}
    spent["rest"] = whole - sum(spent.values())
    return {phase: max(0.0, seconds) / whole for phase, seconds in spent.items()}


def profile_table(profiles: Sequence[Profile]) -> str:
    """Return parts down, strategies across: milliseconds a sentence and shares."""
    head = ["ms/sentence", *(f"{p.strategy} {p.precision}, batch {p.batch_size}" for p in profiles)]
    rows = [
        [part, *(f"{p.parts[part]:.2f} ({p.parts[part] / p.total:5.1%})" for p in profiles)]
        for part in PARTS
    ]
    rows.append(["all", *(f"{p.total:.2f} (100.0%)" for p in profiles)])
    return markdown(head, rows)


class _Clock:
    """Adds up the time of wrapped functions, each without what it calls."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.calls: defaultdict[str, int] = defaultdict(int)
        self._inner: list[float] = []

    def wrap(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **options: Any) -> Any:
            self._inner.append(0.0)
            began = now()
            try:
                return function(*args, **options)
            finally:
                whole = now() - began
                self.seconds[part] += whole - self._inner.pop()
                self.calls[part] += 1
                if self._inner:
                    self._inner[-1] += whole

        return timed

    @contextmanager
    def wrapped(self, methods: Sequence[tuple[str, object, str]]) -> Iterator[None]:
        """Wrap methods (part, owner, name) for a while."""
        for part, owner, name in methods:
            setattr(owner, name, self.wrap(part, getattr(owner, name)))
        try:
            yield
        finally:
            for _, owner, name in methods:
                delattr(owner, name)  # the class's own is there again

    @contextmanager
    def on(self, network: Transformer, decoder: Decoder) -> Iterator[None]:
        """Wrap everything of a transformer and of the loop for a while."""
        acceptance, write = decoder.acceptance, LayerCache.write
        decoder.acceptance = self.wrap("acceptance", acceptance)
        LayerCache.write = self.wrap("decoder, self-attention", write)  # type: ignore[method-assign]
        try:
            with self.wrapped(list(_methods(network, decoder))):
                yield
        finally:
            decoder.acceptance = acceptance
            LayerCache.write = write  # type: ignore[method-assign]


def _methods(network: Transformer, decoder: Decoder) -> Iterator[tuple[str, object, str]]:
    """Yield what is wrapped: part, owner, name."""
    yield "encoder", network, "encode"
    yield "decoder, norms and embedding", network, "decode_block"
    yield "vocabulary projection", network.output, "forward"
    yield "drafting", decoder.drafter, "propose"
    for layer in cast(Iterable[DecoderLayer], network.decoder):
        yield "decoder, self-attention", layer.attention, "project"
        yield "decoder, self-attention", layer.attention, "attend"
        yield "decoder, cross-attention", layer.cross, "keys_values"
        yield "decoder, cross-attention", layer.cross, "forward"
        yield "decoder, feed-forward", layer.ffn, "forward"


def _network(model: Any) -> Transformer:
    while not hasattr(model, "network"):
        model = model.model
    network: Transformer = model.network
    return network
