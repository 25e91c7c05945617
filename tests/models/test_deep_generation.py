"""Decoders alone that generate: their bundles in both engines, and every strategy on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest
import torch
from fake_models import tiny_network
from reference_decoding import beam_search
from tiny_generation import deep_bundle, random_bundle

from gec.cli import main
from gec.decoding.drafters.reentry import ReentryDrafter
from gec.decoding.parts import Parts
from gec.decoding.strategies import make_decoder, parse, servable
from gec.errors import ModelError
from gec.loading import load_generation_parts, load_generator
from gec.models.load import generation
from gec.models.load.light import VARIABLE, runs
from gec.models.native.library import library
from gec.models.network.llama import Llama
from gec.models.network.nat import NatTransformer
from gec.models.network.nat_config import NatConfig
from gec.text.vocabulary import PretrainedVocabulary

ENGINES = [
    pytest.param("light", marks=pytest.mark.skipif(library() is None, reason="no C library")),
    "torch",
]
TEXTS = ["the dog", "", "the dog and the dog, the 日本 dog!", "a", "one dog thaws the other dog"]
EXACT = [
    "iad", "iad-paper", "lookup", "lookup:k=2", "speculative:gamma=3", "hierarchical:gamma=2",
    "sample:temperature=0", "speculative:gamma=2,temperature=0", "blockwise", "blockwise:k=2",
    "auto",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("deep") / "deep"
    generation.save(deep_bundle(), path)
    return path


Load = Callable[[str, str], tuple[Parts, list[list[int]]]]


@pytest.fixture
def load(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    def loaded(engine: str, precision: str) -> tuple[Parts, list[list[int]]]:
        monkeypatch.setenv(VARIABLE, engine)
        parts, codec, _ = load_generation_parts(str(folder), device="cpu", precision=precision)
        assert runs(parts.model) == (engine == "light")
        return parts, [codec.encode(text) for text in TEXTS]

    return loaded


@cache
def network() -> Llama:
    found = deep_bundle().network
    assert isinstance(found, Llama)
    return found


@torch.inference_mode()
def whole(source: Sequence[int], output: Sequence[int]) -> torch.Tensor:
    """The plain reference: logits [V] of what follows a row that is read from its beginning."""
    config = network().config
    row = torch.tensor([[config.bos_id, *source, *config.separator, *output]])
    wanted = torch.zeros_like(row, dtype=torch.bool)
    wanted[0, -1] = True
    return network()(row, wanted)[0]


def greedy(
    logits: Callable[[Sequence[int], Sequence[int]], torch.Tensor], source: Sequence[int], most: int
) -> tuple[int, ...]:
    output: list[int] = []
    while len(output) < most:
        best = int(logits(source, output).argmax())
        if best == network().config.eos_id:
            break
        output.append(best)
    return tuple(output)


def limits(parts: Parts, sources: Sequence[Sequence[int]]) -> list[int]:
    assert parts.limit is not None
    return [parts.limit(source) for source in sources]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.filterwarnings("ignore:the drafting model takes")
def test_exact_strategies_give_the_recomputing_reference(
    engine: str, precision: str, load: Load
) -> None:
    parts, sources = load(engine, precision)

    def recomputed(source: Sequence[int], output: Sequence[int]) -> torch.Tensor:
        model = parts.model
        memory = model.start([source])
        scores = model.verify(memory, [[model.bos_id, *output]], [0])
        [[best]] = [row[-1:] for [row] in scores.read(scores.best())]
        return torch.nn.functional.one_hot(torch.tensor(best), 300)

    plain = whole if precision == "fp32" else recomputed
    pairs = zip(sources, limits(parts, sources), strict=True)
    expected = [greedy(plain, source, most) for source, most in pairs]
    assert len(set(expected)) > 3
    for specification in ("greedy", *EXACT):
        decoder = make_decoder(parts, *parse(specification))
        for size in (1, 3):
            found = decoder.decode(sources, batch_size=size)
            assert [h.tokens for [h] in found] == expected, (specification, size)


def test_heads_without_torch_propose_what_torchs_do(load: Load) -> None:
    """Of ragged blocks, at any place of them, also where a draft was accepted with its EOS."""
    proposals = []
    for engine in ("light", "torch"):
        if engine == "light" and library() is None:
            pytest.skip("no C library")
        parts, sources = load(engine, "fp32")
        model = parts.heads
        assert model is not None
        memory = model.start(sources)
        blocks = [[model.bos_id, *range(20, 20 + n)] for n in (3, 0, 5, 1, 2)]
        model.verify(memory, blocks, [0] * len(blocks))
        proposals.append([model.propose(memory, [p] * len(blocks), 3) for p in (0, 1, 9)])
        assert model.fits(parts.model)
    assert proposals[0] == proposals[1]
    assert len({tuple(row) for rows in proposals[0] for row in rows}) > 5


@pytest.mark.parametrize("engine", ENGINES)
def test_beams_are_those_of_the_plain_search(engine: str, load: Load) -> None:
    parts, sources = load(engine, "fp32")
    beams = [
        beam_search(whole, source, most, 3, 1.0)
        for source, most in zip(sources, limits(parts, sources), strict=True)
    ]
    for specification in ("beam", "speculative-beam", "speculative-beam:draft=small"):
        name, values = parse(specification)
        found = make_decoder(parts, name, values | {"beam_size": 3}).decode(sources, batch_size=2)
        for hypotheses, plain in zip(found, beams, strict=True):
            assert [h.tokens for h in hypotheses] == [beam.tokens for beam in plain]
            scores = [beam.score for beam in plain]
            assert [h.score for h in hypotheses] == pytest.approx(scores, abs=1e-4)


@pytest.mark.parametrize("engine", ENGINES)
def test_draws_are_a_row_s_own_and_drafts_of_the_verifier_stand(engine: str, load: Load) -> None:
    parts, sources = load(engine, "fp32")
    values = {"temperature": 1.0, "seed": 3}
    decoder = make_decoder(parts, "sample", values)
    alone, together = (decoder.decode(sources, batch_size=size) for size in (1, 5))
    assert [h.tokens for [h] in alone] == [h.tokens for [h] in together]
    others = make_decoder(parts, "sample", values | {"seed": 4}).decode(sources)
    assert [h.tokens for [h] in others] != [h.tokens for [h] in alone]
    twin = Parts(parts.name, parts.model, limit=parts.limit, smaller=(parts.model,))
    for [found] in make_decoder(twin, "speculative", values | {"gamma": 3}).decode(sources):
        assert all(step.accepted == min(step.drafted, step.emitted) for step in found.steps)


def test_what_a_decoder_alone_serves_and_lacks(load: Load) -> None:
    parts, _ = load("torch", "fp32")
    names = servable(parts)
    assert {"greedy", "beam", "iad", "lookup", "sample", "speculative", "hierarchical"} <= set(
        names
    )
    assert "blockwise" in names
    assert not {"gad", "gad++", "nat", "early-exit"} & set(names)
    drafter = make_decoder(parts, "iad").drafter
    assert isinstance(drafter, ReentryDrafter)
    assert drafter.begins  # a new piece stands for a whole word


# ------------------------------------------------------------------------------------- bundles


@pytest.mark.parametrize("dtype", [torch.float16, torch.int8])
def test_a_bundle_is_read_as_it_was_written(dtype: torch.dtype, tmp_path: Path) -> None:
    made = deep_bundle()
    generation.save(made, tmp_path / "deep", dtype=dtype)
    again = generation.load(str(tmp_path / "deep"))
    assert isinstance(again.network, Llama)
    assert isinstance(again.vocabulary, PretrainedVocabulary)
    assert again.vocabulary.fingerprint == generation.fingerprint(made.vocabulary)
    stored = json.loads(json.dumps(made.config))
    assert {name: again.config[name] for name in stored} == stored
    assert again.smaller.keys() == {"small", "medium"}
    pairs = [(made.network, again.network)]
    pairs += [(made.smaller[name], again.smaller[name]) for name in made.smaller]
    for one, other in pairs:
        assert one.config == other.config
        if dtype == torch.float16:
            theirs = other.state_dict()
            assert all(torch.equal(w, theirs[name]) for name, w in one.state_dict().items())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": {"count": 2, "hidden": 4}}, "cannot load .*heads.safetensors"),
        ({"early_exit": 1}, "is a decoder alone, which has no early_exit"),
        ({"longest": 0}, "longest must be a positive integer"),
    ],
)
def test_settings_that_a_decoder_alone_cannot_have(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    made = deep_bundle()
    made.smaller = {}
    generation.save(made, tmp_path / "deep")
    path = tmp_path / "deep" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    for read in (generation.load, load_generator):
        with pytest.raises(ModelError, match=message):
            read(str(tmp_path / "deep"))


def test_parts_that_do_not_fit_a_decoder_alone(tmp_path: Path) -> None:
    made = deep_bundle()
    generation.save(made, tmp_path / "deep")
    path = tmp_path / "deep" / "smaller" / "small" / "config.json"
    about = json.loads(path.read_text())
    for change, message in (
        ({"vocabulary": "0"}, "made for another vocabulary than deep"),
        ({"network": about["network"] | {"eos_id": 9}}, "eos_id is 9, the verifier's is 2"),
        ({"network": about["network"] | {"layers": 90}}, "size mismatch"),
    ):
        path.write_text(json.dumps(about | change))
        with pytest.raises(ModelError, match=message):
            generation.load(str(tmp_path / "deep"))
    path.write_text(json.dumps(about))
    other = random_bundle(heads=False)
    assert other.nat is not None
    generation.save_drafter(other.nat, tmp_path / "deep", made.vocabulary)
    with pytest.raises(ModelError, match="vocab_size is 300, the verifier's is 265"):
        generation.load(str(tmp_path / "deep"))
    config = made.network.config
    alike = {"vocab_size": config.vocab_size, "bos_id": config.separator[-1], "width": 48}
    own_encoder = NatTransformer(tiny_network(1, **alike).config, NatConfig(block=4))
    generation.save_drafter(own_encoder, tmp_path / "deep", made.vocabulary)
    with pytest.raises(ModelError, match="must share its encoder"):
        generation.load(str(tmp_path / "deep"))


# ------------------------------------------------------------------------------------ commands


def test_generate(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "in.txt"
    text.write_text("the dog and the dog\n\nthe other dog\n")
    outputs = []
    for strategy in (["--strategy", "greedy"], ["--strategy", "lookup", "--k", "3"], []):
        command = ["generate", str(text), "--model", str(folder), "--device", "cpu"]
        assert main([*command, *strategy]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0].count("\n") == 3
    assert len(set(outputs)) == 1


def test_bench(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("src", "ref"):
        (tmp_path / name).write_text("the dog and the dog\nthe other dog\n")
    command = ["bench", "generate", str(tmp_path / "src"), str(tmp_path / "ref"), "--rounds", "1"]
    command += ["--model", str(folder), "--device", "cpu", "--strategies", "greedy", "iad"]
    assert main([*command, "lookup", "speculative:gamma=2", "auto"]) == 0
    out = capsys.readouterr().out
    for name in ("greedy", "iad", "lookup", "speculative:gamma=2", "auto"):
        assert f"| {name} |" in out
    assert main([*command, "--operations", "--rounds", "0"]) == 0
    assert "| greedy | - | - | - |" in capsys.readouterr().out  # not counted
