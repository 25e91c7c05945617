"""A budget of needless changes becomes a least confidence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gec.correct.needless import Budget, Needless, least_confidence, read_kinds
from gec.correct.options import Options, Setting
from gec.errors import ConfigError, ModelError

KINDS = {"fiction": Needless(200, (0.3, 0.8, 0.5)), "textbook": Needless(100, (0.6,))}


@pytest.mark.parametrize(
    ("text", "share", "kind"),
    [
        ("1/1000", 0.001, None),
        ("0.001", 0.001, None),
        ("0.1%", 0.001, None),
        ("0", 0, None),
        (" 1 : fiction ", 1, "fiction"),
    ],
)
def test_a_budget_is_read(text: str, share: float, kind: str | None) -> None:
    assert Budget.read(text) == Budget(share, kind)


@pytest.mark.parametrize("text", ["", "x", "1/0", "2", "-1/5", "nan", "1/2%", "1/9:", ":fiction"])
def test_a_bad_budget(text: str) -> None:
    with pytest.raises(ConfigError, match="expected a share such as 1/1000"):
        Budget.read(text)


@pytest.mark.parametrize(
    ("share", "least"),
    [(0, 0.8001), (0.0049, 0.8001), (0.005, 0.5001), (0.01, 0.3001), (0.015, 0.0), (1, 0.0)],
)
def test_so_many_sentences_may_be_changed(share: float, least: float) -> None:
    fiction = KINDS["fiction"]
    assert fiction.least(share) == pytest.approx(least)
    changed = sum(confidence >= fiction.least(share) for confidence in fiction.confidences)
    assert changed <= share * fiction.sentences + 1e-9


def test_without_a_kind_every_kind_keeps_the_budget() -> None:
    assert least_confidence(Budget(0.005), KINDS) == pytest.approx(0.6001)
    assert least_confidence(Budget(0.005, "fiction"), KINDS) == pytest.approx(0.5001)
    with pytest.raises(ConfigError, match="unknown kind of text 'poem', known are fiction"):
        least_confidence(Budget(0.005, "poem"), KINDS)
    with pytest.raises(ConfigError, match="knows no needless changes: gec calibrate"):
        least_confidence(Budget(0.005), {})


def test_a_sure_edit_is_left_out_even_at_confidence_one() -> None:
    assert Needless(10, (1.0,)).least(0) == 1


def test_confidences_are_rounded_up() -> None:
    found = Needless.of(10, [0.50001])
    assert found.confidences == pytest.approx((0.5001,))
    assert read_kinds({"x": found.to_dict()}) == {"x": Needless(10, (0.5001,))}


def test_options_choose_by_the_budget() -> None:
    settings = {"balanced": Setting(0.25, 0.3, {"R:PREP": 0.9}), "precise": Setting(1.0, 0.9)}
    asked = Options(max_needless=Budget(0.005, "fiction"))
    assert asked.choose(settings, KINDS) == Setting(0.25, KINDS["fiction"].least(0.005))
    assert Options(min_confidence=0.7).over(asked) == Options(min_confidence=0.7)
    assert asked.over(Options(min_confidence=0.7)) == asked
    assert Options(setting="precise").over(asked) == Options(setting="precise")
    assert Options(tolerance=1.0).over(asked).max_needless == asked.max_needless
    with pytest.raises(ConfigError, match="exclude each other"):
        Options(min_confidence=0.5, max_needless=Budget(0.1))


@pytest.mark.parametrize(
    "values",
    [
        [1],
        {"x": 1},
        {"x": {}},
        {"x": {"sentences": 1, "confidences": "a"}},
        {"x": {"sentences": 1, "confidences": [0.5, 0.6]}},
        {"x": {"sentences": 0, "confidences": []}},
        {"x": {"sentences": 5, "confidences": [float("nan")]}},
        {"x": {"sentences": "5", "confidences": []}},
    ],
)
def test_a_bundle_with_broken_numbers(values: object, bundle_copy: Path) -> None:
    from gec.models.load import bundle

    with pytest.raises(ConfigError):
        read_kinds(values)
    config = json.loads((bundle_copy / "config.json").read_text())
    (bundle_copy / "config.json").write_text(json.dumps(config | {"needless": values}))
    with pytest.raises(ModelError, match=r"config\.json"):
        bundle.load(str(bundle_copy))
