"""``gec bench lsp``: its documents and its table."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from gec.cli import main
from gec.documents.markup import passages
from gec.eval.benchmark.lsp import LANGUAGES, _changed, _document, read_sentences
from gec.lsp.languages import kind_of
from gec.lsp.positions import Text


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_document_holds_all_sentences(language: str) -> None:
    lines = [f"This is the sentence number {word}." for word in ("one", "two", "three")]
    source = _document(language, lines)
    kind = kind_of(language, "document")
    assert kind is not None
    assert [p.text(source).strip() for p in passages(kind[0], source, kind[1])] == (
        ["\n\n".join(lines)] if kind[0] == "plain" else lines
    )


def test_a_change_puts_a_word_between_two_others() -> None:
    text = Text.of("One two.\n\nThree four five.\n")
    for seed in range(20):
        changed, change = _changed(text, random.Random(seed))
        place = change["range"]["start"]
        at = text.offset(place["line"], place["character"])
        assert text.value[at] == " "
        assert changed == text.replaced(at, at, change["text"])
        assert len(changed.value.split()) == 6


def test_the_command(file: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    name = file("She go to school. They are here.\n\nAll is well.")
    assert read_sentences([name], 4) == [
        "She go to school.", "They are here.", "All is well.", "She go to school. (1)",
    ]  # fmt: skip
    options = ["--sentences", "6", "--changes", "2", "--languages", "plaintext", "--json"]
    assert main(["bench", "lsp", name, *options]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert row["sentences"] == 6
    assert row["findings"] >= 1
    assert 0 < row["median"] <= row["most"]
    assert main(["bench", "lsp", file("  \n")]) == 2
    assert "no sentences" in capsys.readouterr().err
