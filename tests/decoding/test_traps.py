"""The traps of aggressive decoding, each with its own test, and the loop's bad input."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import pytest
import torch
from fake_models import (
    BOS,
    EOS,
    CopyBiased,
    FixedDrafter,
    RandomDrafter,
    Rule,
    RuleModel,
    copies,
    disagrees,
    rewrites,
    sometimes,
    tiny_network,
)
from reference_decoding import aggressive, greedy
from torch import Tensor

from gec.decoding.acceptance import Acceptance, Conservative, Exact, Kept, TopBeta
from gec.decoding.beam import BeamSearch
from gec.decoding.bild import Rollback
from gec.decoding.decoder import Decoder, Hypothesis, LengthLimit, State
from gec.decoding.drafters import Drafter, NoDraft
from gec.decoding.drafters.aligned import AlignedCopyDrafter
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.drafters.reentry import ReentryDrafter
from gec.decoding.drafters.small_model import SmallModelDrafter
from gec.decoding.sampling import Sampling, SpeculativeSampling
from gec.decoding.trace import Pass
from gec.errors import ConfigError, InputError
from gec.models.engines import verifier as verifiers
from gec.models.engines.verifier import TransformerVerifier

DRAFTERS: tuple[Callable[[], Drafter], ...] = (NoDraft, CopyDrafter)


def decode(
    rule: Rule,
    source: list[int],
    drafter: Drafter | None = None,
    acceptance: Acceptance | None = None,
    limit: LengthLimit | None = None,
) -> tuple[Hypothesis, RuleModel]:
    """Decode one source, aggressively where nothing else is said."""
    model = RuleModel(rule)
    decoder = Decoder(model, drafter or CopyDrafter(), acceptance, limit=limit)
    [[found]] = decoder.decode([source])
    assert len(found.steps) == model.calls
    return found, model


# ------------------------------------------------------------------ how a sentence ends


def test_the_verifier_ends_before_the_draft_does() -> None:
    found, model = decode(rewrites(lambda s: s[:2]), [3, 4, 5, 6, 7])
    assert found.tokens == (3, 4)
    assert not found.truncated
    assert found.steps == (Pass(6, 2, 3),)  # EOS is the verifier's own
    assert model.calls == 1


def test_the_verifier_goes_on_where_the_source_ends() -> None:
    found, _ = decode(rewrites(lambda s: [*s, 8, 9]), [3, 4])
    assert found.tokens == (3, 4, 8, 9)
    assert found.steps == (Pass(3, 2, 3), Pass(0, 0, 1), Pass(0, 0, 1))


def test_a_copied_sentence_takes_one_pass() -> None:
    found, _ = decode(copies, [3, 4, 3, 4, 5])
    assert found.tokens == (3, 4, 3, 4, 5)
    assert found.steps == (Pass(6, 6, 6),)


def test_a_verifier_that_never_agrees() -> None:
    found, model = decode(disagrees, [3, 4, 4, 3])
    assert found.tokens == (4, 3, 3, 4)
    assert sum(step.accepted for step in found.steps) == 0
    assert model.calls == 5


def test_a_substitution_takes_two_passes() -> None:
    """Table 2 of Ge et al. 2022: a draft up to the bifurcation, one token, the rest."""
    found, _ = decode(rewrites(lambda s: [s[0], 9, *s[2:]]), [3, 4, 5, 6, 7])
    assert found.tokens == (3, 9, 5, 6, 7)
    # after the new word nothing matches: one token; then the rest is copied
    assert found.steps == (Pass(6, 1, 2), Pass(0, 0, 1), Pass(3, 3, 3))


# ------------------------------------------------------------------- EOS within a source

WITH_EOS = [
    (5, EOS, 6), (EOS,), (EOS, 3, 4), (3, 4, EOS), (3, EOS, EOS, 4, 3), (3, 4, 5),
    (7, 3, 4, EOS, 3, 4, EOS, 8),
]  # fmt: skip
COPYING: dict[str, Callable[[], Drafter]] = {
    "copy": CopyDrafter,
    "re-entry": ReentryDrafter,
    "aligned": lambda: AlignedCopyDrafter(9),
    "small": lambda: SmallModelDrafter(RuleModel(copies), CopyDrafter()),
    "hierarchy": lambda: SmallModelDrafter(
        RuleModel(copies), SmallModelDrafter(RuleModel(copies), ReentryDrafter())
    ),
}


@pytest.mark.parametrize("drafter", COPYING)
@pytest.mark.parametrize(
    "acceptance", [Exact(), Exact(logprobs=True), Conservative(0), TopBeta(1, 0), Rollback(0)]
)
def test_a_source_that_holds_eos(drafter: str, acceptance: Acceptance) -> None:
    """A draft ends at its first EOS, as every output does; what was copied behind it is dropped."""
    limit = LengthLimit(1.5, 3)
    for rule in (copies, *(sometimes(seed, 9) for seed in range(5))):
        model = RuleModel(rule, vocab_size=9)
        decoder = Decoder(model, COPYING[drafter](), acceptance, limit=limit)
        expected = [greedy(model.scores, source, limit(source)) for source in WITH_EOS]
        for batch_size in (1, 4):
            found = decoder.decode(WITH_EOS, batch_size=batch_size)
            assert [(h.tokens, h.truncated) for [h] in found] == [
                (output.tokens, output.truncated) for output in expected
            ]
            assert not any(EOS in h.tokens for [h] in found)


@pytest.mark.parametrize("drafter", COPYING)
def test_a_beam_of_a_source_that_holds_eos(drafter: str) -> None:
    model = RuleModel(copies, second=sometimes(3, 9), vocab_size=9)
    for size in (1, 3):
        plain, other = (
            Decoder(model, drafter, BeamSearch(size)) for drafter in (None, COPYING[drafter]())
        )
        for mine, theirs in zip(other.decode(WITH_EOS), plain.decode(WITH_EOS), strict=True):
            assert [(h.tokens, h.score) for h in mine] == [(h.tokens, h.score) for h in theirs]


@pytest.mark.parametrize("drafter", COPYING)
def test_what_is_drawn_for_a_source_that_holds_eos(drafter: str) -> None:
    """Nothing follows an EOS that was drawn."""
    model = RuleModel(copies, margin=2.0, vocab_size=9)
    decoder = Decoder(model, COPYING[drafter](), SpeculativeSampling(Sampling()))
    for [found] in decoder.decode(WITH_EOS * 5):
        assert EOS not in found.tokens


# -------------------------------------------------------------------------- the sources


@pytest.mark.parametrize("drafter", DRAFTERS)
def test_an_empty_source(drafter: Callable[[], Drafter]) -> None:
    found, model = decode(copies, [], drafter())
    assert (found.tokens, found.truncated, model.calls) == ((), False, 1)
    grown, _ = decode(rewrites(lambda s: [5, 6]), [], drafter())
    assert grown.tokens == (5, 6)


@pytest.mark.parametrize("drafter", DRAFTERS)
def test_empty_sources_only(drafter: Callable[[], Drafter]) -> None:
    network = TransformerVerifier(tiny_network())
    found = Decoder(network, drafter(), limit=LengthLimit(1, 5)).decode([[], [], []])
    assert found[0] == found[1] == found[2]


def test_no_source() -> None:
    assert Decoder(RuleModel(copies), CopyDrafter()).decode([]) == []


@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize("target", [[], [3], [4], [4, 3], [3, 3, 3]])
def test_a_source_of_one_token(drafter: Callable[[], Drafter], target: list[int]) -> None:
    found, _ = decode(rewrites(lambda s: target), [3], drafter())
    assert list(found.tokens) == target


@pytest.mark.parametrize("change", [lambda s: s, lambda s: s[1:], lambda s: [*s, 3], lambda s: []])
def test_every_token_equal(change: Callable[[list[int]], list[int]]) -> None:
    """No suffix but one that begins with BOS is unique: draft at once or not at all."""
    found, model = decode(rewrites(change), [3] * 6)
    assert list(found.tokens) == change([3] * 6)
    expected = aggressive(model.scores, [3] * 6, 29)
    assert [(s.drafted, s.accepted, s.emitted) for s in found.steps] == [*expected.passes]


def test_every_token_equal_but_the_one_the_verifier_puts_in() -> None:
    found, _ = decode(rewrites(lambda s: [3, 3, 9, *s[2:]]), [3] * 5)
    assert found.tokens == (3, 3, 9, 3, 3, 3)
    assert found.steps == (Pass(6, 2, 3), *[Pass(0, 0, 1)] * 4)  # never unique again


@pytest.mark.parametrize("drafter", DRAFTERS)
def test_an_output_longer_than_the_source(drafter: Callable[[], Drafter]) -> None:
    found, _ = decode(rewrites(lambda s: s * 4), [3, 4, 5, 6], drafter())
    assert found.tokens == (3, 4, 5, 6) * 4
    assert not found.truncated


def test_the_padding_id_inside_a_source_is_a_token_like_others() -> None:
    """What is padding is known by the lengths: else a row would depend on its neighbours."""
    decoder = Decoder(TransformerVerifier(tiny_network(3)), limit=LengthLimit(1, 9))
    source = [5, 0, 6]
    [alone] = decoder.decode([source])
    [together, _] = decoder.decode([source, [7] * 9])
    assert alone[0].tokens == together[0].tokens


# ---------------------------------------------------------------------------- the limit


@pytest.mark.parametrize("limit", range(1, 10))
def test_the_length_limit(limit: int) -> None:
    """Greedy and aggressive decoding cut at the same token and both say so."""
    rule = rewrites(lambda s: [*s[:3], 9, *s[3:]])  # 7 tokens and EOS
    target = (3, 4, 5, 9, 6, 7, 8)
    for drafter in (NoDraft(), CopyDrafter(), RandomDrafter(limit, 10)):
        found, _ = decode(rule, [3, 4, 5, 6, 7, 8], drafter, limit=LengthLimit(0, limit))
        assert found.tokens == target[:limit]
        assert found.truncated == (limit < 8)
        assert sum(step.emitted for step in found.steps) == min(limit, 8)


@pytest.mark.parametrize("limit", range(1, 8))
def test_the_length_limit_of_a_copy(limit: int) -> None:
    """The draft alone is longer than the limit."""
    found, model = decode(copies, [3, 4, 5, 6, 7, 8], limit=LengthLimit(0, limit))
    assert found.tokens == (3, 4, 5, 6, 7, 8)[:limit]
    assert found.truncated == (limit < 7)
    assert model.calls == 1


def test_a_beam_at_the_limit_is_truncated() -> None:
    model = RuleModel(copies, second=disagrees)
    decoder = Decoder(model, acceptance=BeamSearch(3), limit=LengthLimit(0, 2))
    [found] = decoder.decode([[3, 4, 3, 4]])
    assert [h.truncated for h in found] == [True] * 3
    assert found[0].tokens == (3, 4)


@pytest.mark.parametrize(("ratio", "extra"), [(0, 0), (-1, 20), (1.5, 0), (float("nan"), 20)])
def test_a_limit_without_room_is_refused(ratio: float, extra: int) -> None:
    with pytest.raises(ConfigError, match="at least"):
        LengthLimit(ratio, extra)


def test_the_models_positions_are_a_limit() -> None:
    """Outputs end, flagged, where the positions do; drafts never reach beyond."""
    model = RuleModel(rewrites(lambda s: [3, 4] * 50), max_positions=10)
    for drafter in (NoDraft(), CopyDrafter(), RandomDrafter(0, 10, longest=60)):
        [[found]] = Decoder(model, drafter, limit=LengthLimit(9, 90)).decode([[3, 4, 5] * 3])
        assert found.tokens == (3, 4) * 5
        assert found.truncated


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_a_network_at_its_last_position(positions: str) -> None:
    network = tiny_network(1, max_positions=12, positions=positions)
    model = CopyBiased(network, 6.0)
    sources = [list(range(3, 3 + n)) for n in (11, 5, 11, 1)]
    limit = LengthLimit(9, 90)
    expected = [greedy(model.scores, source, 12) for source in sources]
    for drafter in (NoDraft(), CopyDrafter(), RandomDrafter(0, 31, longest=60)):
        found = Decoder(model, drafter, limit=limit).decode(sources)
        assert [f[0].tokens for f in found] == [e.tokens for e in expected]
    assert max(len(e.tokens) for e in expected) == 12


def test_a_source_without_room() -> None:
    model = RuleModel(copies, max_positions=10)
    decoder = Decoder(model, CopyDrafter())
    assert decoder.decode([[3] * 9])[0][0].tokens == (3,) * 9
    with pytest.raises(InputError, match=r"source 1 has 10 tokens, the model takes 9"):
        decoder.decode([[3], [3] * 10])


@pytest.mark.parametrize("batch_size", [0, -1])
def test_no_batch_size(batch_size: int) -> None:
    with pytest.raises(ConfigError, match="batch_size must be at least 1"):
        Decoder(RuleModel(copies)).decode([[3]], batch_size=batch_size)


@pytest.mark.parametrize("size", [0, -3])
def test_no_beam(size: int) -> None:
    with pytest.raises(ConfigError, match="beam size must be at least 1"):
        BeamSearch(size)


# ------------------------------------------------------------------------------ batches


def test_a_row_that_finishes_early() -> None:
    """A finished row is decoded no further, and the others go on as if alone."""
    rule = rewrites(lambda s: [9, *s] if len(s) > 2 else s)
    sources = [[3, 4, 5], [3], [4, 5, 6, 7]]
    model = RuleModel(rule)
    found = Decoder(model, CopyDrafter()).decode(sources)
    assert [f[0].tokens for f in found] == [(9, 3, 4, 5), (3,), (9, 4, 5, 6, 7)]
    assert model.row_counts == [3, 2, 2]
    assert [len(f[0].steps) for f in found] == [3, 1, 3]


def test_results_are_in_the_order_of_the_sources() -> None:
    sources = [[3] * n for n in (5, 1, 9, 0, 7, 2)]
    found = Decoder(RuleModel(copies), CopyDrafter()).decode(sources, batch_size=2)
    assert [len(f[0].tokens) for f in found] == [5, 1, 9, 0, 7, 2]


def test_waiting_sentences_take_the_places_of_finished_ones() -> None:
    """A sentence of many passes holds up nobody: the others start while it goes on."""
    rule = rewrites(lambda s: [9, *s] if len(s) == 1 else s)
    sources = [[3], *[[4, 5]] * 5]
    model = RuleModel(rule)
    found = Decoder(model, CopyDrafter()).decode(sources, batch_size=2)
    assert [f[0].tokens for f in found] == [(9, 3), *[(4, 5)] * 5]
    # the first batch is [3] and one [4, 5]; [3] needs three passes, and never runs alone
    assert model.row_counts == [2, 2, 2, 2]


@pytest.mark.parametrize("batch_size", [1, 2, 3, 7])
@pytest.mark.parametrize("acceptance", [Exact(), BeamSearch(3)], ids=["exact", "beam"])
def test_rows_that_join_change_nothing(batch_size: int, acceptance: Acceptance) -> None:
    """Sources and outputs of all lengths; some rows start while others are half done."""
    model = TransformerVerifier(tiny_network(11))
    rng = random.Random(1)
    sources = [[rng.randrange(3, 31) for _ in range(rng.randrange(12))] for _ in range(24)]
    drafter = CopyDrafter() if isinstance(acceptance, Exact) else NoDraft()
    decoder = Decoder(model, drafter, acceptance, limit=LengthLimit(1, 6))
    alone = [decoder.decode([source])[0] for source in sources]
    together = decoder.decode(sources, batch_size=batch_size)
    assert [[h.tokens for h in found] for found in together] == [
        [h.tokens for h in found] for found in alone
    ]


class CountingDrafter(Drafter):
    """Its memory is each row's source and number of observations: it must follow the rows."""

    def start(self, sources: Sequence[Sequence[int]]) -> list[list[int]]:
        return [[*source, 0] for source in sources]

    def propose(self, state: State) -> list[list[int]]:
        for row, remembered in zip(state.rows, state.draft_memory, strict=True):
            assert remembered == [*row.source, len(row.steps)]
        return [list(row.source[len(row.tokens) :][:1]) for row in state.rows]

    def observe(self, state: State, kept: Sequence[Kept]) -> None:
        assert [choice.parent for choice in kept] == list(range(len(state.rows)))
        for remembered in state.draft_memory:
            remembered[-1] += 1

    def select(self, memory: list[list[int]], rows: Sequence[int]) -> list[list[int]]:
        return [memory[row] for row in rows]

    def join(self, memory: list[list[int]], other: list[list[int]]) -> list[list[int]]:
        return memory + other


