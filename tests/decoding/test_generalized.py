"""GAD, GAD++ and blockwise decoding against references that recompute everything."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import partial
from itertools import takewhile

import pytest
import torch
from fake_models import BOS, EOS, FakeRow, RuleModel, sometimes, tiny_network
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_decoding import Output, greedy
from reference_generation import (
    Draft,
    Stands,
    distance,
    exact,
    generalized,
    heads_draft,
    nat_draft,
    paper_top_beta,
    top_beta,
    top_k,
)
from torch import Tensor

from gec.decoding.acceptance import (
    AcceptAll,
    Acceptance,
    Distance,
    Exact,
    PaperTopBeta,
    TopBeta,
    TopK,
)
from gec.decoding.decoder import Decoder, Hypothesis, LengthLimit
from gec.decoding.drafters import Drafter
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.drafters.heads import HeadsDrafter
from gec.decoding.drafters.nat import NatDrafter, Unverified
from gec.decoding.strategies import STRATEGIES, Parts, complete, make_decoder, options, parse
from gec.errors import ConfigError, ModelError
from gec.models.engines.eager import EagerEngine, Encoded, RememberingEngine
from gec.models.engines.heads_verifier import HeadsVerifier
from gec.models.engines.nat_blocks import NatMemory, TransformerBlocks
from gec.models.engines.scores import TorchScores
from gec.models.engines.verifier import TransformerVerifier, Verifier
from gec.models.network.heads import Heads
from gec.models.network.nat import NatConfig, NatTransformer
from gec.models.network.transformer import Transformer

BATCH_SIZES = (1, 4)
LIMIT = LengthLimit(1.5, 6)
VOCAB = 7  # few words, so that random networks agree often enough
RULES: dict[str, tuple[Acceptance, Stands]] = {
    "exact": (Exact(), exact),
    "beta 1": (TopBeta(1, 5.0), top_beta(1, 5.0)),
    "beta 3, tau 1": (TopBeta(3, 1.0), top_beta(3, 1.0)),
    "beta 5, tau 0.3": (TopBeta(5, 0.3), top_beta(5, 0.3)),
    "paper, beta 1, tau 5": (PaperTopBeta(1, 5.0), paper_top_beta(1, 5.0)),
    "paper, beta 2, tau 0.05": (PaperTopBeta(2, 0.05), paper_top_beta(2, 0.05)),
    "top 2": (TopK(2), top_k(2)),
    "distance 1": (Distance(1), distance(1)),
}


def sources() -> list[tuple[int, ...]]:
    rng = random.Random(3)
    lengths = (0, 1, 4, 9, 2, 14, 3, 5)
    return [tuple(rng.randrange(3, VOCAB) for _ in range(length)) for length in lengths]


def verifier_network(seed: int = 25) -> Transformer:
    return tiny_network(seed, vocab_size=VOCAB, decoder_layers=2, tie_embeddings=False)


def nat_network(
    seed: int = 2, *, causal: bool = False, shared: bool = False, block: int = 6, **more: object
) -> NatTransformer:
    base = tiny_network(seed, vocab_size=VOCAB, **more)
    torch.manual_seed(seed)
    network = NatTransformer(
        base.config, NatConfig(block=block, causal_prefix=causal, shared_encoder=shared)
    ).double()
    network.load_state_dict(base.state_dict(), strict=False)
    return network.eval()


def scores_of(network: Transformer) -> partial[Tensor]:
    @torch.inference_mode()
    def scores(source: Sequence[int], output: Sequence[int]) -> Tensor:
        logits: Tensor = network(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *output]]))
        return logits[0, -1]

    return partial(scores)


def shown(found: Sequence[Hypothesis]) -> Output:
    [best] = found
    steps = tuple((step.drafted, step.accepted, step.emitted) for step in best.steps)
    return Output(best.tokens, best.truncated, steps)


class Helped:
    """A drafter that is told every other token by the verifier, so that drafts stand.

    The rest, and all log-probabilities, are the network's own.
    """

    def __init__(self, blocks: TransformerBlocks, verifier: Transformer) -> None:
        self.blocks, self.scores = blocks, scores_of(verifier)
        self.bos_id, self.eos_id, self.vocab_size = blocks.bos_id, blocks.eos_id, blocks.vocab_size
        self.max_positions, self.block = blocks.max_positions, blocks.block

    def help(
        self, source: Sequence[int], output: Sequence[int], drafted: Sequence[tuple[int, float]]
    ) -> list[tuple[int, float]]:
        rng = random.Random(f"{list(source)}/{list(output)}")
        helped: list[tuple[int, float]] = []
        for token, logprob in drafted:
            so_far = [*output, *(known for known, _ in helped)]
            told = rng.random() < 0.8 and EOS not in so_far
            best = int(self.scores(source, so_far).argmax()) if told else token
            helped.append((best, logprob))
        return helped

    def start(self, sources: Sequence[Sequence[int]]) -> tuple[NatMemory, list[Sequence[int]]]:
        return self.blocks.start(sources), list(sources)

    def draft(
        self,
        memory: tuple[NatMemory, list[Sequence[int]]],
        outputs: Sequence[Sequence[int]],
        k: int,
        verified: object = None,
    ) -> tuple[list[list[int]], list[list[float]]]:
        tokens, logprobs = self.blocks.draft(memory[0], outputs, k, verified)
        rows = [
            self.help(source, output, list(zip(said, sure, strict=True)))
            for source, output, said, sure in zip(memory[1], outputs, tokens, logprobs, strict=True)
        ]
        return [[token for token, _ in row] for row in rows], logprobs

    def select(
        self, memory: tuple[NatMemory, list[Sequence[int]]], rows: Sequence[int]
    ) -> tuple[NatMemory, list[Sequence[int]]]:
        return self.blocks.select(memory[0], rows), [memory[1][row] for row in rows]

    def join(
        self,
        memory: tuple[NatMemory, list[Sequence[int]]],
        other: tuple[NatMemory, list[Sequence[int]]],
    ) -> tuple[NatMemory, list[Sequence[int]]]:
        return self.blocks.join(memory[0], other[0]), memory[1] + other[1]


def expected(network: Transformer, draft: Draft, stands: Stands) -> list[Output]:
    scores = scores_of(network)
    return [generalized(scores, draft, source, LIMIT(source), stands) for source in sources()]


# --------------------------------------------------------------------------------- NAT drafters


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("causal", [False, True])
def test_nat_drafts_decode_as_the_reference(rule: str, causal: bool) -> None:
    verifier, nat = verifier_network(), nat_network(causal=causal)
    acceptance, stands = RULES[rule]
    helped = Helped(TransformerBlocks(nat), verifier)
    want = expected(verifier, lambda s, y: helped.help(s, y, nat_draft(nat, s, y, 4)), stands)
    assert sum(step[1] for output in want for step in output.passes) > 3, "no draft stands"
    assert any(step[1] < step[0] for output in want for step in output.passes), "all drafts stand"
    model, drafter = TransformerVerifier(verifier), NatDrafter(helped, 4)
    for size in BATCH_SIZES:
        found = Decoder(model, drafter, acceptance, limit=LIMIT).decode(sources(), batch_size=size)
        assert [shown(output) for output in found] == want


@pytest.mark.parametrize("rule", RULES)
def test_a_draft_ends_before_what_the_drafter_is_unsure_of(rule: str) -> None:
    """The printed rule, too, compares each token with its own log-probability."""
    verifier, nat = verifier_network(), nat_network(causal=True)
    acceptance, stands = RULES[rule]
    helped, sure = Helped(TransformerBlocks(nat), verifier), 0.2

    def draft(source: Sequence[int], output: Sequence[int]) -> list[tuple[int, float]]:
        whole = helped.help(source, output, nat_draft(nat, source, output, 4))
        return list(takewhile(lambda pair: pair[1] >= math.log(sure), whole))

    want = expected(verifier, draft, stands)
    lengths = {step[0] for output in want for step in output.passes}
    assert len(lengths) > 2, "drafts are cut at several places"
    model, drafter = TransformerVerifier(verifier), NatDrafter(helped, 4, sure=sure)
    for size in BATCH_SIZES:
        found = Decoder(model, drafter, acceptance, limit=LIMIT).decode(sources(), batch_size=size)
        assert [shown(output) for output in found] == want


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("causal", [False, True])
def test_architectures_of_the_drafter(positions: str, norm: str, causal: bool) -> None:
    verifier = verifier_network()
    nat = nat_network(
        causal=causal, positions=positions, norm=norm, activation="gelu", decoder_layers=2
    )
    want = expected(verifier, lambda s, y: nat_draft(nat, s, y, 6), exact)
    decoder = Decoder(
        TransformerVerifier(verifier), NatDrafter(TransformerBlocks(nat)), limit=LIMIT
    )
    found = decoder.decode(sources(), batch_size=4)
    assert [shown(output) for output in found] == want


@pytest.mark.parametrize("causal", [False, True])
def test_a_drafter_without_encoder_reads_the_verifiers(causal: bool) -> None:
    network, nat = verifier_network(), nat_network(shared=True, causal=causal, positions="learned")
    assert not list(nat.encoder.parameters())
    want = expected(network, lambda s, y: nat_draft(nat, s, y, 4, network), exact)
    calls = []
    hook = network.encoder_norm.register_forward_hook(lambda *_: calls.append(1))
    engine = RememberingEngine(network)
    model = Verifier(engine)
    for size in (3, len(sources())):
        decoder = Decoder(model, NatDrafter(TransformerBlocks(nat, engine), 4), limit=LIMIT)
        found = decoder.decode(sources(), batch_size=size)
        assert [shown(output) for output in found] == want
        if size == len(sources()):
            assert len(calls) == 1, "the encoder ran once for verifier and drafter"
        calls.clear()
    hook.remove()
    with pytest.raises(ModelError, match="none is there"):
        TransformerBlocks(nat)


@settings(deadline=None, max_examples=12)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 6), size=st.sampled_from(BATCH_SIZES))
def test_gad_equals_greedy(seed: int, k: int, size: int) -> None:
    """Whatever the drafter says: even one that was never trained loses no token."""
    verifier, nat = verifier_network(seed % 50), nat_network(seed % 41, causal=seed % 2 == 0)
    model = TransformerVerifier(verifier)
    gad = Decoder(model, NatDrafter(TransformerBlocks(nat), k), limit=LIMIT)
    plain = Decoder(model, limit=LIMIT)
    rng = random.Random(seed)
    some = rng.sample(sources(), 3)
    assert [found[0].tokens for found in gad.decode(some, batch_size=size)] == [
        found[0].tokens for found in plain.decode(some, batch_size=size)
    ]


class RuleBlocks:
    """A block model that follows the verifier's rule, with a wrong token now and then."""

    bos_id, eos_id, vocab_size, max_positions, block = BOS, EOS, 12, 100, 30

    def __init__(self, model: RuleModel, right: float, seed: int = 0) -> None:
        self.model, self.right, self.seed = model, right, seed

    def start(self, sources: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        return [tuple(source) for source in sources]

    def one(self, source: Sequence[int], output: Sequence[int], k: int) -> list[tuple[int, float]]:
        rng = random.Random(f"{self.seed}/{source}/{list(output)}")
        tokens: list[int] = []
        for _ in range(k):
            said = EOS in tokens
            token = EOS if said else self.model.rule(tuple(source), (*output, *tokens))
            tokens.append(token if rng.random() < self.right else rng.randrange(EOS, 12))
        return [(token, -0.1 * place) for place, token in enumerate(tokens)]

    def draft(
        self,
        memory: list[tuple[int, ...]],
        outputs: Sequence[Sequence[int]],
        k: int,
        _verified: object = None,
    ) -> tuple[list[list[int]], list[list[float]]]:
        rows = [self.one(s, y, k) for s, y in zip(memory, outputs, strict=True)]
        return [[t for t, _ in row] for row in rows], [[p for _, p in row] for row in rows]

    def select(self, memory: list[tuple[int, ...]], rows: Sequence[int]) -> list[tuple[int, ...]]:
        return [memory[row] for row in rows]

    def join(
        self, memory: list[tuple[int, ...]], other: list[tuple[int, ...]]
    ) -> list[tuple[int, ...]]:
        return memory + other


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    right=st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    k=st.sampled_from([1, 2, 5, 30]),
    size=st.sampled_from(BATCH_SIZES),
)
def test_drafters_that_never_sometimes_or_always_agree(
    seed: int, right: float, k: int, size: int
) -> None:
    model = RuleModel(sometimes(seed, 12), vocab_size=12, max_positions=100)
    blocks = RuleBlocks(model, right, seed)
    found = Decoder(model, NatDrafter(blocks, k), limit=LIMIT).decode(sources(), batch_size=size)
    for source, output in zip(sources(), found, strict=True):
        limit = LIMIT(source)
        want = generalized(
            model.scores, lambda s, y: blocks.one(tuple(s), y, k), source, limit, exact
        )
        assert shown(output) == want
        assert want.tokens == greedy(model.scores, source, limit).tokens
        if right == 1.0:  # k tokens stand and the verifier adds one
            count = len(want.tokens) + (not want.truncated)
            assert len(want.passes) <= math.ceil(count / k)


