"""``gec bench`` whole, with a tiny bundle: what is printed, written, refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from gec.cli import main, parse
from gec.cli.bench_correct import complete
from gec.errors import ConfigError, InputError
from gec.eval.benchmark import agreement, quick
from gec.eval.benchmark.bench import read_sentences, spread
from gec.eval.benchmark.contenders import Ids, model_of
from gec.eval.benchmark.pages import markdown, shown_command, write_sections
from gec.eval.benchmark.profiling import PARTS, profile
from gec.models.load.bundle import Bundle, load

Capture = pytest.CaptureFixture[str]
PAGE = """# Speed

<!-- bench: speed -->
old
<!-- end -->
Between.
<!-- bench: plots --><!-- end -->
"""


@pytest.fixture
def text(tmp_path: Path) -> str:
    path = tmp_path / "text.txt"
    path.write_text("she goes home\n\nhe goes\nshe goes she goes home home\n", encoding="utf-8")
    return str(path)


def bench(folder: Path, *arguments: str) -> int:
    return main(["bench", *arguments, "--model", str(folder), "--device", "cpu"])


def test_simple(folder: Path, text: str, capsys: Capture) -> None:
    assert bench(folder, text, "--rounds", "1") == 0
    out = capsys.readouterr().out
    assert out.startswith("file text.txt, sentences 3, tokens 12, model tiny, parameters")
    assert "the bundle, 0.0 M parameters, real (its own weights end to end)" in out
    rows = [line.split() for line in out.splitlines() if line.startswith("| gec ")]
    timed = [(row[3], row[5]) for row in rows if row[7] == "1"]
    assert timed[:4] == [("greedy", "fp32"), ("iad", "fp32"), ("greedy", "int8"), ("iad", "int8")]
    assert "all 3 outputs as ours by the same search" in out
    assert "gec iad int8, batch 1" in out
    assert "missing" not in out


def test_everything(folder: Path, text: str, tmp_path: Path, capsys: Capture) -> None:
    page, data, plots = tmp_path / "page.md", tmp_path / "out.json", tmp_path / "images"
    page.write_text(PAGE)
    status = bench(
        folder, text, "--rounds=2", "--batch-size=1", "--batch-size=2", "--strategies",
        "greedy,iad,beam2,floor", "--peers=fairseq,ctranslate2", "--fairseq-python=nowhere",
        "--replay=1+2x32,ffn=16,heads=2", "--vocabulary=300", f"--json={data}", f"--write={page}",
        f"--plots={plots}",
    )  # fmt: skip
    out = capsys.readouterr().out
    assert status == 0, out
    found = json.loads(data.read_text(), parse_constant=lambda name: pytest.fail(name))
    assert len(found["load"]) == 2
    assert found["machine"]["cores"] >= 1
    real, replayed = found["studies"]
    assert (real["replayed"], replayed["replayed"]) == (False, True)
    assert real["missing"] == {"fairseq": replayed["missing"]["fairseq"]}
    rows = {
        (t["engine"], t["strategy"], t["precision"], t["batch_size"]): t for t in real["timings"]
    }
    # ours 4 x 2, CTranslate2's greedy, beam2 and floor x 2, each at two batch sizes
    assert len(rows) == len(replayed["timings"]) == 2 * (4 * 2 + 3 * 2)
    iad = rows["gec", "iad", "fp32", 1]
    assert iad["turns"] == [1, 1, 1]
    assert [len(rounds) for rounds in iad["seconds"]] == [2, 2, 2]
    assert {r["fast"] for r in real["ratios"]} >= {"gec iad int8", "gec floor int8"}
    agreed = {a["name"]: a["agreed"] for a in real["agreements"]}
    assert agreed["gec iad fp32, batch 2"] == agreed["ctranslate2 greedy fp32, batch 2"] == 3
    # the replay writes what was recorded, and ends, which the random network never does
    greedy = next(t["passes"] for t in replayed["timings"] if t["strategy"] == "greedy")
    for row, again in zip(real["timings"], replayed["timings"], strict=True):
        if row["engine"] == "gec" and row["strategy"] == "greedy":
            assert again["passes"] == row["passes"] + 1
        elif row["engine"] == "gec" and row["strategy"] == "iad":  # a replay foresees nothing
            assert 1 < again["passes"] <= greedy
    written = page.read_text()
    assert "old" not in written
    assert "1+2x32,ffn=16,heads=2, 0.0 M parameters, replayed (random weights" in written
    assert "missing: fairseq: no Python with fairseq at nowhere" in written
    assert "\nBetween.\n" in written
    assert str(tmp_path) not in written
    assert "![Time a sentence by batch size](images/bench-batch.svg)" in written
    drawn = {path.name for path in plots.iterdir()}
    assert drawn == {"bench-edit-ratio.svg", "bench-length.svg", "bench-batch.svg"}
    assert all("<svg" in path.read_text() for path in plots.iterdir())


def test_parts_without_speed(folder: Path, text: str, tmp_path: Path, capsys: Capture) -> None:
    data = tmp_path / "out.json"
    options = ["--check-lossless", "--profile", "--parts", "--growth=45", f"--json={data}"]
    assert bench(folder, text, *options) == 0
    out = capsys.readouterr().out
    assert out.count("\nlossless\n") == 2
    assert all(f"| {part} " in out for part in PARTS)
    assert "| all but the network " in out
    found = json.loads(data.read_text())
    assert "studies" not in found
    assert found["parts"]["texts"] == 3
    for run in ("first", "again"):
        assert {"network", "tokens", "planning", "the rest"} <= found["parts"][run].keys()
        assert found["parts"][run]["network"] > 0
    assert [point["words"] for point in found["growth"]] == [22, 47]
    assert found["growth"][1]["sentences"] >= found["growth"][0]["sentences"]
    assert [r["precision"] for r in found["lossless"]] == ["fp32", "int8"]


def test_memory(folder: Path, text: str, tmp_path: Path, capsys: Capture) -> None:
    data = tmp_path / "out.json"
    assert bench(folder, text, "--memory", f"--json={data}") == 0
    found = json.loads(data.read_text())["process"]
    assert found["peak"] > found["bundle"] > 0
    assert found["above"] == pytest.approx(found["peak"] - found["bundle"])
    assert "MiB above the bundle's" in capsys.readouterr().out


def test_disagreement_is_exit_1_before_timing(
    folder: Path, text: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    real = agreement.compare

    def shifted(name: str, *arguments: Any, **options: Any) -> agreement.Agreement:
        strategy, precision, outputs, *rest = arguments
        if name.startswith("gec iad"):
            outputs = {source: (7, *output) for source, output in outputs.items()}
        return real(name, strategy, precision, outputs, *rest, **options)

    monkeypatch.setattr("gec.eval.benchmark.study.compare", shifted)
    assert bench(folder, text, "--precision", "fp32") == 1
    out = capsys.readouterr().out
    assert "gec iad fp32: 0 of 3 outputs as gec greedy fp32" in out
    assert "NOT the same model" in out
    assert "ms/sentence" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--record"], "--record belongs to --quick"),
        (["--vocabulary=300"], "--vocabulary belongs to --replay"),
        (["--write=nowhere.md"], "--write needs a page that exists"),
        (["--peers=onnx"], "unknown peer 'onnx'"),
        (["--replay=6"], "layers and width as in 6+6x512"),
        (["--strategies=magic"], "unknown strategy 'magic'"),
        (["--precision=int4"], "unknown precision 'int4'"),
        (["--quick"], "--quick has its own sentences"),
    ],
)
def test_wrong_use(
    arguments: list[str], message: str, folder: Path, text: str, capsys: Capture
) -> None:
    assert bench(folder, text, *arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--peers", "all"]])
def test_the_help_names_the_default_strategies(more: list[str], capsys: Capture) -> None:
    args = parse(["bench", "FILE", *more])
    complete(args)
    assert main(["bench", "correct", "--help"]) == 0
    assert ",".join(args.strategies) in re.sub(r"\s+", "", capsys.readouterr().out)


def test_long_sentences_are_left_out(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "long.txt"
    path.write_text("she " * 80 + "\nshe goes\n")
    assert bench(folder, str(path), "--rounds=1", "--precision=fp32") == 0
    assert "1 sentences of more than 59 tokens left out" in capsys.readouterr().err
    path.write_text("she " * 80)
    assert bench(folder, str(path)) == 2
    assert "no sentence of at most 59 tokens" in capsys.readouterr().err


def test_reads_lines_and_m2(tmp_path: Path) -> None:
    plain, m2, empty = tmp_path / "a.txt", tmp_path / "a.m2", tmp_path / "b.txt"
    plain.write_text("a b .\n\nc .\n")
    m2.write_text("S a b .\nA 0 1|||R:OTHER|||x|||REQUIRED|||-NONE-|||0\n\nS c .\n")
    empty.write_text("\n")
    assert read_sentences(str(plain)) == read_sentences(str(m2)) == [["a", "b", "."], ["c", "."]]
    with pytest.raises(InputError, match="no sentence"):
        read_sentences(str(empty))


def test_a_sample_is_spread() -> None:
    assert spread("abcdefg", 3) == ["a", "c", "e"]
    assert spread("abc", 3) == spread("abc", None) == spread("abc", 9) == ["a", "b", "c"]


# ------------------------------------------------------------------------------------------- parts


def test_a_markdown_table() -> None:
    assert markdown(("a", "b"), [("x", "12"), ("yy", "3")]).splitlines() == [
        "| a  |  b |",
        "| -- | -: |",
        "| x  | 12 |",
        "| yy |  3 |",
    ]


def test_a_page_without_the_marker(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- bench: speed --> never ends")
    with pytest.raises(ConfigError, match="has no <!-- bench: speed -->"):
        write_sections(str(page), {"speed": "x"})
    assert page.read_text() == "<!-- bench: speed --> never ends"


def test_a_command_is_shown_without_this_machines_folders() -> None:
    argv = [
        "bench",
        "/a/b/c13.m2",
        "--json=../x.json",
        "--write",
        "docs/p.md",
        "--replay",
        "6+6x512",
    ]
    shown = "gec bench c13.m2 --json=x.json --write docs/p.md --replay 6+6x512"
    assert shown_command(argv) == shown


def test_a_profile_has_every_part(tiny: Bundle, sources: list[Ids]) -> None:
    model = model_of(tiny.network, "int8", torch.device("cpu"), in_torch=True)
    found = profile(model, "iad", "int8", sources, 2)
    assert set(found.calls) == set(PARTS) - {"the rest"}
    assert list(found.parts) == list(PARTS)
    assert all(value > 0 for value in found.parts.values())
    # nothing stays wrapped
    again = profile(model, "greedy", "int8", sources[:1], 1)
    assert again.calls["encoder"] == 1
    assert again.calls["vocabulary projection"] == again.calls["drafting"]


# ------------------------------------------------------------------------------------------- quick


def test_quick_with_the_shipped_bundle(capsys: Capture) -> None:
    """After the bundle's weights have changed: ``gec bench --quick --record``."""
    status = main(["bench", "--quick"])
    out = capsys.readouterr().out
    assert status == 0, out
    assert "not recorded" not in out, "new weights: gec bench --quick --record"
    assert out.count("\nlossless\n") == 2
    assert out.count(" passes, as recorded\n") == 2


def test_quick_sees_other_passes_and_other_weights(folder: Path, tmp_path: Path) -> None:
    def run() -> quick.Quick:
        return quick.run(
            load(str(folder)), folder, precisions=["fp32"], sentences=["she goes", "home"],
            record=record,
        )  # fmt: skip

    record = tmp_path / "record.json"
    first = run()
    assert first.recorded is None
    assert first.holds
    assert first.lines() == [
        f"fp32: {sum(first.passes['fp32'])} passes, not recorded for these weights"
    ]
    quick.write_record(first, record)
    assert run().lines()[0].endswith("passes, as recorded")
    content = json.loads(record.read_text())
    content["passes"]["fp32"][1] += 1
    record.write_text(json.dumps(content))
    changed = run()
    assert not changed.holds
    assert "sentence 2: " in changed.lines()[0]
    content["weights"] = "other"
    record.write_text(json.dumps(content))
    assert run().recorded is None
