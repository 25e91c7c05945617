"""select and join of every model: what they return is right, and what they consume is not used."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from fake_models import BOS, CopyBiased, RuleModel, copies, sometimes, tiny_network

from gec.decoding.acceptance import Acceptance, Exact
from gec.decoding.beam import BeamSearch
from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters import Drafter, NoDraft
from gec.decoding.drafters.aligned import AlignedCopyDrafter
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.drafters.heads import HeadsDrafter
from gec.decoding.drafters.nat import NatDrafter
from gec.decoding.drafters.reentry import ReentryDrafter
from gec.decoding.drafters.small_model import SmallModelDrafter
from gec.decoding.scores import Scores
from gec.models.engines.eager import EagerEngine, RememberingEngine
from gec.models.engines.exit_verifier import EarlyExitVerifier
from gec.models.engines.graphs import GraphEngine, uncaptured
from gec.models.engines.heads_verifier import HeadsVerifier
from gec.models.engines.nat_blocks import TransformerBlocks
from gec.models.engines.operations import Counted
from gec.models.engines.verifier import TransformerVerifier, Verifier
from gec.models.load.prefixes import Prefixed
from gec.models.network.heads import Heads
from gec.models.network.nat import NatConfig, NatTransformer
from gec.models.network.transformer import Transformer

Rows = Sequence[Sequence[int]]
VOCAB = 31


def network() -> Transformer:
    return tiny_network(6, decoder_layers=2)


def heads() -> Heads:
    torch.manual_seed(1)
    return Heads(3, 32, 16).double().eval()


def nat(*, causal: bool, shared: bool) -> NatTransformer:
    torch.manual_seed(2)
    config = NatConfig(block=4, causal_prefix=causal, shared_encoder=shared)
    return NatTransformer(tiny_network(3).config, config).double().eval()


# ------------------------------------------------------------------------ what is returned

MODELS: dict[str, Callable[[], Any]] = {
    "plain": lambda: TransformerVerifier(network()),
    "graphs": lambda: Verifier(GraphEngine(network(), uncaptured)),
    "heads": lambda: HeadsVerifier(EagerEngine(network()), heads()),
    "heads, graphs": lambda: HeadsVerifier(GraphEngine(network(), uncaptured), heads()),
    "early exit": lambda: EarlyExitVerifier(EagerEngine(network())),
    "early exit, graphs": lambda: EarlyExitVerifier(GraphEngine(network(), uncaptured)),
    "remembering": lambda: Verifier(RememberingEngine(network())),
    "prefixed": lambda: Prefixed(TransformerVerifier(network()), (5,), (2, 1)),
    "graphs, prefixed": lambda: Prefixed(Verifier(GraphEngine(network(), uncaptured)), (), (2,)),
    "counted": lambda: Counted(TransformerVerifier(network()), network().config),
    "biased": lambda: CopyBiased(network(), 3.0),
    "rule": lambda: RuleModel(sometimes(1, VOCAB), vocab_size=VOCAB),
}


@pytest.mark.parametrize("name", MODELS)
@torch.inference_mode()
def test_rows_are_chosen_repeated_and_joined(name: str) -> None:
    """A row that is there twice goes on in two ways, neither of which the other sees."""
    model, rng = MODELS[name](), random.Random(3)

    def words(count: int) -> list[int]:
        return [rng.randrange(3, VOCAB) for _ in range(count)]

    sources, tokens = [words(n) for n in (4, 9, 2)], [[BOS, *words(n)] for n in (3, 5, 1)]
    memory = model.start(sources)
    model.verify(memory, tokens, [0, 0, 0])
    for _ in range(3):
        rows = [rng.randrange(len(sources)) for _ in range(4)]
        memory = model.select(memory, rows)
        sources, tokens = [sources[r] for r in rows], [tokens[r] for r in rows]
        more = [words(n) for n in (1, 12)]
        memory = model.join(memory, model.start(more))
        sources, starts = [*sources, *more], [*map(len, tokens), 0, 0]
        gained = [words(rng.randint(1, 4)) for _ in range(4)] + [[BOS], [BOS, 7]]
        found = model.verify(memory, gained, starts).logits
        tokens = [before + new for before, new in zip([*tokens, [], []], gained, strict=True)]
        expected = model.verify(model.start(sources), tokens, [0] * len(tokens)).logits
        for row, (start, new) in enumerate(zip(starts, gained, strict=True)):
            ours, theirs = found[row, : len(new)], expected[row, start : start + len(new)]
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shared", [False, True])
@torch.inference_mode()
def test_rows_of_a_block_drafter(causal: bool, shared: bool) -> None:
    blocks = TransformerBlocks(nat(causal=causal, shared=shared), RememberingEngine(network()))
    sources, outputs = [[4, 5, 6], [7] * 6, [8]], [[4], [9, 9], []]
    memory = blocks.start(sources)
    blocks.draft(memory, outputs, 3)
    rows = [2, 0, 0]
    memory = blocks.join(blocks.select(memory, rows), blocks.start([[3, 4, 5, 6]]))
    sources = [*(sources[row] for row in rows), [3, 4, 5, 6]]
    outputs = [[5, 6], [4, 7], [4, 8, 8], []]
    found = blocks.draft(memory, outputs, 4)
    expected = blocks.draft(blocks.start(sources), outputs, 4)
    assert found[0] == expected[0]
    torch.testing.assert_close(torch.tensor(found[1]), torch.tensor(expected[1]))


# ----------------------------------------------------------------------- what is consumed


@dataclass(eq=False)
class Once:
    """A memory that ends when it is consumed."""

    inner: Any
    consumed: bool = False

    def use(self) -> Any:
        assert not self.consumed, "a memory that select or join has consumed"
        return self.inner

    def consume(self) -> Any:
        inner, self.consumed = self.use(), True
        return inner


class Watched:
    """Any model, whose memories are used as the protocol says; its blocks are padded."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.consumed = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def start(self, sources: Rows) -> Once:
        return Once(self._model.start(sources))

    def verify(self, memory: Once, tokens: Rows, starts: Sequence[int]) -> Scores:
        scores: Scores = self._model.verify(memory.use(), tokens, starts)
        return scores

    def propose(self, memory: Once, places: Sequence[int], count: int) -> list[list[int]]:
        drafts: list[list[int]] = self._model.propose(memory.use(), places, count)
        return drafts

    def draft(self, memory: Once, outputs: Rows, k: int, verified: Once) -> tuple[Any, Any]:
        drafts: tuple[Any, Any] = self._model.draft(memory.use(), outputs, k, verified.use())
        return drafts

    def select(self, memory: Once, rows: Sequence[int]) -> Once:
        self.consumed += 1
        return Once(self._model.select(memory.consume(), rows))

    def join(self, memory: Once, other: Once) -> Once:
        self.consumed += 1
        return Once(self._model.join(memory.consume(), other.consume()))


