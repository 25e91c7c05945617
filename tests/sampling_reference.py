"""Models whose distributions are small fractions, and every random number they can meet in turn.

With all probabilities multiples of 1/n, deciding by numbers (i + 1/2) / n for i = 0 .. n - 1 visits
each outcome as often as its probability says: enumerating the numbers enumerates the outcomes.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
import torch
from fake_models import EOS, RuleModel, Tokens, copies
from torch import Tensor

from gec.decoding import decoder
from gec.decoding.acceptance import Acceptance
from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters import Drafter

Distribution = tuple[float, ...]
"""Of the tokens EOS, 3, 4 and 5."""
VOCABULARY = (EOS, 3, 4, 5)


class TableModel(RuleModel):
    """Its distribution after an output is ``table[sum of the output's ids modulo its length]``."""

    def __init__(self, table: Sequence[Distribution]) -> None:
        super().__init__(copies, vocab_size=6)
        self.table = table

    def probabilities(self, output: Tokens) -> Distribution:
        return self.table[(sum(output) + len(output)) % len(self.table)]

    def scores(self, source: Tokens, output: Tokens) -> Tensor:
        logits = torch.full((self.vocab_size,), -torch.inf)
        for token, p in zip(VOCABULARY, self.probabilities(output), strict=True):
            logits[token] = math.log(p) if p else -torch.inf
        return logits

    def probability(self, output: Tokens) -> float:
        """Return the probability of an output; one that ends in EOS is whole."""
        return math.prod(
            self.probabilities(output[:i])[VOCABULARY.index(token)]
            for i, token in enumerate(output)
        )


class Script:
    """A stream of given numbers (i + 1/2) / n, then of the middle one."""

    def __init__(self, digits: Sequence[int], n: int) -> None:
        self.digits, self.n = list(digits), n

    def getrandbits(self, bits: int) -> int:
        digit = self.digits.pop(0) if self.digits else self.n // 2
        return int((digit + 0.5) / self.n * (1 << bits))


def first_passes(
    make: Callable[[], tuple[TableModel, Drafter, Acceptance]],
    draws: int,
    n: int,
    monkeypatch: pytest.MonkeyPatch,
) -> Counter[tuple[int, ...]]:
    """Return how often the first pass gives which tokens, for all ``n ** draws`` numbers."""
    scripts = list(itertools.product(range(n), repeat=draws))
    monkeypatch.setattr(
        decoder, "_streams", lambda seed, sources: [Script(digits, n) for digits in scripts]
    )
    model, drafter, acceptance = make()
    engine = Decoder(model, drafter, acceptance, limit=LengthLimit(0, 8))
    found = engine.decode([[3]] * len(scripts), batch_size=len(scripts))
    outcomes: Counter[tuple[int, ...]] = Counter()
    for [hypothesis] in found:
        whole = (*hypothesis.tokens, *[EOS] * (not hypothesis.truncated))
        outcomes[whole[: hypothesis.steps[0].emitted]] += 1
    return outcomes


def implied(
    outcomes: Counter[tuple[int, ...]], model: TableModel, length: int
) -> dict[tuple[int, ...], float]:
    """Return the probability of every output of ``length``, or ended: the pass, then p alone."""
    total = sum(outcomes.values())
    return {
        output: sum(
            count / total * model.probability(output) / model.probability(start)
            for start, count in outcomes.items()
            if output[: len(start)] == start and model.probability(start)
        )
        for output in outputs(length)
    }


def outputs(length: int) -> list[tuple[int, ...]]:
    """Return all outputs of ``length`` tokens, and those that EOS ends before."""
    found: list[tuple[int, ...]] = []
    for size in range(1, length + 1):
        for begin in itertools.product(VOCABULARY[1:], repeat=size - 1):
            found += [(*begin, last) for last in VOCABULARY if last == EOS or size == length]
    return found
