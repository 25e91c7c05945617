"""Plain text to ids and back."""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_generation import vocabulary

from gec.errors import ConfigError, ModelError
from gec.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, Vocabulary

words = cache(vocabulary)


@given(st.text())
def test_any_text_comes_back(text: str) -> None:
    want = text.encode("utf-8", "replace").decode()
    want = " ".join(unicodedata.normalize("NFC", " ".join(want.split())).split())
    ids = words().encode(text)
    assert words().decode(ids) == want
    assert not {PAD_ID, BOS_ID, EOS_ID} & set(ids), "special tokens are text when a user types them"
    assert len(words().pieces(ids)) == len(ids)


@given(st.lists(st.integers(0, 299)))
def test_any_ids_decode(ids: list[int]) -> None:
    text = words().decode([i for i in ids if i < len(words())])
    assert text == " ".join(text.split())


def test_a_word_has_the_same_ids_at_the_beginning_and_inside() -> None:
    first, second = words().encode("dogs"), words().encode("see dogs")
    assert second[-len(first) :] == first
    assert words().encode("") == words().encode(" \n") == []


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
