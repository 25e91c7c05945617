"""Plain text to ids and back."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tiny_generation import byte_pairs, vocabulary

from gec.errors import ConfigError, ModelError
from gec.models.load.bundle import find
from gec.text.vocabulary import (
    BOS_ID,
    EOS_ID,
    PAD_ID,
    CorrectorVocabulary,
    OwnVocabulary,
    PretrainedVocabulary,
    Vocabulary,
    load_vocabulary,
)

words = cache(vocabulary)


@cache
def corrector() -> CorrectorVocabulary:
    return CorrectorVocabulary.load(find("en"))


@cache
def pretrained() -> PretrainedVocabulary:
    """Special tokens stand at the beginning; its merges know few words."""
    return PretrainedVocabulary(byte_pairs())


both = pytest.mark.parametrize("made", [words, corrector, pretrained])


@both
@given(text=st.text())
@example(text="İ ǅ ß.  the U.S.A.'s dogs, (GOES)! <s> </s> <cap> a\u0301 \ud800 \x85 \x1f")
def test_any_text_comes_back(made: Callable[[], OwnVocabulary], text: str) -> None:
    want = text.encode("utf-8", "replace").decode()
    want = " ".join(unicodedata.normalize("NFC", " ".join(want.split())).split())
    ids = made().encode(text)
    assert made().decode(ids) == want
    assert not {PAD_ID, BOS_ID, EOS_ID} & set(ids), "special tokens are text when a user types them"
    assert len(made().pieces(ids)) == len(ids)


@both
@given(ids=st.lists(st.integers(0, 299)))
def test_any_ids_decode(made: Callable[[], OwnVocabulary], ids: list[int]) -> None:
    text = made().decode([i for i in ids if i < len(made())])
    assert text == " ".join(text.split())


@both
def test_a_word_has_the_same_ids_at_the_beginning_and_inside(
    made: Callable[[], OwnVocabulary],
) -> None:
    first, second = made().encode("dogs"), made().encode("see dogs")
    assert second[-len(first) :] == first
    assert made().encode("") == made().encode(" \n") == []


def test_a_folder_tells_which_vocabulary_it_has(tmp_path: Path) -> None:
    words().save(tmp_path)
    assert isinstance(load_vocabulary(tmp_path), Vocabulary)
    corrector().save(tmp_path)
    again = load_vocabulary(tmp_path)
    assert isinstance(again, CorrectorVocabulary)
    assert again.fingerprint == corrector().fingerprint
    (tmp_path / "inflections.tsv").write_text("")
    assert load_vocabulary(tmp_path).fingerprint != corrector().fingerprint
    words().save(tmp_path)
    assert isinstance(load_vocabulary(tmp_path), Vocabulary)


def test_files(tmp_path: Path) -> None:
    words().save(tmp_path)
    again = Vocabulary.load(tmp_path)
    assert again.fingerprint == words().fingerprint != vocabulary(310).fingerprint
    assert again.encode("dogs see") == words().encode("dogs see")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="cannot read"):
        Vocabulary.load(tmp_path)
    with pytest.raises(ConfigError, match="at least 259"):
        Vocabulary.train(["a"], size=100)
