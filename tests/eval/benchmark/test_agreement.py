"""Whether two engines are the same model."""

from __future__ import annotations

import pytest
from fake_models import EOS, RuleModel, copies, disagrees
from torch import Tensor

from gec.eval.benchmark.agreement import Agreement, compare, score

SOURCE = (3, 4, 3)
OUTPUT = (3, 4, 3)


def judge(
    theirs: tuple[int, ...], gap: float, strategy: str = "greedy", **more: object
) -> Agreement:
    model = RuleModel(copies, second=disagrees, gap=gap)
    options: dict[str, object] = {"strict": True, "limit": 20, "reference": "ours"} | more
    return compare(
        "theirs", strategy, "fp32", {SOURCE: theirs}, {SOURCE: OUTPUT}, model, **options  # type: ignore[arg-type]
    )  # fmt: skip


def test_the_same() -> None:
    found = judge(OUTPUT, 1.0)
    assert found.holds
    assert found.line() == "theirs: 1 of 1 outputs as ours"


def test_a_tie_and_more_than_a_tie() -> None:
    tie, more = judge((3, 3, 3), 5e-5), judge((3, 3, 3), 0.5)
    assert (tie.holds, tie.ties, tie.agreed) == (True, 1, 0)
    assert tie.disagreements[0].gap == pytest.approx(5e-5)
    assert not more.holds
    assert more.line().endswith("largest gap 0.5: NOT the same model")
    assert judge((3, 3, 3), 0.5, strict=False).holds


def test_what_comes_at_the_limit_does_not_matter() -> None:
    assert judge((3, 4, 9), 1.0, limit=3).agreed == 1
    assert judge((3, 4, 9), 1.0, limit=4).agreed == 0


def test_beams_are_judged_by_their_scores() -> None:
    worse = judge((3, 3, 3), 0.5, "beam5")
    assert worse.disagreements[0].gap == pytest.approx(0.5 / 4, rel=0.01)
    assert not worse.holds
    better = compare(
        "theirs", "beam5", "fp32", {SOURCE: OUTPUT}, {SOURCE: (3, 3, 3)}, RuleModel(copies),
        reference="ours", strict=True, limit=20,
    )  # fmt: skip
    assert better.disagreements[0].gap < 0
    assert better.holds


def test_a_score_is_the_mean_over_tokens_and_eos() -> None:
    model = RuleModel(copies)

    def logprob(output: tuple[int, ...], token: int) -> Tensor:
        return model.scores(SOURCE, output).log_softmax(-1)[token]

    expected = logprob((), 3) + logprob((3,), 5) + logprob((3, 5), EOS)
    assert score(model, SOURCE, (3, 5)) == pytest.approx(float(expected) / 3)
