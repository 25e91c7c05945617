"""gec bench generate with drafting models: their passes, shares, scores by task, plots."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fake_models import RuleModel, copies
from two_model_bundle import bundle

from gec.cli import main
from gec.decoding.beam import BeamSearch
from gec.decoding.drafters.aligned import AlignedCopyDrafter
from gec.decoding.strategies import make_decoder, parse
from gec.errors import ConfigError
from gec.eval.benchmark.contenders import beam_size, decoder_for
from gec.eval.benchmark.strategy_rows import StrategyRow, default_strategies, measure
from gec.eval.benchmark.strategy_tables import check_exact, operations_table, strategy_table
from gec.eval.benchmark.two_models import counted_passes, families, gamma_plot, gamma_table
from gec.eval.metrics.sari import sari
from gec.loading import work_of
from gec.models.load.generation import save

TEXTS = ["the dogs see.", "one big cats", "birds and dogs eat."]
STRATEGIES = [
    "greedy",
    "speculative:gamma=2",
    "hierarchical:gamma=2",
    "bild:fallback=0",
    "early-exit:gamma=2",
]


def rows(task: str = "translation") -> list[StrategyRow]:
    sources = [bundle().vocabulary.encode(text) for text in TEXTS]
    return measure(
        bundle().parts(), bundle().vocabulary.decode, sources, [TEXTS], STRATEGIES,
        batch_sizes=(2,), rounds=0, task=task,
    )  # fmt: skip


def test_passes_of_the_drafting_models() -> None:
    greedy, speculative, hierarchical, bild, early = rows()
    assert greedy.drafter_passes is None
    sources = [bundle().vocabulary.encode(text) for text in TEXTS]
    decoder = make_decoder(bundle().parts(), "speculative", {"gamma": 2})
    with counted_passes(decoder) as counts:
        found = decoder.decode(sources, batch_size=1)
    steps = [step for [h] in found for step in h.steps]
    assert counts == [sum(step.drafted for step in steps)]
    assert "verify" not in vars(decoder.drafter.model)  # type: ignore[attr-defined]
    assert speculative.passes == len(steps)
    assert speculative.accepted == pytest.approx(sum(s.accepted for s in steps) / len(steps))
    assert hierarchical.drafter_passes is not None
    assert hierarchical.drafter_passes.count("+") == 1
    assert bild.rollback is not None
    assert 0 < bild.rollback <= 1
    assert early.drafter_passes is not None
    assert [row.as_greedy for row in (speculative, hierarchical, early)] == [1.0] * 3
    assert "fallback" in strategy_table(rows())


@pytest.mark.parametrize(
    ("task", "there", "absent"),
    [
        ("translation", {"bleu", "chrf"}, {"sari", "rougel"}),
        ("summarization", {"bleu", "rouge1", "rouge2", "rougel"}, {"sari", "chrf"}),
        ("simplification", {"bleu", "sari"}, {"rougel", "chrf"}),
    ],
)
def test_scores_of_the_task(task: str, there: set[str], absent: set[str]) -> None:
    for row in rows(task):
        assert all(getattr(row, name) is not None for name in there)
        assert all(getattr(row, name) is None for name in absent)


def test_all_scores_are_percentages() -> None:
    """The outputs are their own references; SARI is the scorer's."""
    made = bundle()
    sources = [made.vocabulary.encode(text) for text in TEXTS]
    found = make_decoder(made.parts(), "greedy").decode(sources)
    texts = [made.vocabulary.decode(h.tokens) for [h] in found]

    def scored(task: str) -> StrategyRow:
        [row] = measure(
            made.parts(), made.vocabulary.decode, sources, [texts], ["greedy"],
            batch_sizes=(2,), rounds=0, task=task,
        )  # fmt: skip
        return row

    row = scored("summarization")
    assert (row.rouge1, row.rougel) == pytest.approx((100.0, 100.0))
    originals = [made.vocabulary.decode(source) for source in sources]
    assert scored("simplification").sari == sari(originals, texts, [texts]).value


def test_strategies_of_a_bundle_with_smaller_models() -> None:
    names = default_strategies(bundle().parts())
    for kind in ("speculative", "hierarchical:", "bild:rollback=inf", "bild:fallback=0", "early"):
        assert any(name.startswith(kind) for name in names)
    for name in names:  # all can be made
        if name != "speculative":  # it would measure
            make_decoder(bundle().parts(), *parse(name))


