"""How times become numbers. Nothing here asserts how long something takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gec.errors import ConfigError
from gec.eval.benchmark.contenders import Answer, Ids, beam_size, decoder_for, model_of
from gec.eval.benchmark.harness import Times, ratio, take_turns, timed
from gec.eval.benchmark.speed import BATCHES, measure

SOURCES: list[Ids] = [(3,) * n for n in (4, 1, 3, 2)]


class Fake:
    """Takes as long as it is told, call after call."""

    engine, strategy, precision = "fake", "greedy", "fp32"

    def __init__(self, log: list[str], name: str, seconds: Sequence[float] = (1.0,)) -> None:
        self.log, self.precision, self.seconds = log, name, list(seconds)
        self.calls = 0

    def decode(self, sources: Sequence[Ids], batch_size: int) -> Answer:
        self.log.append(f"{self.precision}{len(sources[0])}")
        self.calls += 1
        seconds = self.seconds[(self.calls - 1) % len(self.seconds)]
        return Answer(list(sources), seconds * len(sources), 3 * len(sources), 8, 2)


def test_contenders_take_turns_after_a_warm_up() -> None:
    log: list[str] = []
    a, b = measure([Fake(log, "a"), Fake(log, "b")], SOURCES, 1, rounds=2, pause=0)
    warm_up, timed = log[:8], log[8:]
    assert warm_up == ["a1", "a2", "a3", "a4", "b1", "b2", "b3", "b4"]
    assert timed == [f"{who}{n}" for n in (1, 2, 3, 4) for who in ("a", "b", "a", "b")]
    assert a.sources == a.outputs == [(3,), (3, 3), (3, 3, 3), (3, 3, 3, 3)]
    assert (b.passes, b.accepted, b.milliseconds) == (3.0, 0.25, 1000.0)


def test_medians_over_rounds_and_quartiles_over_turns() -> None:
    seconds = [[1.0, 9.0, 2.0], [4.0, 4.0, 4.0]]
    timing = Times(np.array(seconds), np.ones(2))
    assert timing.medians.tolist() == [2.0, 4.0]
    assert timing.milliseconds == 3000.0
    assert timing.total == 6.0
    assert timing.quartiles == (2500.0, 3500.0)
    assert timing.unsteadiness == pytest.approx((13 - 5) / 6)


def test_larger_batches_are_timed_several_at_a_time() -> None:
    sources: list[Ids] = [(3,)] * (2 * BATCHES + 1)
    (timing,) = measure([Fake([], "a")], sources, 2, rounds=1, pause=0)
    assert timing.sizes.tolist() == [2 * BATCHES, 1]
    assert timing.milliseconds == 1000.0


def timing(seconds: Sequence[float]) -> Times:
    rounds = np.array(seconds)[:, None]
    return Times(rounds, np.ones(len(rounds)))


def test_a_ratio_and_its_interval() -> None:
    fast = timing([1.0, 2.0, 3.0, 4.0] * 5)
    same = ratio(timing([2.0, 4.0, 6.0, 8.0] * 5), fast)
    assert (same.value, same.low, same.high) == pytest.approx((2.0, 2.0, 2.0))
    other = ratio(timing([2.0, 8.0, 3.0, 20.0] * 5), fast)
    assert other.value == pytest.approx(3.3)
    assert 1.0 < other.low < other.value < other.high < 5.0
    assert ratio(timing([2.0, 8.0, 3.0, 20.0] * 5), fast) == other


def test_what_a_way_takes_by_its_clock_and_what_it_gave_first() -> None:
    clock = iter(range(100))
    given = iter("abcdef")
    way = timed(lambda turn: turn + next(given), lambda: float(next(clock)))
    seconds, first = take_turns([way], ["x", "y"], rounds=2, warm_up=1, pause=0)
    assert seconds.tolist() == [[[1.0, 1.0], [1.0, 1.0]]]
    assert first == [["xb", "yd"]]  # the warm-up took the a


def test_progress_is_told_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([0.0, 10.0, 40.0, 50.0, 60.0])
    monkeypatch.setattr("gec.eval.benchmark.harness.time.monotonic", lambda: next(seconds))
    told: list[str] = []
    way = timed(str, lambda: 0.0)
    take_turns([way], range(4), rounds=1, warm_up=0, pause=0, what="it", say=told.append)
    assert told == ["it: 2 of 4 turns, about 1 min left"]


def test_strategies() -> None:
    sizes = [beam_size(name) for name in ("greedy", "beam", "beam5", "beam12", "iad", "beam0")]
    assert sizes == [1, 5, 5, 12, None, None]
    with pytest.raises(ConfigError, match="unknown strategy 'magic', expected greedy"):
        decoder_for("magic", None)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="unknown precision 'int4', expected some of fp32"):
        model_of(None, "int4", None)  # type: ignore[arg-type]
