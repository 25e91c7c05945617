"""The engine around a Corrector: what is decoded, how often, and what happens when it fails."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from gec.batch.engine import Engine, Stopped
from gec.correct.corrector import Corrector
from gec.decoding.decoder import Hypothesis
from gec.errors import ConfigError
from gec.text.inflection import Inflections
from gec.text.subwords import Subwords


@cache
def subwords() -> Subwords:
    sentence = "he she they go goes home and boom .".split()
    table = Inflections([("go", "+s", "goes")])
    return Subwords.train([sentence] * 9, size=400, inflections=table)


class Rules(Corrector):
    """``go`` becomes ``goes``; a source with the word ``boom`` breaks the decoder."""

    def __init__(self) -> None:
        model: Any = SimpleNamespace(max_positions=512)
        super().__init__(model, subwords())
        self.decoded: list[list[str]] = []

    def decode(
        self, sources: Sequence[tuple[int, ...]], tolerance: float, *, batch_size: int = 32
    ) -> list[Hypothesis]:
        texts = [" ".join(self.subwords.decode(source)) for source in sources]
        self.decoded.append(texts)
        if any("boom" in text for text in texts):
            raise RuntimeError("the decoder\nbroke")
        found = []
        for text in texts:
            words = ["goes" if word == "go" else word for word in text.split()]
            tokens = tuple(self.subwords.encode(words))
            found.append(Hypothesis(tokens, False, (0.0,) * (len(tokens) + 1), 0.0, ()))
        return found


def test_duplicates_are_decoded_once() -> None:
    corrector = Rules()
    texts = ["He go home.", "They go.", "He go home.", "They go. He go home.", "  "]
    found = Engine(corrector)(texts)
    assert [o.correction and o.correction.text for o in found] == [
        "He goes home.", "They goes.", "He goes home.", "They goes. He goes home.", "  "
    ]  # fmt: skip
    decoded = [text for batch in corrector.decoded for text in batch]
    assert sorted(decoded) == ["He go home .", "They go ."]


def test_a_block_is_sorted_by_length_as_a_whole() -> None:
    corrector = Rules()
    texts = [f"He go home {'and home ' * (n * 7 % 25)}." for n in range(25)]
    Engine(corrector, batch_size=4)(texts)
    lengths = [len(text.split()) for batch in corrector.decoded for text in batch]
    assert lengths == sorted(lengths)
    assert len(lengths) == 25


def test_the_text_at_fault_fails_alone() -> None:
    texts = [f"He go home {n} ." for n in "abcdefg"]
    texts[5] = "They boom ."
    found = Engine(Rules())(texts)
    assert [o.error for o in found] == [None] * 5 + ["RuntimeError: the decoder broke", None]
    assert found[5].correction is None
    assert all(o.correction and o.correction.edits for o in found if o is not found[5])


def test_what_is_refused() -> None:
    found = Engine(Rules(), max_chars=5)(["He go home .", "go \ud800", "go ."])
    assert [o.error for o in found] == [
        "too long: 12 characters, at most 5", "half a surrogate pair: not text", None
    ]  # fmt: skip


def test_a_part_that_is_too_long_is_reported() -> None:
    text = "He go home . " + "x-" * 3000
    (found,) = Engine(Rules())([text])
    assert found.error
    assert "too long for the model" in found.error


def test_protected_spans() -> None:
    found = Engine(Rules())(["He go home .", "He go home ."], [((3, 5),), ()])
    assert [o.correction and o.correction.text for o in found] == ["He go home .", "He goes home ."]


def test_a_wrong_option_is_nobodys_failure() -> None:
    class Wrong(Rules):
        def decode(self, *arguments: Any, **options: Any) -> list[Hypothesis]:
            raise ConfigError("wrong")

    with pytest.raises(ConfigError):
        Engine(Wrong())(["He go home .", "They go ."])


def test_a_stopped_engine_decodes_no_more() -> None:
    corrector = Rules()
    engine = Engine(corrector, batch_size=1)
    decode = corrector.decode

    def then_stop(*arguments: Any, **options: Any) -> list[Hypothesis]:
        engine.stop()
        return decode(*arguments, **options)

    corrector.decode = then_stop  # type: ignore[method-assign]
    with pytest.raises(Stopped):
        engine([f"They go {n} ." for n in "abcdefghijkl"])
    assert len(corrector.decoded) == 1