@pytest.mark.parametrize(
    ("strategy", "promises"),
    [
        ("speculative:gamma=2", True),
        ("speculative:gamma=2,temperature=1", False),
        ("early-exit", True),
        ("early-exit:rollback=2", False),
        ("bild", False),
        ("iad", True),
        ("iad-paper", True),
        ("iad:tolerance=0.5", False),
        ("gad:k=3", True),
        ("gad++", False),
        ("speculative-beam", False),  # which promises beam search's
    ],
)
def test_what_is_promised(strategy: str, promises: bool) -> None:
    broken = StrategyRow(strategy, 1, 1, 1, None, None, 0.0, 0.5, 0)
    assert bool(check_exact([broken])) == promises


@pytest.mark.parametrize(
    ("strategy", "promises"),
    [
        ("speculative-beam", True),
        ("speculative-beam:draft=small", True),
        ("speculative-beam:beam-size=1,length-penalty=5", False),
        ("speculative-beam:length-penalty=0.5", False),
        ("greedy", False),
    ],
)
def test_who_is_compared_with_beam_search(strategy: str, promises: bool) -> None:
    made = bundle()
    sources = [made.vocabulary.encode(text) for text in TEXTS]
    beam, row = measure(
        made.parts(), made.vocabulary.decode, sources, [], ["beam:beam-size=5", strategy],
        batch_sizes=(2,), rounds=0,
    )  # fmt: skip
    assert beam.as_beam is None
    assert row.as_beam == (1.0 if promises else None)
    row.as_beam, row.as_greedy = 0.5, None
    assert bool(check_exact([row])) == promises


def test_work() -> None:
    sources = [bundle().vocabulary.encode(text) for text in TEXTS]
    table = operations_table(bundle().parts(), ["greedy", "bild:fallback=0", "early-exit"], sources)
    _, _, greedy, bild, early = (line.split(" | ") for line in table.splitlines())
    assert early[1:] == ["-", "-", "- |"]
    verifier, medium, small = work_of(bundle().parts(), "bild", {"fallback": 0.0}, sources)
    assert (medium[0] == 0) != (small[0] == 0), "the smallest drafts alone"
    [plain, *_] = work_of(bundle().parts(), "greedy", {}, sources)
    assert greedy[1:3] == [f"{plain[1] / 1e9:.2f}", f"{plain[2] / 1e9:.2f}"]
    assert plain[0] == rows()[0].passes
    assert float(bild[2]) >= 0
    assert verifier[0] > 0


def test_gamma() -> None:
    table = gamma_table([0.1, 0.5], [0.5, 0.9])
    assert table.splitlines()[2:] == [
        "| 0.50 | 2 (1.46 x) | 0 (1.00 x) |",
        "| 0.90 | 10 (3.43 x) | 3 (1.38 x) |",
    ]
    plot = gamma_plot([0.1, 0.5])
    assert plot == gamma_plot([0.1, 0.5])
    ElementTree.fromstring(plot)
    assert "acceptance rate" in plot
    assert "c = 0.1" in plot


def test_families() -> None:
    names = ["bild:fallback=0.4,longest=5", "bild:longest=5,fallback=0.6", "bild:longest=9"]
    assert families(names, ["fallback"]) == {"bild:longest=5": [0, 1], "bild:longest=9": [2]}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot = tmp_path / "gamma.svg"
    assert main(["bench", "generate", "--plot-gamma", str(plot)]) == 0
    assert capsys.readouterr().out.startswith("| acceptance rate | c = 0.02 |")
    ElementTree.fromstring(plot.read_text())
    assert main(["bench", "generate"]) == 2
    assert "name the file of sources" in capsys.readouterr().err
    assert main(["bench", "generate", str(plot)]) == 2
    assert "name the bundle: --model" in capsys.readouterr().err
    save(bundle(), tmp_path / "toy")
    for name in ("source", "reference"):
        (tmp_path / name).write_text("".join(f"{text}\n" for text in TEXTS))
    command = ["bench", "generate", str(tmp_path / "source"), str(tmp_path / "reference")]
    command += ["--model", str(tmp_path / "toy"), "--out", str(tmp_path / "out"), "--operations"]
    command += ["--strategies"]
    assert main([*command, "greedy", "bild:fallback=0.1", "bild:fallback=0.9"]) == 0
    assert "| rollback |" in capsys.readouterr().out
    found = json.loads((tmp_path / "out" / "table.json").read_text())["rows"]
    assert [row["drafter_passes"] is None for row in found] == [True, False, False]
    ElementTree.fromstring((tmp_path / "out" / "tradeoff.svg").read_text())


def test_beam_search_with_drafts_in_bench_correct() -> None:
    model = RuleModel(copies)
    decoder = decoder_for("beam3+copy", model)
    assert isinstance(decoder.drafter, AlignedCopyDrafter)
    assert decoder.acceptance == BeamSearch(3)
    assert (beam_size("beam+copy"), beam_size("beam4")) == (5, 4)
    with pytest.raises(ConfigError, match="unknown strategy 'greedy\\+copy'"):
        decoder_for("greedy+copy", model)
