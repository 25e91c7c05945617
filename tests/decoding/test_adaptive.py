"""The choice of gamma."""

from __future__ import annotations

import random

import pytest
from fake_models import RuleModel, copies, sometimes, tiny_network
from reference_decoding import greedy

from gec.decoding.decoder import Decoder, LengthLimit, Row
from gec.decoding.drafters.small_model import SmallModelDrafter
from gec.decoding.lengths import (
    AdaptiveLength,
    Timing,
    best_gamma,
    cost_ratio,
    expected_tokens,
    gamma_curves,
    improvement,
)
from gec.decoding.sampling import Sampling, SpeculativeSampling
from gec.decoding.trace import Pass
from gec.errors import ConfigError
from gec.models.engines.verifier import TransformerVerifier


@pytest.mark.parametrize("rate", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("gamma", [0, 1, 4])
def test_expected_tokens_by_simulation(rate: float, gamma: int) -> None:
    rng = random.Random(1)
    total = 0
    for _ in range(20_000):
        accepted = 0
        while accepted < gamma and rng.random() < rate:
            accepted += 1
        total += accepted + 1
    assert expected_tokens(rate, gamma) == pytest.approx(total / 20_000, rel=0.02)


def test_improvement_of_the_paper() -> None:
    """Theorem 3.8 at rate 0.8, gamma 5, cost 0.02 (Leviathan et al. 2023): (1 - .8^6) / .2 / 1.1"""
    assert improvement(0.8, 0.02, 5) == pytest.approx((1 - 0.8**6) / 0.2 / 1.1)
    assert improvement(0.8, 0.02, 0) == 1.0


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.77, 0.95, 1.0])
@pytest.mark.parametrize("cost", [0.0, 0.05, 0.3, 0.9, 2.0])
def test_nothing_is_better_than_the_best_gamma(rate: float, cost: float) -> None:
    best = best_gamma(rate, cost, 12)
    assert all(
        improvement(rate, cost, best) >= improvement(rate, cost, gamma) for gamma in range(13)
    )
    # Corollary 3.9: there is a gamma that pays if and only if the rate is above the cost
    assert (best > 0) == (rate > cost)


def test_a_useless_drafter_is_not_asked() -> None:
    """After a few rejected drafts gamma is 0; the small model makes no further pass."""
    large = RuleModel(copies)
    small = RuleModel(lambda source, output: 11)
    drafter = SmallModelDrafter(small, length=AdaptiveLength(0.3, prior=0.6, weight=2))
    [[found]] = Decoder(large, drafter).decode([[3, 4, 5, 6, 7, 8, 9, 10, 3, 4]])
    drafted = [step.drafted for step in found.steps]
    assert drafted[0] > 0
    assert drafted == sorted(drafted, reverse=True)
    assert drafted[-4:] == [0] * 4
    assert small.calls == sum(drafted)


def test_a_good_drafter_is_asked_for_more() -> None:
    drafter = SmallModelDrafter(RuleModel(copies), length=AdaptiveLength(0.1, prior=0.5, weight=4))
    [[found]] = Decoder(RuleModel(copies), drafter).decode([[3, 4, 5, 6, 7, 8, 9, 10] * 4])
    drafted = [step.drafted for step in found.steps][:-1]  # the last meets the sentence's end
    assert drafted == sorted(drafted)
    assert drafted[-1] > drafted[0]


def test_the_estimate() -> None:
    length = AdaptiveLength(0.1, prior=0.5, weight=2)
    steps = (Pass(4, 4, 5), Pass(4, 1, 2), Pass(3, 2, 2), Pass(0, 0, 1))
    # 7 stood and one did not; the third pass was cut by the length limit and rejected none
    assert length.rate(Row(0, [], 9, steps=steps)) == pytest.approx((1 + 7) / (2 + 8))
    assert length.rate(Row(0, [], 9)) == 0.5


@pytest.mark.parametrize("cost", [0.0, 0.2, 3.0])
def test_any_choice_is_lossless_and_deaf_to_neighbours(cost: float) -> None:
    large, small = RuleModel(sometimes(1, 9), vocab_size=9), sometimes(1, 9, 0.9)
    drafter = SmallModelDrafter(RuleModel(small, vocab_size=9), length=AdaptiveLength(cost))
    texts = [[3 + i % 5, 4, 5, 6, 7, 3 + i // 5] for i in range(7)]
    limit = LengthLimit(1.5, 6)
    alone = [Decoder(large, drafter, limit=limit).decode([text])[0][0] for text in texts]
    together = Decoder(large, drafter, limit=limit).decode(texts, batch_size=3)
    assert [h for [h] in together] == alone
    assert [h.tokens for h in alone] == [greedy(large.scores, t, limit(t)).tokens for t in texts]
    sampled = Decoder(
        TransformerVerifier(tiny_network(1)),
        SmallModelDrafter(
            TransformerVerifier(tiny_network(2)), length=AdaptiveLength(cost), sampling=Sampling()
        ),
        SpeculativeSampling(),
        limit=limit,
    )
    alone = [sampled.decode([text])[0][0] for text in texts]
    assert [h for [h] in sampled.decode(texts, batch_size=3)] == alone


def test_cost_ratio_times_both_models() -> None:
    large, small = RuleModel(copies), RuleModel(copies, max_positions=5)
    timing = cost_ratio(small, large, rounds=3)
    assert (small.calls, large.calls) == (6, 6)
    assert timing.small > 0
    assert timing.ratio == timing.small / timing.large


def test_cost_ratio_where_eos_is_the_last_id() -> None:
    network = TransformerVerifier(tiny_network(vocab_size=5, eos_id=4))
    assert cost_ratio(RuleModel(copies, vocab_size=3), network, rounds=1).ratio > 0


def test_a_small_model_that_is_slower() -> None:
    assert Timing(1.0, 3.0).warning() is None
    warning = Timing(4.0, 2.5).warning()
    assert warning is not None
    assert "4.00 ms" in warning
    assert "2.50 ms" in warning


def test_curves() -> None:
    curves = gamma_curves([0.1, 0.9], [0.05, 0.5])
    assert list(curves) == ["c = 0.05", "c = 0.5"]
    [low, high] = curves["c = 0.5"]
    assert low == (0.1, 0.0, 1.0)
    assert high[1] == best_gamma(0.9, 0.5)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"cost": -0.1}, "cost ratio must be a number >= 0"),
        ({"cost": float("nan")}, "cost ratio"),
        ({"cost": 0.1, "prior": 1.5}, "from 0 to 1"),
        ({"cost": 0.1, "weight": 0}, "above 0"),
        ({"cost": 0.1, "longest": -1}, "largest gamma must be at least 0"),
    ],
)
def test_out_of_range(values: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        AdaptiveLength(**values)  # type: ignore[arg-type]
