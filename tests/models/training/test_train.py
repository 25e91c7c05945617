"""The trainer: its loss and schedule, and runs that are stopped, resumed and refused."""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from fake_models import RuleModel, copies, rewrites
from tiny_recipe import RECIPE
from torch import Tensor, nn

from gec import cli
from gec.cli.train import dev_scores
from gec.errors import ConfigError, DataError
from gec.models.load import bundle
from gec.models.network.transformer import Transformer, TransformerConfig
from gec.models.training import correction, loop
from gec.models.training import train as trainer
from gec.models.training.carry import Carry
from gec.models.training.checkpoint import Progress
from gec.models.training.correction import loss_of
from gec.models.training.export import export_main
from gec.models.training.noisy_batches import Batch, NoisyBatches, make_batch
from gec.models.training.recipe import Recipe, TrainingRecipe, load_recipe
from gec.models.training.schedule import edit_weight, learning_rate, make_optimizers
from gec.models.training.validation import decoded, validate
from gec.text.subwords import PAD_ID, Subwords

# ----------------------------------------------------------------- schedule and loss


@pytest.fixture
def training(recipe: Recipe) -> TrainingRecipe:
    return replace(
        recipe.training, learning_rate=2.0, warmup_share=0.1, decay_share=0.4, edit_weight=3.0,
        edit_weight_end=1.0, kept_sample=1.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("share", "rate"),
    [(0, 0.0), (0.05, 1.0), (0.1, 2.0), (0.6, 2.0), (0.8, 1.0), (1.0, 0.0), (1.2, 0.0)],
)
def test_the_learning_rate_is_a_trapezoid(
    training: TrainingRecipe, share: float, rate: float
) -> None:
    assert learning_rate(share, training) == pytest.approx(rate, abs=0.003)


def test_the_first_step_learns(training: TrainingRecipe) -> None:
    assert learning_rate(0, training) > 0


@pytest.mark.parametrize(("share", "weight"), [(0, 3.0), (0.6, 3.0), (0.8, 2.0), (1.0, 1.0)])
def test_the_edit_weight_decays(training: TrainingRecipe, share: float, weight: float) -> None:
    assert edit_weight(share, training) == pytest.approx(weight)


