"""A drafter that reads what the verifier made of the output so far.

The reference computes everything anew for each draft: the verifier's states by teacher forcing, the
drafter's by a pass over the whole prefix and its MASKs.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch
from fake_models import tiny_network
from torch import Tensor

from gec.decoding.acceptance import Exact, TopBeta
from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters import Drafter, NoDraft
from gec.decoding.drafters.lookup import LookupDrafter, LookupOr
from gec.decoding.drafters.nat import NatDrafter
from gec.errors import ModelError
from gec.models.engines.eager import RememberingEngine
from gec.models.engines.light_blocks import LightBlocks, remembering_verifier
from gec.models.engines.llama_engine import RememberingLlamaEngine
from gec.models.engines.nat_blocks import TransformerBlocks
from gec.models.engines.verifier import Verifier
from gec.models.load import light
from gec.models.native.library import library
from gec.models.network.cache import PassingCache, Positions
from gec.models.network.llama import Llama, LlamaConfig
from gec.models.network.nat import NatTransformer
from gec.models.network.nat_config import NatConfig
from gec.models.network.transformer import Transformer
from gec.models.network.transformer_config import TransformerConfig
from gec.models.training.verifier_states import VerifierStates

CONFIG = LlamaConfig(
    vocab_size=40, width=48, heads=6, kv_heads=2, ffn_width=64, layers=3, max_positions=160,
    separator=(7,),
)  # fmt: skip
SOURCES = [[3, 9, 11, 4, 30], [8], [], [12, 13, 14, 15, 16, 17, 18, 19, 20], [33, 6]]
NAT = NatConfig(block=6, causal_prefix=True, shared_encoder=True, output_states=True)
LIMIT = LengthLimit(1.0, 12)
K = 4
FEW = replace(NAT, output_ids=(2, *range(5, 40, 2)))
"""A drafter that can say half of the vocabulary and EOS."""


def networks(kind: str, nat: NatConfig = NAT) -> tuple[Transformer | Llama, NatTransformer]:
    """Return a verifier and a drafter of random weights, whose drafts are sometimes right."""
    torch.manual_seed(2)
    verifier: Transformer | Llama
    if kind == "decoder alone":
        verifier = Llama(CONFIG)
        for parameter in verifier.parameters():
            torch.nn.init.normal_(parameter, std=0.25 if parameter.ndim > 1 else 0.5)
        config = TransformerConfig(
            vocab_size=40, width=48, heads=6, ffn_width=64, encoder_layers=1, decoder_layers=1,
            max_positions=80, bos_id=CONFIG.separator[-1], eos_id=CONFIG.eos_id, pad_id=0,
        )  # fmt: skip
    else:
        verifier = tiny_network(25, vocab_size=40, decoder_layers=2).float()
        config = TransformerConfig.from_dict(verifier.config.to_dict() | {"decoder_layers": 1})
    config = replace(config, tie_embeddings=not nat.output_ids)
    drafter = NatTransformer(config, nat)
    with torch.no_grad():
        for parameter in drafter.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
        drafter.embedding.weight.copy_(verifier.embedding.weight)
        drafter.embedding.weight[config.pad_id].zero_()
        drafter.states.weight.normal_(std=0.3)
        if nat.output_ids:
            drafter.output.weight.copy_(drafter.embedding.weight[list(nat.output_ids)])
    return verifier.eval(), drafter.eval()


def read(verifier: Transformer | Llama, source: Sequence[int], output: Sequence[int]) -> Any:
    """Return the states of the source, and those of BOS and an output, [1, ., D] each."""
    if isinstance(verifier, Llama):
        before = [CONFIG.bos_id, *source, *CONFIG.separator[:-1]]
        row = torch.tensor([[*before, CONFIG.separator[-1], *output]])
        states = verifier.states(row)
        return states[:, : len(before)], states[:, len(before) :]
    config = verifier.config
    encoded = verifier.encode(torch.tensor([[*source, config.eos_id]]))
    caches = [PassingCache(cache) for cache in verifier.caches(encoded)]
    tokens = torch.tensor([[config.bos_id, *output]])
    positions = Positions.of([0], tokens.shape[1], tokens.device)
    return encoded, verifier.decode_block(tokens, [*caches], positions)


@torch.inference_mode()
def reference(
    verifier: Transformer | Llama,
    drafter: NatTransformer,
    source: Sequence[int],
    output: Sequence[int],
    *,
    read_output: bool = True,
) -> list[int]:
    """Return the K tokens after an output that the drafter must propose."""
    encoded, states = read(verifier, source, output)
    if not read_output:
        states = torch.zeros_like(states)
    row = torch.tensor([[drafter.config.bos_id, *output, *[drafter.mask_id] * K]])
    prefixes = torch.tensor([1 + len(output)])
    # the last token of the prefix has not been verified: its state must make no difference
    states[:, len(output) :] = 1e4
    hidden: Tensor = drafter.blocks(row, prefixes, drafter.caches(encoded), None, K, states)
    places: list[int] = drafter.output(hidden)[0].argmax(-1).tolist()
    return [drafter.nat.output_ids[place] for place in places] if FEW is drafter.nat else places


@dataclass
class Recorded:
    """Blocks that note each draft: its source, the output so far, the tokens."""

    blocks: Any
    drafts: list[tuple[Sequence[int], list[int], list[int]]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.blocks, name)

    def start(self, sources: Sequence[Sequence[int]]) -> Any:
        return self.blocks.start(sources), list(sources)

    def draft(self, memory: Any, outputs: Any, k: int, verified: Any) -> Any:
        tokens, sure = self.blocks.draft(memory[0], outputs, k, verified)
        self.drafts += zip(memory[1], map(list, outputs), tokens, strict=True)
        return tokens, sure

    def select(self, memory: Any, rows: Sequence[int]) -> Any:
        return self.blocks.select(memory[0], rows), [memory[1][row] for row in rows]

    def join(self, memory: Any, other: Any) -> Any:
        return self.blocks.join(memory[0], other[0]), memory[1] + other[1]


@contextmanager
def made(kind: str, engine: str, nat: NatConfig = NAT) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the networks, the verifier and the blocks, as an engine runs them."""
    verifier, drafter = networks(kind, nat)
    if engine == "light":
        model = remembering_verifier(light.from_torch(verifier, "fp32"), keeps_output=True)
        blocks: Any = LightBlocks(light.from_torch(drafter, "fp32", nat), nat, model)
        yield (verifier, drafter), model, blocks
        return
    alone = isinstance(verifier, Llama)
    runs: Any = (RememberingLlamaEngine if alone else RememberingEngine)(
        verifier,  # type: ignore[arg-type]
        keeps_output=True,
    )
    yield (verifier, drafter), Verifier(runs), TransformerBlocks(drafter, runs)


