"""Speculative sampling draws from the verifier's distribution: enumerated, and by chi-square."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
import torch
from fake_models import EOS, CopyBiased, RuleModel, copies, sometimes, tiny_network
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_decoding import greedy
from sampling_reference import Distribution, TableModel, first_passes, implied

from gec.decoding import numpy_scores
from gec.decoding.acceptance import Acceptance, Exact
from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters import Drafter, NoDraft
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.drafters.small_model import FixedLength, Level, SmallModelDrafter
from gec.decoding.sampling import GREEDY, Sampling, SpeculativeSampling, acceptance
from gec.errors import ConfigError, ModelError
from gec.models.engines.scores import draw, probabilities
from gec.models.engines.verifier import TransformerVerifier

# Pairs whose every step is a multiple of 1/4: p, q, p / q where it is below 1, the normed rest.
LARGE = ((0.25, 0.25, 0.5, 0.0), (0.0, 0.5, 0.25, 0.25), (0.5, 0.25, 0.0, 0.25))
SMALL = ((0.5, 0.25, 0.25, 0.0), (0.0, 0.25, 0.5, 0.25), (0.25, 0.5, 0.25, 0.0))
DISJOINT = ((0.0, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0))

HALVES: dict[str, tuple[Distribution, ...]] = {
    "large": ((0.5, 0.5, 0.0, 0.0), (0.0, 0.5, 0.5, 0.0), (0.5, 0.0, 0.5, 0.0)),
    "medium": ((0.0, 0.5, 0.5, 0.0), (0.0, 0.5, 0.0, 0.5), (0.5, 0.5, 0.0, 0.0)),
    "small": ((0.0, 0.0, 0.5, 0.5), (0.5, 0.0, 0.0, 0.5), (0.0, 0.5, 0.5, 0.0)),
}

LIMIT = LengthLimit(1.0, 6)
Case = tuple[TableModel, Drafter, Acceptance]


def speculative(small: tuple[Distribution, ...], gamma: int) -> Case:
    drafter = SmallModelDrafter(TableModel(small), length=FixedLength(gamma), sampling=Sampling())
    return TableModel(LARGE), drafter, SpeculativeSampling()


def copied() -> Case:
    """The source and EOS are the draft: both have q = 1."""
    return TableModel(HALVES["large"]), CopyDrafter(), SpeculativeSampling()


def likeliest() -> Case:
    """The small model drafts the token it likes best: q = 1."""
    drafter = SmallModelDrafter(TableModel(HALVES["small"]), length=FixedLength(2))
    return TableModel(HALVES["large"]), drafter, SpeculativeSampling()


@pytest.mark.parametrize(
    ("make", "draws", "n"),
    [
        (lambda: (TableModel(LARGE), NoDraft(), SpeculativeSampling()), 1, 4),
        (partial(speculative, SMALL, 1), 3, 4),
        (partial(speculative, SMALL, 2), 5, 4),
        (partial(speculative, DISJOINT, 2), 5, 4),
        (partial(speculative, LARGE, 2), 5, 4),
        (copied, 3, 2),
        (likeliest, 3, 2),
    ],
    ids=["none", "gamma 1", "gamma 2", "disjoint", "the same model", "copied", "likeliest"],
)
def test_every_outcome_of_a_pass(
    make: Callable[[], Case], draws: int, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a pass gives, and p alone from there on, is p: so is any number of passes."""
    outcomes = first_passes(make, draws, n, monkeypatch)
    model = make()[0]
    found = implied(outcomes, model, 4)
    assert found == pytest.approx({o: model.probability(o) for o in found}, abs=1e-12)
    assert sum(found.values()) == pytest.approx(1)


def test_disjoint_supports_accept_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = first_passes(partial(speculative, DISJOINT, 2), 5, 4, monkeypatch)
    assert {len(tokens) for tokens in outcomes} == {1}


def test_the_same_model_accepts_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = first_passes(partial(speculative, LARGE, 2), 5, 4, monkeypatch)
    assert {len(tokens) for tokens in outcomes if EOS not in tokens} == {3}


# ---------------------------------------------------------------------------- hierarchies


class WrongQ(SmallModelDrafter):
    """Tells the large model the small one's distributions, not the medium's."""

    def distributions(self, memory: Level) -> list[list[torch.Tensor]] | None:
        right = memory.drawn
        model = TableModel(HALVES["small"])
        # every draft here begins a sentence: the distribution after no token, for its first token
        wrong = probabilities(Sampling(), model.scores([3], []))[None]  # [1, V]
        return [[wrong, torch.cat(parts)[1:]] if parts else [] for parts in right]


