"""Tables that are mapped: what is looked up is found, and a broken file is refused or harmless."""

from __future__ import annotations

import doctest
import pickle
import random
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gec.errors import ModelError
from gec.text import tables
from gec.text.inflection import Inflections, PackedInflections
from gec.text.spelling import Speller
from gec.text.tables import Filter, Numbers, Strings, read_tables, write_tables

ANY = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
NARROW = st.text("abcxyz\u00e9\xff\0", min_size=1, max_size=4)
ENTRIES = [("go", "+s", "goes"), ("go", "+ed", "went"), ("try", "+ed", "tried"), ("be", "+s", "is")]


@given(st.lists(ANY | NARROW, max_size=30), ANY | NARROW)
@settings(deadline=None)
def test_strings_are_found(strings: list[str], other: str) -> None:
    table = Strings.of(strings)
    ordered = sorted(strings, key=lambda string: (len(string), string))
    assert [*table] == ordered == table[:]
    assert len(table) == len(strings)
    for string in [*strings, other]:
        assert table.find(string) == (ordered.index(string) if string in ordered else None)
        expected = [s for s in ordered if len(s) == len(string) and s[0] == string[0]]
        assert table.beginning(len(string), string[0]) == expected
    assert table.find("") is None
    assert table.beginning(2, "") == []
    assert [*pickle.loads(pickle.dumps(table))] == ordered


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 300)))
@settings(deadline=None)
def test_numbers_keep_their_values(numbers: list[int]) -> None:
    table = Numbers.of(numbers)
    assert [*table] == numbers
    assert [*table[:3]] == numbers[:3]
    assert [*pickle.loads(pickle.dumps(table))] == numbers


@given(st.sets(ANY, min_size=1))
@settings(deadline=None)
def test_a_filter_lets_all_its_strings_pass(strings: set[str]) -> None:
    assert all(map(Filter.of(strings).may_have, strings))


def test_a_filter_stops_most_others() -> None:
    table = Filter.of({f"word{i}" for i in range(5000)})
    assert sum(table.may_have(f"other{i}") for i in range(1000)) < 150


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    write_tables(path, 7, [Strings.of(["b", "a"]), Numbers.of([1, 70_000])])
    first = path.read_bytes()
    strings, numbers = read_tables(path, 7, "sn", 1000)
    assert ([*strings], [*numbers]) == (["a", "b"], [1, 70_000])
    write_tables(path, 7, [strings, numbers])  # the old file stays as long as it is mapped
    assert ([*strings], [*numbers]) == (["a", "b"], [1, 70_000])
    assert path.read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == ["x.bin"]
    for format, kinds, most in ((8, "sn", 1000), (7, "ns", 1000), (7, "s", 1000), (7, "sn", 20)):
        with pytest.raises(ModelError, match=r"x\.bin"):
            read_tables(path, format, kinds, most)


def test_whatever_a_file_holds(tmp_path: Path) -> None:
    """Bytes are changed at random: then the file is refused, or look-ups end."""
    Inflections(ENTRIES).pack(tmp_path / "inflections.bin")
    Speller({"the": 10**6, "tho": 5, "a": 900}, {"teh": {"the": 2, "a tea": 1}}).pack(tmp_path)
    rng = random.Random(1)
    refused = 0
    for name in ("inflections.bin", "speller.bin"):
        path = tmp_path / name
        whole = path.read_bytes()
        for _ in range(400):
            data = bytearray(whole)
            for _ in range(rng.choice((1, 1, 5))):
                data[rng.randrange(len(data))] = rng.choice((0, 255, rng.randrange(256), 57))
            path.write_bytes(data)
            refused += 1
            with suppress(ModelError):
                _look_up(path)
                refused -= 1
        path.write_bytes(whole)
        _look_up(path)
    assert 100 < refused < 790


def _look_up(path: Path) -> None:
    if path.name == "speller.bin":
        speller = Speller.load(path.parent)
        assert speller is not None
        for word in ("the", "teh", "thw", "ae"):
            speller.suggest(word)
        speller.correct(["Teh", "thE", "a"])
        return
    table = PackedInflections(path)
    for word in ("goes", "go", "tried", "x", "\u5b57\u5b57"):
        table.join(*table.split(word))
        table.forms(word)
    table.entries()


def test_corrections_that_are_no_words(tmp_path: Path) -> None:
    Speller({"the": 10**6}, {"teh": {" ": 2, "\n\t": 1}}).pack(tmp_path)
    speller = Speller.load(tmp_path)
    assert speller is not None
    assert {s.word for s in speller.suggest("teh")} == {"the", " ", "\n\t"}


def test_inflections(tmp_path: Path) -> None:
    plain = Inflections(ENTRIES)
    plain.pack(tmp_path / "x.bin")
    packed = PackedInflections(tmp_path / "x.bin")
    assert packed.entries() == sorted(plain.entries())
    for base in ("go", "try", "be", "walk", "na\u00efve"):
        assert packed.forms(base) == plain.forms(base)
        for marker in ("", "+s", "+ed", "+ing"):
            assert packed.join(base, marker) == plain.join(base, marker)
            word = plain.join(base, marker)
            assert packed.split(word) == plain.split(word)
    packed.save(tmp_path / "x.tsv")
    assert sorted(Inflections.load(tmp_path / "x.tsv").entries()) == packed.entries()
    first = (tmp_path / "x.bin").read_bytes()
    packed.pack(tmp_path / "x.bin")
    assert (tmp_path / "x.bin").read_bytes() == first
    Inflections().pack(tmp_path / "x.bin")
    assert PackedInflections(tmp_path / "x.bin").entries() == []


def test_examples() -> None:
    assert doctest.testmod(tables).failed == 0
