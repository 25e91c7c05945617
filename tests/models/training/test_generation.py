"""From raw text to a bundle that decodes with drafts: the whole pipeline on a toy language pair.

Time is counted in steps: every look at the clock is a second later.
"""

from __future__ import annotations

import itertools
import json
import lzma
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from tiny_generation import RECIPE, random_bundle, write_corpora

from gec.cli import main
from gec.decoding.parts import Parts
from gec.decoding.strategies import make_decoder
from gec.errors import ConfigError, DataError
from gec.models.load import generation, light
from gec.models.network.nat import block_mask
from gec.models.training import loop
from gec.models.training.checkpoint import mean_weights
from gec.models.training.distill import distill
from gec.models.training.parallel_batches import ParallelBatches, make_parallel_batch
from gec.models.training.parallel_corpora import packed_pairs
from gec.models.training.schedule import Schedule
from gec.text.vocabulary import BOS_ID, EOS_ID, PAD_ID


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count()
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: float(next(seconds))))


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    write_corpora(tmp_path)
    return tmp_path


def recipe(folder: Path, drafter: str = "") -> Path:
    path = folder / "toy.toml"
    path.write_text(RECIPE.replace("DRAFTER", drafter), encoding="utf-8")
    return path


# --------------------------------------------------------------------------- the whole pipeline