@pytest.mark.parametrize("batch_size", [1, 2, 4])
def test_the_memory_of_a_drafter_follows_the_rows(batch_size: int) -> None:
    sources = [[3] * n for n in (5, 1, 9, 0, 7, 2)]
    found = Decoder(RuleModel(copies), CountingDrafter()).decode(sources, batch_size=batch_size)
    assert [len(f[0].tokens) for f in found] == [5, 1, 9, 0, 7, 2]


def test_drafts_of_different_lengths() -> None:
    """Full, partly right, wrong, over the limit, EOS alone, none: each as if alone."""
    source = [3, 4, 5, 6]
    drafts = [
        [3, 4, 5, 6, EOS], [3, 4, 9, 9], [9], [3, 4, 5, 6, *[7] * 90], [EOS], [], [3, 4, 5, 6],
        [3, 4, EOS],
    ]  # fmt: skip
    kept = [(5, 5), (2, 3), (0, 1), (4, 5), (0, 1), (0, 1), (4, 5), (2, 3)]
    model = RuleModel(copies)
    found = Decoder(model, FixedDrafter(drafts), limit=LengthLimit(1, 20)).decode([source] * 8)
    assert [f[0].tokens for f in found] == [tuple(source)] * 8
    assert [(f[0].steps[0].accepted, f[0].steps[0].emitted) for f in found] == kept
    assert found[3][0].steps[0].drafted == 23  # cut to the limit of 24, less the verifier's token


