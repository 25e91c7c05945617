"""Positions in three encodings, against the encodings themselves."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gec.lsp.positions import UTF8, UTF16, UTF32, Text, difference

ENCODINGS = (UTF8, UTF16, UTF32)
TEXTS = st.text(st.sampled_from("ab \n\r\x0b\x0c\u2028éß中😀🇩\ud83d\u0301"), max_size=40)


def units(text: str, encoding: str) -> int:
    """The number of code units, by Python's own encoders."""
    if encoding == UTF32:
        return len(text)
    name = "utf-8" if encoding == UTF8 else "utf-16-le"
    return len(text.encode(name, "surrogatepass")) // (1 if encoding == UTF8 else 2)


def lines(text: str) -> list[str]:
    return re.split(r"\r\n|\n|\r", text)


@given(TEXTS, st.sampled_from(ENCODINGS))
def test_a_position_counts_the_units_of_its_line(text: str, encoding: str) -> None:
    found = Text.of(text, encoding)
    for offset in range(len(text) + 1):
        before = text[:offset]
        if before.endswith("\r") and text[offset : offset + 1] == "\n":
            continue  # within a line break
        number = len(lines(before)) - 1
        assert found.position(offset) == (number, units(lines(before)[-1], encoding))
        line, character = found.position(offset)
        assert found.offset(line, character) == offset


@given(TEXTS, st.sampled_from(ENCODINGS), st.integers(0, 50), st.integers(0, 200))
def test_every_position_leads_into_its_line(
    text: str, encoding: str, line: int, character: int
) -> None:
    found = Text.of(text, encoding)
    offset = found.offset(line, character)
    own = lines(text)
    if line >= len(own):
        assert offset == len(text)
        return
    start, end = found.line(line)
    assert text[start:end] == own[line]
    assert start <= offset <= end
    # the last code point that does not lie behind the position
    assert units(text[start:offset], encoding) <= character
    assert offset == end or units(text[start : offset + 1], encoding) > character


def test_positions_within_a_character_are_where_it_begins() -> None:
    assert [Text.of("a😀b", UTF16).offset(0, n) for n in range(6)] == [0, 1, 1, 2, 3, 3]
    assert [Text.of("a😀b", UTF8).offset(0, n) for n in range(8)] == [0, 1, 1, 1, 1, 2, 3, 3]
    assert [Text.of("a😀b", UTF32).offset(0, n) for n in range(5)] == [0, 1, 2, 3, 3]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_line_ends_before_its_line_break(encoding: str) -> None:
    text = Text.of("ab\r\ncd\re\n", encoding)
    assert [text.offset(line, 99) for line in range(5)] == [2, 6, 8, 9, 9]
    assert text.position(99) == (3, 0)


@given(TEXTS, TEXTS, st.integers(0, 40), st.integers(0, 40), st.sampled_from(ENCODINGS))
def test_a_changed_text_is_the_text_that_it_becomes(
    text: str, new: str, one: int, other: int, encoding: str
) -> None:
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    changed = Text.of(text, encoding).replaced(start, end, new)
    assert changed == Text.of(text[:start] + new + text[end:], encoding)


@given(TEXTS, TEXTS)
def test_the_difference_of_two_texts_makes_the_one_of_the_other(old: str, new: str) -> None:
    start, end, stop = difference(old, new)
    assert old[:start] + new[start:stop] + old[end:] == new
    assert (old == new) == (start == end == stop == len(old))
