"""Text in, text out: as many outputs as lines, nothing cut silently."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_generation import random_bundle

from gec.cli import main
from gec.decoding.drafters.auto import AutoDrafter
from gec.decoding.strategies import make_decoder
from gec.errors import ConfigError
from gec.generate.generator import Generator
from gec.loading import load_generator
from gec.models.load.generation import GenerationBundle, save

LONG = "the big dogs see the cats, and two birds eat; " * 5


@cache
def bundle() -> GenerationBundle:
    return random_bundle()


def generator(strategy: str = "greedy", longest: int = 30, split: bool = True) -> Generator:
    decoder = make_decoder(bundle().parts(), strategy)
    return Generator(decoder, bundle().vocabulary, longest=longest, split=split)


def test_as_many_outputs_as_lines() -> None:
    lines = ["the dogs.", "", "  ", "one. two big dogs eat! the cats see.", LONG, "?", "x" * 70]
    for size in (2, 32):
        found = list(generator().generate_many(lines, batch_size=size))
        assert len(found) == len(lines)
        assert [bool(one.pieces) for one in found] == [True, False, False, True, True, True, True]
        assert found[1].text == ""
    one = generator().generate(lines[0])
    assert one.text == found[0].text
    assert one.pieces[0].trace.passes > 0


def test_lines_are_cut_into_sentences_and_these_to_fit() -> None:
    assert generator().cut("One dog eats. Two cats see!  Big birds.") == [
        "One dog eats.", "Two cats see!", "Big birds.",
    ]  # fmt: skip
    assert generator(split=False).cut(" One dog. Two cats. ") == ["One dog. Two cats."]
    assert generator().cut("1. See the dog. - Eat it.")[0].startswith("1.")
    pieces = generator(longest=12).cut(LONG)
    assert all(len(bundle().vocabulary.encode(piece)) <= 12 for piece in pieces)
    assert " ".join(pieces) == " ".join(LONG.split())


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=60), st.integers(1, 9), st.booleans())
def test_nothing_of_a_line_is_lost(line: str, longest: int, split: bool) -> None:
    pieces = generator(longest=longest, split=split).cut(line)
    assert "".join("".join(pieces).split()) == "".join(line.split())
    for piece in pieces:
        assert len(bundle().vocabulary.encode(piece)) <= longest or len(piece) == 1


def test_numbers_out_of_range() -> None:
    with pytest.raises(ConfigError, match="from 1 to 63"):
        generator(longest=64)
    with pytest.raises(ConfigError, match="batch size"):
        list(generator().generate_many(["a"], batch_size=0))


# ---------------------------------------------------------------------------------- gec generate


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "toy"
    save(bundle(), path)
    return path


def test_command(folder: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    text = tmp_path / "in.txt"
    text.write_bytes(b"the dogs see.\r\n\r\none. two.\nbig")
    outputs = {}
    names = ("greedy", "beam", "gad", "gad++", "nat", "blockwise", "iad", "iad-paper", "auto")
    for strategy in names:
        command = ["generate", str(text), "--model", str(folder), "--strategy", strategy]
        assert main([*command, "--device", "cpu"]) == 0
        out = capfdbinary.readouterr().out
        assert [line[-1:] for line in out.split(b"\n")[:2]] == [b"\r", b"\r"]
        assert out.count(b"\n") == 3
        outputs[strategy] = out
    for exact in ("gad", "blockwise", "iad", "iad-paper", "auto"):
        assert outputs[exact] == outputs["greedy"]


def test_the_strategy_where_none_is_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = replace(bundle(), config=bundle().config | {"task": "simplification"})
    save(made, tmp_path / "simpler")
    for path, strategy in ((folder, "greedy"), (tmp_path / "simpler", "iad")):
        found = load_generator(str(path))
        assert found.about["strategy"] == "auto"
        assert isinstance(found.decoder.drafter, AutoDrafter)
        assert found.decoder.drafter.bandit.current.name == strategy
    (tmp_path / "in").write_text("a\n")
    command = ["generate", str(tmp_path / "in"), "--tolerance", "1", "--model"]
    assert main([*command, str(tmp_path / "simpler")]) == 0
    assert main([*command, str(folder)]) == 2
    assert "--tolerance belongs to iad" in capsys.readouterr().err


def test_command_reads_standard_input_and_shows_traces(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the dogs\n")))
    assert main(["generate", "--model", str(folder), "--strategy", "gad", "--trace"]) == 0
    assert "passes" in capsys.readouterr().err


def test_what_was_chosen_is_said_beside_the_output(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "in.txt"
    text.write_text("the dogs see.\n")
    outputs = []
    for more in ([], ["-v"], ["--verbose", "--strategy", "greedy"]):
        assert main(["generate", str(text), "--model", str(folder), *more]) == 0
        outputs.append(capsys.readouterr())
    assert len({found.out for found in outputs}) == 1
    quiet, said, named = (found.err for found in outputs)
    assert quiet == named
    assert said.startswith(quiet + "gec: auto: greedy ")
    assert said.count("\n") == quiet.count("\n") + 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--strategy", "gad", "--tau", "1"], "--tau belongs to gad++, not to gad"),
        (["--strategy", "gad", "--k", "9"], "k must be from 1 to 8"),
        (["--strategy", "gad++", "--tau", "-1"], "must be 0 or more"),
        (["--strategy", "blockwise", "--k", "5"], "k must be from 1 to 4"),
        (["--precision", "fp64"], "unknown precision"),
        (
            ["--strategy", "auto", "--beam-size", "3"],
            "--beam-size belongs to beam and speculative-beam, not to auto",
        ),
        (["--strategy", "auto", "--k", "5"], "--k belongs to lookup and gad and "),
        (["--strategy", "auto", "--budget", "2"], "must be from 0 to 1"),
    ],
)
def test_wrong_options_are_one_line(
    folder: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:  # fmt: skip
    (tmp_path / "in").write_text("a\n")
    assert main(["generate", str(tmp_path / "in"), "--model", str(folder), *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_other_bundles_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "in").write_text("a\n")
    save(random_bundle(nat=False, heads=False), tmp_path / "plain")
    for model, strategy, message in (
        ("en", "greedy", "use gec correct"),
        ("nowhere", "greedy", "no model bundle"),
        (str(tmp_path / "plain"), "gad", "has no drafter/"),
        (str(tmp_path / "plain"), "blockwise", "has no heads"),
    ):
        command = ["generate", str(tmp_path / "in"), "--model", model, "--strategy", strategy]
        assert main(command) == 2
        assert message in capsys.readouterr().err
