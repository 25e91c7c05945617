"""The inflection table: one-to-one, and built from lists and counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gec.models.training.tables.inflection_table import build_inflections
from gec.text.inflection import MARKERS, Inflections, regular


@pytest.mark.parametrize(
    ("base", "marker", "form"),
    [
        ("work", "+s", "works"), ("try", "+s", "tries"), ("play", "+s", "plays"),
        ("watch", "+s", "watches"), ("box", "+s", "boxes"), ("kiss", "+s", "kisses"),
        ("work", "+ed", "worked"), ("try", "+ed", "tried"), ("like", "+ed", "liked"),
        ("like", "+ing", "liking"), ("see", "+ing", "seeing"), ("die", "+ing", "dying"),
        ("dye", "+ing", "dyeing"), ("try", "+ing", "trying"), ("work", "+en", "worked"),
        ("happy", "+er", "happier"), ("nice", "+est", "nicest"), ("tall", "+est", "tallest"),
        ("y", "+s", "ys"),
    ],
)  # fmt: skip
def test_regular_forms(base: str, marker: str, form: str) -> None:
    assert regular(base, marker) == form


@given(st.text(), st.sampled_from(MARKERS))
def test_every_word_has_a_regular_form(base: str, marker: str) -> None:
    assert regular(base, marker) != base or not base


def test_split_and_join() -> None:
    table = Inflections([("go", "+s", "goes"), ("go", "+ed", "went")])
    assert table.split("went") == ("go", "+ed")
    assert table.split("go") == ("go", "")
    assert table.join("go", "+ed") == "went"
    assert table.join("go", "") == "go"
    assert table.join("walk", "+ed") == "walked"  # not in the table
    assert table.forms("go") == {"+s": "goes", "+ed": "went"}
    assert table.forms("walk") == {}


@pytest.mark.parametrize(
    "entries",
    [
        [("go", "+s", "goes"), ("go", "+s", "gos")],  # two forms of one pair
        [("go", "+s", "goes"), ("goe", "+s", "goes")],  # two readings of one form
    ],
)
def test_the_table_is_one_to_one(entries: list[tuple[str, str, str]]) -> None:
    with pytest.raises(ValueError, match="not one-to-one"):
        Inflections(entries)


def test_unknown_markers() -> None:
    with pytest.raises(ValueError, match="unknown inflection marker"):
        Inflections([("go", "+ly", "goly")])


def test_save_and_load(tmp_path: Path) -> None:
    table = Inflections([("go", "+s", "goes"), ("go", "+ed", "went")])
    table.save(tmp_path / "table.tsv")
    assert sorted(Inflections.load(tmp_path / "table.tsv").entries()) == sorted(table.entries())
    Inflections().save(tmp_path / "empty.tsv")
    assert Inflections.load(tmp_path / "empty.tsv").entries() == []


@pytest.mark.parametrize("line", ["go\t+s", "go +s goes", "go\t+s\tgoes\tx"])
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "table.tsv").write_text(f"be\t+ing\tbeing\n{line}\n")
    with pytest.raises(ValueError, match=r"table\.tsv:2: expected 3 tab-separated fields"):
        Inflections.load(tmp_path / "table.tsv")


# ------------------------------------------------------------------------ how it is built


def forms(base: str, *past: str) -> list[str]:
    """Return verb-form-vocab's lines: third person, past, participle, -ing."""
    tags = ("VBZ", "VBD", "VBN", "VBG")
    return [f"{base}_{form}:VB_{tag}" for form, tag in zip(past, tags, strict=True)]


COUNTS = {
    "go": 900, "goes": 90, "went": 500, "gone": 80, "going": 400,
    "work": 800, "works": 70, "worked": 200, "working": 300,
    "find": 500, "finds": 20, "found": 400, "finding": 30, "founded": 9, "founds": 2,
    "lay": 50, "lie": 90, "lies": 20, "lain": 2, "lying": 20,
    "book": 300, "books": 200, "news": 300, "new": 900, "tall": 90, "taller": 8, "tallest": 5,
    "big": 300, "bigger": 30, "good": 900, "better": 300, "child": 90, "children": 300,
    "rare": 9, "rares": 6, "glass": 80, "glasses": 40, "is": 9999, "be": 999,
}  # fmt: skip
LINES = [
    *forms("go", "goes", "went", "gone", "going"),
    *forms("work", "works", "worked", "worked", "working"),
    *forms("find", "finds", "found", "found", "finding"),
    *forms("found", "founds", "founded", "founded", "founding"),
    *forms("lie", "lies", "lay", "lain", "lying"),
    *forms("lay", "lays", "laid", "laid", "laying"),
    *forms("be", "is", "was", "been", "being"),
    *forms("zzz", "zzzs", "zzzed", "zzzed", "zzzing"),
    "went_go:VBD_VB", "go_goer:VB_NN", "",
]  # fmt: skip


@pytest.mark.parametrize(
    ("word", "split"),
    [
        ("goes", ("go", "+s")), ("went", ("go", "+ed")), ("gone", ("go", "+en")),
        ("going", ("go", "+ing")), ("worked", ("work", "+ed")),
        ("found", ("find", "+ed")),  # a base form too, but seldom
        ("lay", ("lay", "")),  # a base form: kept whole
        ("lain", ("lie", "+en")),
        ("books", ("book", "+s")), ("children", ("child", "+s")),
        ("news", ("news", "")),  # not new +s
        ("rares", ("rares", "")),  # too rare a noun
        ("taller", ("tall", "+er")), ("bigger", ("big", "+er")), ("better", ("good", "+er")),
        ("zzzed", ("zzzed", "")),  # never seen
        ("is", ("is", "")), ("being", ("being", "")),
    ],
)  # fmt: skip
def test_building(word: str, split: tuple[str, str]) -> None:
    assert build_inflections(LINES, COUNTS).split(word) == split


def test_what_is_built_is_one_to_one() -> None:
    table = build_inflections(LINES, COUNTS)
    entries = table.entries()
    assert len({form for _, _, form in entries}) == len(entries)
    assert len({(base, marker) for base, marker, _ in entries}) == len(entries)
    for base, marker, form in entries:
        assert table.split(form) == (base, marker)
        assert table.join(base, marker) == form
        assert form != base
