"""The cost model: its formulas by hand and by simulation; clocks are the test's own."""

from __future__ import annotations

import doctest
import random
from collections.abc import Sequence
from typing import Any

import pytest
from fake_models import RuleModel, copies, sometimes

from gec.decoding import cost
from gec.decoding.cost import (
    Curve,
    Drafting,
    Sentence,
    best,
    counted,
    geometric,
    needed,
    pass_times,
    speedup,
    survival,
    take_turns,
)
from gec.decoding.decoder import Decoder
from gec.decoding.drafters.small_model import FixedLength, SmallModelDrafter
from gec.decoding.lengths import best_gamma, improvement
from gec.decoding.trace import Pass

FLAT = Curve({0: 2.0, 32: 2.0})  # a pass takes the same for any number of tokens
STEEP = Curve({0: 1.0, 1: 1.2, 8: 2.6, 32: 7.4})


def in_turn(ratio: float) -> Drafting:
    """A drafter whose pass takes ``ratio`` passes of FLAT's verifier."""
    return Drafting("small", lambda k: 2.0 * ratio * k)


def test_examples() -> None:
    assert doctest.testmod(cost).failed == 0


@pytest.mark.parametrize("rate", [0.0, 0.4, 0.8, 0.95])
@pytest.mark.parametrize("ratio", [0.02, 0.2, 0.6])
def test_where_a_pass_takes_the_same_it_is_theorem_3_8(rate: float, ratio: float) -> None:
    for k in range(1, 20):
        found = speedup(FLAT, in_turn(ratio), geometric(rate), k)
        assert found == pytest.approx(improvement(rate, ratio, k))
    k, gain = best(FLAT, in_turn(ratio), geometric(rate))
    assert k == best_gamma(rate, ratio, 32)
    assert gain == pytest.approx(improvement(rate, ratio, k))


def test_passes_that_take_longer_for_more_tokens_gain_less() -> None:
    for rate in (0.5, 0.9):
        drafting = Drafting("free", lambda k: 0.0)
        flat, steep = best(FLAT, drafting, geometric(rate)), best(STEEP, drafting, geometric(rate))
        assert steep[0] < flat[0]
        assert steep[1] < flat[1]


def test_drafting_that_does_not_pay() -> None:
    dear = Drafting("as large as the verifier, six times as long", lambda k: 6.0)
    assert best(STEEP, dear, geometric(0.6)) == (0, 1.0)
    assert needed(STEEP, Drafting("dearer", lambda k: 40.0), 1.0) is None


@pytest.mark.parametrize("target", [1.0, 1.2, 1.4])
def test_the_rate_that_is_needed_is_the_least(target: float) -> None:
    sentence = Sentence(5.0, 20)
    for drafting in (in_turn(0.1), Drafting("block", lambda k: 0.3 + 0.02 * k, start=1.0)):
        rate = needed(STEEP, drafting, target, sentence)
        assert rate is not None
        assert best(STEEP, drafting, geometric(rate), sentence)[1] > target
        assert best(STEEP, drafting, geometric(rate - 1e-3), sentence)[1] <= target


def test_what_a_sentence_takes_once_is_not_made_faster() -> None:
    """10 ms for the source and 10 passes of 2 ms; drafts halve the passes: 30 ms become 25."""
    drafting = Drafting("d", lambda k: 0.0, start=5.0)
    found = speedup(FLAT, drafting, lambda k: 2.0, 4, Sentence(10.0, 10))
    assert found == pytest.approx(30 / 25)
    assert speedup(FLAT, drafting, lambda k: 2.0, 0, Sentence(10.0, 10)) == 1.0


@pytest.mark.parametrize("rate", [0.3, 0.7, 0.9])
def test_counted_drafts_give_the_tokens_of_their_rate(rate: float) -> None:
    """Also if drafts are of many lengths, and some ended by the length limit."""
    rng, steps = random.Random(1), []
    for _ in range(20_000):
        drafted = rng.randint(0, 9)
        accepted = 0
        while accepted < drafted and rng.random() < rate:
            accepted += 1
        steps.append(Pass(drafted, accepted, accepted + 1))
    tokens = counted(steps)
    for k in (0, 1, 3, 6):
        assert tokens(k) == pytest.approx(geometric(rate)(k), rel=0.05)
    assert survival([]) == []
    assert counted([])(5) == 1.0


def test_predicted_passes_are_those_that_are_made() -> None:
    """From passes with eight drafted tokens to the passes with three, on text never seen."""
    large, small = RuleModel(copies), RuleModel(sometimes(1, 12, 0.93))
    rng = random.Random(0)
    texts = [[rng.randrange(3, 12) for _ in range(60)] for _ in range(120)]

    def passes(k: int, sources: Sequence[Sequence[int]]) -> list[Pass]:
        drafter = SmallModelDrafter(small, length=FixedLength(k))
        found = Decoder(large, drafter).decode(sources)
        return [step for [hypothesis] in found for step in hypothesis.steps]

    predicted = counted(passes(8, texts[:60]))(3)
    made = passes(3, texts[60:])
    assert sum(step.emitted for step in made) / len(made) == pytest.approx(predicted, rel=0.1)


# -------------------------------------------------------------------------------- measurements


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Timed(RuleModel):
    """A pass takes 1 ms and a tenth for each token; every third pass is disturbed."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(copies)
        self.clock = clock

    def verify(self, memory: Any, tokens: Sequence[Sequence[int]], starts: Sequence[int]) -> Any:
        self.clock.seconds += 0.001 + 0.0001 * sum(map(len, tokens))
        if self.calls % 4 == 3:
            self.clock.seconds += 1.0
        return super().verify(memory, tokens, starts)


def test_times_are_medians() -> None:
    clock = Clock()
    found = pass_times(Timed(clock), (0, 1, 7), rows=2, rounds=9, clock=clock)
    assert found.points == pytest.approx({0: 1.2, 1: 1.4, 7: 2.6})


def test_no_block_goes_beyond_the_positions() -> None:
    model = RuleModel(copies, max_positions=20)
    found = pass_times(model, (0, 1, 2, 4, 32), prefix=16, source=40, rounds=1)
    assert list(found.points) == [0, 1, 2]


def test_what_comes_before_is_not_timed() -> None:
    clock, calls = Clock(), []

    def before() -> None:
        clock.seconds += 5.0
        calls.append("before")

    def way() -> None:
        clock.seconds += 0.002
        calls.append("way")

    assert take_turns({3: way}, rounds=2, before=before, clock=clock).points == {
        3: pytest.approx(2.0)
    }
    assert calls == ["before", "way"] * 3
