"""Strategy auto: what is chosen by a clock that the test sets, and that no choice is seen."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from fake_models import EOS, RuleModel, copies, disagrees, rewrites
from tiny_generation import random_bundle
from two_model_bundle import bundle

from gec.decoding.bandit import PAUSE, Bandit
from gec.decoding.decoder import Decoder, LengthLimit, State
from gec.decoding.drafters import Drafter, NoDraft
from gec.decoding.drafters.auto import AutoDrafter, Way
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.parts import Parts
from gec.decoding.strategies import make_decoder, promise
from gec.errors import ConfigError, ModelError
from gec.loading import load_generator
from gec.models.load.generation import GenerationBundle, save
from gec.models.network.nat import NatTransformer
from gec.models.network.nat_config import NatConfig
from gec.models.network.transformer_config import TransformerConfig

# ------------------------------------------------------------------------------------- bandit


@dataclass
class Simulated:
    """An arm: seconds of a pass of one row, tokens that it gives, seconds to start a sentence."""

    seconds: float
    tokens: float
    start: float = 0.0

    @property
    def cost(self) -> float:
        return self.seconds / self.tokens + self.start / 20


def run(
    bandit: Bandit,
    arms: dict[str, Simulated],
    tokens: int,
    *,
    jitter: float = 0.0,
    rows: Callable[[int], int] = lambda made: 1,
    seed: int = 0,
) -> tuple[float, float]:
    """Decode so many tokens; return the seconds, and those that greedy decoding would have taken.

    Sentences have 20 tokens; a row more makes a pass a tenth slower.
    """
    rng = random.Random(seed)
    total = greedy = 0.0
    made = 0
    known: set[str] = set()
    while made < tokens:
        count = rows(made)
        if (unknown := bandit.unknown(count)) is not None:
            bandit.started(unknown, 1, arms[unknown].start)
            total += arms[unknown].start
        name = bandit.choose(count)
        arm = arms[name]
        if name not in known and arm.start:
            known.add(name)
            bandit.started(name, count, arm.start * count)
            total += arm.start * count
        slower = (0.9 + count / 10) * rng.uniform(1 - jitter, 1 + jitter)
        whole = int(arm.tokens)
        gained = sum(whole + (rng.random() < arm.tokens - whole) for _ in range(count))
        bandit.learn(name, count, arm.seconds * slower, gained)
        total += arm.seconds * slower
        greedy += arms["greedy"].seconds * slower * gained / count
        if (made + gained) // 20 > made // 20:
            bandit.ended(20)
            known.clear()
        made += gained
    return total, greedy


GREEDY = Simulated(1.0, 1.0)
BAD = {
    "greedy": GREEDY,
    "slow": Simulated(4.0, 2.0, start=3.0),
    "slower": Simulated(9.0, 2.5, start=3.0),
    "useless": Simulated(1.6, 1.05),
    "as slow": Simulated(1.1, 1.1),
}


@pytest.mark.parametrize("tokens", [20, 200, 1000, 5000])
@pytest.mark.parametrize("jitter", [0.0, 0.3])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_drafts_that_do_not_pay_cost_a_twentieth_at_most(
    tokens: int, jitter: float, seed: int
) -> None:
    bandit = Bandit(list(BAD))
    total, greedy = run(bandit, BAD, tokens, jitter=jitter, seed=seed)
    assert total <= 1.05 * greedy
    rest = bandit.arms["as slow"].passes
    assert bandit.greedy.passes + rest >= 0.9 * bandit.passes


def test_a_long_run_spends_less_and_less_on_trying() -> None:
    bandit = Bandit(list(BAD))
    run(bandit, BAD, 10_000)
    tried, spent = bandit.tried, bandit.spent
    run(bandit, BAD, 40_000)
    assert 0 < bandit.tried - tried < 0.015 * (bandit.spent - spent)
    assert bandit.arms["slow"].rests[1][1] > 64 * PAUSE


@pytest.mark.parametrize("jitter", [0.0, 0.2])
@pytest.mark.parametrize("name", ["good", "dear but good"])
def test_what_pays_is_found(name: str, jitter: float) -> None:
    arms = BAD | {"good": Simulated(1.2, 2.4), "dear but good": Simulated(3.0, 6.0, start=2.0)}
    arms = {key: arm for key, arm in arms.items() if key in (*BAD, name)}
    bandit = Bandit(list(arms))
    run(bandit, arms, 4000, jitter=jitter)
    assert bandit.current.name == name
    total, greedy = run(bandit, arms, 10_000, jitter=jitter)
    assert total < 0.65 * greedy


def test_of_two_that_pay_the_better_one_is_used() -> None:
    arms = BAD | {"good": Simulated(1.2, 1.8), "better": Simulated(1.5, 3.5)}
    bandit = Bandit(list(arms))
    run(bandit, arms, 20_000)
    assert bandit.current.name == "better"


def test_a_change_of_the_acceptance_is_noticed() -> None:
    """Drafts stand, then they do not, then they do again; every time the change is followed."""
    good = {"greedy": GREEDY, "drafts": Simulated(1.5, 3.0)}
    bad = {"greedy": GREEDY, "drafts": Simulated(1.5, 1.0)}
    bandit = Bandit(list(good))
    run(bandit, good, 2000)
    assert bandit.current.name == "drafts"
    total, greedy = run(bandit, bad, 200)
    assert bandit.current.name == "greedy"
    assert total < greedy + 15  # seconds; a pass in vain loses half a second
    run(bandit, bad, 2000)
    run(bandit, good, 5000)
    assert bandit.current.name == "drafts"


def test_a_machine_that_becomes_slower_for_drafts_is_noticed() -> None:
    bandit = Bandit(["greedy", "drafts"])
    run(bandit, {"greedy": GREEDY, "drafts": Simulated(1.5, 3.0)}, 2000)
    run(bandit, {"greedy": GREEDY, "drafts": Simulated(6.0, 3.0)}, 500)
    assert bandit.current.name == "greedy"


def test_each_batch_size_is_measured_by_itself() -> None:
    """Alone a sentence is faster with drafts; in a batch of sixteen it is not."""
    alone = {"greedy": GREEDY, "drafts": Simulated(1.2, 2.4)}
    many = {"greedy": GREEDY, "drafts": Simulated(5.0, 2.4)}
    bandit = Bandit(list(alone))
    for _ in range(6):
        run(bandit, alone, 1000)
        assert bandit.choose(1) == "drafts"
        run(bandit, many, 16_000, rows=lambda made: 16)
        assert bandit.current.name == "greedy"


def test_one_sentence_is_decoded_greedily() -> None:
    bandit = Bandit(list(BAD))
    run(bandit, BAD, 30)
    assert bandit.greedy.passes == bandit.passes == 30


def test_no_budget_no_trying() -> None:
    bandit = Bandit(list(BAD), budget=0.0)
    run(bandit, BAD, 5000)
    assert bandit.greedy.passes == bandit.passes
    with pytest.raises(ConfigError, match="share from 0 to 1"):
        Bandit(["greedy"], budget=1.5)


def test_what_is_usual_is_used_from_the_first_pass_and_given_up_if_it_does_not_pay() -> None:
    arms = {"greedy": GREEDY, "iad": Simulated(1.3, 2.6)}
    bandit = Bandit(list(arms), first="iad")
    assert bandit.choose(1) == "iad"
    run(bandit, arms, 1000)
    assert bandit.current.name == "iad"
    assert bandit.arms["iad"].passes > 0.9 * bandit.passes
    arms["iad"] = Simulated(1.6, 1.0)
    bandit = Bandit(list(arms), first="iad")
    run(bandit, arms, 100)
    assert bandit.current.name == "greedy"
    assert bandit.arms["iad"].passes <= 12


def test_the_report() -> None:
    bandit = Bandit(["greedy", "iad", "gad:k=4"])
    for _ in range(3):
        bandit.learn("greedy", 1, 1.0, 1)
    bandit.learn("iad", 1, 1.5, 6, 0)
    assert bandit.report() == (
        "greedy 3 of 4 passes; iad 1 of 4 passes (6.00 tokens a pass, 4.00 x as fast as greedy); "
        "not tried in so short a time: gad:k=4"
    )


# ------------------------------------------------------------------------------------ decoder


class Clock:
    """Seconds that only models and drafters let pass."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class TimedModel(RuleModel):
    """A pass takes a second, and a fiftieth for each token more than one of a row."""

    def __init__(self, clock: Clock, rule: Any) -> None:
        super().__init__(rule)
        self.clock = clock

    def verify(self, memory: Any, tokens: Sequence[Sequence[int]], starts: Sequence[int]) -> Any:
        self.clock.seconds += 1.0 + 0.02 * sum(len(block) - 1 for block in tokens)
        return super().verify(memory, tokens, starts)


