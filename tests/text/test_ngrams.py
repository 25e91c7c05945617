"""Preferences of the n-gram model; its numbers are tested with what makes them."""

from __future__ import annotations

import pytest

from gec.models.training.tables.ngram_table import build_ngrams
from gec.text.ngrams import NGrams, normal_form

SENTENCES = [
    "she goes to the old school .".split(),
    "she goes home .".split(),
    "they go to the school .".split(),
    "In 1990 they go home .".split(),
]


@pytest.fixture(scope="module")
def table() -> NGrams:
    return build_ngrams(lambda: SENTENCES * 3, least=(1, 1, 1, 1))


@pytest.mark.parametrize(
    ("better", "start", "end", "worse"),
    [
        ("she goes home .", 1, 2, "go"),
        ("they go to the school .", 3, 3, "a"),  # without is better than with
        ("they go to the school .", 3, 4, ""),  # and with is better than without
        ("in 2001 they go home .", 3, 4, "goes"),
        ("she goes home .", 3, 4, ""),
    ],
)
def test_the_commoner_wording_is_preferred(
    table: NGrams, better: str, start: int, end: int, worse: str
) -> None:
    words = better.split()
    assert table.prefers(words, start, end, worse.split()) > 0
    changed = [*words[:start], *worse.split(), *words[end:]]
    back = table.prefers(changed, start, start + len(worse.split()), words[start:end])
    assert back == pytest.approx(-table.prefers(words, start, end, worse.split()))


def test_a_preference_is_the_difference_of_whole_sentences(table: NGrams) -> None:
    words = "they go to the old school and she goes home .".split()
    for start in range(len(words)):
        for end in range(start, min(start + 3, len(words)) + 1):
            for other in ([], ["school"], ["zebra", "."]):
                changed = [*words[:start], *other, *words[end:]]
                whole = table.logprob(words) - table.logprob(changed)
                assert table.prefers(words, start, end, other) == pytest.approx(whole)


def test_case_and_numbers_do_not_count(table: NGrams) -> None:
    assert table.logprob(["SHE", "Goes"]) == table.logprob(["she", "goes"])
    assert table.logprob("in 1990 they".split()) == table.logprob("in 7,000.5 they".split())
    assert normal_form("2nd") == normal_form("10") == "0"


def test_nothing(table: NGrams) -> None:
    assert table.logprob([]) < 0  # a sentence that ends at once
    assert table.logprob(["she"], 1, 1) == 0
