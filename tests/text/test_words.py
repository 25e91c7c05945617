"""split_words and friends: the field's tokenization, the user's offsets."""

import doctest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gec.text import words as module
from gec.text.words import Word, normalise, split_tokenized, split_words, tokenize_line

# Lone surrogates, NUL, combining marks, invisible characters and line separators included.
ANY_TEXT = st.text(
    st.one_of(
        st.characters(), st.sampled_from(list("’“”—…'\"`.,-\u0301\u200b\u00a0\u2028\ud800\0 "))
    )
)


def forms(text: str) -> str:
    return " ".join(tokenize_line(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A well-known, state-of-the-art e-mail.", "A well-known , state-of-the-art e-mail ."),
        ("I cannot, I can't, I dont.", "I cannot , I ca n't , I dont ."),
        ("I don't. I'm. We're, they'd've", "I do n't . I 'm . We 're , they 'd 've"),
        ("I don’t. I’m. dog’s", "I do n't . I 'm . dog 's"),
        ("He dosen't; people're; DON'T", "He dose n't ; people 're ; DO N'T"),
        ("the dog's, the dogs' and O'Neil's", "the dog 's , the dogs ' and O'Neil 's"),
        ("gonna im Im ill its id well", "gonna im Im ill its id well"),
        ("e.g. this, i.e. that, Mr. X", "e.g. this , i.e. that , Mr. X"),
        ("apples, etc. in bags, etc.", "apples , etc. in bags , etc ."),
        ("(apples, etc.)", "( apples , etc . )"),
        ("So am I.", "So am I ."),
        ("He has a PhD.", "He has a PhD ."),
        ("I like vitamin c. Yes", "I like vitamin c . Yes"),
        ("in the U.S.", "in the U.S."),
        ("his/her and/or 24/7", "his/her and/or 24/7"),
        ("10km, 5pm, 3D, 50%, $5", "10km , 5pm , 3D , 50 % , $ 5"),
        (
            "1990s, 2010-2012, 2010–2012, 1,000 3.14.",
            "1990s , 2010-2012 , 2010-2012 , 1,000 3.14 .",
        ),
        ("foo--bar foo—bar", "foo -- bar foo - bar"),
        ('home.He said,"No"', 'home . He said , " No "'),
        ("What?No word,next", "What ? No word , next"),
        ("word(s) (see item 8)", "word ( s ) ( see item 8 )"),
        ("“Hi,” ``he'' said…", '" Hi , " " he " said ...'),
        ("cafe\u0301. a\u200bb. so\u00adft.", "café . ab . soft ."),
        ("at\u00a0home\u2028now\x0cyes", "at home now yes"),
        ("", ""),
        (" \t\r\n", ""),
    ],
)
def test_cuts_like_the_test_sets(text: str, expected: str) -> None:
    assert forms(text) == expected


@given(ANY_TEXT)
@settings(max_examples=200, deadline=None)
def test_words_cover_everything_but_whitespace(text: str) -> None:
    for words in (split_words(text, 7), split_tokenized(text, 7)):
        at = 7
        for word in words:
            assert at <= word.start < word.end
            assert text[at - 7 : word.start - 7].strip() == ""
            surface = text[word.start - 7 : word.end - 7]
            assert not any(c.isspace() for c in surface)
            assert word == Word(normalise(surface), word.start, word.end)
            at = word.end
        assert text[at - 7 :].strip() == ""


@given(ANY_TEXT)
@settings(max_examples=200, deadline=None)
def test_normalise_is_idempotent_and_encodable(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert bool(once) == bool(text)
    once.encode("utf-8")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("don’t", "don't"),
        ("5′", "5'"),
        ("“", '"'),
        ("``", '"'),
        ("''", '"'),
        ("’’", '"'),
        ("—", "-"),
        ("−1", "-1"),
        ("non‑stop", "non-stop"),
        ("…", "..."),
        ("cafe\u0301", "caf\u00e9"),
        ("\u212bngstro\u0308m", "\u00c5ngstr\u00f6m"),
        ("10\u00a0\u202fkm", "10 km"),
        ("\ufeffHe", "He"),
        ("\u200b", "\u200b"),
        ("\0\ud800", "\ufffd\ufffd"),
        ("naïve", "naïve"),
    ],
)
def test_normalise(word: str, expected: str) -> None:
    assert normalise(word) == expected


def test_offsets_survive_characters_that_change_length() -> None:
    text = "…cafe\u0301’s “x”"
    assert [text[w.start : w.end] for w in split_words(text)] == [
        "…", "cafe\u0301", "’s", "“", "x", "”",
    ]  # fmt: skip


def test_tokenized_text_is_cut_at_whitespace_only() -> None:
    assert [w.text for w in split_tokenized("do n't  can't .\t``x''")] == [
        "do", "n't", "can't", ".", "``x''",
    ]  # fmt: skip


@pytest.mark.parametrize("piece", ["(", "don't", "a.", "-", "'", "\u0301", "字"])
def test_long_runs_are_one_word(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    assert [(w.start, w.end) for w in split_words(f"a {text} b")] == [
        (0, 1), (2, 2 + len(text)), (3 + len(text), 4 + len(text)),
    ]  # fmt: skip


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