def test_eos_in_a_draft_that_the_verifier_does_not_want() -> None:
    found, _ = decode(rewrites(lambda s: [*s, 9]), [3, 4], FixedDrafter([[3, EOS]]))
    assert found.tokens == (3, 4, 9)


# --------------------------------------------------------------------------- acceptance


@pytest.mark.parametrize("tolerance", [-0.1, float("nan"), float("-inf")])
def test_a_wrong_tolerance(tolerance: float) -> None:
    with pytest.raises(ConfigError, match="tolerance must be a number of nats >= 0"):
        Conservative(tolerance)


@pytest.mark.parametrize(("gap", "kept"), [(0.4, True), (0.5, True), (0.6, False)])
def test_tolerance_decides_what_stands(gap: float, kept: bool) -> None:
    rule = rewrites(lambda s: [s[0], 9, *s[2:]])
    model = RuleModel(rule, second=copies, gap=gap)
    [[found]] = Decoder(model, CopyDrafter(), Conservative(0.5)).decode([[3, 4, 5]])
    assert found.tokens == ((3, 4, 5) if kept else (3, 9, 5))


def test_tolerance_is_for_drafts_only() -> None:
    """Without a draft, and beyond its end, the verifier's first choice is taken."""
    model = RuleModel(rewrites(lambda s: [s[0], 9, *s[2:]]), second=copies, gap=0.1)
    [[found]] = Decoder(model, NoDraft(), Conservative(5.0)).decode([[3, 4, 5]])
    assert found.tokens == (3, 9, 5)