ENGINES = [
    "torch",
    pytest.param("light", marks=pytest.mark.skipif(library() is None, reason="no C library")),
]
KINDS = ["encoder-decoder", "decoder alone"]


@pytest.mark.parametrize("rule", [Exact(), TopBeta(3, 1.0)], ids=["gad", "gad++"])
@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("nat", [NAT, FEW], ids=["all ids", "few ids"])
@pytest.mark.parametrize("kind", KINDS)
def test_drafts_are_the_references(
    kind: str, nat: NatConfig, engine: str, batch_size: int, rule: Any
) -> None:
    """Rows end, others take their places, and drafts stand in part."""
    with made(kind, engine, nat) as (both, model, blocks):
        recorded = Recorded(blocks)
        decoder = Decoder(model, NatDrafter(recorded, K), rule, limit=LIMIT)
        found = decoder.decode(SOURCES * 2, batch_size=batch_size)
        assert len(recorded.drafts) > 2 * len(SOURCES)
        for source, output, tokens in recorded.drafts:
            assert tokens == reference(*both, source, output)
        changed = [
            tokens != reference(*both, source, output, read_output=False)
            for source, output, tokens in recorded.drafts
        ]
        assert any(changed), "the states make no difference"
        if isinstance(rule, Exact):
            plain: Drafter = NoDraft()
            expected = Decoder(model, plain, limit=LIMIT).decode(SOURCES * 2, batch_size=1)
            assert [best.tokens for [best] in found] == [best.tokens for [best] in expected]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_drafter_that_is_not_asked_each_time(kind: str, engine: str) -> None:
    """Where copies draft, the network misses passes, and catches up."""
    with made(kind, engine) as (both, model, blocks):
        plain: Drafter = NoDraft()
        expected = Decoder(model, plain, limit=LIMIT).decode(SOURCES, batch_size=1)
        sources = [
            [*source, *best.tokens] for source, [best] in zip(SOURCES, expected, strict=True)
        ]
        recorded = Recorded(blocks)
        drafter = LookupOr(LookupDrafter(2), NatDrafter(recorded, K))
        found = Decoder(model, drafter, limit=LIMIT).decode(sources, batch_size=2)
        expected = Decoder(model, plain, limit=LIMIT).decode(sources, batch_size=1)
        assert [best.tokens for [best] in found] == [best.tokens for [best] in expected]
        assert len(recorded.drafts) < sum(len(best.steps) for [best] in found)
        for source, output, tokens in recorded.drafts:
            assert tokens == reference(*both, source, output)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_not_kept_is_zero(kind: str, engine: str) -> None:
    """A drafter that begins in the middle reads what is there; alone it reads nothing."""
    rng = random.Random(1)
    with made(kind, engine) as (both, model, blocks):
        output = [rng.randrange(3, 40) for _ in range(5)]
        memory = blocks.start(SOURCES[:1])
        [tokens], _ = blocks.draft(memory, [output], K)
        assert tokens == reference(*both, SOURCES[0], output, read_output=False)
        kept = model.start(SOURCES[:1])
        model.verify(kept, [[model.bos_id, *output[:-1]]], [0])
        [tokens], _ = blocks.draft(blocks.start(SOURCES[:1]), [output], K, kept)
        assert tokens == reference(*both, SOURCES[0], output)


