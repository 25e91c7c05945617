"""Prompt lookup: where the output's last tokens stand in the source, and what is drafted there."""

from __future__ import annotations

import pytest
from fake_models import EOS, RuleModel, copies, rewrites
from hypothesis import given
from hypothesis import strategies as st

from gec.decoding.decoder import Decoder
from gec.decoding.drafters import Drafter
from gec.decoding.drafters.lookup import LookupDrafter, LookupOr, lookup
from gec.decoding.state import State
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


@given(TOKENS, TOKENS, st.integers(1, 3))
def test_how_many_tokens_must_stand_there(source: list[int], output: list[int], least: int) -> None:
    place, shortest = lookup(source, output), output[-least:]
    stands = any(source[i : i + least] == shortest for i in range(len(source) - least + 1))
    wanted = place if stands and len(output) >= least else None
    assert lookup(source, output, least=least) == wanted


class Fixed(Drafter):
    """Drafts one token, and notes how often it is asked."""

    asked = 0

    def propose(self, state: State) -> list[list[int]]:
        self.asked += 1
        return [[9] for _ in state.rows]


def test_another_drafter_is_asked_where_nothing_is_copied() -> None:
    """13 14 15 9 10 11 12: nothing, 9, 15 EOS, 9, 9, 12 13 (after 10 11)."""
    source = [10, 11, 12, 13, 14, 15]
    halves = RuleModel(rewrites(lambda tokens: [*tokens[3:], 9, *tokens[:3]]), vocab_size=20)
    other = Fixed()
    drafter = LookupOr(LookupDrafter(2, least=2), other)
    [[found]] = Decoder(halves, drafter).decode([source])
    assert found.tokens == (13, 14, 15, 9, 10, 11, 12)
    steps = [(step.drafted, step.accepted) for step in found.steps]
    assert steps == [(1, 0), (1, 0), (2, 1), (1, 0), (1, 0), (2, 1)]
    assert other.asked == 4
    [pairs] = [Decoder(halves, drafter).decode([source, source[:5], source[2:]], batch_size=3)]
    plain = Decoder(halves).decode([source, source[:5], source[2:]])
    assert [p[0].tokens for p in pairs] == [p[0].tokens for p in plain]


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
    with pytest.raises(ConfigError, match="from 1 to 3"):
        LookupDrafter(4, least=4)
    assert EOS == 2
