"""One request's decodings: what counts against its limits, and what it cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from gec.correct.result import SentenceResult
from gec.correct.rounds import in_rounds
from gec.decoding.decoder import Hypothesis
from gec.decoding.trace import Pass, Trace
from gec.web.calls import Call, now
from gec.web.decoding import Decoded
from gec.web.problems import Problem

Ids = tuple[int, ...]
DecodeAll = Callable[[Sequence[Ids], float], list[Hypothesis]]


class Engine:
    """Adds 1 to ids below 3, in a second and a cached half."""

    def __init__(self, max_sentences: int) -> None:
        self.config = SimpleNamespace(max_sentences=max_sentences)
        self.corrector = self.service = self

    def with_decoder(self, decode: DecodeAll, **_: Any) -> Engine:
        self.of_call = decode
        return self

    def decode(self, sources: Sequence[Ids], *_: Any) -> list[Decoded]:
        return [
            Decoded(
                Hypothesis(
                    tuple(min(3, token + 1) for token in ids), False, (), 0.0, (Pass(1, 1, 1),)
                ),
                1.5,
                False,
            )
            for ids in sources
        ]


def test_another_round_is_no_further_sentence_and_its_time_counts() -> None:
    engine = Engine(max_sentences=2)
    call = Call(engine, now() + 60, "")  # type: ignore[arg-type]
    found = in_rounds(lambda sources: engine.of_call(sources, 0.0), [(1,), (3,)], 3, 9)
    assert [one.tokens for one in found] == [(3,), (3,)]
    costs = [
        call.cost(SentenceResult(0, 1, (), (), Trace(one.steps, ()), seconds=0.0)) for one in found
    ]
    assert costs == [(4500.0, False), (1500.0, False)]
    with pytest.raises(Problem) as caught:
        engine.of_call([(0,)], 0.0)
    assert caught.value.code == "too_many_sentences"
