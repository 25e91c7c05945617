"""Every engine serves every head: what a head reads is what the whole network computes at once."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import pytest
import torch
from fake_models import BOS, EOS, tiny_network
from torch import Tensor

from gec.models.engines import native
from gec.models.engines.eager import EagerEngine
from gec.models.engines.engine import Engine, LayeredEngine
from gec.models.engines.exit_verifier import EarlyExitVerifier
from gec.models.engines.graphs import GraphEngine, uncaptured
from gec.models.engines.heads_verifier import HeadsVerifier
from gec.models.engines.inference import prepare
from gec.models.engines.llama_engine import LlamaEngine
from gec.models.engines.verifier import Verifier
from gec.models.network.cache import PassingCache, Positions
from gec.models.network.heads import Heads
from gec.models.network.llama import Llama, LlamaConfig
from gec.models.network.transformer import Transformer

SOURCES = [[4, 5, 6, 7], [8], [9, 10]]
PASSES: list[tuple[list[list[int]], list[int]]] = [
    ([[BOS, 11, 12], [BOS], [BOS, 13]], [0, 0, 0]),
    ([[14], [15], [16]], [2, 1, 2]),
    ([[17, 18], [19, 20], [21, 22]], [3, 2, 1]),
    ([[23], [24, 25, 26], [27]], [5, 1, 3]),
]
"""Blocks, ragged and even, and where they begin; some begin before what is cached ends."""


def network(**settings: object) -> Transformer:
    return tiny_network(8, decoder_layers=3, **settings).float()


ENGINES: dict[str, Callable[[Transformer], LayeredEngine]] = {
    "eager": EagerEngine,
    "native": lambda network: EagerEngine(prepare(network)),
    "graphs": lambda network: GraphEngine(network, uncaptured, captured_at=1),
}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> LayeredEngine:
    if request.param == "native" and not native.available():
        pytest.skip("the extension does not run here")
    return ENGINES[request.param](network())


def states(whole: Transformer, source: Sequence[int], fed: Sequence[int], layers: int) -> Tensor:
    """Return the states [T, D] behind some layers, of all tokens at once and without a cache."""
    encoded = whole.encode(torch.tensor([[*source, EOS]]))
    caches = [PassingCache(cache) for cache in whole.caches(encoded)]
    positions = Positions.of([0], len(fed), whole.device)
    x = whole.embed_block(torch.tensor([fed]), positions)
    return whole.decode_layers(x, [*caches], positions, None, slice(layers))[0]


def fed_after(fed: list[list[int]], blocks: list[list[int]], starts: list[int]) -> list[list[int]]:
    return [[*f[:start], *b] for f, b, start in zip(fed, blocks, starts, strict=True)]


def close(found: Tensor, want: Tensor) -> None:
    torch.testing.assert_close(found, want, rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_the_output_layer(engine: LayeredEngine) -> None:
    whole, model = network(), Verifier(engine)
    memory, fed = model.start(SOURCES), [[], [], []]  # type: ignore[var-annotated]
    for blocks, starts in PASSES:
        fed = fed_after(fed, blocks, starts)
        scores = model.verify(memory, blocks, starts)
        assert len(scores.raw) == sum(map(len, blocks)), "nothing is computed for padding"
        for row, begin in enumerate(scores.begins):
            want = whole.output(whole.final(states(whole, SOURCES[row], fed[row], 3)))
            close(scores.raw[begin : begin + len(blocks[row])], want[starts[row] :])


def heads_of(width: int) -> Heads:
    torch.manual_seed(3)
    return Heads(2, width, 16).eval()


@torch.inference_mode()
def test_extra_heads(engine: LayeredEngine) -> None:
    whole, heads = network(), heads_of(32)
    model = HeadsVerifier(engine, heads)
    memory, fed = model.start(SOURCES), [[], [], []]  # type: ignore[var-annotated]
    for blocks, starts in PASSES:
        fed = fed_after(fed, blocks, starts)
        model.verify(memory, blocks, starts)
        places = [len(block) // 2 for block in blocks]
        for row, found in enumerate(model.propose(memory, places, 2)):
            hidden = whole.final(states(whole, SOURCES[row], fed[row], 3))
            hidden = hidden[min(starts[row] + places[row], len(fed[row]) - 1)]
            want = [int(whole.output(heads(hidden, head)).argmax()) for head in range(2)]
            assert found == want


@torch.inference_mode()
def test_an_early_exit(engine: LayeredEngine) -> None:
    """The exit drafts over half of each block, then the verifier scores the whole of it."""
    whole, model = network(), EarlyExitVerifier(engine, 2)
    memory, fed = model.start(SOURCES), [[], [], []]  # type: ignore[var-annotated]
    for blocks, starts in PASSES:
        fed = fed_after(fed, blocks, starts)
        halves = [block[: (len(block) + 1) // 2] for block in blocks]
        early = model.exit.verify(memory, halves, starts)
        late = model.verify(memory, blocks, starts)
        for row, (source, start) in enumerate(zip(SOURCES, starts, strict=True)):
            for scores, layers, part in ((early, 2, halves[row]), (late, 3, blocks[row])):
                behind = whole.final(states(whole, source, fed[row], layers))
                want = whole.output(behind[start : start + len(part)])
                close(scores.logits[row, : len(part)], want)  # type: ignore[attr-defined]


@torch.inference_mode()
def test_extra_heads_on_a_decoder_only_network() -> None:
    config = LlamaConfig(
        vocab_size=40, width=32, heads=4, kv_heads=2, layers=2, ffn_width=48, max_positions=64,
        bos_id=1, eos_id=2, separator=(5, 7),
    )  # fmt: skip
    torch.manual_seed(0)
    whole = Llama(config).eval()
    heads, model = heads_of(32), HeadsVerifier(LlamaEngine(copy.deepcopy(whole)), heads_of(32))
    seen: list[Tensor] = []
    whole.norm.register_forward_hook(lambda module, given, result: seen.append(result))
    memory, fed = model.start(SOURCES), [[], [], []]  # type: ignore[var-annotated]
    for blocks, starts in PASSES:
        blocks = [[7 if token == BOS else token for token in block] for block in blocks]
        fed = fed_after(fed, blocks, starts)
        model.verify(memory, blocks, starts)
        places = [len(block) - 1 for block in blocks]
        for row, found in enumerate(model.propose(memory, places, 2)):
            tokens = torch.tensor([[1, *SOURCES[row], 5, *fed[row]]])
            whole(tokens, torch.ones_like(tokens, dtype=torch.bool))
            hidden = seen[-1][-1]
            assert found == [int(whole.output(heads(hidden, h)).argmax()) for h in range(2)]


def test_an_engine_is_one(engine: Engine) -> None:
    """What heads copy of an engine is what the loop asks a model for."""
    for model in (Verifier(engine), HeadsVerifier(engine, heads_of(32))):
        assert (model.bos_id, model.eos_id) == (engine.bos_id, engine.eos_id)
        assert model.max_positions == engine.max_positions
