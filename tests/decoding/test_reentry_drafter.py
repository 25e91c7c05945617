"""Copying goes on at once behind a correction; the output stays the greedy one."""

from __future__ import annotations

import random

import pytest
from fake_models import RuleModel, rewrites, sometimes, tiny_network

from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.drafters.reentry import ReentryDrafter, reentry
from gec.models.engines.verifier import TransformerVerifier

SOURCE = [3, 4, 5, 6, 7, 8]


def passes(target: list[int], drafter: ReentryDrafter | CopyDrafter) -> int:
    model = RuleModel(rewrites(lambda _source: target))
    [[found]] = Decoder(model, drafter).decode([SOURCE])
    assert list(found.tokens) == target
    return len(found.steps)


@pytest.mark.parametrize(
    ("target", "most"),
    [
        (SOURCE, 1),
        ([3, 4, 9, 6, 7, 8], 2),  # a substitution
        ([3, 4, 6, 7, 8], 2),  # a deletion
        ([3, 4, 8], 2),  # a longer one
        ([9, 4, 5, 6, 7, 8], 2),  # at the beginning
        ([3, 4, 5, 6, 7, 9], 2),  # at the end
        ([3, 4, 5, 6, 7, 8, 9], 2),  # behind it
        ([], 1),
    ],
)
def test_one_more_pass_an_edit(target: list[int], most: int) -> None:
    """Algorithm 1 needs two more where the new word is not in the source."""
    assert passes(target, ReentryDrafter()) == most <= passes(target, CopyDrafter())


def test_an_inserted_marker_is_no_substitution() -> None:
    """She go to -> She go <+s> to."""
    target = [3, 4, 10, 5, 6, 7, 8]
    assert passes(target, ReentryDrafter()) == 3
    assert passes(target, ReentryDrafter({10, 11})) == 2


def test_one_marker_for_another_is_one() -> None:
    assert reentry([10, 5, 6], [11], {10, 11}) == 1
    assert reentry([10, 5, 6], [9], {10, 11}) == 0  # a word where a marker stood


def test_tokens_that_fit_by_chance_do_not_lose_the_place() -> None:
    """An insertion is taken for a substitution first; one more try finds it."""
    source, target = [3, 4, 5, 3, 6, 7], [3, 4, 9, 5, 3, 6, 7]
    model = RuleModel(rewrites(lambda _source: target))
    [[found]] = Decoder(model, ReentryDrafter()).decode([source])
    assert list(found.tokens) == target
    assert len(found.steps) == 3


@pytest.mark.parametrize("batch_size", [1, 3, 16])
def test_the_output_is_greedy_whatever_is_drafted(batch_size: int) -> None:
    rng = random.Random(4)
    sources = [[rng.randrange(3, 12) for _ in range(rng.randrange(14))] for _ in range(60)]
    for model in (
        RuleModel(sometimes(1, 12)),
        RuleModel(sometimes(2, 12, agreement=0.5)),
        TransformerVerifier(tiny_network(7, vocab_size=12)),
    ):
        limit = LengthLimit(1.5, 6)
        greedy = Decoder(model, limit=limit).decode(sources, batch_size=1)
        decoder = Decoder(model, ReentryDrafter({3, 4}), limit=limit)
        found = decoder.decode(sources, batch_size=batch_size)
        assert [(f[0].tokens, f[0].truncated) for f in found] == [
            (f[0].tokens, f[0].truncated) for f in greedy
        ]