@pytest.mark.parametrize("tolerance", [100.0, float("inf")])
def test_a_large_tolerance_copies_the_source_in_one_pass(tolerance: float) -> None:
    network = TransformerVerifier(tiny_network())
    sources = [[], [3], [4] * 7, [5, 6, 7, 8]]
    found = Decoder(network, CopyDrafter(), Conservative(tolerance)).decode(sources)
    assert [list(f[0].tokens) for f in found] == sources
    assert [len(f[0].steps) for f in found] == [1] * 4
    assert not any(f[0].truncated for f in found)


def test_more_tolerance_never_changes_more() -> None:
    model = RuleModel(sometimes(1, 9, 0.5), vocab_size=9, second=copies, gap=0.75)
    sources = [[3, 4, 5, 6, 7]] * 1 + [[n % 5 + 3, 4, 6] for n in range(20)]

    def accepted(tolerance: float) -> int:
        found = Decoder(model, CopyDrafter(), Conservative(tolerance)).decode(sources)
        return sum(f[0].tokens == tuple(s) for f, s in zip(found, sources, strict=True))

    assert accepted(0.0) < accepted(0.75) == 21


def test_logprobs() -> None:
    """One for every token and for EOS: of the drafted token where the draft stands."""
    rule = rewrites(lambda s: [s[0], 9, *s[2:]])
    model = RuleModel(rule, second=copies, gap=0.25)
    for drafter, acceptance in (
        (NoDraft(), Exact(logprobs=True)),
        (CopyDrafter(), Exact(logprobs=True)),
        (CopyDrafter(), Conservative(0.5, logprobs=True)),
        (RandomDrafter(3, 12), Conservative(0.0, logprobs=True)),
    ):
        [[found]] = Decoder(model, drafter, acceptance).decode([[3, 4, 5]])
        assert len(found.logprobs) == 4
        output = [*found.tokens, EOS]
        expected = [
            float(model.scores([3, 4, 5], output[:i]).log_softmax(-1)[token])
            for i, token in enumerate(output)
        ]
        assert found.logprobs == pytest.approx(expected, abs=1e-5)
    [[found]] = Decoder(model, CopyDrafter(), Exact()).decode([[3, 4, 5]])
    assert found.logprobs == ()


