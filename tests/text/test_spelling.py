"""The speller: what is a misspelling, what was meant, and its files."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import pytest

from gec.errors import ModelError
from gec.models.load import bundle
from gec.text.spelling import MISSPELLINGS, WORDS, Misspellings, Speller

COUNTS = {
    "the": 40_000_000, "their": 3_000_000, "work": 700_000, "walk": 90_000, "receive": 60_000,
    "relieve": 5_000, "sciences": 20_000, "a": 20_000_000, "lot": 90_000, "allot": 300,
    "friend": 100_000, "fiend": 900, "government": 200_000, "governments": 30_000, "colour": 9_000,
    "color": 30_000, "address": 80_000, "tenet": 3,
}  # fmt: skip
LISTS = {"alot": {"a lot": 3}, "goverment": {"government": 4}, "marten": {"martin": 1}}


@pytest.fixture
def speller() -> Speller:
    return Speller(COUNTS, LISTS)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("teh", "the"),  # transposed
        ("hte", "the"),  # and the first letter another
        ("recieve", "receive"),
        ("freind", "friend"),  # the more frequent of two at the same distance
        ("siences", "sciences"),
        ("adress", "address"),  # a letter that should be double
        ("ork", "work"),  # the first letter missing
        ("alot", "a lot"),  # lists know more than distances do
        ("governmint", "government"),
    ],
)
def test_what_was_meant(speller: Speller, wrong: str, right: str) -> None:
    suggestions = speller.suggest(wrong)
    assert suggestions[0].word == right
    assert 0.5 < sum(suggestion.confidence for suggestion in suggestions) < 1
    assert [s.confidence for s in suggestions] == sorted(
        (s.confidence for s in suggestions), reverse=True
    )


def test_short_words_and_rare_ones_are_not_guessed(speller: Speller) -> None:
    assert speller.suggest("wxlx") == ()  # two slips in four letters
    assert speller.suggest("tenat") == ()  # only a very rare word is near
    assert speller.suggest("qqqqqqqq") == ()


@pytest.mark.parametrize(
    "sentence",
    [
        "The colour the color",  # both are words
        "the NASSA xyz9 re-ceive it's",  # capitals, digits, hyphens, clitics
        "the Marten work",  # a name: one list is not enough
        "naïve ther9",
        "te",
    ],
)
def test_left_alone(speller: Speller, sentence: str) -> None:
    assert speller.correct(sentence.split()) == {}


def test_a_sentence(speller: Speller) -> None:
    words = "Teh Goverment recieve alot".split()
    found = speller.correct(words)
    assert {place: word for place, (word, _) in found.items()} == {
        0: "The", 1: "Government", 2: "receive", 3: "a lot",
    }  # fmt: skip
    assert all(0 < confidence <= 1 for _, confidence in found.values())
    assert speller.correct(words, skip={0, 2}).keys() == {1, 3}
    assert speller.correct(['"', "Teh"])[1][0] == "The"  # still the sentence's first word


def test_a_round_trip(speller: Speller, tmp_path: Path) -> None:
    speller.save(tmp_path)
    before = [(tmp_path / name).read_bytes() for name in (WORDS, MISSPELLINGS)]
    loaded = Speller.load(tmp_path)
    assert loaded is not None
    assert loaded.suggest("alot") == speller.suggest("alot")
    loaded.save(tmp_path)
    assert [(tmp_path / name).read_bytes() for name in (WORDS, MISSPELLINGS)] == before


def test_a_table_of_misspellings() -> None:
    """A sorted table is searched; a word that another begins with is another word."""
    lines = ["ab\tba\t2", "a\tan\t1", "abc\tcab\t3", "ab\tabs\t1"]
    table = Misspellings(lines)
    assert dict(table) == {"a": {"an": 1}, "ab": {"abs": 1, "ba": 2}, "abc": {"cab": 3}}
    assert len(table) == 3
    assert "b" not in table
    assert table.get("", {}) == {}


def test_the_last_line_may_lack_its_end(speller: Speller, tmp_path: Path) -> None:
    speller.save(tmp_path)
    (tmp_path / WORDS).write_bytes(gzip.compress(b"the\t7\nof\t5", mtime=0))
    loaded = Speller.load(tmp_path)
    assert loaded is not None
    assert loaded.knows("of")


def test_no_speller(tmp_path: Path) -> None:
    assert Speller.load(tmp_path) is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"the\t1", "cannot read"),
        (gzip.compress(b"the\t1\nthe\n", mtime=0), r"words\.tsv\.gz:2: expected 2 columns"),
        (gzip.compress(b"the\tmany\n", mtime=0), r"words\.tsv\.gz:1: expected"),
        (None, "cannot read"),
    ],
)
def test_broken_files(speller: Speller, tmp_path: Path, data: bytes | None, message: str) -> None:
    speller.save(tmp_path)
    (tmp_path / WORDS).unlink()
    if data is not None:
        (tmp_path / WORDS).write_bytes(data)
    with pytest.raises(ModelError, match=message):
        Speller.load(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("isnt", "isn't"), ("Dont", "don't"), ("theyre", "they're"), ("didnt", "didn't")],
)
def test_contractions_without_an_apostrophe(wrong: str, right: str) -> None:
    """The shipped dictionary: what tokenizers leave of contractions is no word to suggest."""
    shipped = Speller.load(bundle.BUNDLES / "en")
    assert shipped is not None
    assert shipped.suggest(wrong)[0].word == right


def test_an_unknown_word_may_be_right() -> None:
    speller = Speller({"banbury": 60, "holiday": 50_000, "unregulated": 90}, {})
    assert speller.correct(["Danbury", "is", "upregulated"]) == {}  # a name, a term
    [only] = speller.suggest("upregulated")
    assert only.confidence < 0.5
    assert speller.suggest("Holiday") == speller.suggest("") == ()


def test_spellers_can_be_copied_to_other_processes(speller: Speller) -> None:
    assert pickle.loads(pickle.dumps(speller)).suggest("teh") == speller.suggest("teh")
