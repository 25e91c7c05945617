"""Traces: the passes of a sentence as the blocks of Ge et al. 2022, Table 2."""

from __future__ import annotations

from fake_models import EOS, RuleModel, rewrites

from gec.decoding.decoder import Decoder
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.trace import Block, Pass, Trace

STEPS = (Pass(6, 1, 2), Pass(0, 0, 1), Pass(3, 3, 3))
TRACE = Trace(STEPS, (" She", " goes", " to", " school", " .", "</s>"))


def test_counts() -> None:
    assert (TRACE.passes, TRACE.drafted, TRACE.accepted) == (3, 9, 4)


def test_blocks() -> None:
    assert TRACE.blocks == (
        Block((" She",), "drafted"),
        Block((" goes",), "decided"),
        Block((" to",), "decided"),
        Block((" school", " .", "</s>"), "drafted"),
    )


def test_render() -> None:
    assert TRACE.render() == "[She] +goes +to [school .</s>]  (3 passes, 4 of 9 accepted)"
    coloured = TRACE.render(colour=True)
    assert "\033[1;33mgoes\033[0m" in coloured
    assert "\033[32mShe\033[0m" in coloured


def test_an_empty_trace() -> None:
    assert Trace(()).blocks == ()
    assert Trace(()).render() == "  (0 passes, 0 of 0 accepted)"


def test_the_steps_of_a_hypothesis_cut_its_output() -> None:
    model = RuleModel(rewrites(lambda s: [s[0], 9, *s[2:]]))
    [[found]] = Decoder(model, CopyDrafter()).decode([[3, 4, 5, 6, 7]])
    names = tuple(map(str, [*found.tokens, EOS]))
    blocks = Trace(found.steps, names).blocks
    assert [(block.kind, *block.tokens) for block in blocks] == [
        ("drafted", "3"), ("decided", "9"), ("decided", "5"), ("drafted", "6", "7", "2"),
    ]  # fmt: skip