class TimedDrafter(CopyDrafter):
    """Copies the source, which takes ``seconds`` a pass, and ``start`` seconds a sentence."""

    def __init__(self, clock: Clock, seconds: float, start: float = 0.0) -> None:
        self.clock, self.seconds, self.begin = clock, seconds, start
        self.known: list[tuple[int, ...]] = []

    def start(self, sources: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        self.known += map(tuple, sources)
        self.clock.seconds += self.begin * len(sources)
        return [tuple(source) for source in sources]

    def propose(self, state: State) -> list[list[int]]:
        assert state.draft_memory == [tuple(row.source) for row in state.rows]
        self.clock.seconds += self.seconds
        return super().propose(state)

    def select(self, memory: Any, rows: Sequence[int]) -> Any:
        return [memory[row] for row in rows]

    def join(self, memory: Any, other: Any) -> Any:
        return memory + other


def timed(rule: Any, seconds: float, start: float = 0.0) -> tuple[Decoder, AutoDrafter, Clock]:
    clock = Clock()
    ways = {"greedy": Way(NoDraft()), "copy": Way(TimedDrafter(clock, seconds, start))}
    drafter = AutoDrafter(ways, clock=clock)
    return Decoder(TimedModel(clock, rule), drafter, limit=LengthLimit(1.0, 20)), drafter, clock


def texts(count: int, seed: int = 3) -> list[list[int]]:
    rng = random.Random(seed)
    return [[rng.randrange(3, 12) for _ in range(rng.randint(6, 15))] for _ in range(count)]


@pytest.mark.parametrize("size", [1, 8])
@pytest.mark.parametrize(("seconds", "start"), [(5.0, 0.0), (0.2, 4.0)])
def test_a_bundle_whose_drafts_never_pay(size: int, seconds: float, start: float) -> None:
    decoder, drafter, clock = timed(disagrees, seconds, start)
    plain_clock = Clock()
    plain = Decoder(TimedModel(plain_clock, disagrees), limit=decoder.limit)
    for seed in range(4):
        sources = texts(100, seed)
        found, expected = (d.decode(sources, batch_size=size) for d in (decoder, plain))
        assert [h.tokens for [h] in found] == [h.tokens for [h] in expected]
        assert clock.seconds <= 1.05 * plain_clock.seconds
    assert drafter.bandit.current.name == "greedy"


@pytest.mark.parametrize("size", [1, 8])
def test_a_bundle_whose_drafts_pay(size: int) -> None:
    decoder, drafter, clock = timed(copies, 0.2, 0.1)
    for seed in range(8):
        decoder.decode(texts(100, seed), batch_size=size)
    assert drafter.bandit.current.name == "copy"
    before = clock.seconds
    sources = texts(100, 9)
    found = decoder.decode(sources, batch_size=size)
    assert [list(h.tokens) for [h] in found] == sources
    plain = Clock()
    Decoder(TimedModel(plain, copies)).decode(sources, batch_size=size)
    assert clock.seconds - before < 0.7 * plain.seconds


def test_one_sentence_asks_no_drafter() -> None:
    decoder, drafter, _ = timed(copies, 0.0)
    [[found]] = decoder.decode(texts(1))
    assert all(step.drafted == 0 for step in found.steps)
    copy = drafter.ways["copy"].drafter
    assert isinstance(copy, TimedDrafter)
    assert copy.known == []


def test_what_is_tried_costs_what_it_takes_to_know_the_sentence() -> None:
    """A drafter is told of a sentence when it is asked, and once."""
    decoder, drafter, _ = timed(copies, 0.2, 0.1)
    sources = [*map(list, {tuple(source) for source in texts(300)})]
    for size in (1, 7):
        decoder.decode(sources, batch_size=size)
    copy = drafter.ways["copy"].drafter
    assert isinstance(copy, TimedDrafter)
    assert len(copy.known) <= 2 * len(sources)


# ----------------------------------------------------------------------------- any choice is exact


class Whim(Bandit):
    """Chooses at random, or always the same arm."""

    def __init__(self, names: Sequence[str], only: str = "", seed: int = 0) -> None:
        super().__init__(names)
        self.only, self.rng = only, random.Random(seed)

    def choose(self, rows: int) -> str:
        return self.only or self.rng.choice(list(self.arms))


BUNDLES: dict[str, Callable[[], GenerationBundle]] = {
    "two models": bundle,
    "blocks and heads": cache(random_bundle),
    "shared encoder": cache(partial(random_bundle, shared=True)),
}
WORDS = ["the big dogs see.", "cats", "one and two birds eat.", "two cats", "", "big birds see one"]


@pytest.mark.parametrize("name", BUNDLES)
@pytest.mark.parametrize("size", [1, 3, 6])
def test_outputs_equal_greedy_for_each_choice(name: str, size: int) -> None:
    made = BUNDLES[name]()
    parts, sources = made.parts(), [made.vocabulary.encode(text) for text in WORDS]
    expected = [h.tokens for [h] in make_decoder(parts, "greedy").decode(sources)]
    decoder = make_decoder(parts, "auto")
    drafter = decoder.drafter
    assert isinstance(drafter, AutoDrafter)
    for only in (*drafter.ways, "", ""):
        drafter.bandit = Whim(list(drafter.ways), only, seed=size)
        found = decoder.decode(sources, batch_size=size)
        assert [h.tokens for [h] in found] == expected, only
        tried = {arm.name for arm in drafter.bandit.arms.values() if arm.passes}
        assert tried == ({only} if only else set(drafter.ways))


def test_drafters_do_as_well_within_auto_as_alone() -> None:
    """The same passes, with the same drafts, as the strategy that auto chose throughout."""
    for made in (make() for make in BUNDLES.values()):
        parts, sources = made.parts(), [made.vocabulary.encode(text) for text in WORDS]
        decoder = make_decoder(parts, "auto")
        drafter = decoder.drafter
        assert isinstance(drafter, AutoDrafter)
        for name in drafter.ways:
            strategy, _, rest = name.partition(":")
            key, _, value = rest.partition("=")
            alone = make_decoder(parts, strategy, {key: int(value)} if rest else {})
            drafter.bandit = Whim(list(drafter.ways), name)
            found, expected = (d.decode(sources, batch_size=3) for d in (decoder, alone))
            assert [h.steps for [h] in found] == [h.steps for [h] in expected], name


def test_the_ways_of_a_bundle_are_exact() -> None:
    found: set[str] = set()
    for made in (make() for make in BUNDLES.values()):
        drafter = make_decoder(made.parts(), "auto").drafter
        assert isinstance(drafter, AutoDrafter)
        found |= {name.partition(":")[0] for name in drafter.ways}
    assert found == {
        "greedy", "iad", "lookup", "gad", "blockwise", "early-exit", "speculative", "hierarchical",
    }  # fmt: skip
    assert {promise(name) for name in found} == {"exact"}


def test_a_simplifier_begins_with_copies() -> None:
    decoder = make_decoder(Parts("simple", RuleModel(copies), usual="iad"), "auto")
    source = texts(1)[0]
    [[found]] = decoder.decode([source])
    assert found.tokens == tuple(source)
    assert found.steps[0].accepted == len(source) + 1
    translator = RuleModel(rewrites(lambda source: [14 - token for token in source]))
    [[found]] = make_decoder(Parts("other", translator), "auto").decode([source])
    assert found.steps[0].drafted == 0


def test_a_guest_of_another_network_is_not_asked() -> None:
    mine, theirs = random_bundle(), random_bundle()
    drafter = make_decoder(
        Parts("odd", mine.parts().model, heads=theirs.parts().heads), "auto"
    ).drafter
    assert isinstance(drafter, AutoDrafter)
    assert list(drafter.ways) == ["greedy", "lookup:k=8", "iad"]


def test_a_drafter_that_does_not_fit_is_left_out(tmp_path: Path) -> None:
    made = random_bundle(heads=False)
    short = made.network.config.to_dict() | {"max_positions": 32}
    made.nat = NatTransformer(TransformerConfig.from_dict(short), NatConfig(block=8)).eval()
    save(made, tmp_path / "toy")
    found = load_generator(str(tmp_path / "toy"), device="cpu")
    assert found.about["strategy"] == "auto"
    drafter = found.decoder.drafter
    assert isinstance(drafter, AutoDrafter)
    assert list(drafter.ways) == ["greedy", "lookup:k=8", "iad"]
    greedy = load_generator(str(tmp_path / "toy"), device="cpu", strategy="greedy")
    assert [r.text for r in found.generate_many(WORDS)] == [
        r.text for r in greedy.generate_many(WORDS)
    ]
    with pytest.raises(ModelError, match="32 positions, the verifier 64"):  # if it is named
        load_generator(str(tmp_path / "toy"), device="cpu", strategy="gad")


class Silent(Drafter):
    def propose(self, state: State) -> list[list[int]]:
        return [[] for _ in state.rows]


def test_rows_may_come_and_go_under_a_drafter_that_does_not_know_them() -> None:
    drafter = AutoDrafter({"greedy": Way(NoDraft()), "silent": Way(Silent())})
    drafter.bandit = Whim(["greedy", "silent"], seed=4)
    sources = texts(40)
    found = Decoder(RuleModel(copies), drafter).decode(sources, batch_size=5)
    assert [list(h.tokens) for [h] in found] == sources
    assert EOS not in [token for [h] in found for token in h.tokens]
