"""gec.web.language: what is English, and what is not."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from gec.models.load.bundle import BUNDLES
from gec.text.spelling import Speller
from gec.web.language import foreign

LANGUAGES = """
    af ar az bg bn bo ca cs da de dsb el es eu fa fi fr fo ga gd grc gu ha he hi hr hsb ht hu hy id
    is it ja kmr kn ko ky la lb lg lt lv mk ml mr ms nb ne nl nn pl pt ro ru sa si sk sl sq sr sv ta
    te th ti tl tn tr tt uk ur vi yo zh
""".split()  # spaCy has example sentences of most of them


@cache
def speller() -> Speller:
    found = Speller.load(BUNDLES / "en")
    assert found is not None
    return found


def is_foreign(text: str) -> bool:
    return foreign(text, speller().knows) > 0


def examples(language: str) -> list[str]:
    try:
        sentences: list[str] = import_module(f"spacy.lang.{language}.examples").sentences
    except ModuleNotFoundError:
        return []
    return sentences


@pytest.mark.parametrize("language", [name for name in LANGUAGES if examples(name)])
def test_texts_in_other_languages(language: str) -> None:
    text = " ".join(examples(language))
    assert is_foreign(text)
    assert foreign(text) > 0.5  # without a dictionary, too


def test_there_are_examples() -> None:
    assert sum(bool(examples(name)) for name in LANGUAGES) > 40


@pytest.mark.parametrize("at", range(len(examples("en"))))
def test_english_sentences(at: int) -> None:
    assert not is_foreign(examples("en")[at])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "!!! 123 ...",
        "😀",
        "Thanks!",
        "Hello wrld",
        "She go to school every day. I has an apple. He is interested on music.",
        "Teh quikc borwn fox jmups oevr the lzay dgo becuase he wnats to.",
        "I dey go market today because my mama wan buy fish.",
        "milk, bread, eggs, potatoes, washing powder, toothpaste, apples, cheese, butter",
        "Dear Mrs Krzysztofowicz, Anna Kowalska and Piotr Nowak arrived from Bydgoszcz via Poznan.",
        "The French say: c'est la vie. We say that nothing can be done about it.",
    ],
)
def test_english_of_every_kind(text: str) -> None:
    assert foreign(text, speller().knows) == 0


def test_learners_sentences_are_english() -> None:
    sample = Path(__file__).parents[1] / "data" / "learner_sample.txt"
    lines = [line for line in sample.read_text("utf-8").splitlines() if line.strip()]
    assert len(lines) > 5
    assert not any(map(is_foreign, lines))


@pytest.mark.parametrize(
    "text",
    [
        "Saya pergi ke sekolah setiap hari dengan sepeda.",
        "Tôi đi học mỗi ngày bằng xe đạp.",
        "Gallia est omnis divisa in partes tres, quarum unam incolunt Belgae.",
        "Mae'r ci yn gorwedd o dan y bwrdd ac yn cysgu.",
        "La hundo kuŝas sub la tablo kaj dormas.",
        "Собака",
        "狗在桌子下面睡觉。",
    ],
)
def test_single_sentences(text: str) -> None:
    assert is_foreign(text)
