"""The speller: what is a misspelling, what was meant, and its files."""

from __future__ import annotations

import gzip
import hashlib
import math
import pickle
import random
from pathlib import Path

import pytest
from rapidfuzz import process
from rapidfuzz.distance import OSA

from gec.errors import ModelError
from gec.models.load import bundle
from gec.text.spelling import (
    _WITH_S,
    MISSPELLINGS,
    TABLES,
    WORDS,
    Misspellings,
    Speller,
    Words,
    _cost,
    _other_first_letters,
)

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


def test_what_lists_say_is_meant() -> None:
    lists = {"thier": {"their": 4, "thief": 1}, "hte": {"the": 1}, "teh": {"the": 2, "a lot": 2}}
    speller = Speller(COUNTS, lists)
    words = ("Thier", "hte", "teh", "their")
    assert [speller.meant(word) for word in words] == ["their", "the", "the", None]
    assert [speller.meant(word, lists=2) for word in words] == ["their", None, "the", None]


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


def test_packed_and_back(speller: Speller, tmp_path: Path) -> None:
    """The same bytes each time, and the same answers as from the text files."""
    speller.pack(tmp_path)
    first = (tmp_path / TABLES).read_bytes()
    packed = Speller.load(tmp_path)
    assert packed is not None
    packed.pack(tmp_path)
    assert (tmp_path / TABLES).read_bytes() == first
    for word in ("teh", "alot", "goverment", "Marten", "governmint", "tenat", "", "work"):
        assert packed.suggest(word) == speller.suggest(word)
        assert packed.knows(word) == speller.knows(word)
    copied = pickle.loads(pickle.dumps(packed))
    assert copied.suggest("alot") == speller.suggest("alot")
    packed.save(tmp_path)
    assert not (tmp_path / TABLES).exists()
    again = Speller.load(tmp_path)
    assert again is not None
    assert again.suggest("recieve") == packed.suggest("recieve")  # its file is gone, not its table


def test_words_in_other_letters(tmp_path: Path) -> None:
    words = {"naïve": 400, "café": 3_000, "mañana": 90, "łódź": 100_000, "字字": 70, "cafe": 10**17}
    speller = Speller(words, {"cafè": {"café": 9}})
    speller.pack(tmp_path)
    packed = Speller.load(tmp_path)
    assert packed is not None
    assert all(packed.knows(word) for word in words)
    assert not packed.knows("字")
    assert {s.word for s in packed.suggest("cafè")} == {"café", "cafe"}
    assert packed.suggest("naive")[0].word == "naïve"
    assert packed.suggest("łódz")[0].word == "łódź"


def test_a_table_of_misspellings() -> None:
    """A sorted table is searched; a word that another begins with is another word."""
    listed = {"ab": {"ba": 2, "abs": 1}, "a": {"an": 1}, "abc": {"cab": 3}}
    table = Misspellings.of(listed, Words.of({"an": 7}))
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


class Plain:
    """The speller's rule with dictionaries, for all words of the dictionary at once."""

    def __init__(self, words: dict[str, int], listed: dict[str, dict[str, int]]) -> None:
        self.words, self.listed = words, listed
        self.near = [word for word, count in words.items() if count >= 20]

    def suggest(self, word: str) -> list[tuple[str, float]]:
        if word in self.words:
            return []
        most = 1 if len(word) <= 4 else 2
        same = [other for other in self.near if other[0] == word[0]]
        found = process.extract(word, same, scorer=OSA.distance, score_cutoff=most, limit=None)
        found += [(other, 1, 0) for other in _other_first_letters(word) if other in self.words]
        scores = {o: math.log(self.words[o]) - _cost(word, o, int(n)) for o, n, _ in found}
        for meant, lists in self.listed.get(word, {}).items():
            rare = math.log(self.words.get(meant.split()[0], 1))
            score = scores.get(meant, rare - 8.0)
            if meant.replace("'", "") == word and (meant[-2:] != "'s" or meant in _WITH_S):
                score = math.log(self.words.get(meant, 1)) + 6.5
            scores[meant] = score + 4.0 + math.log(lists)
        ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:8]
        likeliest = max([2.0, *(score for _, score in ranked)])
        weights = [math.exp((score - likeliest) / 2) for _, score in ranked]
        total = sum(weights) + math.exp((2.0 - likeliest) / 2)
        return [(w, weight / total) for (w, _), weight in zip(ranked, weights, strict=True)]


def text_tables(folder: Path, speller: Speller) -> tuple[bytes, bytes]:
    speller.save(folder)
    words, listed = (
        gzip.decompress((folder / name).read_bytes()) for name in (WORDS, MISSPELLINGS)
    )
    return words, listed


def test_the_shipped_tables_hold_what_the_text_files_held(tmp_path: Path) -> None:
    shipped = Speller.load(bundle.BUNDLES / "en")
    assert shipped is not None
    assert [hashlib.sha256(text).hexdigest() for text in text_tables(tmp_path, shipped)] == [
        "9edca738c1ba8f11acf242bcc050607e9484c370612db8ae652956cefb0547a7",
        "aea53a3ade73cadf6893dc45b786d2485f92f704f9c57d705bc7eca988ccca29",
    ]


def test_the_tables_suggest_what_dictionaries_do(tmp_path: Path) -> None:
    shipped = Speller.load(bundle.BUNDLES / "en")
    assert shipped is not None
    words, listed = (text.decode().splitlines() for text in text_tables(tmp_path, shipped))
    counts = {word: int(count) for word, count in (line.split("\t") for line in words)}
    meant: dict[str, dict[str, int]] = {}
    for wrong, right, lists in (line.split("\t") for line in listed):
        meant.setdefault(wrong, {})[right] = int(lists)
    plain = Plain(counts, meant)
    rng = random.Random(5)
    some = rng.sample([*meant], 250) + rng.sample([*counts], 20)
    for word in rng.sample([*counts], 80):
        place = rng.randrange(len(word))
        some.append(word[:place] + rng.choice("aest") + word[place + 1 :])
    for word in some:
        assert [(s.word, s.confidence) for s in shipped.suggest(word)] == plain.suggest(word), word


def test_an_unknown_word_may_be_right() -> None:
    speller = Speller({"banbury": 60, "holiday": 50_000, "unregulated": 90}, {})
    assert speller.correct(["Danbury", "is", "upregulated"]) == {}  # a name, a term
    [only] = speller.suggest("upregulated")
    assert only.confidence < 0.5
    assert speller.suggest("Holiday") == speller.suggest("") == ()


def test_spellers_can_be_copied_to_other_processes(speller: Speller) -> None:
    assert pickle.loads(pickle.dumps(speller)).suggest("teh") == speller.suggest("teh")
