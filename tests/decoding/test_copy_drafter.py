"""The unique suffix match of Algorithm 1."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gec.decoding.drafters.copy import unique_suffix_match


@pytest.mark.parametrize(
    ("source", "output", "place"),
    [
        ([1, 7, 8, 9], [1], 0),  # BOS: the first draft is the whole source
        ([1, 7, 8, 9], [1, 8], 2),  # once in the source: q = 0
        ([1, 7, 8, 9], [1, 5], None),  # nowhere
        ([1, 7, 8, 7, 9], [1, 7], 1),  # twice, but only one follows BOS: q = 1
        ([1, 7, 8, 7, 9], [1, 8, 7], 3),  # q = 1
        ([1, 7, 8, 7, 9], [1, 9, 7], None),  # twice, and none after 9
        ([1, 5, 7, 8, 6, 7, 8], [1, 6, 7, 8], 6),  # q = 2
        ([1, 5, 7, 8, 5, 7, 8], [1, 4, 5, 7, 8], None),  # both follow 5, none follows 4
        ([1, 7, 7, 7], [1, 7, 7], 2),
        ([1, 7, 7, 7], [1, 7, 7, 7, 7], 3),
        ([1, 7, 7, 7], [1, 7, 7, 7], 3),
        ([1], [1], 0),
        ([1, 7, 7], [7], None),  # the output is too short to tell
        ([7, 8, 7], [7, 7], None),  # nothing stands before the first
    ],
)
def test_examples(source: list[int], output: list[int], place: int | None) -> None:
    assert unique_suffix_match(source, output) == place


@given(st.lists(st.integers(3, 5), max_size=10), st.lists(st.integers(3, 5), max_size=10))
def test_the_shortest_unique_suffix(tokens: list[int], outputs: list[int]) -> None:
    source, output = [1, *tokens], [1, *outputs]
    expected = None
    for length in range(1, len(output) + 1):
        suffix = output[-length:]
        ends = [i for i in range(len(source)) if source[max(0, i + 1 - length) : i + 1] == suffix]
        if len(ends) < 2:
            expected = ends[0] if ends else None
            break
    assert unique_suffix_match(source, output) == expected
