"""What is remembered of words."""

from __future__ import annotations

import doctest

from gec.text import remembered
from gec.text.remembered import Remembered


def test_examples() -> None:
    assert doctest.testmod(remembered).failed == 0


def test_a_function_is_asked_once_and_memory_is_bounded() -> None:
    asked: list[int] = []

    def double(number: int) -> int:
        asked.append(number)
        return 2 * number

    doubles = Remembered(double, 10)
    for turn in range(2):
        assert [*map(doubles.__getitem__, range(10))] == [*range(0, 20, 2)]
        assert len(asked) == 10, turn
    assert doubles[10] == 20
    assert {*doubles} == {10}
    assert [doubles[n] for n in range(25)] == [*range(0, 50, 2)]
    assert len(doubles) <= 10
