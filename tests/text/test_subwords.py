"""Subwords: words to ids and back for any Unicode, ids to words for any ids."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gec.errors import ModelError
from gec.text.byte_pairs import BytePairs
from gec.text.inflection import MARKERS, Inflections
from gec.text.subwords import BOS_ID, EOS_ID, PAD_ID, SPECIALS, Subwords
from gec.text.words import normalise

TABLE = [
    ("go", "+s", "goes"), ("go", "+ed", "went"), ("go", "+en", "gone"), ("go", "+ing", "going"),
    ("book", "+s", "books"), ("big", "+er", "bigger"), ("be", "+ing", "being"),
]  # fmt: skip
SENTENCES = [
    "She goes to school every day and has two books .".split(),
    "He went to a bigger school and he is going there again .".split(),
    "I have 1234 books , they have 56 .".split(),
]
CAP, UPPER = SPECIALS.index("<cap>"), SPECIALS.index("<upper>")


@lru_cache(1)
def subwords() -> Subwords:
    return Subwords.train(SENTENCES * 5, size=330, inflections=Inflections(TABLE))


def pieces(word: str) -> list[str]:
    return subwords().pieces(subwords().encode([word]))


@pytest.mark.parametrize("word", ["goes", "Goes", "GOES", "went", "being", "bigger", "Books"])
def test_inflected_words_are_base_and_marker(word: str) -> None:
    ids = subwords().encode([word])
    base, marker = subwords().inflections.split(word.lower())
    assert SPECIALS[ids[-1]] == f"<{marker}>"
    assert ids[-1 - len(subwords().encode([base])) : -1] == subwords().encode([base])
    assert (ids[0] == CAP, ids[0] == UPPER) == (word.istitle(), word.isupper())


def test_how_words_are_written() -> None:
    assert pieces("Goes") == ["<cap>", " go", "<+s>"]
    assert pieces("SCHOOL")[0] == "<upper>"
    assert pieces("SCHOOL")[1:] == pieces("school")
    assert pieces("I") == [" I"]  # always a capital: no marker needed
    assert "<" not in "".join(pieces("iPhone"))  # mixed case is spelt out
    assert pieces("1234") == [" ", "1", "2", "3", "4"]  # a digit a piece


WORDS = st.text(
    st.characters(exclude_categories=["Cs"]).filter(lambda c: not c.isspace()), min_size=1
)


@settings(deadline=None, max_examples=300)
@given(st.lists(WORDS, max_size=6))
@example(["ß", "ẞ", "ŉ", "ΣΑΣ", "İstanbul", "ǅ", "ﬁn", "DŽ", "ΐ"])  # capitals that do not come back
@example(["</s>", "<s>", "<pad>", "<cap>", "<upper>", "<+s>", "go<+s>", "<cap>Go"])
@example(["Ġ", "Ġgo", "goĠ", "Ċ", "Ā", "�", "\0", "👩‍👩‍👧", "é", "한국어", "ไทย"])
@example(["GOES", "gOES", "Went", "i", "I", "Iı", "123", "a1", "²", "٣٤", "½go"])
def test_any_words_come_back(words: list[str]) -> None:
    ids = subwords().encode(words)
    assert subwords().decode(ids) == words
    assert all(0 <= i < len(subwords()) for i in ids)
    assert not {PAD_ID, BOS_ID, EOS_ID} & set(ids), "a user's text is never a control token"


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_any_ids_have_words(data: st.DataObject) -> None:
    """Decoding is total; its spans are ordered, apart, inside the ids, and hold every piece."""
    ids = data.draw(st.lists(st.integers(0, len(subwords()) - 1), max_size=20))
    spans = subwords().decode_spans(ids)
    assert [word for word, _, _ in spans] == subwords().decode(ids)
    at = 0
    for word, start, end in spans:
        assert word
        assert start == at, "every token belongs to the word it makes or to the next one"
        assert start < end <= len(ids)
        at = end
    assert all(i < len(SPECIALS) or subwords().pieces([i]) == [" "] for i in ids[at:])
    assert len(subwords().pieces(ids)) == len(ids)


@settings(deadline=None, max_examples=100)
@given(st.lists(WORDS, min_size=1, max_size=6))
def test_spans_are_the_words_own_ids(words: list[str]) -> None:
    spans = subwords().decode_spans(subwords().encode(words))
    assert [end - start for _, start, end in spans] == [len(subwords().encode([w])) for w in words]


def test_control_tokens_are_no_part_of_a_text() -> None:
    go = subwords().encode(["go"])
    assert subwords().decode([PAD_ID, BOS_ID, *go, EOS_ID, PAD_ID]) == ["go"]
    marker = SPECIALS.index("<+s>")
    assert subwords().decode([marker, *go]) == ["go"]  # nothing before it to inflect
    assert subwords().decode([CAP, CAP, *go, UPPER]) == ["Go"]
    assert subwords().decode([]) == []


def test_a_marker_on_an_unknown_word_gets_its_regular_form() -> None:
    """The model may inflect any word."""
    ids = [*subwords().encode(["zany"]), SPECIALS.index("<+s>")]
    assert subwords().decode(ids) == ["zanies"]


def test_lone_surrogates_become_replacement_characters_before_they_get_here() -> None:
    """UTF-8 has no lone surrogates: words are normalised first (gec.text.words)."""
    word = normalise("a\ud800b")
    assert word == "a\ufffdb"
    assert subwords().decode(subwords().encode([word])) == [word]


def test_save_and_load(tmp_path: Path) -> None:
    subwords().save(tmp_path)
    loaded = Subwords.load(tmp_path)
    assert len(loaded) == len(subwords())
    for words in (*SENTENCES, ["</s>", "<cap>", "Ωmega"]):
        assert loaded.encode(words) == subwords().encode(words)
        assert loaded.decode(loaded.encode(words)) == words
    (tmp_path / "inflections.tsv").unlink()  # optional
    assert Subwords.load(tmp_path).decode(Subwords.load(tmp_path).encode(["goes"])) == ["goes"]


def test_training_is_deterministic(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        Subwords.train(SENTENCES * 5, size=330, inflections=Inflections(TABLE)).save(
            tmp_path / name
        )
    one, two = (tmp_path / name / "tokenizer.json" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_a_tokenizer_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot read .*tokenizer\.json"):
        Subwords.load(tmp_path)
    (tmp_path / "tokenizer.json").write_text(
        '{"model": {"type": "BPE", "vocab": {}, "merges": []}}'
    )
    with pytest.raises(ModelError, match="does not begin with the special tokens") as caught:
        Subwords.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_special_tokens_are_as_published() -> None:
    """The ids are part of every bundle: a change needs another bundle format."""
    assert SPECIALS[:5] == ("<pad>", "<s>", "</s>", "<cap>", "<upper>")
    assert SPECIALS[5:] == tuple(f"<{marker}>" for marker in MARKERS)
    assert (PAD_ID, BOS_ID, EOS_ID) == (0, 1, 2)


def test_no_ids_are_no_words() -> None:
    """Of a pretrained decoder, too: it may end a sentence at once."""
    words = BytePairs.of({"Ġ": 0, "a": 1, "Ġa": 2}, [("Ġ", "a")])
    assert words.decode([]) == words.decode_spans([]) == words.encode([]) == []
    assert words.decode([2, 1]) == ["aa"]