def hierarchy(kind: type[SmallModelDrafter], gamma: int) -> Case:
    small = SmallModelDrafter(
        TableModel(HALVES["small"]), length=FixedLength(1), sampling=Sampling()
    )
    medium = kind(
        TableModel(HALVES["medium"]), small, length=FixedLength(gamma), sampling=Sampling()
    )
    return TableModel(HALVES["large"]), medium, SpeculativeSampling()


@pytest.mark.parametrize(("gamma", "draws"), [(1, 5), (2, 11)])
def test_every_outcome_of_a_hierarchy(
    gamma: int, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small model drafts for a medium one, which drafts for a large one: p all the same."""
    outcomes = first_passes(partial(hierarchy, SmallModelDrafter, gamma), draws, 2, monkeypatch)
    model = TableModel(HALVES["large"])
    found = implied(outcomes, model, 4)
    assert found == pytest.approx({o: model.probability(o) for o in found}, abs=1e-12)
    assert max(map(len, outcomes)) == gamma + 1


def test_the_small_models_q_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens that the medium model let pass have its distribution, no longer the small one's."""
    outcomes = first_passes(partial(hierarchy, WrongQ, 1), 5, 2, monkeypatch)
    model = TableModel(HALVES["large"])
    found = implied(outcomes, model, 4)
    assert max(abs(found[o] - model.probability(o)) for o in found) > 0.05


# ------------------------------------------------------------------------- many samples


def chi_square(found: Counter[tuple[int, ...]], expected: dict[tuple[int, ...], float]) -> float:
    """Return how many standard deviations the statistic lies above its mean (Wilson-Hilferty)."""
    total = sum(found.values())
    likely = {o: p * total for o, p in expected.items() if p * total >= 5}
    rest = total - sum(likely.values())
    statistic = sum((found[o] - e) ** 2 / e for o, e in likely.items())
    others = total - sum(found[o] for o in likely)
    degrees = len(likely) - 1
    if rest >= 5:
        statistic, degrees = statistic + (others - rest) ** 2 / rest, degrees + 1
    shift = 2 / (9 * degrees)
    return ((statistic / degrees) ** (1 / 3) - (1 - shift)) / math.sqrt(shift)


SAMPLINGS = {
    "plain": Sampling(),
    "cold": Sampling(0.6),
    "hot, top-k": Sampling(1.7, top_k=4),
    "nucleus": Sampling(1.2, top_p=0.8),
    "both": Sampling(1.5, top_k=9, top_p=0.9),
}


@pytest.mark.parametrize(
    ("name", "levels"), [*((name, 1) for name in SAMPLINGS), ("plain", 2), ("both", 2)]
)
def test_networks_draw_from_the_verifiers_distribution(name: str, levels: int) -> None:
    """Two tokens and EOS of 2,000 samples against their probabilities, computed without a cache."""
    sampling = SAMPLINGS[name]
    large = CopyBiased(tiny_network(1), 2.0)
    drafter: Drafter | None = None
    for seed in range(levels):
        model = TransformerVerifier(tiny_network(5 - seed, width=16, ffn_width=16))
        drafter = SmallModelDrafter(model, drafter, length=FixedLength(2), sampling=sampling)
    engine = Decoder(large, drafter, SpeculativeSampling(sampling), limit=LengthLimit(0, 2))
    source = [3, 4, 5]
    found: Counter[tuple[int, ...]] = Counter()
    for [h] in engine.decode([source] * 2000, batch_size=2000):
        found[(*h.tokens, *[EOS] * (not h.truncated))] += 1
    expected: dict[tuple[int, ...], float] = {}
    for first, p in enumerate(probabilities(sampling, large.scores(source, [])).tolist()):
        if first == EOS:
            expected[(EOS,)] = p
        elif p > 0:
            after = probabilities(sampling, large.scores(source, [first])).tolist()
            expected |= {(first, second): p * q for second, q in enumerate(after) if q > 0}
    assert sum(expected.values()) == pytest.approx(1)
    assert set(found) <= set(expected), "nothing that p excludes"
    assert -3.5 < chi_square(found, expected) < 3.5


def test_a_wrong_distribution_is_found_out() -> None:
    """The test's power: the drafter's own samples are not distributed as the verifier's."""
    large, small = TableModel(LARGE), TableModel(SMALL)
    engine = Decoder(small, acceptance=SpeculativeSampling(), limit=LengthLimit(0, 2))
    found = Counter((*h.tokens, *[EOS] * (not h.truncated)) for [h] in engine.decode([[3]] * 3000))
    expected = {
        o: large.probability(o)
        for o in [(EOS,), *[(a, b) for a in (3, 4, 5) for b in (2, 3, 4, 5)]]
    }
    assert chi_square(found, expected) > 10


# ------------------------------------------------------------------ reproducible, greedy


def small_drafter(seed: int, sampling: Sampling, gamma: int = 3) -> SmallModelDrafter:
    model = TransformerVerifier(tiny_network(seed, width=16, ffn_width=16))
    return SmallModelDrafter(model, length=FixedLength(gamma), sampling=sampling)


def sources(count: int = 9) -> list[list[int]]:
    rng = random.Random(5)
    # each begins with its number: equal sentences would be drawn for apart
    return [[3 + i, *(rng.randrange(3, 31) for _ in range(i * 5 % 12))] for i in range(count)]


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_neighbours_change_no_sample(levels: int) -> None:
    """Alone, in ragged batches, joining others half done, in another order: the same output."""
    sampling = Sampling(1.2, top_p=0.9)
    drafter: Drafter | None = None
    for level in range(levels):
        model = TransformerVerifier(tiny_network(level, width=16, ffn_width=16))
        drafter = SmallModelDrafter(model, drafter, length=FixedLength(3), sampling=sampling)
    model_ = CopyBiased(tiny_network(9), 4.0)
    engine = Decoder(model_, drafter, SpeculativeSampling(sampling), limit=LIMIT, seed=4)
    texts = sources()
    alone = [engine.decode([text])[0][0] for text in texts]
    for size in (2, 32):
        together = engine.decode(texts, batch_size=size)
        assert [(h.tokens, h.steps) for [h] in together] == [(h.tokens, h.steps) for h in alone]
    backwards = engine.decode(texts[::-1], batch_size=3)
    assert [h.tokens for [h] in backwards][::-1] == [h.tokens for h in alone]


def test_the_seed_decides() -> None:
    model = TransformerVerifier(tiny_network(9))

    def samples(seed: int, texts: list[list[int]]) -> list[tuple[int, ...]]:
        rule = SpeculativeSampling()
        drafter = small_drafter(1, Sampling())
        engine = Decoder(model, drafter, rule, limit=LIMIT, seed=seed)
        return [h.tokens for [h] in engine.decode(texts)]

    assert samples(1, sources()) == samples(1, sources())
    assert samples(1, sources()) != samples(2, sources())
    assert len(set(samples(1, [[3, 4, 5]] * 8))) > 1, "equal sentences are drawn for apart"


@pytest.mark.parametrize("gamma", [0, 1, 4])
def test_temperature_0_is_greedy_decoding(gamma: int) -> None:
    model = CopyBiased(tiny_network(9), 4.0)
    texts = sources()
    expected = [greedy(model.scores, text, LIMIT(text)).tokens for text in texts]
    for drawn in (GREEDY, Sampling()):
        for rule in (SpeculativeSampling(GREEDY), acceptance(GREEDY)):
            drafter = small_drafter(2, drawn, gamma)
            found = Decoder(model, drafter, rule, limit=LIMIT).decode(texts, batch_size=4)
            assert [h.tokens for [h] in found] == expected
    assert isinstance(acceptance(GREEDY), Exact)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    texts=st.lists(st.lists(st.integers(3, 7), max_size=12), min_size=1, max_size=5),
    agreement=st.sampled_from([0.6, 0.9]),
    gamma=st.integers(0, 7),
    fallback=st.sampled_from([0.0, 0.5, 1.0]),
    positions=st.sampled_from([9, 100]),
    batch_size=st.sampled_from([1, 3, 32]),
)
def test_small_models_of_any_kind_are_lossless(
    seed: int,
    texts: list[list[int]],
    agreement: float,
    gamma: int,
    fallback: float,
    positions: int,
    batch_size: int,
) -> None:
    """Unsure, with few positions, wrong, drafting nothing or much: greedy output, three levels."""
    large = RuleModel(sometimes(seed, 9), vocab_size=9)

    def model(share: float) -> RuleModel:
        second = sometimes(seed + 1, 9)
        return RuleModel(
            sometimes(seed, 9, share), vocab_size=9, max_positions=positions, second=second, gap=0.5
        )

    length = FixedLength(gamma)
    one = SmallModelDrafter(model(agreement), length=length, fallback=fallback)
    two = SmallModelDrafter(model(agreement), CopyDrafter(), length=length, fallback=fallback)
    three = SmallModelDrafter(model(agreement), SmallModelDrafter(model(0.7)), length=length)
    for drafter in (one, two, three):
        found = Decoder(large, drafter, limit=LIMIT).decode(texts, batch_size=batch_size)
        for text, [h] in zip(texts, found, strict=True):
            expected = greedy(large.scores, text, LIMIT(text))
            assert (h.tokens, h.truncated) == (expected.tokens, expected.truncated)


