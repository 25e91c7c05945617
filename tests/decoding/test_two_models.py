"""The strategies of two models (and of one with an early exit) by name, and their bad input."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from fake_models import RuleModel, copies
from tiny_generation import random_bundle, vocabulary
from two_model_bundle import bundle

from gec.cli import main
from gec.decoding import lengths
from gec.decoding.drafters.small_model import FixedLength, SmallModelDrafter
from gec.decoding.lengths import AdaptiveLength, Timing
from gec.decoding.strategies import STRATEGIES, Parts, make_decoder, parse, promise
from gec.errors import ConfigError, ModelError
from gec.models.load import generation

FAMILY = ("sample", "speculative", "hierarchical", "early-exit", "bild", "speculative-beam")


def parts() -> Parts:
    return bundle().parts()


def sources() -> list[list[int]]:
    texts = ["the big dogs see.", "cats", "one and two birds eat the cats."]
    return [bundle().vocabulary.encode(text) for text in texts]


@pytest.mark.parametrize(
    "specification",
    [
        "sample:temperature=0",
        "speculative:gamma=3",
        "speculative:cost-ratio=0.2",
        "speculative",
        "hierarchical:gamma=2",
        "early-exit",
        "early-exit:gamma=2,fallback=0.02",
        "bild:fallback=1",
        "bild:rollback=0",
    ],
)
@pytest.mark.filterwarnings("ignore:the drafting model takes")
def test_exact_strategies(specification: str) -> None:
    eos = parts().model.eos_id
    texts = [*sources(), *([*text[:2], eos, *text[2:]] for text in sources())]
    greedy = make_decoder(parts(), "greedy").decode(texts)
    found = make_decoder(parts(), *parse(specification)).decode(texts)
    assert [h.tokens for [h] in found] == [h.tokens for [h] in greedy]


@pytest.mark.parametrize("options", ["", ":draft=small", ":gamma=4,draft=source"])
def test_speculative_beam(options: str) -> None:
    plain = make_decoder(parts(), "beam").decode(sources())
    found = make_decoder(parts(), *parse(f"speculative-beam{options}")).decode(sources())
    assert [[h.tokens for h in f] for f in found] == [[h.tokens for h in f] for f in plain]


@pytest.mark.parametrize(
    "specification",
    [
        "sample",
        "iad-sample",
        "speculative:gamma=3,temperature=1,top-p=0.9",
        "hierarchical:gamma=2,temperature=0.8,top-k=20",
        "early-exit:temperature=1",
        "bild:temperature=1,top-p=0.8,fallback=0.01",
    ],
)
def test_sampling_by_seed(specification: str) -> None:
    def tokens(seed: int) -> list[Any]:
        name, values = parse(specification)
        decoder = make_decoder(parts(), name, values | {"seed": seed})
        return [h.tokens for [h] in decoder.decode(sources())]

    assert tokens(1) == tokens(1)
    assert tokens(1) != tokens(2)


def test_the_smallest_model_drafts_and_hierarchies_nest() -> None:
    fewest = parts().smaller[-1]
    assert fewest.network.config.width == 16  # type: ignore[attr-defined]
    drafter = make_decoder(parts(), "speculative", {"gamma": 2}).drafter
    assert isinstance(drafter, SmallModelDrafter)
    assert drafter.model.network.config.width == 16  # type: ignore[attr-defined]
    outer = make_decoder(parts(), "hierarchical", {"gamma": 2}).drafter
    assert isinstance(outer, SmallModelDrafter)
    assert outer.model.network.config.decoder_layers == 2  # type: ignore[attr-defined]
    assert isinstance(outer.drafter, SmallModelDrafter)


def test_a_bundle_keeps_its_smaller_models(tmp_path: Path) -> None:
    generation.save(bundle(), tmp_path / "toy", dtype=torch.float32)
    again = generation.load(str(tmp_path / "toy"))
    assert set(again.smaller) == {"small", "medium"}
    for name, network in bundle().smaller.items():
        mine, theirs = network.state_dict(), again.smaller[name].state_dict()
        assert all(torch.equal(mine[key], theirs[key]) for key in mine)
    assert again.parts().early is not None


def test_another_vocabulary(tmp_path: Path) -> None:
    generation.save(bundle(), tmp_path / "toy")
    path = tmp_path / "toy" / "smaller" / "small" / "config.json"
    other = vocabulary(305).fingerprint
    path.write_text(path.read_text().replace(bundle().vocabulary.fingerprint, other))
    with pytest.raises(ModelError, match="made for another vocabulary than toy's"):
        generation.load(str(tmp_path / "toy"))


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("speculative", "no smaller model"),
        ("hierarchical", "no smaller model"),
        ("bild", "no smaller model"),
        ("early-exit", "not trained with an early exit"),
    ],
)
def test_a_bundle_that_lacks_the_part(name: str, what: str) -> None:
    bare = random_bundle(nat=False, heads=False).parts()
    with pytest.raises(ModelError, match=what):
        make_decoder(bare, name, {})
    with pytest.raises(ModelError, match="no smaller model"):
        make_decoder(bare, "speculative-beam", {"draft": "small"})


def test_a_hierarchy_needs_two() -> None:
    made = random_bundle(nat=False, heads=False)
    made.smaller = {"small": made.network}
    with pytest.raises(ModelError, match="a hierarchy needs two or more"):
        make_decoder(made.parts(), "hierarchical", {})


def test_an_exit_beyond_the_layers() -> None:
    made = random_bundle(nat=False, heads=False)
    made.config["early_exit"] = 1  # of a network with one layer
    with pytest.raises(ModelError, match="early exit must lie behind"):
        made.parts()


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ("speculative:gamma=-1", "gamma: must be 0 or more, not -1"),
        ("speculative:gamma=2.5", "gamma: not a whole number"),
        ("speculative:temperature=-1", "temperature: must be 0 or more"),
        ("speculative:temperature=nan", "temperature: not a finite number"),
        ("speculative:cost-ratio=-0.1", "cost-ratio: must be 0 or more"),
        ("sample:top-k=0", "top-k: must be 1 or more"),
        ("sample:top-p=0", "top-p: must be above 0 and at most 1"),
        ("sample:top-p=1.5", "top-p: must be from 0 to 1"),
        ("bild:fallback=1.2", "fallback: must be from 0 to 1"),
        ("bild:rollback=-1", "rollback: must be 0 or more"),
        ("bild:longest=0", "longest: must be 1 or more"),
        ("bild:gamma=3", "strategy bild has no option 'gamma'"),
        ("speculative-beam:draft=luck", "draft: must be one of source, small, not 'luck'"),
    ],
)
def test_values_out_of_range(specification: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(specification)


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ("speculative:gamma=2,cost-ratio=0.1", "--gamma and --cost-ratio exclude each other"),
        ("speculative:gamma=2,top-p=0.9", "need a --temperature above 0"),
        ("bild:top-k=3", "need a --temperature above 0"),
        ("sample:temperature=0,top-k=3", "need a --temperature above 0"),
    ],
)
def test_contradictions(specification: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_decoder(parts(), *parse(specification))


def test_a_small_model_that_is_slower_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lengths, "cost_ratio", lambda small, large: Timing(3.0, 2.0))
    slow = Parts("slow", RuleModel(copies), smaller=(RuleModel(copies),))
    with pytest.warns(UserWarning, match=r"3.00 ms a pass, the verifier 2.00 ms"):
        decoder = make_decoder(slow, "speculative", {})
    assert isinstance(decoder.drafter, SmallModelDrafter)
    assert decoder.drafter.length == AdaptiveLength(1.5)
    [[found]] = decoder.decode([[3, 4, 5]])
    assert sum(step.drafted for step in found.steps) == 0, "it is not asked at all"
    monkeypatch.setattr(lengths, "cost_ratio", lambda small, large: Timing(1.0, 4.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_decoder(slow, "speculative", {})


def test_the_command_warns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lengths, "cost_ratio", lambda small, large: Timing(3.0, 2.0))
    generation.save(bundle(), tmp_path / "toy")
    text = tmp_path / "text"
    text.write_text("the dogs see.\n")
    command = ["generate", "--model", str(tmp_path / "toy"), "--strategy", "speculative", str(text)]
    assert main(command) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("gec: warning: the drafting model takes 3.00 ms a pass")
    assert captured.out.count("\n") == 1
    assert main([*command, "--gamma", "-1"]) == 2
    assert "--gamma: must be 0 or more, not -1" in capsys.readouterr().err


def test_every_strategy_has_options_and_promises_what_it_keeps() -> None:
    assert set(FAMILY) <= set(STRATEGIES)
    drawing = {name: STRATEGIES[name].takes("temperature") for name in FAMILY}
    assert drawing == {name: name != "speculative-beam" for name in FAMILY}
    for name, draws in drawing.items():
        assert promise(name, {"temperature": 1.0} if draws else {}) != "exact"
    assert make_decoder(parts(), "speculative", {"gamma": 4}).drafter.length == FixedLength(4)  # type: ignore[attr-defined]
