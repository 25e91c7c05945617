"""Scores: torch and numpy answer alike, and as plain Python over lists does."""

from __future__ import annotations

import math
import pkgutil
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gec.decoding
from gec.decoding.numpy_scores import NumpyScores
from gec.decoding.sampling import Sampling
from gec.decoding.scores import Scores
from gec.errors import ModelError
from gec.models.engines.scores import TorchScores

VOCABULARY = 11
LENGTHS = [3, 1, 4]
Logits = list[list[list[float]]]
"""By row, place and token."""


def logits(seed: int) -> Logits:
    """Return random logits of few values, so that some are equal."""
    rng = random.Random(seed)
    return [
        [[rng.randrange(-12, 12) / 4 for _ in range(VOCABULARY)] for _ in range(length)]
        for length in LENGTHS
    ]


def drafts(seed: int) -> list[list[int]]:
    """Return for each row a draft of any length up to the row's."""
    rng = random.Random(seed)
    return [[rng.randrange(VOCABULARY) for _ in range(rng.randint(0, n))] for n in LENGTHS]


def in_torch(rows: Logits) -> Scores:
    """Return packed scores."""
    places = [place for row in rows for place in row]
    return TorchScores(torch.tensor(places), [len(row) for row in rows])


def padded(rows: Logits) -> Scores:
    """Return scores whose padding is better than all else."""
    width = max(map(len, rows))
    worse = [[9.0] * len(rows[0][0])]
    whole = torch.tensor([row + worse * (width - len(row)) for row in rows])
    return TorchScores.padded(whole, [len(row) for row in rows])


KINDS: dict[str, Callable[[Logits], Scores]] = {
    "torch, packed": in_torch,
    "torch, padded": padded,
    "numpy": NumpyScores.of,
}


def log_softmax(place: list[float]) -> list[float]:
    total = math.log(sum(math.exp(x) for x in place))
    return [x - total for x in place]


def per_place(rows: Logits, value: Callable[[list[float]], Any]) -> list[list[Any]]:
    return [[value(place) for place in row] for row in rows]


@pytest.fixture(params=range(5))
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_the_best(kind: str, seed: int) -> None:
    rows = logits(seed)
    scores = KINDS[kind](rows)
    best = scores.best()
    found, alone, sure = scores.read(best, *scores.logprobs(best), scores.certainty())
    assert found == per_place(rows, lambda place: place.index(max(place)))
    assert scores.read(best) == [found]
    for row, logprobs, certain, places in zip(found, alone, sure, rows, strict=True):
        want = [log_softmax(place)[token] for token, place in zip(row, places, strict=True)]
        assert logprobs == pytest.approx(want, abs=1e-5)
        assert certain == pytest.approx([math.exp(x) for x in want], abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_drafts(kind: str, seed: int) -> None:
    rows, tokens = logits(seed), drafts(seed)
    scores = KINDS[kind](rows)
    behind, rank, logprobs = scores.read(
        scores.behind(tokens), scores.rank(tokens), *scores.logprobs(tokens)
    )
    for r, (draft, places) in enumerate(zip(tokens, rows, strict=True)):
        for i, place in enumerate(places):
            if i >= len(draft):
                assert (behind[r][i], rank[r][i]) == (math.inf, VOCABULARY)
                continue
            given = place[draft[i]]
            assert behind[r][i] == max(place) - given
            assert rank[r][i] == sum(x > given for x in place)
            assert logprobs[r][i] == pytest.approx(log_softmax(place)[draft[i]], abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 4, 99])
def test_the_best_few(kind: str, count: int, seed: int) -> None:
    rows = logits(seed)
    scores = KINDS[kind](rows)
    values, ids = scores.read(*scores.top(count))
    for places, row_values, row_ids in zip(rows, values, ids, strict=True):
        for place, some, tokens in zip(places, row_values, row_ids, strict=True):
            want = sorted(log_softmax(place), reverse=True)[:count]
            assert some == pytest.approx(want, abs=1e-5)
            assert [log_softmax(place)[token] for token in tokens] == pytest.approx(want, abs=1e-5)
            assert len(set(tokens)) == len(tokens)