class Fixed(nn.Module):
    """Gives each target position logits that do not depend on the input."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, source: Tensor, target_in: Tensor, wanted: Tensor) -> Tensor:
        return self.logits[: target_in.shape[0], : target_in.shape[1]][wanted]


PAIRS = [([5, 6], [5, 7, 8]), ([9], [9])]


def test_edited_tokens_weigh_more(training: TrainingRecipe) -> None:
    torch.manual_seed(0)
    batch = make_batch(PAIRS, (0, 0))
    model = Fixed(torch.randn(2, 4, 12))
    losses = nn.functional.cross_entropy(
        model.logits.detach().flatten(0, 1), batch.target_out.flatten(), reduction="none"
    ).view(2, 4)
    weights = torch.tensor([[1.0, 3.0, 3.0, 1.0], [1.0, 1.0, 0.0, 0.0]])
    loss, tokens = loss_of(model, batch, training, 3.0)
    assert loss.item() == pytest.approx(float((losses * weights).sum() / weights.sum()))
    assert int(tokens) == 6


@pytest.mark.parametrize("sample", [1.0, 0.5])
def test_padding_never_counts(training: TrainingRecipe, sample: float) -> None:
    torch.manual_seed(0)
    batch = make_batch(PAIRS, (0, 0))
    model = Fixed(torch.randn(2, 4, 12))
    for _ in range(20):
        model.zero_grad()
        loss, _ = loss_of(model, batch, replace(training, kept_sample=sample), 3.0)
        torch.autograd.backward(loss)
        gradient = model.logits.grad
        assert gradient is not None
        assert not gradient[batch.target_out == PAD_ID].any()
        assert gradient[batch.edited].any(-1).all(), "an edited token always counts"


def test_the_sample_is_unbiased(training: TrainingRecipe) -> None:
    """Kept tokens are drawn with a share of 0.25 and weigh four times as much."""
    torch.manual_seed(0)
    batch = make_batch([(list(range(3, 11)) * 8, list(range(3, 11)) * 7 + [11] * 8)], (0, 0))
    model = Fixed(torch.randn(1, 65, 12))
    whole, _ = loss_of(model, batch, training, 3.0)
    sampled = replace(training, kept_sample=0.25)
    mean = sum(loss_of(model, batch, sampled, 3.0)[0].item() for _ in range(400)) / 400
    assert mean == pytest.approx(whole.item(), rel=0.02)


def test_a_batch_of_which_nothing_is_drawn(training: TrainingRecipe) -> None:
    """It has no loss, not 0 / 0: one short clean sentence must not end a run."""
    batch = make_batch([([5], [5])], (0, 0))
    model = Fixed(torch.randn(1, 2, 12))
    for _ in range(10):
        loss, _ = loss_of(model, batch, replace(training, kept_sample=1e-9), 3.0)
        torch.autograd.backward(loss)
        assert loss.item() == 0.0


def test_validation_counts() -> None:
    """One sentence right, one wrong, one clean and right, by a model that knows the answers."""
    pairs = [([5, 6], [5, 7]), ([5, 6], [5, 8]), ([9], [9])]
    batch = make_batch(pairs, (0, 0))
    answers = batch.target_out.clone()
    answers[1, 1] = 3

    class Oracle(nn.Module):
        def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
            return nn.functional.one_hot(answers, 12) * 9.0

    scores = validate(Oracle(), [batch])  # type: ignore[arg-type]
    assert scores["exact_noisy"] == 0.5
    assert scores["clean_changed"] == 0.0
    assert scores["edit_accuracy"] == 0.5
    assert scores["kept_loss"] < 0.01 < scores["edit_loss"]


def test_optimizers(recipe: Recipe) -> None:
    """Muon moves the layers' matrices, AdamW all else; every parameter exactly once."""
    module = Transformer(TransformerConfig.from_dict({"vocab_size": 50} | recipe.network))
    for name, kinds in (("muon", ["AdamW", "Muon"]), ("adamw", ["AdamW"])):
        optimizers = make_optimizers(module, replace(recipe.training, optimizer=name))
        assert [type(optimizer).__name__ for optimizer in optimizers] == kinds
        taken = [p for o in optimizers for group in o.param_groups for p in group["params"]]
        assert len(taken) == len({id(p) for p in taken}) == len(list(module.parameters()))
    muon = {id(p) for group in make_optimizers(module, recipe.training)[1].param_groups
            for p in group["params"]}  # fmt: skip
    assert id(module.embedding.weight) not in muon
    with pytest.raises(ConfigError, match="unknown optimizer 'sgd'"):
        make_optimizers(module, replace(recipe.training, optimizer="sgd"))


# ------------------------------------------------------------------------------- runs

Run = Callable[..., Progress]