@pytest.mark.parametrize("drafter", ["causal_prefix = true\nshared_encoder = true", ""])
def test_from_raw_text_to_gad(
    corpora: Path, drafter: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recipe(corpora, drafter)
    if drafter:
        path.write_text(path.read_text().replace("beam_size = 2", "beam_size = 2\nsources = 150"))
    command = ["train", str(path), "--data-dir", str(corpora), "--out", str(corpora / "run")]
    assert main([*command, "--threads", "1"]) == 0, capsys.readouterr().err
    run = corpora / "run"
    bundle = generation.load(str(run / "bundle"))
    dev = [source for source, _ in packed_pairs(run / "data" / "dev.tsv")]
    ids = [bundle.vocabulary.encode(source) for source in dev]
    parts = bundle.parts()
    greedy = [found[0].tokens for found in make_decoder(parts, "greedy").decode(ids)]
    for name in ("gad", "blockwise"):
        outputs = make_decoder(parts, name).decode(ids)
        assert [found[0].tokens for found in outputs] == greedy
        steps = [step for found in outputs for step in found[0].steps]
        assert sum(step.accepted for step in steps) > 0, "training made no draft that stands"
    distilled = packed_pairs(run / "distilled.tsv")
    sources = [source for source, _ in packed_pairs(run / "data" / "train.tsv")]
    assert [source for source, _ in distilled] == sources[: 150 if drafter else None]
    capsys.readouterr()
    if drafter:
        return
    # once more: everything is done, nothing is trained again
    before = (run / "bundle" / "model.safetensors").read_bytes()
    log = (run / "verifier" / "log.csv").read_text()
    assert main(command) == 0
    assert (run / "bundle" / "model.safetensors").read_bytes() == before
    assert (run / "verifier" / "log.csv").read_text() == log
    table_of(run, capsys)


SMALL = """
base = "BASE"

[data]
vocabulary = 320

[network]
width = 32
heads = 4
ffn_width = 64
encoder_layers = 1
decoder_layers = 1
max_positions = 64

[drafter]
block = 8
network = { decoder_layers = 1 }

[heads]
count = 2
hidden = 32

[schedule]
batch_tokens = 400
precision = "32-true"

[budget]
teacher = "8s"
verifier = "8s"
drafter = "8s"
heads = "8s"
"""


@pytest.mark.parametrize("name", ["multi30k", "en_de"])
def test_shipped_recipes_run_on_a_slice(
    name: str, corpora: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their settings and files, with a network and times for a test."""
    data = corpora / "translation"
    sources, targets = ((corpora / f"train.{x}").read_text() for x in ("en", "de"))
    rows = list(zip(sources.splitlines(), targets.splitlines(), strict=True))
    for file, text in (("train.en", sources), ("train.de", targets)):
        (data / "multi30k").mkdir(parents=True, exist_ok=True)
        (data / "multi30k" / f"{file}.xz").write_bytes(lzma.compress(text.encode()))
        for part in ("val", "test_2016_flickr"):
            few = "".join(f"{line}\n" for line in text.splitlines()[:3])
            (data / "multi30k" / file.replace("train", part)).write_text(few)
    for corpus, part in (("msdocs-en-de", rows[:90]), ("tatoeba-en-de", rows[90:])):
        (data / corpus).mkdir()
        tsv = "".join(f"{source}\t{target}\tdocs:a.md\n" for source, target in part)
        tsv += "left\tout\tdynamics:b.md\n" if corpus.startswith("ms") else ""
        (data / corpus / "train.tsv.xz").write_bytes(lzma.compress(tsv.encode()))
        for split in ("dev", "test"):
            few = "".join(f"{source}\t{target}\n" for source, target in part[:3])
            (data / corpus / f"{split}.tsv").write_text(few)
    shutil.copy(Path(generation.__file__).parents[1] / "recipes" / f"{name}.toml", corpora)
    (corpora / "small.toml").write_text(SMALL.replace("BASE", f"{name}.toml"))
    command = ["train", str(corpora / "small.toml"), "--data-dir", str(corpora)]
    run = corpora / "run"
    assert main([*command, "--out", str(run)]) == 0, capsys.readouterr().err
    trained = {source for source, _ in packed_pairs(run / "data" / "train.tsv")}
    assert not trained & {source for source, _ in packed_pairs(run / "data" / "test.tsv")}
    assert "left" not in trained
    bundle = generation.load(str(run / "bundle"))
    assert bundle.nat is not None
    assert bundle.nat.nat.shared_encoder
    assert bundle.nat.nat.causal_prefix == (name == "multi30k")
    ids = [bundle.vocabulary.encode(source) for source, _ in rows[:20]]
    greedy, gad = (make_decoder(bundle.parts(), s).decode(ids) for s in ("greedy", "gad"))
    assert [found[0].tokens for found in gad] == [found[0].tokens for found in greedy]


def table_of(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table is made of the bundle, and says that what is exact is exact."""
    pairs = packed_pairs(run / "data" / "dev.tsv")[:4]
    for name, column in (("src", 0), ("ref", 1)):
        text = "".join(f"{pair[column]}\n" for pair in pairs)
        (run / name).write_text(text, encoding="utf-8")
    command = ["bench", "generate", str(run / "src"), str(run / "ref"), "--rounds", "0"]
    strategies = ["greedy", "nat", "gad:k=4", "gad++:beta=3,tau=1", "blockwise:k=3"]
    command += ["--model", str(run / "bundle"), "--strategies", *strategies]
    assert main([*command, "--out", str(run / "table")]) == 0, capsys.readouterr().err
    rows = json.loads((run / "table" / "table.json").read_text())["rows"]
    assert [row["strategy"] for row in rows] == strategies
    assert [rows[i]["as_greedy"] for i in (0, 2, 4)] == [1.0] * 3
    assert rows[2]["passes"] <= rows[0]["passes"]
    assert "| gad:k=4 | 1 |" in capsys.readouterr().out


def test_a_run_that_is_stopped_goes_on_exactly(
    corpora: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The drafter draws block sizes, prefixes and glances at random: they must go on, too."""
    text = RECIPE.replace("DRAFTER", "").replace('teacher = "40s"\n', "")
    path = corpora / "toy.toml"
    path.write_text(text.replace('heads = "20s"\n', ""), encoding="utf-8")

    def go(name: str) -> int:
        out = str(corpora / name)
        return main(["train", str(path), "--data-dir", str(corpora), "--out", out])

    assert go("whole") == 0
    for stage in ("prepare", "verifier"):
        out = str(corpora / "parts")
        command = ["train", str(path), "--data-dir", str(corpora), "--out", out]
        assert main([*command, "--part", stage]) == 0
    real, count = loop.learning_rate, itertools.count()

    def interrupting(share: float, training: Schedule) -> float:
        if next(count) == 7:
            signal.raise_signal(signal.SIGTERM)
        return real(share, training)

    monkeypatch.setattr(loop, "learning_rate", interrupting)
    assert go("parts") == 130
    assert not (corpora / "parts" / "drafter" / "done.json").exists()
    assert go("parts") == 0
    states = [
        torch.load(corpora / name / "drafter" / "last.ckpt", weights_only=True)
        for name in ("whole", "parts")
    ]
    assert states[0]["progress"]["step"] == states[1]["progress"]["step"]
    for name, value in states[0]["model"].items():
        assert torch.equal(value, states[1]["model"][name]), name
    capsys.readouterr()


# ------------------------------------------------------------------------------------- its parts


def test_batches_resume_and_cover_every_pair_each_epoch() -> None:
    pairs = [([3 + i] * (i % 5 + 1), [3 + i] * (i % 7 + 1)) for i in range(40)]
    stream = iter(ParallelBatches(pairs, 30))
    batches = []
    while not batches or batches[-1].position[0] == 0:
        batches.append(next(stream))
    seen = sorted(int(row[0]) for batch in batches for row in batch.source)
    assert seen == list(range(3, 43))
    for batch, after in itertools.pairwise(batches):
        again = next(iter(ParallelBatches(pairs, 30, starts=[batch.position])))
        assert torch.equal(again.source, after.source)
        assert torch.equal(again.target, after.target)
        assert batch.target.numel() <= 30 or len(batch.target) == 1
    second = next(stream)
    assert second.position[0] == 1


def test_no_pairs_are_refused() -> None:
    """The search for a first batch would never end."""
    with pytest.raises(DataError, match="no pair to train on"):
        ParallelBatches([], 30)


def test_what_the_masks_hide() -> None:
    """Prefix, MASKs and padding of ragged rows, and what is to be predicted, by hand."""
    bundle = random_bundle()
    assert bundle.nat is not None
    mask, pad = bundle.nat.mask_id, PAD_ID
    batch = make_parallel_batch([([5], [11, 12, 13]), ([5], [21])], (0, 0))
    tokens, truth = bundle.nat._masked(batch.target, torch.tensor([2, 1]), 3)
    assert tokens.tolist() == [
        [BOS_ID, 11, mask, mask, mask],
        [BOS_ID, mask, mask, mask, pad],
    ]
    assert truth.tolist() == [[12, 13, EOS_ID], [21, EOS_ID, pad]]


def test_who_sees_whom() -> None:
    seen = block_mask(torch.tensor([2, 1]), 2, 4, causal_prefix=False)
    assert seen.int().tolist() == [[[[1, 1, 1, 1]]], [[[1, 1, 1, 0]]]]
    seen = block_mask(torch.tensor([2, 1]), 2, 4, causal_prefix=True)
    assert seen[0, 0].int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]]
    assert seen[1, 0, :3].int().tolist() == [[1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0]]


def test_glancing_shows_a_share_of_what_was_wrong() -> None:
    bundle = random_bundle()
    nat = bundle.nat
    assert nat is not None
    batch = make_parallel_batch([([5, 6, 7], [11] * 7)] * 300, (0, 0))
    ones = torch.ones(300, dtype=torch.long)
    torch.manual_seed(0)
    with torch.no_grad():
        logits, truth, wanted = nat(batch.source, batch.target, ones, 8, 0.0)
        assert wanted.sum() == len(truth) == 300 * 8
        wrong = float((logits.argmax(-1) != truth).float().mean())
        assert wrong > 0.5
        for share in (0.25, 0.75):
            _, _, wanted = nat(batch.source, batch.target, ones, 8, share)
            assert float(wanted.float().mean()) == pytest.approx(1 - share * wrong, abs=0.05)


def test_distilling_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    bundle = random_bundle(nat=False, heads=False)
    sources = ["the dogs.", "one cats see.", "two", "big birds eat and see " * 20]
    distill(bundle, sources, tmp_path / "whole", beam_size=2)
    lines = (tmp_path / "whole").read_text().splitlines(keepends=True)
    assert [line.split("\t")[0] for line in lines] == sources
    assert lines[3].endswith("\t\n"), "too long a source has no output"
    (tmp_path / "part").write_text(lines[0] + lines[1][:5])
    assert distill(bundle, sources, tmp_path / "part", beam_size=2, resume=True) == 3
    assert (tmp_path / "part").read_text() == "".join(lines)
    with pytest.raises(ConfigError, match="go on with --resume"):
        distill(bundle, sources, tmp_path / "part")
    with pytest.raises(ConfigError, match="in int8 or fp32, not in 'int4'"):
        distill(bundle, sources, tmp_path / "other", precision="int4")
    with pytest.raises(DataError, match="part:2 was made of other sources"):
        distill(bundle, ["the dogs.", "else"], tmp_path / "part", resume=True)


def test_distilling_in_int8_is_decoding_in_int8(tmp_path: Path) -> None:
    bundle = random_bundle(nat=False, heads=False)
    if light.refusal(bundle.network.config, "cpu", "int8"):
        pytest.skip("no kernels")
    sources = ["the dogs.", "one cats see."]
    distill(bundle, sources, tmp_path / "out", beam_size=1, precision="int8")
    model = light.verifier_of(light.from_torch(bundle.network, "int8"))
    decoder = make_decoder(Parts(bundle.name, model, limit=bundle.limit), "greedy")
    found = decoder.decode([bundle.vocabulary.encode(source) for source in sources])
    texts = [bundle.vocabulary.decode(hypotheses[0].tokens) for hypotheses in found]
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines == [f"{s}\t{t}" for s, t in zip(sources, texts, strict=True)]


def test_the_mean_of_snapshots(tmp_path: Path) -> None:
    for step, value in ((1, 1.0), (2, 3.0)):
        state = {"config": {}, "model": {"w": torch.tensor([value])}}
        torch.save(state, tmp_path / f"step-{step:08d}.ckpt")
    assert mean_weights(tmp_path)["w"].tolist() == [2.0]
    with pytest.raises(DataError, match="cannot read the weights in"):
        mean_weights(tmp_path / "nowhere")


# ------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("vocabulary = 320", "vocabulary = 9", "at least 259 entries"),
        ("vocabulary = 320", "vokabular = 320", "unknown setting in [data]: vokabular"),
        ("block = 8", "block = 64", "do not fit into 64 positions"),
        ("heads = 4", "heads = 5", "not a multiple of heads"),
        ('verifier = "30s"', "", "names no verifier"),
        ('teacher = "40s"', 'magic = "40s"', "magic is none of"),
        ('source = "train.en"', 'source = "dev.tsv"', "differ in length"),
        ('source = "dev.tsv"', 'source = "train.en"', "expected 2 columns"),
        ('source = "dev.tsv"', 'source = "none.tsv"', "none.tsv"),
    ],
)
def test_recipes_and_corpora_that_cannot_be_used(
    corpora: Path, old: str, new: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = RECIPE.replace("DRAFTER", "").replace('"40s"', '"2s"').replace('"30s"', '"2s"')
    old, new = (t.replace('"40s"', '"2s"').replace('"30s"', '"2s"') for t in (old, new))
    assert old in text
    path = corpora / "bad.toml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    command = ["train", str(path), "--data-dir", str(corpora), "--out", str(corpora / "run")]
    assert main(command) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert message in error


def test_options_of_other_recipes(corpora: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(recipe(corpora))
    for options, message in (
        (["--init", "en"], "--init is not for a recipe of task 'translation'"),
        (["--part", "teacher"], "cannot read"),
        ([], "name the corpora"),
    ):
        assert main(["train", path, "--out", str(corpora / "run"), *options]) == 2
        assert message in capsys.readouterr().err