def test_logprobs_end_with_the_limit() -> None:
    for drafter in (NoDraft(), CopyDrafter()):
        found, _ = decode(copies, [3, 4, 5], drafter, Exact(logprobs=True), LengthLimit(0, 2))
        assert len(found.logprobs) == len(found.tokens) == 2


def test_large_ids_survive_the_one_transfer() -> None:
    """Ids travel as float32 beside log-probabilities: exact below 2**24."""
    size = 300_001
    model = RuleModel(rewrites(lambda s: [size - 1, size - 2]), vocab_size=size)
    [[found]] = Decoder(model, CopyDrafter(), Exact(logprobs=True)).decode([[size - 1, 3]])
    assert found.tokens == (size - 1, size - 2)


TRANSFERS = (
    "tolist", "item", "cpu", "numpy", "nonzero", "unique", "__int__", "__float__", "__bool__",
    "__index__", "__iter__", "__array__", "masked_select",
)  # fmt: skip


@pytest.mark.parametrize(
    "acceptance", [Exact(), Exact(logprobs=True), Conservative(0.5, True), BeamSearch(3)]
)
def test_one_transfer_a_pass(acceptance: Acceptance, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that waits for the device is one ``tolist`` a pass."""
    calls: list[str] = []

    def counted(owner: type | ModuleType, name: str) -> None:
        original = getattr(owner, name)

        def call(*args: object, **options: object) -> object:
            calls.append(name)
            return original(*args, **options)

        monkeypatch.setattr(owner, name, call)

    network = TransformerVerifier(tiny_network(2, decoder_layers=2))
    passes: list[Tensor] = []
    run = network.engine.run

    def watched(*args: Any) -> Tensor:
        passes.append(run(*args))
        return passes[-1]

    monkeypatch.setattr(network.engine, "run", watched)
    monkeypatch.setattr(verifiers, "check_computed", lambda hidden: None)  # a CPU's own
    for name in TRANSFERS:
        counted(Tensor, name)
    for name in ("nonzero", "unique", "masked_select"):
        counted(torch, name)
    Decoder(network, CopyDrafter(), acceptance).decode([[3, 4, 5], [6], [], [7] * 9])
    assert len(passes) > 3
    assert calls == ["tolist"] * len(passes)


def test_bos_is_never_proposed() -> None:
    """The sentence begins with BOS for the match only."""
    seen: list[list[int]] = []

    class Watched(CopyDrafter):
        def propose(self, state):  # type: ignore[no-untyped-def]
            drafts = super().propose(state)
            seen.extend(drafts)
            return drafts

    decode(sometimes(3, 9), [3, 4, 5, 6, 3], Watched())
    assert seen
    assert not any(BOS in draft for draft in seen)
