"""Fine-tuning a decoder to generate: its examples, its recipes, the bundle a run leaves.

And the drafter of blocks that is trained behind it.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tiny_generation import byte_pairs, tiny_llama, write_corpora
from torch import Tensor

from gec.cli import main
from gec.errors import ConfigError, DataError, ModelError
from gec.loading import load_generation_parts, load_generator
from gec.models.fetch import pretrained
from gec.models.load import generation
from gec.models.network.llama import LlamaConfig
from gec.models.training import finetune, finetune_texts
from gec.models.training.finetune_data import HELD_OUT, Examples
from gec.models.training.finetune_drafter import DrafterRun
from gec.models.training.finetune_texts import text_recipe
from gec.models.training.verifier_states import VerifierStates
from gec.text.byte_pairs import BytePairs
from gec.text.vocabulary import PretrainedVocabulary

RECIPES = Path(finetune.__file__).parents[1] / "recipes"
RECIPE = """
name = "tiny"
task = "summarization"
method = "finetune"
source_language = "en"
target_language = "en"
split = false
limit = { ratio = 0.25, extra = 20 }
[pretrained]
package = "x"
wheel_sha256 = "0"
file = "x"
file_sha256 = "0"
[data]
longest = 12
cut = true
train = [
    { source = "train.en", target = "train.de", licence = "CC0" },
    { source = "more.tsv", licence = "CC0", tokenized = true, first_lines = 3 },
]
dev = [{ source = "dev.tsv", licence = "CC0", limit = 10 }]
test = [{ source = "test.tsv", licence = "CC0" }]
[training]
batch_tokens = 400
widths = [40, 70]
learning_rate = 3e-3
warmup_steps = 2
decay_share = 0.5
weight_decay = 0.01
gradient_clip = 1.0
edit_weight = 1.0
kept_sample = 1.0
save_every = "5m"
compile = false
"""
MORE = "It 's a dog .\tA dog .\nthe birds .\tsame as tested\n\tno source\nnot read\tany more\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe beside its corpora; what is downloaded for it is a random network."""
    write_corpora(tmp_path)
    (tmp_path / "more.tsv").write_text(MORE)
    (tmp_path / "test.tsv").write_text("the birds.\tBirds\n")
    (tmp_path / "r.toml").write_text(RECIPE)
    words = byte_pairs()
    network = tiny_llama(3, len(words))

    def base(_: object) -> tuple[LlamaConfig, dict[str, Tensor], BytePairs]:
        state = {name: weight.clone() for name, weight in network.state_dict().items()}
        del state["output.weight"]
        return replace(network.config, separator=(9,)), state, words

    monkeypatch.setattr(pretrained, "load", base)
    return tmp_path


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_examples_are_the_texts_cut_and_marked(folder: Path) -> None:
    finetune.prepare(folder / "r.toml", folder, folder / "packed")
    examples = Examples.load(folder / "packed" / "examples.npz")
    words = PretrainedVocabulary.load(folder / "packed")
    assert examples.names == ["train.en", "more.tsv"]
    pairs = {*zip(lines(folder / "train.en"), lines(folder / "train.de"), strict=True)}
    held_out = {line.split("\t")[0] for line in lines(folder / "dev.tsv")[:10]}
    held_out.add("the birds.")  # which is tested
    assert held_out & {source for source, _ in pairs}
    expected = [(words.encode(s)[:12], words.encode(t)) for s, t in pairs if s not in held_out]
    expected.append((words.encode("It's a dog."), words.encode("A dog.")))  # of three lines
    found = zip(examples.sources, examples.targets, strict=True)
    assert sorted(found) == sorted(pair for pair in expected if sum(map(len, pair)) <= 66)
    assert max(map(len, examples.sources)) == 12
    assert sum(examples.parts) == 1
    for target, marks in zip(examples.targets, examples.edited, strict=True):
        assert marks == [True] * (len(target) + 1)
    kept = Examples.load(folder / "packed" / HELD_OUT)
    assert kept.names == ["dev.tsv"]
    assert [words.decode(target) for target in kept.targets] == [
        line.split("\t")[1] for line in lines(folder / "dev.tsv")[:10]
    ]
    provenance = json.loads((folder / "packed" / "provenance.json").read_text())
    assert [(part["source"], part["licence"]) for part in provenance] == [
        ("train.en", "CC0"), ("more.tsv", "CC0"),
    ]  # fmt: skip


