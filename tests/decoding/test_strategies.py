"""The one table of strategies: every row decodes, keeps its promise and says what it needs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache

import pytest
from fake_models import EOS, RuleModel, copies, sometimes
from tiny_generation import random_bundle
from two_model_bundle import bundle

from gec.decoding.acceptance import (
    AcceptAll,
    Acceptance,
    Conservative,
    Distance,
    Exact,
    TopBeta,
    TopK,
)
from gec.decoding.beam import BeamSearch
from gec.decoding.bild import Rollback
from gec.decoding.decoder import Decoder
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.drafters.reentry import ReentryDrafter
from gec.decoding.probable import with_logprobs
from gec.decoding.sampling import Sampling, SpeculativeSampling
from gec.decoding.strategies import (
    STRATEGIES,
    Parts,
    complete,
    make_decoder,
    parse,
    promise,
    servable,
)
from gec.errors import ConfigError, ModelError
from gec.models.load.generation import GenerationBundle

BUNDLES: dict[str, Callable[[], GenerationBundle]] = {
    "two models": bundle,
    "blocks and heads": cache(random_bundle),
}
PLAIN = [
    "iad", "greedy", "beam", "iad-paper", "lookup", "auto", "sample", "iad-sample",
    "speculative-beam",
]  # fmt: skip


@pytest.mark.parametrize("name", BUNDLES)
@pytest.mark.filterwarnings("ignore:the drafting model takes")
def test_what_a_bundle_can_serve_keeps_its_promise(name: str) -> None:
    made = BUNDLES[name]()
    parts, texts = made.parts(), ["the big dogs see.", "cats", "one and two birds eat."]
    sources = [made.vocabulary.encode(text) for text in texts]
    outputs = {}
    for strategy in servable(parts):
        found = make_decoder(parts, strategy).decode(sources)
        outputs[strategy] = [[h.tokens for h in hypotheses] for hypotheses in found]
    promised = {strategy: promise(strategy) for strategy in outputs}
    assert set(promised.values()) == {"exact", "beam", "distribution", "approximate"}
    for strategy, what in promised.items():
        if what in ("exact", "beam"):
            assert outputs[strategy] == outputs["greedy" if what == "exact" else "beam"], strategy


def test_every_strategy_is_served_by_some_bundle() -> None:
    served = {name for make in BUNDLES.values() for name in servable(make().parts())}
    assert served == set(STRATEGIES)
    assert servable(Parts("bare", RuleModel(copies))) == PLAIN


@pytest.mark.parametrize(
    ("specification", "what"),
    [
        ("iad", "exact"),
        ("iad:tolerance=0.1", "approximate"),
        ("iad-paper:tolerance=0", "exact"),
        ("greedy", "exact"),
        ("auto", "exact"),
        ("auto:budget=0.5", "exact"),
        ("beam:beam-size=1", "beam"),
        ("lookup:k=3", "exact"),
        ("gad", "exact"),
        ("gad++", "approximate"),
        ("nat", "approximate"),
        ("blockwise", "exact"),
        ("blockwise:accept-top=2", "approximate"),
        ("blockwise:accept-distance=1", "approximate"),
        ("sample", "distribution"),
        ("iad-sample", "distribution"),
        ("iad-sample:temperature=0", "exact"),
        ("sample:temperature=0", "exact"),
        ("speculative", "exact"),
        ("speculative:temperature=1", "distribution"),
        ("hierarchical:temperature=0.5", "distribution"),
        ("early-exit", "exact"),
        ("early-exit:temperature=1", "distribution"),
        ("early-exit:rollback=1", "approximate"),
        ("bild", "approximate"),
        ("speculative-beam:draft=small", "beam"),
    ],
)
def test_promises(specification: str, what: str) -> None:
    assert promise(*parse(specification)) == what


def test_a_bundle_without_the_parts_names_what_it_can() -> None:
    bare = Parts("bare", RuleModel(copies))
    for name in set(STRATEGIES) - set(PLAIN):
        with pytest.raises(ModelError) as caught:
            make_decoder(bare, name)
        assert str(caught.value).startswith("bundle bare ")
        assert str(caught.value).endswith(f"or choose another strategy ({', '.join(PLAIN)})")
    with pytest.raises(ModelError, match="no smaller model to draft with"):
        make_decoder(bare, "speculative-beam", {"draft": "small"})


class Words:
    """A vocabulary in which "the" is 5, and every other word two tokens."""

    markers = frozenset({3, 4})
    begins = (True, False)

    def encode_word(self, word: str) -> tuple[int, ...]:
        return (5,) if word == "the" else (6, 7)


def test_the_vocabulary_reaches_the_drafter() -> None:
    drafter = make_decoder(Parts("marked", RuleModel(copies), words=Words()), "iad").drafter
    assert isinstance(drafter, ReentryDrafter)
    assert (drafter.kinds, drafter.begins) == ({3: 0, 4: 0, 5: 1}, (True, False))
    bare = make_decoder(Parts("bare", RuleModel(copies)), "iad").drafter
    assert isinstance(bare, ReentryDrafter)
    assert (bare.kinds, bare.begins) == ({}, ())


def test_the_table_imports_no_torch() -> None:
    code = (
        "import sys\n"
        "from gec.decoding.strategies import STRATEGIES, options, parse, promise\n"
        "assert promise(*parse('iad')) == 'exact' and options()\n"
        "assert 'torch' not in sys.modules and len(STRATEGIES) > 10\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ------------------------------------------------------------------------------ log-probabilities

RULES: list[Acceptance] = [
    Exact(), Conservative(2.0), TopBeta(2, 3.0), TopK(2), Distance(1), Rollback(2.0),
    Rollback(2.0, Sampling()), SpeculativeSampling(Sampling()), AcceptAll(), BeamSearch(2),
]  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_any_rule_can_tell_log_probabilities(rule: Acceptance) -> None:
    """The tokens are the rule's own; each, and EOS, has the verifier's log-probability."""
    model = RuleModel(sometimes(3, 9, 0.6), vocab_size=9, second=copies, gap=0.5, margin=3.0)
    sources = [[3, 4, 5, 6], [7], [], [8, 8, 3], [4, 5, 6, 7, 3]]
    plain = Decoder(model, CopyDrafter(), rule).decode(sources)
    telling = Decoder(model, CopyDrafter(), with_logprobs(rule)).decode(sources)
    for source, expected, found in zip(sources, plain, telling, strict=True):
        assert [(h.tokens, h.steps) for h in found] == [(h.tokens, h.steps) for h in expected]
        for hypothesis in found:
            output = [*hypothesis.tokens, *[EOS] * (not hypothesis.truncated)]
            logprobs = [
                float(model.scores(source, output[:i]).log_softmax(-1)[token])
                for i, token in enumerate(output)
            ]
            assert hypothesis.logprobs == pytest.approx(logprobs, abs=1e-5)


def test_an_output_that_nobody_verifies_has_none() -> None:
    parts = BUNDLES["blocks and heads"]().parts()
    with pytest.raises(ConfigError, match="nat asks no verifier how probable its outputs are"):
        make_decoder(parts, "nat", logprobs=True)
    assert complete("nat", {}) == {"k": None}
