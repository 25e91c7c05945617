"""Drafts of blocks for a decoder alone, by a network that reads its states of the source."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
import torch

from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters import Drafter, NoDraft
from gec.decoding.drafters.nat import NatDrafter
from gec.models.engines.light import LightDecoder
from gec.models.engines.light_blocks import LightBlocks, RememberingDecoder
from gec.models.engines.llama_engine import LlamaEngine, RememberingLlamaEngine
from gec.models.engines.nat_blocks import TransformerBlocks
from gec.models.engines.verifier import Verifier
from gec.models.load import light
from gec.models.native.library import library
from gec.models.native.network import NativeNetwork
from gec.models.network.llama import Llama, LlamaConfig
from gec.models.network.nat import NatTransformer
from gec.models.network.nat_config import NatConfig
from gec.models.network.transformer_config import TransformerConfig

CONFIG = LlamaConfig(
    vocab_size=40, width=48, heads=6, kv_heads=2, ffn_width=64, layers=3, max_positions=160,
    separator=(5, 7),
)  # fmt: skip
NAT = NatConfig(block=6, causal_prefix=True, shared_encoder=True)
SOURCES = [[3, 9, 11, 4, 30], [8], [], [12, 13, 14, 15, 16, 17, 18, 19, 20], [33, 6]]
native = pytest.mark.skipif(library() is None, reason="there is no C library here")


@cache
def networks() -> tuple[Llama, NatTransformer]:
    torch.manual_seed(2)
    network = Llama(CONFIG)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.25 if parameter.ndim > 1 else 0.5)
    settings = TransformerConfig(
        vocab_size=40, width=48, heads=6, ffn_width=64, encoder_layers=1, decoder_layers=1,
        max_positions=80, bos_id=CONFIG.separator[-1], eos_id=CONFIG.eos_id, pad_id=0,
    )  # fmt: skip
    drafter = NatTransformer(settings, NAT)
    with torch.no_grad():
        for parameter in drafter.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
        # what the verifier writes at random is drafted at random, too, and sometimes right
        drafter.embedding.weight.copy_(network.embedding.weight)
        drafter.embedding.weight[settings.pad_id].zero_()
    return network.eval(), drafter.eval()


@cache
def in_c() -> tuple[NativeNetwork, NativeNetwork]:
    network, drafter = networks()
    return light.from_torch(network, "fp32"), light.from_torch(drafter, "fp32", NAT)


@torch.inference_mode()
def states(source: Sequence[int]) -> torch.Tensor:
    """Return what the last layer makes of all that stands before an output, recomputed."""
    network, _ = networks()
    row = torch.tensor([[CONFIG.bos_id, *source, *CONFIG.separator[:-1]]])
    x = network.embedding(row)
    cos, sin = (part[: row.shape[1], None].to(x) for part in network.angles())
    for layer in network.layers:
        x = layer(x, cos, sin)
    hidden: torch.Tensor = network.norm(x[0])
    return hidden


def test_states_are_those_of_the_last_layer() -> None:
    engine = RememberingLlamaEngine(networks()[0])
    engine.start(SOURCES)
    found = engine.encoded(SOURCES)
    assert found.lengths == [len(source) + 2 for source in SOURCES]
    for row, (length, source) in enumerate(zip(found.lengths, SOURCES, strict=True)):
        assert torch.allclose(found.states[row, :length], states(source), atol=1e-5)
    assert engine.encoded(SOURCES) is found
    assert torch.allclose(engine.encoded([[4, 4]]).states[0], states([4, 4]), atol=1e-5)


@native
def test_states_without_torch() -> None:
    verifier = RememberingDecoder(in_c()[0])
    verifier.start(SOURCES)
    found = verifier.encoded(SOURCES)
    whole = torch.cat([states(source) for source in SOURCES]).numpy()
    assert np.allclose(found.states, whole, atol=1e-4)
    assert verifier.encoded(SOURCES) is found
    assert np.allclose(verifier.encoded([[4]]).states, states([4]).numpy(), atol=1e-4)


@native
def test_remembering_changes_no_bit() -> None:
    found = []
    for model in (LightDecoder(in_c()[0]), RememberingDecoder(in_c()[0])):
        memory = model.start(SOURCES[:2])
        scores = model.verify(memory, [[7, 4, 5], [7, 9]], [0, 0])
        memory = model.join(model.select(memory, [1]), model.start(SOURCES[3:4]))
        more = model.verify(memory, [[9, 4], [7]], [1, 0])
        found.append([s.read(*s.logprobs(s.best())) for s in (scores, more)])
    assert found[0] == found[1]


@native
def test_drafts_without_torch_are_torchs() -> None:
    network, drafter = networks()
    theirs = TransformerBlocks(drafter, RememberingLlamaEngine(network))
    ours = LightBlocks(in_c()[1], NAT, RememberingDecoder(in_c()[0]))
    memory, our_memory = theirs.start(SOURCES), ours.start(SOURCES)
    rng = random.Random(4)
    outputs: list[list[int]] = [[] for _ in SOURCES]
    for k in (6, 1, 4, 3):
        wanted, sure = theirs.draft(memory, outputs, k)
        found, certain = ours.draft(our_memory, outputs, k)
        assert found == wanted
        assert np.allclose(certain, sure, atol=1e-4)
        outputs = [[*o, *(rng.randrange(3, 40) for _ in range(rng.randint(0, 3)))] for o in outputs]


def decoded(model: object, drafter: Drafter, batch_size: int) -> list[tuple[int, ...]]:
    decoder = Decoder(model, drafter, limit=LengthLimit(1.0, 12))  # type: ignore[arg-type]
    return [best.tokens for [best] in decoder.decode(SOURCES * 2, batch_size=batch_size)]


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("k", [1, 4])
def test_gad_is_greedy(k: int, batch_size: int) -> None:
    network, drafter = networks()
    expected = decoded(Verifier(LlamaEngine(network)), NoDraft(), 1)
    assert len({len(tokens) for tokens in expected}) > 1
    engine = RememberingLlamaEngine(network)
    blocks = TransformerBlocks(drafter, engine)
    verifier = Verifier(engine)
    assert decoded(verifier, NatDrafter(blocks, k, verifier=verifier), batch_size) == expected


@native
@pytest.mark.parametrize("batch_size", [1, 3])
def test_gad_is_greedy_without_torch(batch_size: int) -> None:
    expected = decoded(LightDecoder(in_c()[0]), NoDraft(), 1)
    verifier = RememberingDecoder(in_c()[0])
    blocks = LightBlocks(in_c()[1], NAT, verifier)
    assert decoded(verifier, NatDrafter(blocks, 4, verifier=verifier), batch_size) == expected