def test_the_drafter_alone() -> None:
    """What blocks accepted unseen make: the drafter's own tokens up to its first EOS."""
    nat = nat_network()
    blocks = TransformerBlocks(nat)
    decoder = Decoder(Unverified(blocks), NatDrafter(blocks, 3), AcceptAll(), limit=LIMIT)
    for source, (found,) in zip(sources(), decoder.decode(sources(), batch_size=5), strict=True):
        want: list[int] = []
        while EOS not in want and len(want) < LIMIT(source) - 1:
            want += [token for token, _ in nat_draft(nat, source, want, 3)]
        if EOS in want:
            want = want[: want.index(EOS)]
        length = min(len(want), LIMIT(source) - 1)
        assert list(found.tokens[:length]) == want[:length]
        assert len(found.tokens) <= LIMIT(source)


def test_another_thread_may_encode_meanwhile() -> None:
    """What is returned is of the sources asked for, whatever was encoded in between."""
    verifier = RememberingEngine(verifier_network())
    verifier.encoded([(3, 4)])
    mine = verifier._last
    assert mine is not None

    class Interrupted(list[tuple[int, ...]]):
        def __ne__(self, other: object) -> bool:
            verifier._last = [(5,)], Encoded(torch.zeros(1), [2], None)
            return super().__ne__(other)

    verifier._last = Interrupted(mine[0]), mine[1]
    assert verifier.encoded([(3, 4)]) is mine[1]