# ------------------------------------------------------------------ distributions, bad input


def test_distributions() -> None:
    logits = torch.tensor([0.1, 0.4, 0.2, 0.3]).log()
    for sampling, expected in (
        (Sampling(), [0.1, 0.4, 0.2, 0.3]),
        (Sampling(0.0), [0, 1, 0, 0]),
        (Sampling(top_k=2), [0, 4 / 7, 0, 3 / 7]),
        (Sampling(top_k=9), [0.1, 0.4, 0.2, 0.3]),
        (Sampling(top_p=0.4), [0, 1, 0, 0]),
        (Sampling(top_p=0.71), [0, 4 / 9, 2 / 9, 3 / 9]),
        (Sampling(top_k=3, top_p=0.5), [0, 4 / 7, 0, 3 / 7]),
        (Sampling(epsilon=0.15), [0, 4 / 9, 2 / 9, 3 / 9]),
        (Sampling(epsilon=0.9), [0, 1, 0, 0]),
        (Sampling(top_p=0.5, epsilon=0.25), [0, 1, 0, 0]),
        (Sampling(0.5), [1 / 30, 16 / 30, 4 / 30, 9 / 30]),
        (Sampling(1e-9), [0, 1, 0, 0]),
    ):
        assert probabilities(sampling, logits).tolist() == pytest.approx(expected, abs=1e-6)
        own = numpy_scores.probabilities(sampling, logits.numpy())
        assert own.tolist() == pytest.approx(expected, abs=1e-6)


