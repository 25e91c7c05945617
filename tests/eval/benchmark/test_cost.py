"""gec bench cost: what it prints of shapes and bundles. Nothing here asserts a time."""

from __future__ import annotations

import doctest
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_generation import random_bundle
from two_model_bundle import bundle

from gec.cli import main
from gec.errors import ConfigError
from gec.eval.benchmark import shapes
from gec.models.load.generation import GenerationBundle, save
from gec.models.network.llama_config import LlamaConfig
from gec.models.network.nat import NatTransformer
from gec.models.network.nat_config import NatConfig
from gec.models.network.transformer_config import TransformerConfig

Capture = pytest.CaptureFixture[str]
QUICK = ["--rounds", "1", "--source", "5", "--output", "8", "--threads", "1"]


def test_shapes() -> None:
    assert doctest.testmod(shapes).failed == 0
    found = shapes.parse("12+3x512:vocabulary=32000,ffn=1024,heads=4")
    assert isinstance(found, TransformerConfig)
    assert (found.encoder_layers, found.decoder_layers, found.width) == (12, 3, 512)
    assert (found.vocab_size, found.ffn_width, found.heads) == (32000, 1024, 4)
    smollm2 = shapes.parse("30x576")
    assert isinstance(smollm2, LlamaConfig)
    assert smollm2.to_dict() == LlamaConfig().to_dict()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("6+6", "written 6\\+6x384 or 30x576"),
        ("6+6x384:depth=2", "no option 'depth'"),
        ("6+6x384:heads=0", "1 or more"),
        ("6+6x384:heads=5", "not a multiple of heads"),
        ("0+6x384", "positive integer"),
    ],
)
def test_what_is_no_shape(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        shapes.parse(text)


def test_drafters_over_a_verifiers_states() -> None:
    for text in ("6+6x384", "30x576"):
        config = shapes.parse(text)
        for layers in (1, 2):
            own = shapes.shallow(config, layers)
            assert (own.width, own.vocab_size) == (config.width, config.vocab_size)
            assert layers == (own.layers if isinstance(own, LlamaConfig) else own.decoder_layers)


@pytest.mark.parametrize("engine", ["light", "torch"])
def test_shapes_are_measured_with_either_engine(
    engine: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("GEC_ENGINE", engine)
    command = ["bench", "cost", "--shape", "1+1x64:vocabulary=50", "--shape", "2x64:vocabulary=200"]
    command += ["--drafter", "1", "--drafter", "1+1x64", *QUICK, "--cpu-time"]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "processor time, batch 1, 5 tokens of source, 8 of output, medians of 1" in text
    assert f"**1+1x64, vocabulary 50, 0.1 M weights, int8, {engine}**" in text
    assert f"**2x64, vocabulary 200, 0.1 M weights, int8, {engine}**" in text
    assert text.count("| 1 layer on the verifier's states, a block ") == 2
    assert text.count("| 1+1x64, in turn ") == 2
    assert text.count("| drafted tokens ") == 2


def test_json(capsys: Capture) -> None:
    command = ["bench", "cost", "--shape", "1+1x64:vocabulary=50", "--json", "--precision", "fp32"]
    assert main([*command, *QUICK]) == 0
    [report] = json.loads(capsys.readouterr().out)["reports"]
    assert report["verifier"].startswith("1+1x64, vocabulary 50, 0.1 M weights, fp32")
    assert set(report["milliseconds"]) == {"0", "1", "2", "4", "8", "16", "32"}
    assert [row["drafter"] for row in report["drafters"]] == [
        f"{of} on the verifier's states, {way}"
        for of in ("1 layer", "2 layers") for way in ("a block", "in turn")
    ]  # fmt: skip
    for row in report["drafters"]:
        assert set(row["needed"]) == {"1.0", "1.5", "2.0"}
        assert all(0 <= k <= 32 and gain >= 1 for k, gain in row["best"].values())


@pytest.mark.parametrize(
    ("make", "drafters"),
    [
        (random_bundle, ["iad", "gad", "blockwise"]),
        (lambda: random_bundle(shared=True), ["iad", "gad", "blockwise"]),
        (bundle, ["iad", "early-exit", "speculative"]),
    ],
)
def test_a_bundles_drafters(
    make: Callable[[], GenerationBundle], drafters: list[str], tmp_path: Path, capsys: Capture
) -> None:
    save(make(), tmp_path / "toy")
    (tmp_path / "texts").write_text("the dogs see.\nbig cats\n")
    command = ["bench", "cost", "--model", str(tmp_path / "toy"), *QUICK, "--json"]
    assert main(command) == 0
    [report] = json.loads(capsys.readouterr().out)["reports"]
    assert [row["drafter"] for row in report["drafters"]] == drafters
    assert all("counted" not in row for row in report["drafters"])
    assert main([*command, str(tmp_path / "texts"), "--limit", "1"]) == 0
    [report] = json.loads(capsys.readouterr().out)["reports"]
    assert all(len(row["counted"]) == 2 for row in report["drafters"])


def test_a_bundle_that_corrects(capsys: Capture) -> None:
    assert main(["bench", "cost", "--model", "en", *QUICK]) == 0
    text = capsys.readouterr().out
    assert "**en, " in text
    assert "| iad " in text


@pytest.mark.parametrize(
    ("options", "least"),
    [
        (["--shape", "1+1x64", "--output", "2000"], 512),
        (["--shape", "1x64:vocabulary=200", "--output", "4000"], 511),
        (["--shape", "1+1x64", "--source", "512"], 512),
        (["--shape", "1+1x64", "--source", "5000"], 512),
        (["--model", "toy", "--output", "65"], 64),
        (["--model", "toy", "--source", "64"], 64),
        (["--model", "short", "--output", "33"], 32),
    ],
)
def test_sentences_longer_than_a_model_takes(
    options: list[str],
    least: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    monkeypatch.chdir(tmp_path)
    save(made := random_bundle(heads=False), Path("toy"))
    short = made.network.config.to_dict() | {"max_positions": 32}
    made.nat = NatTransformer(TransformerConfig.from_dict(short), NatConfig(block=8)).eval()
    save(made, Path("short"))
    assert main(["bench", "cost", *options]) == 2
    captured = capsys.readouterr()
    assert f"{least} positions, so --source may be at most {least - 1}, not" in captured.err
    assert f"and --output {least}, not " in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize(
    ("model", "least"),
    [
        (["--shape", "1+1x64:vocabulary=50"], 512),
        (["--shape", "1x64:vocabulary=200"], 511),
        (["--model", "toy"], 64),
    ],
)
def test_the_longest_sentences_that_a_model_takes(
    model: list[str], least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    save(random_bundle(), Path("toy"))
    sizes = ["--rounds", "1", "--source", str(least - 1), "--output", str(least)]
    assert main(["bench", "cost", *model, *sizes, "--threads", "1"]) == 0
    assert f"{least - 1} tokens of source, {least} of output" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "name a bundle (--model NAME) or a shape"),
        (["--model", "en", "--drafter", "1"], "--drafter belongs to --shape"),
        (["FILE", "--shape", "1+1x64"], "random weights accept nothing"),
        (["--shape", "1+1x64", "--precision", "fp64"], "unknown precision 'fp64'"),
        (["FILE", "--model", "en", *QUICK], "en corrects"),
    ],
)
def test_wrong_options_are_one_line(
    options: list[str], message: str, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "texts").write_text("a\n")
    options = [str(tmp_path / "texts") if one == "FILE" else one for one in options]
    assert main(["bench", "cost", *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