@pytest.mark.parametrize("kind", KINDS)
def test_some_places(kind: str, seed: int) -> None:
    rows = logits(seed)
    scores = KINDS[kind](rows)
    [whole] = scores.read(scores.best())
    later = scores.after([2, 0, 1])
    assert list(later.lengths) == [1, 1, 3]
    assert later.read(later.best()) == [[whole[0][2:], whole[1], whole[2][1:]]]
    one = scores.at([1, 0, 3])
    assert one.read(one.best()) == [[[whole[0][1]], [whole[1][0]], [whole[2][3]]]]
    again = later.at([0, 0, 2])
    assert again.read(again.best()) == [[[whole[0][2]], [whole[1][0]], [whole[2][3]]]]


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(),
        Sampling(0.0),
        Sampling(0.7),
        Sampling(top_k=3),
        Sampling(top_p=0.8),
        Sampling(1.5, 4, 0.9),
        Sampling(epsilon=0.05),
        Sampling(1.2, top_p=0.97, epsilon=0.01),
    ],
)
@pytest.mark.parametrize("kind", ["torch, padded", "numpy"])
def test_distributions_and_draws(kind: str, sampling: Sampling, seed: int) -> None:
    """Both kinds have the same probabilities and make the same of the same random numbers."""
    rng = random.Random(seed)  # no two logits alike: which of equals is in the best k is open
    rows = [
        [[rng.gauss(0, 2) for _ in range(VOCABULARY)] for _ in range(length)] for length in LENGTHS
    ]
    tokens = drafts(seed)
    want, found = (k(rows).distribution(sampling) for k in (in_torch, KINDS[kind]))
    for row, length in enumerate(LENGTHS):
        np.testing.assert_allclose(found.part(row, length), want.part(row, length), atol=1e-6)
        np.testing.assert_allclose(np.asarray(found.part(row, length)).sum(-1), 1, atol=1e-6)
    last = [rng.random() for _ in LENGTHS]
    assert found.draw(last) == want.draw(last)
    chances = [[rng.random() for _ in draft] for draft in tokens]
    other = [k(logits(seed + 9)).distribution(Sampling()) for k in (in_torch, KINDS[kind])]
    for drawn in (False, True):
        of = [
            [[q.part(row, 1), q.part(row, 9)[1:]] for row in range(3)] if drawn else None
            for q in other
        ]
        assert found.speculate(tokens, of[1], chances, last) == want.speculate(
            tokens, of[0], chances, last
        )


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_and_what_does_not(kind: str) -> None:
    """By hand: p is (1/4, 3/4) at every place of two; the drafter was sure of the token 0."""
    place = [math.log(0.25), math.log(0.75)]
    p = KINDS[kind]([[place, place], [place, place], [place]]).distribution(Sampling())
    found = p.speculate([[0], [0], []], None, [[0.24], [0.26], []], [0.5, 0.1, 0.2])
    assert found == [(1, 1), (0, 1), (0, 0)]


@pytest.mark.parametrize("kind", KINDS)
def test_another_vocabulary_is_refused(kind: str) -> None:
    p = KINDS[kind]([[[0.0, 1.0]]]).distribution(Sampling())
    q = KINDS[kind]([[[0.0, 1.0, 2.0]]]).distribution(Sampling())
    with pytest.raises(ModelError, match="a vocabulary of 3 tokens, the verifier one of 2"):
        p.speculate([[0]], [[q.part(0, 1)]], [[0.5]], [0.5])


def test_decoding_needs_no_torch() -> None:
    """Who imports the decoder or a corrector waits neither for torch nor for spaCy."""
    modules = [
        found.name for found in pkgutil.walk_packages(gec.decoding.__path__, "gec.decoding.")
    ]
    assert "gec.decoding.drafters.nat" in modules
    names = ", ".join(["gec", "gec.correct.corrector", "gec.generate.generator", *modules])
    code = f"import sys, {names}; print(*{{'torch', 'spacy'}} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
