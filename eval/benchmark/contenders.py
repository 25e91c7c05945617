"""What is timed: our own strategies, and the floor under all of them.

A contender decodes token ids and says how long encoding and decoding took. Peers are in
:mod:`gec.eval.benchmark.peers`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch

from gec.decoding.beam import BeamSearch
from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters.aligned import AlignedCopyDrafter
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.drafters.reentry import ReentryDrafter, Vocabulary
from gec.decoding.model import Model
from gec.errors import ConfigError
from gec.eval.benchmark.harness import now
from gec.memory import reuse_memory
from gec.models.engines.inference import Network, prepare
from gec.models.engines.quantization import quantize
from gec.models.load import light
from gec.models.load.verifiers import verifier
from gec.text.subwords import Subwords

T = TypeVar("T")

Ids = tuple[int, ...]
"""Token ids without BOS and EOS."""

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
PRECISIONS = (*DTYPES, "int8")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a contender gave for some sources.

    Attributes:
        outputs: in the order of the sources.
        seconds: wall time of encoding and decoding alone.
        passes: of the decoder, added up over the sentences; None where nobody counted.
        drafted, accepted: tokens.
    """

    outputs: list[Ids]
    seconds: float
    passes: int | None = None
    drafted: int = 0
    accepted: int = 0


class Contender(Protocol):
    """Decodes; ``engine``, ``strategy`` and ``precision`` tell it from others."""

    engine: str
    strategy: str
    precision: str

    def decode(self, sources: Sequence[Ids], batch_size: int) -> Answer:
        """Decode sources of like length, at most ``batch_size`` of them at a time."""


def model_of(
    network: Network, precision: str, device: torch.device, *, in_torch: bool = False
) -> Model:
    """Return what the loop decodes with; the network itself stays as it is.

    The engine is the product's, which is not torch if another one can run the network
    (:mod:`gec.models.load.light`), or torch.

    Raises:
        ConfigError: an unknown precision.
        ModelError: int8 on anything but a CPU.
    """
    if precision not in PRECISIONS:
        raise ConfigError(
            f"unknown precision {precision!r}, expected some of {', '.join(PRECISIONS)}"
        )
    if device.type == "cpu":
        reuse_memory()  # as the command line does; it serves every engine of this process
    if not in_torch and light.refusal(network.config, device.type, precision) is None:
        return light.verifier_of(light.from_torch(network, precision))
    own = copy.deepcopy(network)
    if precision == "int8":
        return verifier(quantize(own.float().to(device)))
    return verifier(prepare(own.to(device, DTYPES[precision])))


def beam_size(strategy: str) -> int | None:
    """Return 1 for greedy, the size for beam search (5 where it says only ``beam``), else None.

    ``beam5+copy`` is beam search with the source as every hypothesis's draft.
    """
    if strategy == "greedy":
        return 1
    match = re.fullmatch(r"beam([1-9]\d*)?(\+copy)?", strategy)
    return int(match[1] or 5) if match else None


def copying(words: Vocabulary | None) -> ReentryDrafter:
    """Return the product's copying drafter for a vocabulary; None: subwords as in ``en``."""
    if words is None:
        return ReentryDrafter(dict.fromkeys(Subwords.markers, 0))
    return ReentryDrafter.of(words)


def decoder_for(
    strategy: str,
    model: Model,
    limit: LengthLimit | None = None,
    words: Vocabulary | None = None,
) -> Decoder:
    """Return the decoder of a strategy: greedy, iad, or beam with a size, as in ``beam5``.

    ``iad`` is the product's, ``iad-paper`` Algorithm 1 of Ge et al. 2022 to the letter.
    """
    if strategy == "iad":
        return Decoder(model, copying(words), limit=limit)
    if strategy == "iad-paper":
        return Decoder(model, CopyDrafter(), limit=limit)
    size = beam_size(strategy)
    if size is None:
        raise ConfigError(
            f"unknown strategy {strategy!r}, "
            "expected greedy, iad, iad-paper, beam, beam5 or beam5+copy"
        )
    drafter = AlignedCopyDrafter() if strategy.endswith("+copy") else None
    return Decoder(model, drafter, BeamSearch(size) if size > 1 else None, limit=limit)


class Ours:
    """The one loop with a drafter and an acceptance rule.

    Args:
        limit: the most tokens of an output, EOS included; None: the product's rule.
        words: the model's vocabulary; None: subwords as in ``en``.
    """

    engine = "gec"

    def __init__(
        self,
        model: Model,
        strategy: str,
        precision: str = "fp32",
        limit: int | None = None,
        engine: str = engine,
        words: Vocabulary | None = None,
    ) -> None:
        self.engine, self.strategy, self.precision = engine, strategy, precision
        own = LengthLimit(0.0, limit) if limit is not None else None
        self.decoder = decoder_for(strategy, model, own, words)

    def decode(self, sources: Sequence[Ids], batch_size: int) -> Answer:
        began = now()
        found = self.decoder.decode(sources, batch_size=batch_size)
        seconds = now() - began
        best = [hypotheses[0] for hypotheses in found]
        steps = [step for hypothesis in best for step in hypothesis.steps]
        return Answer(
            [hypothesis.tokens for hypothesis in best],
            seconds,
            len(steps),
            sum(step.drafted for step in steps),
            sum(step.accepted for step in steps),
        )


class Floor:
    """The encoder once and the decoder once over an output known beforehand (teacher forcing).

    No decoder that runs the network can be faster. What it returns are the most probable tokens,
    which are the known output again where that came from greedy decoding of the same network.
    """

    engine, strategy = "gec", "floor"

    def __init__(self, model: Model, outputs: Mapping[Ids, Ids], precision: str = "fp32") -> None:
        self.model, self.outputs, self.precision = model, outputs, precision

    @torch.inference_mode()
    def decode(self, sources: Sequence[Ids], batch_size: int) -> Answer:
        model = self.model
        known = [self.outputs[source] for source in sources]
        rows: list[list[int]] = []
        began = now()
        for batch in batches(range(len(sources)), batch_size):
            memory = model.start([sources[i] for i in batch])
            # the last place scores EOS, and a decoder without it would not know that it is done
            blocks = [[model.bos_id, *known[i]][: model.max_positions] for i in batch]
            scores = model.verify(memory, blocks, [0] * len(blocks))
            rows += scores.read(scores.best())[0]
        seconds = now() - began
        ended = [
            _until(row[: len(k) + 1], model.eos_id) for row, k in zip(rows, known, strict=True)
        ]
        return Answer(ended, seconds, len(sources))


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for first in range(0, len(items), size):
        yield items[first : first + size]


def _until(tokens: Sequence[int], eos_id: int) -> Ids:
    return tuple(tokens[: tokens.index(eos_id)] if eos_id in tokens else tokens)
