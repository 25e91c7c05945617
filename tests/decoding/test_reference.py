"""The engine against plain references that recompute everything, batch size for batch size."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import pytest
from fake_models import CopyBiased, RandomDrafter, RuleModel, copies, sometimes, tiny_network
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_decoding import Output, aggressive, beam_search, greedy

from gec.decoding.acceptance import Conservative, Exact
from gec.decoding.beam import BeamSearch
from gec.decoding.decoder import Decoder, Hypothesis, LengthLimit
from gec.decoding.drafters import NoDraft
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.trace import Pass

BATCH_SIZES = (1, 3, 32)
LIMIT = LengthLimit(1.5, 6)

NETWORKS: dict[str, dict[str, object]] = {
    "1+1": {},
    "3+2 post": {"encoder_layers": 3, "decoder_layers": 2, "norm": "post"},
    "1+2 learned gelu": {"decoder_layers": 2, "positions": "learned", "activation": "gelu"},
    "2+1 untied": {"encoder_layers": 2, "tie_embeddings": False},
    "2+2 post learned gelu untied": {
        "encoder_layers": 2, "decoder_layers": 2, "norm": "post", "positions": "learned",
        "activation": "gelu", "tie_embeddings": False,
    },
}  # fmt: skip


@lru_cache
def network_model(name: str, bonus: float) -> CopyBiased:
    return CopyBiased(tiny_network(len(name), **NETWORKS[name]), bonus)


@lru_cache
def sources(vocab_size: int) -> tuple[tuple[int, ...], ...]:
    """Ragged sources: none, one token, all equal, a few kinds of tokens, many kinds."""
    rng = random.Random(7)
    kinds = [3, 5, vocab_size]
    drawn = [
        tuple(rng.randrange(3, kinds[i % 3] + (i % 3 == 0)) for _ in range(length))
        for i, length in enumerate((1, 4, 7, 2, 12, 9, 25, 3, 5, 14))
    ]
    return ((), *drawn, ())


def output(found: Sequence[Hypothesis]) -> Output:
    [best] = found
    steps = tuple((step.drafted, step.accepted, step.emitted) for step in best.steps)
    return Output(best.tokens, best.truncated, steps)


@pytest.mark.parametrize("bonus", [0.0, 4.0, 8.0])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str, bonus: float) -> None:
    model = network_model(name, bonus)
    texts = sources(31)
    plain = [greedy(model.scores, text, LIMIT(text)) for text in texts]
    expected = [aggressive(model.scores, text, LIMIT(text)) for text in texts]
    careful = [aggressive(model.scores, text, LIMIT(text), tolerance=1.5) for text in texts]
    assert [o.tokens for o in expected] == [o.tokens for o in plain], "the reference is lossless"
    for batch_size in BATCH_SIZES:
        for drafter, acceptance, wanted in (
            (NoDraft(), Exact(), plain),
            (CopyDrafter(), Exact(), expected),
            (CopyDrafter(), Conservative(0.0), expected),
            (CopyDrafter(), Conservative(1.5), careful),
        ):
            decoder = Decoder(model, drafter, acceptance, limit=LIMIT)
            found = decoder.decode(texts, batch_size=batch_size)
            assert [output(f) for f in found] == wanted


def test_the_networks_show_all_that_may_happen() -> None:
    """Drafts accepted whole, in part and not at all; outputs cut, ended, short and long."""
    passes: list[Pass] = []
    flags: set[bool] = set()
    longer = 0
    for name in NETWORKS:
        for bonus in (0.0, 4.0, 8.0):
            found = Decoder(network_model(name, bonus), CopyDrafter(), limit=LIMIT).decode(
                sources(31)
            )
            for source, [hypothesis] in zip(sources(31), found, strict=True):
                passes += hypothesis.steps
                flags.add(hypothesis.truncated)
                longer += len(hypothesis.tokens) > len(source) + 3
    assert flags == {True, False}
    assert longer > 10
    assert sum(0 < step.accepted < step.drafted for step in passes) > 50
    assert sum(1 < step.accepted == step.drafted for step in passes) > 10
    assert sum(step.accepted == 0 < step.drafted for step in passes) > 50


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    texts=st.lists(st.lists(st.integers(3, 7), max_size=12), min_size=1, max_size=5),
    agreement=st.sampled_from([0.0, 0.6, 0.9, 1.0]),
    batch_size=st.sampled_from(BATCH_SIZES),
    tolerance=st.sampled_from([0.0, 0.5, 1.0, 20.0]),
)
def test_a_model_that_sometimes_agrees(
    seed: int, texts: list[list[int]], agreement: float, batch_size: int, tolerance: float
) -> None:
    model = RuleModel(sometimes(seed, 9, agreement), vocab_size=9, second=copies, gap=0.75)
    for drafter, acceptance, wanted in (
        (NoDraft(), Exact(), [greedy(model.scores, t, LIMIT(t)) for t in texts]),
        (CopyDrafter(), Exact(), [aggressive(model.scores, t, LIMIT(t)) for t in texts]),
        (
            CopyDrafter(),
            Conservative(tolerance, logprobs=True),
            [aggressive(model.scores, t, LIMIT(t), tolerance) for t in texts],
        ),
    ):
        found = Decoder(model, drafter, acceptance, limit=LIMIT).decode(
            texts, batch_size=batch_size
        )
        assert [output(f) for f in found] == wanted


@settings(deadline=None, max_examples=100)
@given(
    seed=st.integers(0, 10**6),
    texts=st.lists(st.lists(st.integers(3, 7), max_size=12), min_size=1, max_size=5),
    batch_size=st.sampled_from(BATCH_SIZES),
)
def test_any_drafter_gives_the_greedy_output(
    seed: int, texts: list[list[int]], batch_size: int
) -> None:
    model = RuleModel(sometimes(seed, 9), vocab_size=9)
    decoder = Decoder(model, RandomDrafter(seed, 9), limit=LIMIT)
    for text, [found] in zip(texts, decoder.decode(texts, batch_size=batch_size), strict=True):
        expected = greedy(model.scores, text, LIMIT(text))
        assert (found.tokens, found.truncated) == (expected.tokens, expected.truncated)


def test_garbage_for_a_network() -> None:
    """Rejected drafts of all lengths leave the caches as they were."""
    model = network_model("2+2 post learned gelu untied", 4.0)
    texts = sources(31)
    for seed, batch_size in enumerate(BATCH_SIZES * 3):
        decoder = Decoder(model, RandomDrafter(seed, 31), limit=LIMIT)
        for text, [found] in zip(texts, decoder.decode(texts, batch_size=batch_size), strict=True):
            assert found.tokens == greedy(model.scores, text, LIMIT(text)).tokens


@pytest.mark.parametrize("length_penalty", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("name", ["1+1", "2+2 post learned gelu untied"])
def test_beam_search(name: str, size: int, length_penalty: float) -> None:
    model = network_model(name, 4.0)
    limit = LengthLimit(1.0, 3)
    texts = sources(31)[:7]
    expected = [
        beam_search(model.scores, text, limit(text), size, length_penalty) for text in texts
    ]
    for batch_size in BATCH_SIZES:
        acceptance = BeamSearch(size, length_penalty)
        found = Decoder(model, acceptance=acceptance, limit=limit).decode(
            texts, batch_size=batch_size
        )
        for ours, theirs in zip(found, expected, strict=True):
            assert [h.tokens for h in ours] == [b.tokens for b in theirs]
            assert [h.truncated for h in ours] == [b.truncated for b in theirs]
            assert [h.score for h in ours] == pytest.approx([b.score for b in theirs], abs=1e-5)
            assert len(ours) == size
            for better, worse in pairwise(ours):
                assert (better.truncated, -better.score) <= (worse.truncated, -worse.score)
            for hypothesis in ours:
                length = len(hypothesis.logprobs)
                assert length == len(hypothesis.tokens) + (not hypothesis.truncated)
                total = sum(hypothesis.logprobs)
                assert hypothesis.score == pytest.approx(total / length**length_penalty)


def test_a_beam_of_one_is_greedy() -> None:
    for name in NETWORKS:
        model = network_model(name, 4.0)
        plain = Decoder(model, limit=LIMIT).decode(sources(31))
        beam = Decoder(model, acceptance=BeamSearch(1), limit=LIMIT).decode(sources(31))
        assert [f[0].tokens for f in plain] == [f[0].tokens for f in beam]


def test_a_wider_beam_finds_likelier_outputs() -> None:
    model = network_model("1+1", 4.0)
    texts = sources(31)[1:8]

    def total(size: int) -> float:
        decoder = Decoder(model, acceptance=BeamSearch(size, 0.0), limit=LIMIT)
        return sum(found[0].score for found in decoder.decode(texts))

    assert total(6) > total(1)