def small(drafter: Drafter | None = None) -> SmallModelDrafter:
    return SmallModelDrafter(Watched(RuleModel(copies, vocab_size=VOCAB)), drafter)


DRAFTERS: dict[str, Callable[[], Drafter]] = {
    "none": NoDraft,
    "copy": CopyDrafter,
    "re-entry": ReentryDrafter,
    "aligned": AlignedCopyDrafter,
    "small": small,
    "hierarchy": lambda: small(small(CopyDrafter())),
    "blocks": lambda: NatDrafter(Watched(TransformerBlocks(nat(causal=True, shared=False)))),
}


@pytest.mark.parametrize("rule", [Exact(), BeamSearch(3)], ids=["exact", "beam"])
@pytest.mark.parametrize("drafter", DRAFTERS)
def test_what_is_consumed_is_not_used_again(drafter: str, rule: Acceptance) -> None:
    model = Watched(TransformerVerifier(network()))
    sources = [[3 + n] * (n % 5 + 1) for n in range(9)]
    decoder = Decoder(model, DRAFTERS[drafter](), rule, limit=LengthLimit(1, 4))
    assert len(decoder.decode(sources, batch_size=3)) == 9
    assert model.consumed > 1


def test_what_is_consumed_of_heads_is_not_used_again() -> None:
    model = Watched(HeadsVerifier(EagerEngine(network()), heads()))
    decoder = Decoder(model, HeadsDrafter(model), limit=LengthLimit(1, 4))
    decoder.decode([[3 + n] * (n % 5 + 1) for n in range(9)], batch_size=3)
    assert model.consumed > 1
