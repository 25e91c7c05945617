"""Replay: another network's work, the recorded model's choices."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from fake_models import RuleModel, tiny_network

from gec.decoding.acceptance import Kept
from gec.decoding.decoder import Decoder, Hypothesis, LengthLimit, State
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.drafters.reentry import ReentryDrafter
from gec.errors import ConfigError
from gec.eval.benchmark.contenders import Floor, Ids, Ours, decoder_for
from gec.eval.benchmark.replay import Replay, architecture, random_bundle
from gec.models.engines.scores import TorchScores
from gec.models.engines.verifier import TransformerVerifier
from gec.models.load import light
from gec.models.load.bundle import Bundle
from gec.models.network.transformer import TransformerConfig
from gec.text.subwords import Subwords

VOCABULARY = 31


def recording(seed: int, count: int = 9) -> dict[Ids, Ids]:
    """Sources, and outputs that follow them mostly: some empty, some copied, some far longer."""
    rng = random.Random(seed)
    found: dict[Ids, Ids] = {}
    while len(found) < count:
        source = tuple(rng.randrange(3, VOCABULARY) for _ in range(rng.randrange(1, 12)))
        output = list(source) if rng.random() < 0.9 else []
        for _ in range(rng.randrange(4)):
            place = rng.randrange(len(output) + 1)
            output[place : place + rng.randrange(2)] = [rng.randrange(3, VOCABULARY)]
        found[source] = tuple(output)
    return found


class Recorded(RuleModel):
    """The plain reference: without a network, each output token by its place alone."""

    def __init__(self, outputs: dict[Ids, Ids]) -> None:
        def rule(source: Ids, output: Ids) -> int:
            recorded = outputs[source]
            return recorded[len(output)] if len(output) < len(recorded) else self.eos_id

        super().__init__(rule, vocab_size=VOCABULARY)


class WithoutForesight(ReentryDrafter):
    def observe(self, state: State, kept: Sequence[Kept]) -> None:
        """A recording does not tell what would have been foreseen."""


def replay(outputs: dict[Ids, Ids], engine: str = "torch") -> Replay:
    network = tiny_network(1)
    if engine == "torch":
        return Replay(TransformerVerifier(network), outputs)
    return Replay(light.verifier_of(light.from_torch(network, "fp32")), outputs)


def passes(found: Sequence[list[Hypothesis]]) -> list[tuple[Ids, Any]]:
    return [(hypotheses[0].tokens, hypotheses[0].steps) for hypotheses in found]


@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("strategy", ["greedy", "iad"])
@pytest.mark.parametrize("engine", ["torch", "light"])
def test_same_tokens_and_passes_as_the_reference(
    engine: str, strategy: str, seed: int, batch_size: int
) -> None:
    outputs = recording(seed)
    limit = LengthLimit(0, 50)
    sources = list(outputs)
    model = replay(outputs, engine)
    found = decoder_for(strategy, model, limit).decode(sources, batch_size=batch_size)
    drafter = WithoutForesight(dict.fromkeys(Subwords.markers, 0)) if strategy == "iad" else None
    plain = Decoder(Recorded(outputs), drafter, limit=limit)
    wanted = plain.decode(sources, batch_size=batch_size)
    assert passes(found) == passes(wanted)
    assert [tokens for tokens, _ in passes(found)] == [outputs[source] for source in sources]


@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("size", [2, 5])
def test_every_beam_ends_where_the_recording_ends(size: int, batch_size: int) -> None:
    outputs = recording(7)
    decoder = decoder_for(f"beam{size}", replay(outputs), LengthLimit(0, 50))
    for source, hypotheses in zip(
        outputs, decoder.decode(list(outputs), batch_size=batch_size), strict=True
    ):
        assert hypotheses[0].tokens == outputs[source]
        assert len(hypotheses) == (size if outputs[source] else 1)
        assert {len(h.tokens) for h in hypotheses} == {len(outputs[source])}


def test_the_choice_is_the_recorded_one_and_off_the_way_the_drafted_one() -> None:
    outputs = {(5, 6, 7): (5, 9, 7, 8)}
    model = replay(outputs)
    memory = model.start([(5, 6, 7)])
    raw = model.verify(memory, [[1, 5, 9, 7, 8]], [0]).raw
    assert raw.argmax(-1).tolist() == [5, 9, 7, 8, 2]
    raw = model.verify(memory, [[1, 5, 20, 21, 22, 23]], [0]).raw
    assert raw.argmax(-1).tolist() == [5, 9, 21, 22, 23, 2]
    assert model.verify(memory, [[13]], [2]).raw.argmax(-1).tolist() == [7]


class Counting:
    """Notes what a model is asked."""

    def __init__(self, model: TransformerVerifier) -> None:
        self.model, self.blocks = model, []  # type: ignore[var-annotated]
        self.bos_id, self.eos_id = model.bos_id, model.eos_id
        self.max_positions = model.max_positions

    def start(self, sources: Sequence[Sequence[int]]) -> Any:
        return self.model.start(sources)

    def verify(
        self, memory: Any, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> TorchScores:
        self.blocks.append([list(block) for block in tokens])
        return self.model.verify(memory, tokens, starts)

    def select(self, memory: Any, rows: Sequence[int]) -> Any:
        return self.model.select(memory, rows)

    def join(self, memory: Any, other: Any) -> Any:
        return self.model.join(memory, other)


def test_the_network_sees_every_block() -> None:
    inner = Counting(TransformerVerifier(tiny_network(1)))
    outputs = {(5, 6, 7): (5, 9, 7)}
    Decoder(Replay(inner, outputs), CopyDrafter()).decode([(5, 6, 7)])
    # the source is fed as a draft, it is left at 6, and goes on after the 7
    assert inner.blocks == [[[1, 5, 6, 7]], [[9]], [[7]]]


def test_the_floor_is_one_pass(tiny: Bundle, sources: list[Ids]) -> None:
    model = TransformerVerifier(tiny.network)
    known = Ours(model, "greedy", limit=40).decode(sources, 4).outputs
    floor = Floor(model, dict(zip(sources, known, strict=True)))
    for batch_size in (1, 3):
        answer = floor.decode(sources, batch_size)
        assert answer.passes == len(sources)
        # a random network goes on to the limit, where the floor sees one token more
        pairs = zip(answer.outputs, known, strict=True)
        assert [output[: len(k)] for output, k in pairs] == known


BASE = TransformerConfig(vocab_size=100, width=32, heads=2, max_positions=70)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("6+6x512", (6, 6, 512, 8, 2048)),
        ("12+2x512", (12, 2, 512, 8, 2048)),
        ("6+6x1024", (6, 6, 1024, 16, 4096)),
        ("1+2x48,ffn=100,heads=3", (1, 2, 48, 3, 100)),
        ("bundle", (6, 6, 32, 2, 2048)),
    ],
)
def test_architectures(text: str, expected: tuple[int, ...]) -> None:
    config = architecture(text, BASE, 200)
    layers = config.encoder_layers, config.decoder_layers
    assert (*layers, config.width, config.heads, config.ffn_width) == expected
    assert (config.vocab_size, config.max_positions) == (200, 70)


@pytest.mark.parametrize(
    ("text", "vocabulary", "message"),
    [
        ("6x512", None, "layers and width as in 6\\+6x512"),
        ("6+6x512,depth=2", None, "has ffn and heads, not 'depth'"),
        ("6+6x512,heads=7", None, "no multiple of 7 heads"),
        ("6+6x512,heads=0", None, "no multiple of 0 heads"),
        ("0+6x512", None, "at least 1"),
        ("6+6x512", 99, "at least the bundle's 100 vocabulary entries, not 99"),
    ],
)
def test_impossible_architectures(text: str, vocabulary: int | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        architecture(text, BASE, vocabulary)


def test_a_random_bundle_is_the_same_every_time(tiny: Bundle) -> None:
    config = architecture("1+1x16,ffn=8,heads=2", tiny.network.config, 300)
    before = torch.random.get_rng_state()
    first, second = (random_bundle(tiny, config).network.state_dict() for _ in range(2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(tensor, second[name]) for name, tensor in first.items())
    assert first["output.weight"].shape == (300, 16)
