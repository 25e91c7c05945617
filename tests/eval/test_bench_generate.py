"""gec bench generate: what is counted and compared. Nothing here asserts a time."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tiny_generation import random_bundle

from gec.cli import main
from gec.decoding.strategies import make_decoder
from gec.errors import ConfigError
from gec.eval.benchmark.memory import device_peak, peak_memory
from gec.eval.benchmark.profiling import PHASES
from gec.eval.benchmark.strategy_rows import StrategyRow, default_strategies, measure
from gec.eval.benchmark.strategy_tables import check_exact, speedups, strategy_table
from gec.models.load.generation import save

TEXTS = ["the dogs see.", "one big cats", "two", "birds and dogs eat the cats."]
STRATEGIES = ["beam:beam-size=5", "greedy", "nat", "gad:k=3", "gad++:beta=3,tau=1", "blockwise"]


def rows(rounds: int = 1, batch_sizes: tuple[int, ...] = (1, 3)) -> list[StrategyRow]:
    bundle = random_bundle()
    sources = [bundle.vocabulary.encode(text) for text in TEXTS]
    return measure(
        bundle.parts(), bundle.vocabulary.decode, sources, [TEXTS], STRATEGIES,
        batch_sizes=batch_sizes, rounds=rounds,
    )  # fmt: skip


def test_what_is_counted() -> None:
    found = rows()
    assert [(row.strategy, row.batch_size) for row in found] == [
        (name, size) for size in (1, 3) for name in STRATEGIES
    ]
    bundle = random_bundle()
    sources = [bundle.vocabulary.encode(text) for text in TEXTS]
    for row in found:
        name, _, _ = row.strategy.partition(":")
        values = {"gad": {"k": 3}}.get(name, {})
        outputs = [o[0] for o in make_decoder(bundle.parts(), name, values).decode(sources)]
        assert row.passes == sum(len(output.steps) for output in outputs)
        assert row.tokens == sum(len(o.tokens) + (not o.truncated) for o in outputs)
        assert row.truncated == sum(output.truncated for output in outputs)
        repeats = sum(
            sum(a == b for a, b in zip(o.tokens, o.tokens[1:], strict=False)) for o in outputs
        )
        assert row.repeated == pytest.approx(repeats / row.tokens)
        assert row.bleu is not None
        assert row.seconds is not None
        assert row.speedup is not None
        assert row.speedup_interval is not None
        low, high = row.speedup_interval
        assert 0 < low <= high
        assert len(row.sentence_seconds) == (len(TEXTS) if row.batch_size == 1 else 0)
        assert set(row.profile) == set(PHASES)
        assert sum(row.profile.values()) == pytest.approx(1.0, abs=1e-6)
        if row.strategy in ("greedy", "gad:k=3", "blockwise"):
            assert row.as_greedy == 1.0
    greedy = next(row for row in found if row.strategy == "greedy")
    assert greedy.per_pass == 1.0
    assert greedy.speedup_greedy == 1.0
    assert greedy.speedup_greedy_interval == pytest.approx((1.0, 1.0))
    shown = strategy_table(found)
    assert shown.count("\n") == len(found) + 1
    assert speedups(found).keys() == set(STRATEGIES[1:])


def test_without_times_there_are_none() -> None:
    for row in rows(rounds=0, batch_sizes=(4,)):
        assert (row.seconds, row.speedup, row.memory, row.profile) == (None, None, None, {})
    assert "seconds" not in strategy_table(rows(rounds=0, batch_sizes=(4,)))


def test_a_strategy_that_breaks_its_promise() -> None:
    def row(strategy: str, same: float) -> StrategyRow:
        return StrategyRow(strategy, 1, 1, 1, None, None, 0.0, same, 0)

    assert check_exact([row("gad:k=5", 1.0), row("gad++", 0.2), row("nat", 0.0)]) == []
    assert check_exact([row("blockwise:accept-top=3", 0.5)]) == []
    assert check_exact([row("gad:k=5", 0.999), row("blockwise:k=2", 0.5)]) == [
        "gad:k=5, batch 1: 99.90% as greedy",
        "blockwise:k=2, batch 1: 50.00% as greedy",
    ]


def test_the_papers_rows_as_far_as_the_bundle_goes() -> None:
    names = default_strategies(random_bundle().parts())
    assert names[:4] == ["beam:beam-size=5", "greedy", "nat", "gad:k=5"]
    assert {"gad++:beta=5,tau=4", "blockwise:k=2", "blockwise:k=4"} <= set(names)
    assert "blockwise:k=5" not in names
    assert default_strategies(random_bundle(nat=False, heads=False).parts()) == [
        "beam:beam-size=5", "greedy",
    ]  # fmt: skip
    assert default_strategies(random_bundle(nat=False, heads=False).parts(), "summarization") == [
        "beam:beam-size=5", "greedy", "iad", "lookup",
    ]  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> Path:
    save(random_bundle(), tmp_path / "toy")
    (tmp_path / "src").write_text("".join(f"{text}\n" for text in TEXTS))
    (tmp_path / "ref").write_text("".join(f"{text}\n" for text in TEXTS))
    return tmp_path


def test_command(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "generate", str(files / "src"), str(files / "ref"), "--limit", "2"]
    command += ["--model", str(files / "toy"), "--out", str(files / "out")]
    assert main([*command, "--strategies", *STRATEGIES]) == 0
    table = (files / "out" / "table.md").read_text()
    assert capsys.readouterr().out == table
    result = json.loads((files / "out" / "table.json").read_text())
    assert result["sentences"] == 2
    assert [row["strategy"] for row in result["rows"]] == STRATEGIES
    assert (files / "out" / "speedups.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("strategies", "message"),
    [(["turbo"], "unknown strategy"), (["gad:k=99"], "k must be"), (["nat", "nat"], "twice")],
)
def test_wrong_options(
    files: Path, strategies: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["bench", "generate", str(files / "src"), str(files / "ref")]
    assert main([*command, "--model", str(files / "toy"), "--strategies", *strategies]) == 2
    assert message in capsys.readouterr().err


def test_sources_too_long_and_files_that_differ(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["bench", "generate", str(files / "src"), str(files / "ref")]
    (files / "src").write_text("a\n")
    assert main([*command, "--model", str(files / "toy")]) == 2
    assert "src" in capsys.readouterr().err
    (files / "src").write_text("dogs " * 90 + "\n")
    (files / "ref").write_text("x\n")
    assert main([*command, "--model", str(files / "toy")]) == 2
    assert "src:1: " in capsys.readouterr().err


def test_memory_without_getrusage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert device_peak() is not None
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.setattr(Path, "exists", lambda self: False)  # no /proc either
    assert device_peak() is None
    with pytest.raises(ConfigError, match="memory cannot be measured here"):
        peak_memory()
