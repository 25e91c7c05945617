"""Big Little Decoder against its algorithm written plainly; its edges; sampling."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from fake_models import EOS, CopyBiased, RuleModel, copies, rewrites, sometimes, tiny_network
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_decoding import Scores as ScoresOf
from reference_decoding import greedy

from gec.decoding.bild import Rollback, big_little_decoder, shares
from gec.decoding.decoder import LengthLimit
from gec.decoding.sampling import Sampling
from gec.errors import ConfigError
from gec.models.engines.scores import probabilities

LIMIT = LengthLimit(1.5, 6)
Steps = tuple[tuple[int, int, int], ...]


def reference(
    large: ScoresOf,
    small: ScoresOf,
    source: list[int],
    limit: int,
    fallback: float,
    rollback: float,
    longest: int,
) -> tuple[tuple[int, ...], Steps]:
    """Algorithm 1 of Kim et al. 2023, token by token, without a cache."""
    output: list[int] = []
    steps: list[tuple[int, int, int]] = []
    while len(output) < limit and EOS not in output:
        draft: list[int] = []
        while len(draft) < min(longest, limit - len(output) - 1) and EOS not in draft:
            p = small(source, output + draft).softmax(-1)
            if float(p.max()) < fallback:
                break
            draft.append(int(p.argmax()))
        accepted = 0
        for token in draft:
            if -float(large(source, output).log_softmax(-1)[token]) > rollback:
                break
            output.append(token)
            accepted += 1
        emitted = accepted
        if EOS not in output:
            output.append(int(large(source, output).argmax()))
            emitted += 1
        steps.append((len(draft), accepted, emitted))
    return tuple(token for token in output if token != EOS), tuple(steps)


@settings(deadline=None, max_examples=50)
@given(
    seed=st.integers(0, 10**6),
    texts=st.lists(st.lists(st.integers(3, 7), max_size=12), min_size=1, max_size=5),
    fallback=st.sampled_from([0.0, 0.5, 0.7, 1.0]),
    rollback=st.sampled_from([0.0, 0.6, 1.5, math.inf]),
    longest=st.sampled_from([1, 3, 10]),
    batch_size=st.sampled_from([1, 3, 32]),
)
def test_the_algorithm(
    seed: int,
    texts: list[list[int]],
    fallback: float,
    rollback: float,
    longest: int,
    batch_size: int,
) -> None:
    def model(agreement: float, gap: float) -> RuleModel:
        return RuleModel(
            sometimes(seed, 9, agreement), vocab_size=9, second=sometimes(seed + 1, 9), gap=gap
        )

    large, small = model(0.75, 0.4), model(0.9, 0.7)
    decoder = big_little_decoder(
        large, small, fallback=fallback, rollback=rollback, longest=longest, limit=LIMIT
    )
    for text, [found] in zip(texts, decoder.decode(texts, batch_size=batch_size), strict=True):
        tokens, steps = reference(
            large.scores, small.scores, text, LIMIT(text), fallback, rollback, longest
        )
        assert found.tokens == tokens
        assert tuple((s.drafted, s.accepted, s.emitted) for s in found.steps) == steps


def test_networks() -> None:
    large, small = CopyBiased(tiny_network(1), 5.0), CopyBiased(tiny_network(2), 5.0)
    texts = [[3, 4, 5], [6, 7, 8, 9, 10, 11], [12], [], [13, 14] * 5]
    kinds = Counter[bool]()
    for fallback, rollback in ((0.3, 1.0), (0.7, 2.5), (0.0, 3.0), (0.5, math.inf)):
        decoder = big_little_decoder(
            large, small, fallback=fallback, rollback=rollback, limit=LIMIT
        )
        for text, [found] in zip(texts, decoder.decode(texts, batch_size=3), strict=True):
            tokens, steps = reference(
                large.scores, small.scores, text, LIMIT(text), fallback, rollback, 10
            )
            assert found.tokens == tokens
            assert tuple((s.drafted, s.accepted, s.emitted) for s in found.steps) == steps
            kinds.update(step.accepted < step.drafted for step in found.steps)
    assert min(kinds[True], kinds[False]) > 10


def test_a_small_model_that_is_never_sure_is_the_large_one() -> None:
    large, small = RuleModel(sometimes(1, 9), vocab_size=9), RuleModel(copies, vocab_size=9)
    text = [3, 4, 5, 6]
    [[found]] = big_little_decoder(large, small, fallback=1.0).decode([text])
    assert found.tokens == greedy(large.scores, text, 26).tokens
    assert all(step.drafted == 0 for step in found.steps)
    assert shares([found]).fallback == 1.0


def test_without_rollback_a_sure_small_model_writes_alone() -> None:
    large, small = RuleModel(rewrites(lambda s: [9] * 3)), RuleModel(copies)
    [[found]] = big_little_decoder(large, small, rollback=math.inf, longest=20).decode([[3, 4, 5]])
    assert found.tokens == (3, 4, 5)
    assert len(found.steps) == 1


def test_a_threshold_of_zero_keeps_nothing_uncertain() -> None:
    large, small = RuleModel(copies, margin=3.0), RuleModel(copies)
    [[found]] = big_little_decoder(large, small, rollback=0.0).decode([[3, 4, 5]])
    assert found.tokens == (3, 4, 5)
    assert sum(step.accepted for step in found.steps) == 0
    assert shares([found]).rollback == 1.0


def test_shares() -> None:
    rule = rewrites(lambda s: [s[0], 9, *s[2:]])
    [[found]] = big_little_decoder(RuleModel(rule), RuleModel(copies)).decode([[3, 4, 5]])
    # 3 stands, 4 5 EOS are taken back for 9; the small one goes on: 5 EOS
    assert [(s.drafted, s.accepted, s.emitted) for s in found.steps] == [(4, 1, 2), (2, 2, 2)]
    counted = shares([found])
    assert counted.fallback == 1 / 4
    assert counted.rollback == 3 / 6
    assert counted.rollbacks == 1 / 2


def test_nucleus_sampling_never_leaves_the_nuclei() -> None:
    """Every token is in the small model's nucleus (and tolerable to the large) or the large's."""
    sampling = Sampling(top_p=0.8)
    large, small = CopyBiased(tiny_network(1), 3.0), CopyBiased(tiny_network(2), 3.0)
    decoder = big_little_decoder(
        large, small, fallback=0.2, rollback=2.0, sampling=sampling, limit=LIMIT, seed=3
    )
    texts = [[3 + i, 4, 5, 6, 7] for i in range(9)]
    found = [h for [h] in decoder.decode(texts, batch_size=5)]
    assert found == [decoder.decode([text])[0][0] for text in texts], "deaf to neighbours"
    for text, hypothesis in zip(texts, found, strict=True):
        output = [*hypothesis.tokens, *[EOS] * (not hypothesis.truncated)]
        place = 0
        for step in hypothesis.steps:
            for i in range(step.emitted):
                given = output[:place]
                model = small if i < step.accepted else large
                chances = probabilities(sampling, model.scores(text, given))
                assert chances[output[place]] > 0
                if i < step.accepted:
                    logprobs = large.scores(text, given).log_softmax(-1)
                    assert -float(logprobs[output[place]]) <= 2.0 + 1e-6
                place += 1
    assert len({h.tokens for h in found}) > 6


def test_thresholds_out_of_range() -> None:
    model = RuleModel(copies)
    for rollback in (-0.1, math.nan):
        with pytest.raises(ConfigError, match="rollback threshold must be >= 0"):
            Rollback(rollback)
    for fallback in (-0.1, 1.01):
        with pytest.raises(ConfigError, match="fallback threshold must lie from 0 to 1"):
            big_little_decoder(model, model, fallback=fallback)
    with pytest.raises(ConfigError, match="longest draft must be at least 1"):
        big_little_decoder(model, model, longest=0)