def test_ties_keep_exactly_top_k() -> None:
    assert sorted(probabilities(Sampling(top_k=2), torch.zeros(5)).tolist()) == [0, 0, 0, 0.5, 0.5]


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
def test_distributions_keep_the_order(sampling: Sampling) -> None:
    torch.manual_seed(0)
    logits = torch.randn(3, 4, 50, dtype=torch.float64)
    found = probabilities(sampling, logits)
    assert torch.allclose(found.sum(-1), torch.ones(3, 4, dtype=torch.float64))
    assert torch.equal(found.argmax(-1), logits.argmax(-1))
    kept = (found > 0).sum(-1)
    least = found.masked_fill(found == 0, 2).amin(-1)
    full = logits.div(sampling.temperature).softmax(-1)
    for place in [(0, 0), (2, 3)]:
        best = full[place].topk(int(kept[place])).values
        assert torch.allclose(best / best.sum(), found[place].topk(int(kept[place])).values)
        assert least[place] > 0


def test_drawing_by_inversion() -> None:
    weights = torch.tensor([[0.0, 2.0, 0.0, 1.0, 1.0, 0.0]])
    for u, token in ((0.0, 1), (0.49, 1), (0.5, 3), (0.74, 3), (0.75, 4), (1 - 2**-48, 4)):
        assert draw(weights, torch.tensor([u], dtype=torch.float64)).item() == token


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"temperature": -0.1}, "temperature must be a number >= 0"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": float("inf")}, "temperature"),
        ({"top_k": 0}, "top-k must be at least 1"),
        ({"top_p": 0.0}, "top-p must be above 0"),
        ({"top_p": 1.1}, "top-p must be above 0 and at most 1"),
        ({"epsilon": 1.0}, "epsilon must be at least 0 and below 1"),
        ({"epsilon": -0.1}, "epsilon must be at least 0"),
    ],
)
def test_settings_out_of_range(settings_: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Sampling(**settings_)  # type: ignore[arg-type]


def test_gamma_and_fallback_out_of_range() -> None:
    with pytest.raises(ConfigError, match="gamma must be at least 0, not -1"):
        FixedLength(-1)
    for fallback in (-0.1, 1.1, float("nan")):
        with pytest.raises(ConfigError, match="from 0 to 1"):
            SmallModelDrafter(RuleModel(copies), fallback=fallback)


def test_vocabularies_that_differ() -> None:
    drafter = SmallModelDrafter(RuleModel(copies, vocab_size=9), sampling=Sampling())
    engine = Decoder(RuleModel(copies, vocab_size=12), drafter, SpeculativeSampling())
    with pytest.raises(ModelError, match="vocabulary of 9 tokens, the verifier one of 12"):
        engine.decode([[3, 4]])
