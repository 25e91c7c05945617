"""Beam search with drafts returns what beam search returns: hypotheses, order and scores."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from fake_models import (
    CopyBiased,
    RandomDrafter,
    RuleModel,
    copies,
    disagrees,
    rewrites,
    sometimes,
    tiny_network,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_decoding import beam_search

from gec.decoding.beam import BeamSearch
from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters import Drafter
from gec.decoding.drafters.aligned import AlignedCopyDrafter, Progress
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.drafters.small_model import SmallModelDrafter
from gec.errors import ConfigError
from gec.models.engines.verifier import TransformerVerifier

LIMIT = LengthLimit(1.2, 3)
DRAFTERS: dict[str, Callable[[], Drafter]] = {
    "copied": CopyDrafter,
    "aligned": AlignedCopyDrafter,
    "aligned, long": lambda: AlignedCopyDrafter(50),
    "garbage": lambda: RandomDrafter(1, 31),
    "small model": lambda: SmallModelDrafter(CopyBiased(tiny_network(1, width=16), 6.0)),
    "the same model": lambda: SmallModelDrafter(model()),
}


def model() -> CopyBiased:
    return CopyBiased(tiny_network(5, decoder_layers=2), 6.0)


def sources() -> list[list[int]]:
    rng = random.Random(2)
    return [[rng.randrange(3, 31) for _ in range(length)] for length in (0, 1, 8, 5, 3)]


@pytest.mark.parametrize("name", DRAFTERS)
@pytest.mark.parametrize(("size", "length_penalty"), [(1, 1.0), (2, 0.0), (4, 1.5)])
def test_networks(name: str, size: int, length_penalty: float) -> None:
    verifier = model()
    texts = sources()
    expected = [
        beam_search(verifier.scores, text, LIMIT(text), size, length_penalty) for text in texts
    ]
    rule = BeamSearch(size, length_penalty)
    for batch_size in (1, 3):
        found = Decoder(verifier, DRAFTERS[name](), rule, limit=LIMIT).decode(
            texts, batch_size=batch_size
        )
        for ours, theirs in zip(found, expected, strict=True):
            assert [h.tokens for h in ours] == [b.tokens for b in theirs]
            assert [h.truncated for h in ours] == [b.truncated for b in theirs]
            assert [h.score for h in ours] == pytest.approx([b.score for b in theirs], abs=1e-5)
            for h in ours:
                assert len(h.logprobs) == len(h.tokens) + (not h.truncated)
                assert sum(step.emitted for step in h.steps) == len(h.logprobs)
                assert all(step.accepted <= step.drafted for step in h.steps)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    texts=st.lists(st.lists(st.integers(3, 7), max_size=8), min_size=1, max_size=4),
    size=st.integers(1, 4),
    gap=st.sampled_from([0.1, 1.0, 3.0]),
    batch_size=st.sampled_from([1, 3, 32]),
)
def test_any_draft_gives_the_same(
    seed: int, texts: list[list[int]], size: int, gap: float, batch_size: int
) -> None:
    """Ties are many here: a draft must not change which of equals is taken."""
    verifier = RuleModel(
        sometimes(seed, 9), vocab_size=9, second=sometimes(seed + 1, 9), gap=gap, margin=4.0
    )
    rule = BeamSearch(size)
    plain = Decoder(verifier, acceptance=rule, limit=LIMIT).decode(texts)
    for drafter in (CopyDrafter(), AlignedCopyDrafter(), RandomDrafter(seed, 9, 9)):
        found = Decoder(verifier, drafter, rule, limit=LIMIT).decode(texts, batch_size=batch_size)
        for ours, theirs in zip(found, plain, strict=True):
            assert [(h.tokens, h.truncated, h.score, h.logprobs) for h in ours] == [
                (h.tokens, h.truncated, h.score, h.logprobs) for h in theirs
            ]


def test_good_drafts_save_passes() -> None:
    """Hypotheses that all are copied but for one word: the search takes several steps a pass."""
    verifier = RuleModel(copies, vocab_size=40, second=disagrees, gap=2.0, margin=9.0)
    text = list(range(10, 35))
    rule = BeamSearch(3)
    for drafter in (CopyDrafter(), AlignedCopyDrafter(8)):
        verifier.calls = 0
        Decoder(verifier, drafter, rule).decode([text])
        assert verifier.calls < 20
    verifier.calls = 0
    Decoder(verifier, acceptance=rule).decode([text])
    assert verifier.calls > 25


def test_a_beam_of_one_follows_the_whole_draft() -> None:
    verifier = RuleModel(rewrites(lambda s: [*s[:4], 9, *s[4:]]))
    [[found]] = Decoder(verifier, CopyDrafter(), BeamSearch(1)).decode([[3, 4, 5, 6, 7, 8]])
    assert found.tokens == (3, 4, 5, 6, 9, 7, 8)
    assert len(found.steps) == 3  # up to the new word, one token, the rest


def test_networks_with_the_verifier_itself() -> None:
    """Without the copy bias, where hypotheses differ early."""
    verifier = TransformerVerifier(tiny_network(3))
    rule = BeamSearch(3)
    plain = Decoder(verifier, acceptance=rule, limit=LIMIT).decode(sources())
    drafted = Decoder(verifier, SmallModelDrafter(verifier), rule, limit=LIMIT).decode(sources())
    assert [[h.tokens for h in f] for f in drafted] == [[h.tokens for h in f] for f in plain]


@pytest.mark.parametrize(
    ("output", "place"),
    [
        ([], 0),
        ([3], 1),
        ([3, 9], 2),  # a new word stands for the source's, until what follows says otherwise
        ([3, 9, 4], 2),  # it was put in
        ([3, 5], 3),  # one was left out
        ([3, 4, 5, 6, 9, 9], 4),
        ([9, 9, 9, 9, 9, 9], 4),
    ],
)
def test_the_place_in_the_source(output: list[int], place: int) -> None:
    source = [3, 4, 5, 6]
    start = Progress(0, (0, 1, 2, 3, 4))
    assert start.after(output, source).place == place
    stepwise = start
    for token in output:
        stepwise = stepwise.after([token], source)
    assert stepwise == start.after(output, source)


def test_no_negative_draft() -> None:
    with pytest.raises(ConfigError, match="at least 0 tokens, not -1"):
        AlignedCopyDrafter(-1)