def test_long_sources_are_left_out_unless_they_are_cut(folder: Path) -> None:
    recipe, words = text_recipe(folder / "r.toml"), byte_pairs()
    whole = replace(recipe, data=replace(recipe.data, cut=False))
    finetune_texts.prepare(whole, folder, folder / "packed", words, 66)
    examples = Examples.load(folder / "packed" / "examples.npz")
    texts = {PretrainedVocabulary(words).decode(source) for source in examples.sources}
    assert texts < {*lines(folder / "train.en"), "It's a dog."}
    assert max(map(len, examples.sources)) <= 12
    with pytest.raises(DataError, match="no pair of at most 3 tokens"):
        finetune_texts.prepare(whole, folder, folder / "none", words, 3)


def test_one_command_makes_a_bundle_that_generates(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(finetune.time, "monotonic", count(0.5, 0.5).__next__)  # a step's seconds
    run = folder / "run"
    command = ["train", str(folder / "r.toml"), "--out", str(run), "--budget"]
    assert main([*command, "15s"]) == 2
    assert "name the corpora" in capsys.readouterr().err
    assert main([*command, "15s", "--data-dir", str(folder)]) == 0
    losses = [float(line.split(",")[4]) for line in lines(run / "log.csv")[1:]]
    assert losses[-1] < losses[0]
    assert {line.split(",")[2] for line in lines(run / "validation.csv")[1:]} == {"dev.tsv"}
    written = load_file(run / "weights.safetensors")
    bundle = generation.load(str(run / "bundle"))
    for name, weight in written.items():
        assert torch.equal(bundle.network.state_dict()[name], weight.half().float())
    assert "longest" not in bundle.config
    assert bundle.config["limit"] == {"ratio": 0.25, "extra": 20}
    greedy, lookup = (
        load_generator(str(run / "bundle"), device="cpu", strategy=name).generate("the dogs see.")
        for name in ("greedy", "lookup")
    )
    assert greedy.text == lookup.text
    assert len(greedy.pieces) == 1
    # and it goes on, with the data that are there
    step = torch.load(run / "last.ckpt", weights_only=True)["progress"]["step"]
    assert main([*command, "18s", "--resume"]) == 0
    again = generation.load(str(run / "bundle")).network.state_dict()
    assert torch.load(run / "last.ckpt", weights_only=True)["progress"]["step"] > step
    assert any(not torch.equal(again[name], written[name].half().float()) for name in written)


def test_data_may_be_prepared_before(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe, packed = str(folder / "r.toml"), str(folder / "packed")
    prepare = ["data", "prepare", recipe, "--data-dir", str(folder), "--out", packed]
    assert main(prepare) == 0
    train = ["train", recipe, "--out", str(folder / "run"), "--budget", "0s", "--data", packed]
    assert main(train) == 0
    assert (folder / "run" / "bundle" / "config.json").is_file()
    capsys.readouterr()
    for command, message in (
        ([*train, "--data-dir", str(folder)], "--data and --data-dir exclude each other"),
        ([*train, "--part", "drafter"], "recipe tiny has no [drafter]"),
        ([*train, "--part", "heads"], "recipe tiny has no [heads]"),
        ([*train, "--part", "small"], "recipe tiny has no [small.NAME]"),
        ([*train, "--part", "teacher"], "has the parts drafter, heads, small besides"),
        ([*prepare, "--exclude", str(folder / "dev.tsv")], "[[data.test]]"),
        ([*prepare, "--subwords", "en"], "--subwords is not for a fine-tuning recipe"),
    ):
        assert main(command) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"summarization"', '"parsing"', "task must be gec or one of translation"),
        ("cut = true", "vocabulary = 300", "vocabulary is the pretrained network's"),
        ("cut = true", "keep = 3", r"unknown setting in \[data\]: keep"),
        ("ratio = 0.25", "ratio = -1", "limit: a length limit needs"),
        ("split = false", "layers = 3", r"unknown setting in \[top level\]: layers"),
    ],
)
def test_wrong_recipes(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in RECIPE
    (tmp_path / "r.toml").write_text(RECIPE.replace(old, new))
    with pytest.raises(ConfigError, match=message):
        text_recipe(tmp_path / "r.toml")


@pytest.mark.parametrize("name", ["titles_deep", "simplification_deep"])
def test_the_shipped_recipes(name: str) -> None:
    recipe = text_recipe(RECIPES / f"{name}.toml")
    assert recipe.name == name
    assert recipe.training.kept_sample == recipe.training.edit_weight == 1
    assert recipe.data.cut == (recipe.task == "summarization")
    assert recipe.data.longest < recipe.training.widths[-1]
    assert all(texts.licence for texts in (*recipe.data.train, *recipe.data.dev))


# ---------------------------------------------------------------------------------------- drafter


DRAFTER = """
[drafter]
block = 5
smallest_block = 2
blocks = 2
output_states = true
output_ids = 20
[heads]
count = 3
hidden = 24
[small.tiny]
layers = [1]
learning_rate = 1e-2
[small.whole]
layers = [0, 1]
[distill]
beam_size = 1
sources = 40
batch_size = 8
[schedule]
batch_tokens = 300
learning_rate = 3e-3
precision = "32-true"
snapshots = 1
"""
TEXTS = ["the dogs see.", "a cat runs and the birds sing.", "birds", "the cat sees a dog."]


@pytest.fixture
def run(folder: Path) -> Path:
    """The folder of a run whose verifier is trained, more or less."""
    (folder / "r.toml").write_text(RECIPE + DRAFTER)
    command = ["train", str(folder / "r.toml"), "--out", str(folder / "run")]
    assert main([*command, "--data-dir", str(folder), "--budget", "2s"]) == 0
    return folder / "run"


def test_a_drafter_is_trained_and_exact(run: Path) -> None:
    command = ["train", str(run.parent / "r.toml"), "--out", str(run), "--part", "drafter"]
    before = generation.load(str(run / "bundle")).network.state_dict()
    assert main([*command, "--budget", "2s"]) == 0
    assert len(lines(run / "distilled.tsv")) == 40
    bundle = generation.load(str(run / "bundle"))
    assert all(
        torch.equal(weight, before[name]) for name, weight in bundle.network.state_dict().items()
    )
    assert bundle.nat is not None
    assert bundle.nat.nat.shared_encoder
    assert bundle.nat.nat.causal_prefix
    assert torch.equal(bundle.nat.embedding.weight[1:], before["embedding.weight"][1:])
    ids = list(bundle.nat.nat.output_ids)
    assert len(ids) == 20
    assert torch.equal(bundle.nat.output.weight, before["embedding.weight"][ids])
    texts = [line.split("\t")[1] for line in lines(run / "distilled.tsv")]
    [(frequent, _)] = Counter(
        i for text in texts for i in bundle.vocabulary.encode(text)
    ).most_common(1)
    assert {bundle.nat.config.eos_id, frequent} <= set(ids)
    outputs = []
    for strategy, options in (("greedy", {}), ("gad", {"k": 3}), ("gad", {"k": 5}), ("auto", {})):
        for engine in ("light", "torch"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("GEC_ENGINE", engine)
                generator = load_generator(
                    str(run / "bundle"),
                    device="cpu",
                    precision="fp32",
                    strategy=strategy,
                    options=options,
                )
            found = generator.generate_many(TEXTS, batch_size=3)
            outputs.append(tuple(generation.text for generation in found))
    assert len({*outputs}) == 1
    assert load_generation_parts(str(run / "bundle"), device="cpu")[0].blocks is not None
    # and it goes on
    assert main([*command, "--budget", "4s"]) == 0


@pytest.mark.filterwarnings("ignore:the drafting model takes")
def test_heads_and_smaller_models_are_trained_and_exact(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["train", str(run.parent / "r.toml"), "--out", str(run), "--part"]
    before = generation.load(str(run / "bundle")).network.state_dict()
    assert main([*command, "heads", "--budget", "2s"]) == 0
    log = lines(run / "distilled.tsv")
    assert main([*command, "small", "--budget", "2s"]) == 0
    assert lines(run / "distilled.tsv") == log
    assert main([*command, "drafter", "--budget", "1s"]) == 0
    bundle = generation.load(str(run / "bundle"))
    weights = bundle.network.state_dict()
    assert all(torch.equal(weight, before[name]) for name, weight in weights.items())
    assert bundle.heads is not None
    assert not torch.equal(bundle.heads.down[0].bias, torch.zeros(48))
    assert {name: n.config.layers for name, n in bundle.smaller.items()} == {"tiny": 1, "whole": 2}
    for small in bundle.smaller.values():
        assert torch.equal(small.embedding.weight, weights["embedding.weight"])
    ours, theirs = (
        network.state_dict()["layers.0.ffn.down.weight"]
        for network in (bundle.smaller["whole"], bundle.network)
    )
    assert not torch.equal(ours, theirs), "it was trained"
    assert torch.allclose(ours, theirs, atol=0.2), "it began as the verifier"
    outputs = []
    for engine in ("light", "torch"):
        monkeypatch.setenv("GEC_ENGINE", engine)
        for strategy in ("greedy", "blockwise", "speculative", "hierarchical", "gad", "auto"):
            generator = load_generator(str(run / "bundle"), device="cpu", strategy=strategy)
            outputs.append([generator.generate(text).text for text in TEXTS])
    assert all(output == outputs[0] for output in outputs)
    # and it goes on, with the outputs that are there
    step = torch.load(run / "small" / "whole" / "last.ckpt", weights_only=True)["progress"]["step"]
    assert main([*command, "small", "--budget", "3s"]) == 0
    after = torch.load(run / "small" / "whole" / "last.ckpt", weights_only=True)["progress"]
    assert after["step"] > step


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("layers = [1]", "layers = []", "a smaller model needs layers"),
        ("1e-2", "-1.0", "learning_rate must be above 0"),
        ("layers = [1]", 'layers = ["a"]', "needs layers, by their numbers"),
        ("layers = [1]", "", r"\[small.tiny\]: .*layers"),
        ("layers = [1]", "layers = 1", r"\[small.tiny\] layers must be"),
        ("output_ids = 20", "output_ids = 0", "output_ids must be at least 2, not 0"),
        ("count = 3", "counts = 3", r"unknown setting in \[heads\]: counts"),
    ],
)
def test_wrong_parts(old: str, new: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(RECIPE + DRAFTER.replace(old, new))
    with pytest.raises(ConfigError, match=message):
        text_recipe(tmp_path / "r.toml")


def test_a_layer_that_the_verifier_has_not(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = run.parent / "r.toml"
    path.write_text(path.read_text().replace("layers = [1]", "layers = [7]"))
    assert main(["train", str(path), "--out", str(run), "--part", "small", "--budget", "1s"]) == 2
    assert "[small.tiny] layers: there is no layer 7" in capsys.readouterr().err


def test_what_a_drafter_needs(run: Path, folder: Path) -> None:
    (folder / "none.toml").write_text(RECIPE)
    with pytest.raises(ConfigError, match="has no \\[drafter\\]"):
        DrafterRun(text_recipe(folder / "none.toml"), run / "data", run)
    with pytest.raises(ConfigError, match="train the verifier first"):
        DrafterRun(text_recipe(folder / "r.toml"), run / "data", folder).train(1)
    with pytest.raises(ModelError, match="one separator"):
        VerifierStates(tiny_llama(1, 40))