@pytest.mark.parametrize("kind", KINDS)
@torch.inference_mode()
def test_targets_give_several_blocks(kind: str) -> None:
    """In one pass as in a pass for each, and each block as it is drafted when decoding."""
    verifier, drafter = networks(kind)
    source, target = [3, 9, 11, 4], [8, 30, 12, 7, 19]
    eos, pad = drafter.config.eos_id, drafter.config.pad_id
    sources = torch.tensor([[*source, eos], [*source[:2], eos, pad, pad]])
    targets = torch.tensor([[*target, eos], [*target[:2], eos, pad, pad, pad]])
    reader = VerifierStates(verifier, reads_output=True)
    encoded, states = reader.read(sources, targets)
    prefixes = torch.tensor([1, 4, 3, 1, 2, 2])
    found = drafter(sources, targets, prefixes, K, 0.0, encoded, states)
    apart = [
        drafter(sources, targets, prefixes[[i, 3 + i]], K, 0.0, encoded, states) for i in range(3)
    ]
    rows = [one.split(several.sum(1).tolist()) for one, _, several in apart]
    whole = torch.cat([rows[i][row] for row in range(2) for i in range(3)])
    assert torch.allclose(found[0], whole, atol=1e-5)
    at = int(found[2][0].sum())
    drafted = reference(verifier, drafter, source, target[:3])
    second = found[0][at : at + int(found[2][1].sum())].argmax(-1).tolist()
    assert second == drafted[: len(second)]


@torch.inference_mode()
def test_what_a_drafter_cannot_say_is_not_predicted() -> None:
    _, drafter = networks("decoder alone", FEW)
    _, whole = networks("decoder alone")
    few = list(FEW.output_ids)
    whole.load_state_dict(drafter.state_dict() | {"output.weight": drafter.embedding.weight})
    source, target = torch.tensor([[3, 9, 2]]), torch.tensor([[5, 6, 8, 9, 2]])
    prefixes, encoded = torch.tensor([1]), torch.randn(1, 3, 48)
    found, places, wanted = drafter(source, target, prefixes, 5, 0.0, encoded)
    logits, truth, _ = whole(source, target, prefixes, 5, 0.0, encoded)
    assert wanted.tolist() == [[True, False, False, True, True]]
    assert [few[place] for place in places.tolist()] == [5, 9, 2]
    assert truth.tolist() == [5, 6, 8, 9, 2]
    assert torch.allclose(found, logits[wanted[0]][:, few], atol=1e-5)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ((2, 2), "each once"),
        ((2, 40), "ids of the vocabulary"),
        ((5, 6), "must have the id of EOS, 2"),
        ((2, "x"), "must be a list of ids"),
        (7, "must be a list of ids"),
    ],
)
def test_ids_that_no_drafter_can_have(ids: Any, message: str) -> None:
    config = replace(networks("decoder alone")[1].config, tie_embeddings=False)
    with pytest.raises(ModelError, match=message):
        replace(NAT, output_ids=ids).check(config)
    with pytest.raises(ModelError, match="tie_embeddings = false"):
        FEW.check(replace(config, tie_embeddings=True))
    assert NatConfig.from_dict(json.loads(json.dumps(FEW.to_dict()))) == FEW


def test_what_output_states_need() -> None:
    with pytest.raises(ModelError, match="need shared_encoder, causal_prefix"):
        NatConfig(output_states=True, shared_encoder=True)
    normed = tiny_network(1, embedding_norm=True).config
    with pytest.raises(ModelError, match="allow neither embedding_norm"):
        NAT.check(normed)
    assert NatConfig.from_dict(NAT.to_dict()) == NAT
    assert "output_states" not in NatConfig().to_dict()
