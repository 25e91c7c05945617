"""gec.eval.benchmark.plain_text: tokens as people write them, and back."""

from __future__ import annotations

import doctest

import pytest

from gec.eval.benchmark import plain_text
from gec.eval.benchmark.checker_peers import Fix
from gec.eval.benchmark.plain_text import plain


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("He do n't know .", "He don't know."),
        ("`` Yes , '' she said -LRB- twice -RRB- .", '"Yes," she said (twice).'),
        ("The students ' books cost $ 5 .", "The students' books cost $5."),
        ("Then he went . \"", 'Then he went."'),
        ("a - b / c", "a - b / c"),
        ("é 😀 ！", "é 😀 ！"),
        ("", ""),
    ],
)  # fmt: skip
def test_what_checkers_get(tokens: str, text: str) -> None:
    found = plain(tokens)
    assert found.text == text
    assert [text[slice(*span)].strip("\"()") for span in found.spans] == [
        {"``": "", "''": "", '"': "", "-LRB-": "", "-RRB-": ""}.get(t, t) for t in tokens.split()
    ]  # fmt: skip
    assert found.edited([]) == tokens  # nothing of the Penn Treebank's forms is lost


def edited(tokens: str, *edits: tuple[str, str]) -> str:
    """Return the tokens after edits of the plain text, each named by what stands there once."""
    sentence = plain(tokens)
    fixes = []
    for old, new in edits:
        assert sentence.text.count(old) == 1
        start = sentence.text.index(old)
        fixes.append(Fix(start, start + len(old), new))
    return sentence.edited(fixes)


def test_a_word_is_replaced() -> None:
    assert edited("He go `` home '' .", ("go", "goes")) == "He goes `` home '' ."


def test_what_is_written_is_tokenized() -> None:
    assert edited("I dont know", ("dont", "don't")) == "I do n't know"
    assert edited("We can not go", ("can not", "can't")) == "We ca n't go"
    assert edited("It end", ("end", "ends, then.")) == "It ends , then ."


def test_a_blank_is_taken_out_or_put_in() -> None:
    assert edited("some times it rains", ("e t", "et")) == "sometimes it rains"
    assert edited("alot of it", ("alot", "a lot")) == "a lot of it"


def test_words_are_deleted_with_or_without_their_blank() -> None:
    assert edited("I go to home .", ("to ", "")) == "I go home ."
    assert edited("I go to home .", ("to", "")) == "I go home ."
    assert edited("Well done !", ("!", "")) == "Well done"
    assert edited("No", ("No", "")) == ""


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        (0, "So ", "So He goes home"),
        (2, ",", "He , goes home"),
        (3, "then ", "He then goes home"),
        (12, ".", "He goes home ."),
        (12, " now.", "He goes home now ."),
    ],
)
def test_text_is_inserted(place: int, text: str, expected: str) -> None:
    assert plain("He goes home").edited([Fix(place, place, text)]) == expected


def test_text_is_inserted_where_there_is_none() -> None:
    assert plain("").edited([Fix(0, 0, "Yes .")]) == "Yes ."


def test_of_edits_that_overlap_the_first_is_made() -> None:
    sentence = plain("He go to home .")
    fixes = [Fix(6, 8, ""), Fix(3, 8, "goes"), Fix(9, 13, "house")]
    assert sentence.edited(fixes) == "He goes house ."
    assert sentence.edited([Fix(3, 5, "goes"), Fix(3, 5, "went")]) == "He goes to home ."
    assert sentence.edited([Fix(5, 5, "es"), Fix(5, 5, "ne")]) == "He goes to home ."


def test_edits_of_neighbours_and_of_parts_of_a_word() -> None:
    assert edited("He go home", ("go", "goes"), (" home", "  to house")) == "He goes to house"
    assert edited("reciept here", ("ie", "ei"), ("here", "there")) == "receipt there"


def test_the_parts_of_a_word_keep_their_tokens() -> None:
    """Only \"'ve\" is touched, and by itself the tokenizer would cut it."""
    assert edited("I 've seen 97% of it", ("'ve", "'d")) == "I 'd seen 97% of it"
    assert edited("97% of it", ("of", "off")) == "97% off it"


def test_an_edit_that_changes_nothing_changes_no_token() -> None:
    sentence = plain("He cannot `` go ''")
    assert sentence.edited([Fix(0, len(sentence.text), sentence.text)]) == "He cannot `` go ''"


def test_the_example() -> None:
    assert doctest.testmod(plain_text).failed == 0