@pytest.fixture
def run(packed: Path, recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Train with a clock by which every step takes a second; ``at`` acts before a step."""
    monkeypatch.setattr(NoisyBatches, "POOL", 64)

    def start(
        budget: float,
        *,
        recipe: Recipe = recipe,
        out: str = "run",
        at: tuple[int, Callable[[], object]] | None = None,
        **options: Any,
    ) -> Progress:
        seconds = 0

        def monotonic() -> float:
            nonlocal seconds
            if at and seconds == at[0]:
                at[1]()
            seconds += 1
            return float(seconds)

        monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=monotonic))
        return trainer.train(recipe, packed, tmp_path / out, budget=budget, workers=0, **options)

    return start


def weights(folder: Path) -> dict[str, Tensor]:
    state: dict[str, Tensor] = torch.load(folder / "last.ckpt", weights_only=True)["model"]
    return state


def test_a_run_learns_and_leaves_a_log(run: Run, tmp_path: Path) -> None:
    progress = run(60)
    assert progress.step == 60
    assert progress.seconds == 60
    first, *_, last = progress.history
    assert first["step"] == 20  # validate_every
    assert last["step"] == 60
    assert last["kept_loss"] < 0.7 * first["kept_loss"]
    with (tmp_path / "run" / "log.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert {name for _, name, _ in rows} >= {"edit_loss", "edit_accuracy", "clean_changed"}
    assert not (tmp_path / "run" / "last.part").exists()


def test_a_slice_of_the_pipeline_beats_copying(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``gec data prepare``, ``train``, ``bundle`` and ``correct``: minutes of the real thing."""
    text = RECIPE.replace("validation = 12", "validation = 60").replace("width = 32", "width = 64")
    for old, new in (("dropout = 0.1", "dropout = 0.0"), ('"20s"', '"2000s"')):
        text = text.replace(old, new)
    recipe, packed, run = (str(tmp_path / name) for name in ("slice.toml", "packed", "run"))
    Path(recipe).write_text(text, encoding="utf-8")
    prepare = ["data", "prepare", recipe, "--data-dir", str(data_dir), "--out", packed]
    assert cli.main(prepare) == 0
    clock = itertools.count()
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    train = ["train", recipe, "--data", packed, "--out", run, "--budget", "500s", "--threads", "1"]
    assert cli.main(train) == 0
    with (tmp_path / "run" / "log.csv").open(newline="") as file:
        last = {name: float(value) for _, name, value in csv.reader(file)}
    assert last["decoded_exact"] > last["copied_exact"] + 0.2
    assert last["decoded_f05"] > 0.4
    made = str(tmp_path / "tiny")
    assert cli.main(["bundle", f"{run}/last.ckpt", made, "--data", packed]) == 0
    name = str(tmp_path / "text.txt")
    Path(name).write_text("She sees two friends every day.\n", encoding="utf-8")
    assert cli.main(["correct", name, "--model", made, "--device", "cpu"]) == 0


def test_a_pause_costs_no_budget(run: Run) -> None:
    """The step in which the process was stopped and went on is not counted."""
    progress = run(20, at=(7, lambda: signal.raise_signal(signal.SIGCONT)))
    assert progress.seconds == 20
    assert progress.step == 21


def test_runs_are_reproducible(run: Run, tmp_path: Path) -> None:
    for out, seed in (("one", 0), ("two", 0), ("three", 1)):
        run(5, out=out, seed=seed)
    one, two, three = (weights(tmp_path / out) for out in ("one", "two", "three"))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not all(torch.equal(one[name], three[name]) for name in one)


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_a_killed_run_resumes_exactly(run: Run, tmp_path: Path, name: signal.Signals) -> None:
    """Stopped after a few steps and resumed it ends with the weights of an unbroken run."""
    before = signal.getsignal(name)
    whole = run(24, out="whole")

    def ask() -> None:
        assert signal.getsignal(name) is not before, "unhandled it would end the tests"
        os.kill(os.getpid(), name)

    killed = run(24, out="killed", at=(8, ask))
    assert 0 < killed.step < 12
    assert signal.getsignal(name) is before, "the handlers are given back"
    resumed = run(24, out="killed", resume=True)
    assert (resumed.step, resumed.tokens, resumed.positions) == (
        whole.step, whole.tokens, whole.positions,
    )  # fmt: skip
    expected = weights(tmp_path / "whole")
    found = weights(tmp_path / "killed")
    for key, value in expected.items():
        torch.testing.assert_close(found[key], value, rtol=0, atol=0)


def test_workers_that_end_with_the_run_leave_the_last_checkpoint(run: Run, tmp_path: Path) -> None:
    """A signal to the group ends them first, and torch says so in the middle of a step."""
    for out in ("whole", "killed"):
        run(3, out=out)
    run(24, out="whole", resume=True)
    kept = (tmp_path / "killed" / "last.ckpt").read_bytes()

    def ended() -> None:
        raise RuntimeError("DataLoader worker (pid 1) is killed by signal: Terminated.")

    def asked() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        ended()

    with pytest.raises(RuntimeError, match="is killed by signal"):
        run(24, out="killed", at=(2, ended), resume=True)
    run(24, out="killed", at=(2, asked), resume=True)
    assert (tmp_path / "killed" / "last.ckpt").read_bytes() == kept
    run(24, out="killed", resume=True)
    expected, found = weights(tmp_path / "whole"), weights(tmp_path / "killed")
    assert all(torch.equal(expected[name], found[name]) for name in expected)


def test_a_finished_run_goes_on_with_a_larger_budget(run: Run) -> None:
    run(4)
    assert run(4, resume=True).step == 4
    assert run(7, resume=True).step == 7


def test_a_run_is_not_overwritten(run: Run, tmp_path: Path) -> None:
    run(2)
    kept = (tmp_path / "run" / "last.ckpt").read_bytes()
    with pytest.raises(ConfigError, match="continue it with --resume or choose another --out"):
        run(2)
    assert (tmp_path / "run" / "last.ckpt").read_bytes() == kept


def changed(recipe: Recipe, **values: Any) -> Recipe:
    return replace(recipe, network=recipe.network | values)


@pytest.mark.parametrize(
    ("network", "training", "message"),
    [
        ({"width": 64}, {}, "another architecture"),
        ({"decoder_layers": 2}, {}, "another architecture"),
        ({}, {"optimizer": "adamw"}, "another optimizer"),
    ],
)
def test_another_recipe_cannot_resume(
    run: Run, recipe: Recipe, network: dict[str, Any], training: dict[str, Any], message: str
) -> None:
    run(2)
    other = replace(changed(recipe, **network), training=replace(recipe.training, **training))
    with pytest.raises(ConfigError, match=message) as caught:
        run(4, resume=True, recipe=other)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"experts": 8}, r"\[network\]: unknown architecture settings: experts"),
        ({"heads": 5}, r"\[network\]: width 32 is not a multiple of heads 5"),
        ({"norm": "none"}, r"\[network\]: norm must be one of"),
    ],
)
def test_a_wrong_network(run: Run, recipe: Recipe, values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        run(2, recipe=changed(recipe, **values))


@pytest.mark.parametrize("damage", ["half", "text", "keys", "progress", "empty"])
def test_a_broken_checkpoint(run: Run, tmp_path: Path, damage: str) -> None:
    run(2)
    path = tmp_path / "run" / "last.ckpt"
    data = path.read_bytes()
    if damage == "half":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "text":
        path.write_text("{}")
    elif damage == "empty":
        path.write_bytes(b"")
    else:
        state = torch.load(path, weights_only=True)
        if damage == "keys":
            del state["optimizers"]
        else:
            state["progress"]["pace"] = 3
        torch.save(state, path)
    broken = path.read_bytes()
    with pytest.raises(DataError, match=r"cannot read checkpoint .*last\.ckpt") as caught:
        run(4, resume=True)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == broken


def test_a_loss_that_is_not_finite(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(3)
    kept = (tmp_path / "run" / "last.ckpt").read_bytes()

    def nan(model: nn.Module, batch: Batch, *args: Any) -> tuple[Tensor, Tensor]:
        loss, tokens = loss_of(model, batch, *args)
        return loss * float("nan"), tokens

    monkeypatch.setattr(correction, "loss_of", nan)
    with pytest.raises(DataError, match=r"loss is not finite at step 3; .*last\.ckpt"):
        run(9, resume=True)
    assert (tmp_path / "run" / "last.ckpt").read_bytes() == kept
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_disk_that_is_full(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(3)
    kept = (tmp_path / "run" / "last.ckpt").read_bytes()

    def full(state: dict[str, Any], path: Path) -> None:
        path.write_bytes(b"a part")
        raise RuntimeError("PytorchStreamWriter failed writing file data/3\nmore")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(DataError, match=r"cannot save .*last\.ckpt, what is there is kept: Pyt"):
        run(9, resume=True)
    assert (tmp_path / "run" / "last.ckpt").read_bytes() == kept
    assert not (tmp_path / "run" / "last.part").exists()


def test_validation_decodes(recipe: Recipe, packed: Path) -> None:
    """What a network that knows the answers gets, and one that copies."""
    subwords = Subwords.load(packed)
    words = [line.split() for line in ("They play a book .", "She sees the school .")]
    given = [["They", "plays", "a", "book", "."], words[1]]
    pairs = [(subwords.encode(a), subwords.encode(b)) for a, b in zip(given, words, strict=True)]
    answers = {tuple(source): target for source, target in pairs}
    size = len(subwords)
    knows = RuleModel(rewrites(lambda ids: answers[tuple(ids)]), vocab_size=size)
    repeats = RuleModel(copies, vocab_size=size)
    assert decoded(knows, subwords, pairs) == {
        "decoded_f05": 1.0, "decoded_exact": 1.0, "copied_exact": 0.5,
    }  # fmt: skip
    assert decoded(repeats, subwords, pairs) == {
        "decoded_f05": 0.0, "decoded_exact": 0.5, "copied_exact": 0.5,
    }  # fmt: skip


def test_development_sets(
    run: Run, packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``gec train --dev``: scores of other sets join every validation, and change no weight."""
    gold = tmp_path / "dev.m2"
    gold.write_text("S They plays a book .\nA 1 2|||X|||play|||REQUIRED|||-NONE-|||0\n\n")
    scores = dev_scores([str(gold)], str(packed))
    progress = run(40, evaluate=scores)
    assert [0 <= row["dev_f05"] <= 1 for row in progress.history] == [True] * 3
    run(40, out="without")
    with_, without = weights(tmp_path / "run"), weights(tmp_path / "without")
    assert all(torch.equal(with_[name], without[name]) for name in without)


def test_data_that_is_missing(run: Run, recipe: Recipe, packed: Path, tmp_path: Path) -> None:
    shutil.copytree(packed, tmp_path / "packed")
    (tmp_path / "packed" / "validation.txt").write_text("")
    with pytest.raises(DataError, match=r"validation\.txt is empty"):
        trainer.train(recipe, tmp_path / "packed", tmp_path / "out", budget=1, workers=0)


def test_from_a_recipe_to_a_bundle(
    recipe_file: Path, packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``gec train`` and ``gec bundle``, with a real clock and a worker process."""
    args = argparse.Namespace(
        recipe=str(recipe_file), data=str(packed), out=str(tmp_path / "run"), budget="1s",
        resume=False, seed=3, threads=1, init=None, dev=None, workers=1,
    )  # fmt: skip
    assert trainer.main(args) == 0
    assert "target tokens" in capsys.readouterr().out
    args = argparse.Namespace(
        checkpoints=[str(tmp_path / "run" / "last.ckpt")], out=str(tmp_path / "tiny"),
        data=str(packed), name="tiny", tolerance=0.0, precision="fp16",
    )  # fmt: skip
    assert export_main(args) == 0
    loaded = bundle.load(str(tmp_path / "tiny"))
    assert loaded.name == "tiny"
    assert len(loaded.subwords) == loaded.network.config.vocab_size

    # a new run on data with the bundle's subwords begins where the bundle stands
    state = torch.load(tmp_path / "run" / "last.ckpt", weights_only=True)["model"]
    recipe = load_recipe(recipe_file)
    again = tmp_path / "again"
    trainer.train(recipe, packed, again, budget=0, workers=0, init=str(tmp_path / "tiny"))
    begun = torch.load(again / "last.ckpt", weights_only=True)["model"]
    assert all(torch.equal(begun[name], state[name].half().float()) for name in state)

    # and one of another shape with its layers
    deep = tmp_path / "deep"
    deeper = replace(
        recipe, network=recipe.network | {"encoder_layers": 2}, carry=Carry(encoder=(0, 0))
    )
    trainer.train(deeper, packed, deep, budget=0, workers=0, init=str(tmp_path / "tiny"))
    begun = torch.load(deep / "last.ckpt", weights_only=True)["model"]
    name = "encoder.1.ffn.up.weight"
    assert torch.equal(begun[name], state["encoder.0.ffn.up.weight"].half().float())
    with pytest.raises(ConfigError, match=r"\[carry\] takes layers of a bundle"):
        trainer.train(deeper, packed, tmp_path / "no", budget=0, workers=0)
    shallow = replace(deeper, carry=Carry())
    with pytest.raises(ConfigError, match="another architecture"):
        trainer.train(
            shallow, packed, tmp_path / "no", budget=0, workers=0, init=str(tmp_path / "tiny")
        )

    shutil.copytree(packed, tmp_path / "other")
    (tmp_path / "other" / "inflections.tsv").write_text("go\t+s\tgoes\n")
    with pytest.raises(ConfigError, match=r"other subwords than the data: .*--subwords"):
        trainer.train(
            recipe, tmp_path / "other", tmp_path / "out", budget=0, init=str(tmp_path / "tiny")
        )