# -------------------------------------------------------------------------------------- blockwise


def heads_of(network: Transformer, count: int = 3) -> Heads:
    torch.manual_seed(9)
    heads = Heads(count, network.config.width, 16).double()
    with torch.no_grad():
        for parameter in heads.parameters():
            parameter.mul_(2)
    return heads.eval()


@pytest.mark.parametrize("rule", [name for name in RULES if "paper" not in name])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_blockwise_decodes_as_the_reference(rule: str, k: int) -> None:
    network = verifier_network()
    heads = heads_of(network)
    acceptance, stands = RULES[rule]
    want = expected(network, lambda s, y: heads_draft(network, heads, s, y, k), stands)
    model = HeadsVerifier(EagerEngine(network), heads)
    for size in BATCH_SIZES:
        decoder = Decoder(model, HeadsDrafter(model, k), acceptance, limit=LIMIT)
        found = decoder.decode(sources(), batch_size=size)
        assert [shown(output) for output in found] == want
    if k > 1:
        assert sum(step[1] for output in want for step in output.passes) > 0
    if rule == "exact":
        scores = scores_of(network)
        assert [output.tokens for output in want] == [
            greedy(scores, source, LIMIT(source)).tokens for source in sources()
        ]


class RuleHeads(RuleModel):
    """A model whose heads are always right."""

    heads = 9

    def propose(self, memory: list[FakeRow], places: Sequence[int], heads: int) -> list[list[int]]:
        proposals = []
        for row, place, start in zip(memory, places, self.starts, strict=True):
            output = list(row.cached[1 : start + min(place, len(row.cached) - start - 1) + 1])
            for _ in range(heads + 1):
                ended = EOS in output
                output.append(EOS if ended else self.rule(row.source, tuple(output)))
            proposals.append(output[-heads:])
        return proposals

    def verify(
        self, memory: object, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> TorchScores:
        self.starts = list(starts)
        return super().verify(memory, tokens, starts)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_m_tokens_take_m_over_k_plus_one_passes_at_best(k: int) -> None:
    def copies(source: tuple[int, ...], output: tuple[int, ...]) -> int:
        return source[len(output)] if len(output) < len(source) else EOS

    model = RuleHeads(copies, vocab_size=VOCAB)
    decoder = Decoder(model, HeadsDrafter(model, k), limit=LIMIT)
    for source, (found,) in zip(sources(), decoder.decode(sources()), strict=True):
        assert found.tokens == source
        m = len(source) + 1  # with EOS
        assert len(found.steps) == 1 + math.ceil((m - 1) / k) <= math.ceil(m / k) + 1


# ------------------------------------------------------------------------------------- bad input


def parts() -> Parts:
    network = verifier_network()
    heads = HeadsVerifier(EagerEngine(network), heads_of(network))
    blocks = TransformerBlocks(nat_network())
    return Parts("toy", TransformerVerifier(network), blocks, heads, LIMIT)


def test_every_strategy_has_options_and_decodes() -> None:
    owners = {name for _, names in options().values() for name in names}
    assert owners == set(STRATEGIES) - {"greedy"}
    for name in ("greedy", "beam", "iad", "gad", "gad++", "nat", "blockwise"):
        found = make_decoder(parts(), name).decode(sources()[:3])
        assert len(found) == 3


@pytest.mark.parametrize("name", ["iad", "iad-paper", "gad", "blockwise"])
def test_exact_strategies_of_sources_that_hold_eos(name: str) -> None:
    texts = [(*text[: len(text) // 2], EOS, *text[len(text) // 2 :]) for text in sources()]
    greedily = make_decoder(parts(), "greedy").decode(texts)
    found = make_decoder(parts(), name).decode(texts)
    assert [h.tokens for [h] in found] == [h.tokens for [h] in greedily]


def test_k_beyond_what_was_trained_or_fits() -> None:
    for name, most in (("gad", 6), ("blockwise", 4)):
        with pytest.raises(ConfigError, match=f"k must be from 1 to {most}"):
            make_decoder(parts(), name, {"k": most + 1})
    with pytest.raises(ModelError, match="do not fit into 80 positions"):
        nat_network(block=80)


def test_a_drafter_that_does_not_fit() -> None:
    network = verifier_network()
    short = TransformerBlocks(nat_network(max_positions=40))
    with pytest.raises(ModelError, match="40 positions, the verifier 80"):
        NatDrafter(short, verifier=TransformerVerifier(network))
    other = TransformerBlocks(nat_network())
    other.eos_id = 5
    with pytest.raises(ModelError, match="EOS is 5, the verifier's 2"):
        NatDrafter(other, verifier=TransformerVerifier(network))
    with pytest.raises(ModelError, match="heads of width 16"):
        HeadsVerifier(EagerEngine(network), Heads(2, 16, 8))


@pytest.mark.parametrize(
    ("name", "what"),
    [("gad", "drafter"), ("gad++", "drafter"), ("nat", "drafter"), ("blockwise", "heads")],
)
def test_a_bundle_that_lacks_the_part(name: str, what: str) -> None:
    bare = Parts("plain", TransformerVerifier(verifier_network()))
    with pytest.raises(ModelError, match=f"bundle plain has no {what}"):
        make_decoder(bare, name)


def test_options_of_another_strategy_and_unreadable_ones() -> None:
    with pytest.raises(ConfigError, match=r"--tau belongs to gad\+\+, not to gad"):
        complete("gad", {"tau": 1.0})
    with pytest.raises(ConfigError, match="unknown strategy 'turbo'"):
        complete("turbo", {})
    with pytest.raises(ConfigError, match="unknown strategy 'turbo'"):
        make_decoder(parts(), "turbo")
    with pytest.raises(ConfigError, match="has no option 'q'"):
        parse("gad:q=3")
    with pytest.raises(ConfigError, match="must be 1 or more"):
        parse("gad:k=0")
    with pytest.raises(ConfigError, match="exclude each other"):
        make_decoder(parts(), "blockwise", {"accept_top": 2, "accept_distance": 2})
    assert parse("gad++:beta=3,tau=1,literal=yes") == (
        "gad++", {"beta": 3, "tau": 1.0, "literal": True}
    )  # fmt: skip


@pytest.mark.parametrize("drafter", [None, CopyDrafter()])
def test_the_papers_rule_needs_a_drafter_that_is_sure(drafter: Drafter | None) -> None:
    decoder = Decoder(TransformerVerifier(verifier_network()), drafter, PaperTopBeta(2, 1.0))
    with pytest.raises(ConfigError, match=r"log-probabilities, and a \w+ has none"):
        decoder.decode(sources())


@pytest.mark.parametrize("make", [lambda: TopBeta(0, 1.0), lambda: TopBeta(1, -1.0),
                                  lambda: PaperTopBeta(1, math.nan), lambda: TopK(0),
                                  lambda: Distance(-1)])  # fmt: skip
def test_rules_refuse_numbers_out_of_range(make: object) -> None:
    assert callable(make)
    with pytest.raises(ConfigError, match="at least"):
        make()
