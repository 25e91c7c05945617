"""Prompt lookup: where the output's last tokens stand in the source, and what is drafted there."""

from __future__ import annotations

import pytest
from fake_models import EOS, RuleModel, copies, rewrites
from hypothesis import given
from hypothesis import strategies as st

from gec.decoding.decoder import Decoder
from gec.decoding.drafters.lookup import LookupDrafter, lookup
from gec.decoding.strategies import Parts, make_decoder
from gec.errors import ConfigError

TOKENS = st.lists(st.integers(3, 6), max_size=9)


@given(TOKENS, TOKENS)
def test_the_first_place_behind_the_longest_suffix(source: list[int], output: list[int]) -> None:
    """As the method is described: n from 3 down to 1, from the source's beginning."""
    expected = None
    for n in range(min(3, len(output)), 0, -1):
        for end in range(n, len(source) + 1):
            if expected is None and source[end - n : end] == output[-n:]:
                expected = end
    assert lookup(source, output) == expected


def test_drafts_are_what_follows_and_end_with_the_source() -> None:
    """The output takes the source's second half, a foreign token, and its first half."""
    source = [10, 11, 12, 13, 14, 15]
    halves = RuleModel(rewrites(lambda tokens: [*tokens[3:], 9, *tokens[:3]]), vocab_size=20)
    [[found]] = Decoder(halves, LookupDrafter(4)).decode([source])
    assert found.tokens == (13, 14, 15, 9, 10, 11, 12)
    # nothing to look up; 14 15 EOS, of which two stand; nothing behind 9; 11 12 13 14
    assert [(step.drafted, step.accepted) for step in found.steps] == [
        (0, 0), (3, 2), (0, 0), (4, 2),
    ]  # fmt: skip
    [[copied]] = Decoder(RuleModel(copies, vocab_size=20), LookupDrafter(9)).decode([source])
    assert copied.tokens == tuple(source)
    assert [step.emitted for step in copied.steps] == [1, len(source)]  # EOS is drafted, too


def test_how_many_tokens_are_drafted() -> None:
    for values, drafted in (({}, 8), ({"k": 2}, 2)):
        decoder = make_decoder(Parts("bare", RuleModel(copies, vocab_size=40)), "lookup", values)
        [[found]] = decoder.decode([list(range(3, 30))])
        assert max(step.drafted for step in found.steps) == drafted
    with pytest.raises(ConfigError, match="at least 1"):
        LookupDrafter(0)
    assert EOS == 2
