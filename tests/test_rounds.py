"""Rounds: what was corrected is read again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gec.correct.options import MOST_ROUNDS, Options, Setting
from gec.correct.rounds import in_rounds, merged
from gec.decoding.decoder import Hypothesis
from gec.decoding.trace import Pass, Trace
from gec.errors import ConfigError

PASS = Pass(2, 1, 2)
Ids = tuple[int, ...]


def hypothesis(
    tokens: Ids, logprobs: Sequence[float] = (), *, truncated: bool = False
) -> Hypothesis:
    return Hypothesis(tokens, truncated, tuple(logprobs), 0.0, (PASS,))


class Countdown:
    """Takes 1 from the first id that is above 1; notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[list[Ids]] = []

    def __call__(self, sources: Sequence[Ids]) -> list[Hypothesis]:
        self.asked.append(list(sources))
        return [hypothesis(self.write(ids), [-1.0] * (len(ids) + 1)) for ids in sources]

    def write(self, ids: Ids) -> Ids:
        place = next((i for i, token in enumerate(ids) if token > 1), None)
        return ids if place is None else (*ids[:place], ids[place] - 1, *ids[place + 1 :])


@pytest.mark.parametrize(
    ("rounds", "written"), [(1, (2, 2)), (2, (1, 2)), (3, (1, 1)), (8, (1, 1))]
)
def test_each_round_reads_what_the_last_one_wrote(rounds: int, written: Ids) -> None:
    model = Countdown()
    found = in_rounds(model, [(1, 1), (3, 2), (2,)], rounds, 10)
    assert [one.tokens for one in found] == [(1, 1), written, (1,)]
    assert model.asked[0] == [(1, 1), (3, 2), (2,)]
    assert model.asked[1:] == [[(2, 2), (1,)], [(1, 2)], [(1, 1)]][: rounds - 1]
    # 1 by itself, and again where something had changed, until it does not
    assert [len(one.steps) for one in found] == [1, min(rounds, 4), min(rounds, 2)]


def test_what_is_empty_too_long_or_lost_is_not_read_again() -> None:
    asked = []

    def decode(sources: Sequence[Ids]) -> list[Hypothesis]:
        asked.append(sources)
        return [
            hypothesis((), truncated=False),
            hypothesis((7, 7, 7)),
            hypothesis((7,), truncated=True),
        ]

    found = in_rounds(decode, [(1,), (2,), (3,)], 2, 2)
    assert len(asked) == 1
    assert [one.tokens for one in found] == [(), (7, 7, 7), (7,)]


def test_a_later_round_that_loses_its_way_says_nothing() -> None:
    answers = iter([[hypothesis((2,))], [hypothesis((2, 2, 2), truncated=True)]])
    [found] = in_rounds(lambda _: next(answers), [(1,)], 3, 10)
    assert (found.tokens, found.truncated) == ((2,), False)


def test_tokens_are_as_probable_as_the_round_says_that_doubts_more() -> None:
    earlier = hypothesis((1, 2, 3), [-0.5, -0.1, -0.9, -0.2])
    later = hypothesis((1, 5, 3), [-0.1, -0.4, -0.1, -0.3])
    found = merged(earlier, later)
    assert found.logprobs == (-0.5, -0.4, -0.9, -0.3)
    assert found.tokens == (1, 5, 3)
    trace = Trace(found.steps, ("a", "b"))
    assert (trace.passes, trace.drafted, trace.accepted) == (2, 4, 1)
    assert [block.tokens for block in trace.blocks] == [("a",), ("b",)]
    assert merged(hypothesis((1,)), hypothesis((2,))).logprobs == ()


@given(st.lists(st.integers(1, 3)), st.lists(st.integers(1, 3)))
def test_a_token_is_never_surer_than_the_later_round(old: list[int], new: list[int]) -> None:
    earlier = hypothesis(tuple(old), [-2.0] * (len(old) + 1))
    found = merged(earlier, hypothesis(tuple(new), [-1.0] * (len(new) + 1)))
    assert len(found.logprobs) == len(new) + 1
    assert set(found.logprobs) <= {-1.0, -2.0}
    assert found.logprobs[-1] == -2.0
    if old == new:
        assert set(found.logprobs) == {-2.0}


@pytest.mark.parametrize("rounds", [0, -1, MOST_ROUNDS + 1, True, 1.5])
def test_bad_numbers(rounds: int) -> None:
    with pytest.raises(ConfigError, match="rounds must be a whole number from 1 to 8"):
        Setting(rounds=rounds)
    with pytest.raises(ConfigError, match="rounds must be"):
        Options(rounds=rounds)


def test_options_over_settings() -> None:
    settings = {"balanced": Setting(), "thorough": Setting(rounds=2)}
    assert Options().choose(settings).rounds == 1
    assert Options(setting="thorough").choose(settings).rounds == 2
    assert Options(setting="thorough", rounds=1).choose(settings).rounds == 1
    assert Options().over(Options(rounds=3)).rounds == 3
    assert Options(setting="balanced").over(Options(rounds=3)).rounds is None
