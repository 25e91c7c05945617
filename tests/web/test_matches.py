"""gec.web.matches and gec.web.annotated: what LanguageTool's clients are told to do, and where."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gec.edits.edits import Edit, apply
from gec.web import annotated, results
from gec.web.annotated import Annotated, parse
from gec.web.matches import context, matches, replacements, rule_id
from gec.web.problems import Problem


def edit(start: int, original: str, replacement: str, kind: str = "R:OTHER") -> Edit:
    return Edit(start, start + len(original), original, replacement, kind, 0.5, "why")


def only(text: str, *edits: Edit) -> list[tuple[str, str]]:
    return [(text[one.start : one.end], one.text) for one in replacements(text, edits)]


@pytest.mark.parametrize("module", [annotated, results])
def test_examples_of_the_documentation(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        ("He go", edit(3, "go", "goes"), ("go", "goes")),
        ("I have dog", edit(7, "", "a "), ("dog", "a dog")),
        ("I have dog", edit(6, "", " a"), ("have", "have a")),
        ("I am", edit(4, "", "."), ("am", "am.")),
        ("(dog)", edit(1, "", "a "), ("dog", "a dog")),
        ("too much very", edit(4, "much ", ""), ("much very", "very")),
        ("discuss about it", edit(7, " about", ""), ("discuss about", "discuss")),
        ("I know, that", edit(6, ",", ""), ("know,", "know")),
        ("out", edit(0, "out", ""), None),
        ("", edit(0, "", "a"), None),
        ("\n", edit(0, "", "a"), ("\n", "a\n")),
        ("a\n\nb", edit(2, "", "c"), ("\n", "c\n")),
        ("😀 dog", edit(1, "", " a"), (" dog", " a dog")),
        ("I 😀", edit(1, "", " am"), ("I", "I am")),
        ("it's", edit(4, "", " me"), ("it's", "it's me")),
    ],
)
def test_nothing_is_empty(text: str, change: Edit, expected: tuple[str, str] | None) -> None:
    assert only(text, change) == ([expected] if expected else [])


def test_neighbours_do_not_overlap() -> None:
    text = "go dog"
    assert only(text, edit(0, "go", "gone"), edit(2, "", " a"), edit(3, "dog", "dogs")) == [
        ("go", "gone"),
        (" ", " a "),
        ("dog", "dogs"),
    ]
    assert only("go", edit(0, "go", "gone"), edit(2, "", " on")) == [("go", "gone on")]
    assert only("go", edit(0, "", "I "), edit(0, "go", "am")) == [("go", "I am")]


@st.composite
def texts_and_edits(draw: st.DrawFn) -> tuple[str, list[Edit]]:
    text = draw(st.text(st.sampled_from("ab .,'\n😀"), max_size=25))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    edits: list[Edit] = []
    for start, end in zip(cuts[::2], cuts[1::2], strict=False):
        new = draw(st.text(st.sampled_from("xy ."), max_size=3))
        touches = edits and edits[-1].end == start and (start == end or not edits[-1].original)
        if not touches and (start < end or new):
            edits.append(edit(start, text[start:end], new))
    return text, edits


@given(texts_and_edits())
def test_replacements_do_what_the_edits_do(case: tuple[str, list[Edit]]) -> None:
    text, edits = case
    found = replacements(text, edits)
    at = 0
    for one in found:
        assert at <= one.start < one.end <= len(text)
        assert one.text
        at = one.end
    kept = [change for one in found for change in one.edits]
    assert kept == edits or (not found and not apply(text, edits)) or not text
    made = [edit(one.start, text[one.start : one.end], one.text) for one in found]
    if kept == edits:
        assert apply(text, made) == apply(text, edits)


def test_a_match_in_full() -> None:
    text = "x" * 50 + " 😀 He go\nhome. " + "y" * 50
    start = text.index("go")
    (found,) = matches(Annotated([(text, None)]), [edit(start, "go", "goes", "R:VERB:SVA")], [])
    assert found == {
        "message": "why",
        "shortMessage": "Subject and verb",
        "replacements": [{"value": "goes", "confidence": 0.5}],
        "offset": start + 1,
        "length": 2,
        "context": {
            "text": "..." + text[start - 40 : start + 42].replace("\n", " ") + "...",
            "offset": 44,
            "length": 2,
        },
        "sentence": "",
        "type": {"typeName": "Other"},
        "rule": {
            "id": "GEC_R_VERB_SVA",
            "description": "The verb does not agree with its subject.",
            "issueType": "grammar",
            "category": {"id": "GRAMMAR", "name": "Grammar"},
            "isPremium": False,
        },
        "ignoreForIncompleteSentence": False,
        "contextForSureMatch": -1,
    }
    assert list(found)[:5] == ["message", "shortMessage", "replacements", "offset", "length"]


@pytest.mark.parametrize(
    ("kind", "rule", "issue", "category", "name"),
    [
        ("R:SPELL", "GEC_R_SPELL_SPELLER_RULE", "misspelling", "TYPOS", "UnknownWord"),
        ("R:ORTH", "GEC_R_ORTH", "typographical", "CASING", "Other"),
        ("M:PUNCT", "GEC_M_PUNCT", "typographical", "PUNCTUATION", "Other"),
        ("R:NOUN", "GEC_R_NOUN", "grammar", "GRAMMAR", "Other"),
    ],
)
def test_kinds(kind: str, rule: str, issue: str, category: str, name: str) -> None:
    (found,) = matches(Annotated([("a b", None)]), [edit(0, "a", "c", kind)], [])
    assert rule_id(kind) == found["rule"]["id"] == rule
    assert found["rule"]["issueType"] == issue
    assert found["rule"]["category"]["id"] == category
    assert found["type"]["typeName"] == name


def test_the_context_counts_code_units() -> None:
    text = "😀" * 60
    found = context(text, 50, 51)
    assert found == {"text": "..." + "😀" * 50, "offset": 83, "length": 2}


# ------------------------------------------------------------------------------------- annotated


def test_markup_is_read_as_it_says() -> None:
    text = parse(
        '{"annotation": [{"text": "A "}, {"markup": "<b>"}, {"text": "dog"}, {"markup": "</b>"},'
        ' {"markup": "<p>", "interpretAs": "\\n\\n"}, {"markup": "$x$", "interpretAs": "Dummy"},'
        ' {"text": "."}]}'
    )
    assert text.plain == "A dog\n\nDummy."
    assert text.full == "A <b>dog</b><p>$x$."
    assert text.span(0, 1) == (0, 1)
    assert text.span(0, 5) == (0, 8)
    assert text.span(2, 5) == (5, 8)
    assert text.span(7, 12) == text.span(8, 9) == (15, 18)
    assert text.span(12, 13) == (18, 19)
    assert text.protected() == ((7, 12),)
    assert text.is_text(2, 5)
    assert not text.is_text(0, 5)
    assert not text.is_text(7, 12)


def test_text_alone() -> None:
    assert parse('{"text": "a<b"}').plain == "a<b"
    assert parse('{"annotation": []}').full == ""


@pytest.mark.parametrize(
    "data",
    [
        "", "{", "[]", "{}", '{"text": 1}', '{"annotation": 1}', '{"annotation": [1]}',
        '{"text": "a", "annotation": []}', '{"annotation": [{}]}', "[" * 100_000,
        '{"annotation": [{"text": "a", "markup": "b"}]}', '{"annotation": [{"markup": 1}]}',
        '{"annotation": [{"text": "a", "interpretAs": "b"}]}',
        '{"annotation": [{"markup": "a", "interpretAs": null}]}',
    ],
    ids=lambda data: data[:40],
)  # fmt: skip
def test_other_data_is_refused(data: str) -> None:
    with pytest.raises(Problem, match="the parameter 'data'"):
        parse(data)


def test_markup_is_never_overwritten() -> None:
    text = Annotated([("in", None), ("<b>", ""), (" the", None), ("</b>", ""), (" night", None)])
    assert text.plain == "in the night"
    inside, across = matches(text, [edit(3, "the", "a"), edit(6, " night", " nights")], [])
    assert (inside["offset"], inside["length"]) == (6, 3)
    assert inside["replacements"][0]["value"] == "a"
    assert (across["offset"], across["length"]) == (13, 6)
    (found,) = matches(text, [edit(0, "in the", "at")], [])
    assert (found["offset"], found["length"], found["replacements"]) == (0, 9, [])


pieces = st.lists(
    st.tuples(st.text("ab 😀", min_size=1, max_size=4), st.sampled_from([None, "", "\n\n", "Xy"])),
    min_size=1,
    max_size=6,
)


@given(pieces, st.data())
def test_spans_of_text_are_that_text(
    parts: list[tuple[str, str | None]], data: st.DataObject
) -> None:
    text = Annotated(parts)
    if not text.plain:
        return
    start = data.draw(st.integers(0, len(text.plain) - 1))
    end = data.draw(st.integers(start + 1, len(text.plain)))
    first, last = text.span(start, end)
    assert 0 <= first < last <= len(text.full)
    assert text.span(0, end)[1] == last
    assert text.span(start, len(text.plain))[0] == first
    if all(instead is None for _, instead in parts):
        assert (first, last) == (start, end)
        assert text.is_text(start, end)
    for at in range(start, end):
        if text.is_text(at, at + 1):
            assert text.full[slice(*text.span(at, at + 1))] == text.plain[at]
