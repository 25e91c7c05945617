"""Fine-tuning a decoder: batches, the loss against autograd, exact resume, what it learns."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor

from gec.errors import ConfigError, DataError, ModelError
from gec.models.fetch import pretrained, update
from gec.models.network.llama import Llama, LlamaConfig
from gec.models.training import finetune, finetune_data, sources
from gec.models.training.finetune_batches import Batch, Batches
from gec.models.training.finetune_data import Examples
from gec.models.training.finetune_network import CHUNK, TiedCrossEntropy, Trainer, chunk_loss
from gec.models.training.finetune_recipe import TrainingRecipe
from gec.models.training.finetune_validation import validate
from gec.models.training.signals import Stop

CONFIG = LlamaConfig(
    vocab_size=30, width=32, heads=4, kv_heads=2, ffn_width=48, layers=2, max_positions=64,
    separator=(3,),
)  # fmt: skip
TRAINING = TrainingRecipe(
    batch_tokens=128, widths=(12, 20), learning_rate=3e-3, warmup_steps=3, decay_share=0.5,
    weight_decay=0.01, gradient_clip=1.0, edit_weight=2.0, kept_sample=0.5, save_every="5m",
    compile=False,
)  # fmt: skip


def some_examples(count: int = 90) -> Examples:
    """Sources in which every 7 is to become an 8."""
    draw = np.random.default_rng(4)
    examples = Examples(["a", "b"])
    for number in range(count):
        source = draw.integers(4, 30, draw.integers(2, 8)).tolist()
        examples.add(number % 3 // 2, source, [8 if i == 7 else i for i in source])
    return examples


def half_seconds() -> Callable[[], float]:
    """Return a clock that goes on by half a second a question, so that a step takes as long."""
    return count(0.5, 0.5).__next__


def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str = "") -> tuple[Path, Path]:
    """Write a recipe with ``more`` settings of its training, and examples; the base is random."""
    recipe, packed = tmp_path / "r.toml", tmp_path / "packed"
    recipe.write_text(RECIPE + more)
    packed.mkdir()
    some_examples().save(packed / "examples.npz")
    monkeypatch.setattr(pretrained, "load", lambda _: (CONFIG, random_state(), None))
    return recipe, packed


def random_state() -> dict[str, Tensor]:
    torch.manual_seed(1)
    network = Llama(CONFIG)
    for parameter in network.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.15)
    return {n: t.clone() for n, t in network.state_dict().items() if n != "output.weight"}


def test_the_chunked_loss_and_its_gradient_are_those_of_autograd() -> None:
    torch.manual_seed(0)
    count = CHUNK + 37
    hidden, table = torch.randn(count, 16, requires_grad=True), torch.randn(50, 16)
    target, weight = torch.randint(0, 50, (count,)), torch.rand(count)
    total, losses = TiedCrossEntropy.apply(hidden, table, target, weight, chunk_loss)
    (own,) = torch.autograd.grad(total * 3, hidden)
    plain = F.cross_entropy(hidden @ table.t(), target, reduction="none")
    (expected,) = torch.autograd.grad((plain * weight).sum() * 3, hidden)
    torch.testing.assert_close(losses, plain.detach())
    torch.testing.assert_close(own, expected)


def test_the_gradient_of_sure_tokens_survives_half_precision() -> None:
    """Of a probability near 1, rounded before the 1 is taken off, hardly anything is left."""
    torch.manual_seed(0)
    table = torch.randn(50, 16)
    target = torch.arange(40)
    hidden = table[target] * 0.6
    weight = torch.ones(40)
    exact = hidden.clone().requires_grad_()
    F.cross_entropy(exact @ table.t(), target, reduction="sum").backward()
    half = hidden.bfloat16().requires_grad_()
    total, _ = TiedCrossEntropy.apply(half, table.bfloat16(), target, weight, chunk_loss)
    total.backward()
    assert half.grad is not None
    assert exact.grad is not None
    assert (half.grad.float() - exact.grad).norm() < 0.03 * exact.grad.norm()


def test_a_batch_predicts_the_target_and_its_end_and_nothing_else() -> None:
    examples = Examples(["a"])
    examples.add(0, [10, 11], [10, 12, 13])
    batch = Batch.of(examples, [0], 10, CONFIG)
    assert batch.tokens.tolist() == [[1, 10, 11, 3, 10, 12, 13, 2, 2, 2]]
    assert batch.target[batch.wanted].tolist() == [10, 12, 13, 2]
    assert batch.wanted.nonzero()[:, 1].tolist() == [3, 4, 5, 6]
    assert batch.edited[batch.wanted].tolist() == [False, True, True, False]


def test_epochs_take_whole_parts_and_go_through_shares() -> None:
    examples = some_examples()
    batches = Batches(examples, [1.0, 0.5], replace(TRAINING, batch_tokens=20), 3)
    assert [rows.tolist() for _, rows in batches.epoch(0)] == [
        rows.tolist() for _, rows in batches.epoch(0)
    ]
    taken = [np.concatenate([rows for _, rows in batches.epoch(e)]) for e in range(2)]
    parts, lengths = np.array(examples.parts), examples.lengths() + 3
    for width, rows in batches.epoch(1):
        assert len(rows) * width <= 20
        assert (lengths[rows] <= width).all()
    first, second = (set(rows[parts[rows] == 1].tolist()) for rows in taken)
    assert first
    assert second
    assert not first & second  # half of the part each, then the other half
    for rows in taken:  # but for what does not fill a batch, every pair of the first part
        assert len(set(rows[parts[rows] == 0].tolist())) >= 0.9 * (parts == 0).sum()


def test_it_learns_and_a_resumed_run_is_the_same_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, packed = prepared(tmp_path, monkeypatch)
    steps = 24

    monkeypatch.setattr(finetune.time, "monotonic", half_seconds())
    budget = steps * 0.5

    def run(out: Path, **options: object) -> finetune.Progress:
        return finetune.train(recipe, packed, out, budget=budget, seed=2, **options)  # type: ignore[arg-type]

    whole = run(tmp_path / "whole")
    assert whole.step == steps
    stopped = tmp_path / "stopped"

    class StopEarly(Stop):
        left = 10

        def asked(self) -> bool:
            self.left -= 1
            return self.left < 0

    with monkeypatch.context() as patch:
        patch.setattr(finetune, "Stop", StopEarly)
        assert run(stopped).step == 10
    with pytest.raises(ConfigError, match="--resume"):
        run(stopped)
    assert run(stopped, resume=True) == whole
    folders = tmp_path / "whole", stopped
    first, second = (torch.load(f / "last.ckpt", weights_only=True) for f in folders)
    for one, other in zip(first["exact"], second["exact"], strict=True):
        assert torch.equal(one, other)
    losses = [float(line.split(",")[4]) for line in (stopped / "log.csv").read_text().split()[1:]]
    assert losses[-1] < losses[0]
    (stopped / "last.ckpt").write_bytes(b"no")
    with pytest.raises(DataError, match="cannot read checkpoint"):
        run(stopped, resume=True)


def test_a_run_may_begin_from_weights_or_from_an_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, packed, base = tmp_path / "r.toml", tmp_path / "packed", random_state()
    recipe.write_text(RECIPE)
    packed.mkdir()
    some_examples().save(packed / "examples.npz")
    monkeypatch.setattr(pretrained, "load", lambda _: (CONFIG, random_state(), None))
    frozen = "embedding.weight"
    tuned = {n: t if n == frozen else t + torch.randn_like(t) * 0.1 for n, t in base.items()}
    update.write(tmp_path / "update", base, tuned)
    save_file(tuned, tmp_path / "w.safetensors")
    expected = {
        tmp_path / "w.safetensors": tuned,
        tmp_path / "update": update.expand(base, update.compress(base, tuned)),
    }
    for number, (init, wanted) in enumerate(expected.items()):
        out = tmp_path / str(number)
        finetune.train(recipe, packed, out, budget=0, init=init)
        found = load_file(out / "weights.safetensors")
        assert found.keys() == wanted.keys()
        assert all(torch.equal(found[name], wanted[name]) for name in wanted)
        with pytest.raises(ConfigError, match="--init"):
            finetune.train(recipe, packed, out, budget=0, init=init, resume=True)
    with pytest.raises(ModelError, match="cannot read"):
        finetune.train(recipe, packed, tmp_path / "x", budget=0, init=tmp_path / "packed")


def test_held_out_pairs_are_scored_as_a_plain_pass_scores_them() -> None:
    """Each pair by itself, through the whole network in float32, from rounded weights."""
    trainer = Trainer(CONFIG, random_state(), TRAINING)
    trainer.network.float()
    examples = some_examples(40)
    examples.add(1, [5] * 9, [5] * 9)  # 21 ids with BOS, separator and EOS: too long for a batch
    found = validate(trainer, examples)
    assert [scores.pairs for scores in found.values()] == [27, 13]
    sums: dict[str, list[float]] = {name: [0.0] * 8 for name in examples.names}
    for i in range(40):
        before = [CONFIG.bos_id, *examples.sources[i], *CONFIG.separator]
        after = [*examples.targets[i], CONFIG.eos_id]
        with torch.no_grad():
            tokens = torch.tensor([before + after])
            every = torch.ones_like(tokens, dtype=torch.bool)
            logits = trainer.network(tokens, every)[len(before) - 1 : -1]
        loss = F.cross_entropy(logits, torch.tensor(after), reduction="none")
        right, marks = logits.argmax(-1) == torch.tensor(after), torch.tensor(examples.edited[i])
        has, whole = bool(marks.any()), bool(right.all())
        values = [
            loss[marks].sum(), loss[~marks].sum(), right[marks].sum(), marks.sum(), (~marks).sum(),
            has and whole, has, not has and not whole,
        ]  # fmt: skip
        own = sums[examples.names[examples.parts[i]]]
        own[:] = [a + float(b) for a, b in zip(own, values, strict=True)]
    for name, (edited, kept, right, marked, others, exact, changes, changed) in sums.items():
        scores = found[name]
        expected = [
            edited / marked, kept / others, right / marked, exact / changes,
            changed / (scores.pairs - changes),
        ]  # fmt: skip
        own = [
            scores.edited_loss, scores.kept_loss, scores.edited_accuracy, scores.exact,
            scores.changed,
        ]  # fmt: skip
        assert own == pytest.approx(expected, rel=1e-4)
        assert changed > 0  # random weights


def test_a_run_validates_on_the_way_and_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, packed = prepared(tmp_path, monkeypatch, 'validate_every = "4s"\n')
    some_examples(12).save(packed / "held_out.npz")

    monkeypatch.setattr(finetune.time, "monotonic", half_seconds())
    finetune.train(recipe, packed, tmp_path / "out", budget=10)
    rows = list(csv.DictReader((tmp_path / "out" / "validation.csv").read_text().splitlines()))
    assert [(row["step"], row["part"]) for row in rows] == [
        (step, part) for step in ("8", "16", "20") for part in "ab"
    ]
    assert 0 < float(rows[-1]["edited_loss"]) < float(rows[1]["edited_loss"])
    finetune.train(recipe, packed, tmp_path / "out", budget=10, resume=True)  # nothing is left
    assert len((tmp_path / "out" / "validation.csv").read_text().splitlines()) == 1 + len(rows)


def test_held_out_pairs_of_another_preparation_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, packed = prepared(tmp_path, monkeypatch)
    other = some_examples(12)
    other.names = ["a", "c"]
    other.save(packed / "held_out.npz")
    with pytest.raises(ConfigError, match="other parts"):
        finetune.train(recipe, packed, tmp_path / "out", budget=1)
    recipe.write_text(RECIPE + 'validate_every = "0s"\n')
    with pytest.raises(ConfigError, match="validate_every must be above 0"):
        finetune.train(recipe, packed, tmp_path / "out", budget=1)


def test_a_held_out_sentence_is_held_out_of_every_part() -> None:
    sentences = [f"The number is {i} .".split() for i in range(3000)]
    out = [words for words in sentences if finetune_data.held_out(words, 0.1)]
    assert 240 < len(out) < 360
    assert all(finetune_data.held_out([w.upper() for w in words], 0.1) for words in out)
    assert not any(finetune_data.held_out(words, 0.0) for words in sentences)


def test_examples_are_read_as_they_were_written(tmp_path: Path) -> None:
    examples = some_examples(7)
    examples.save(tmp_path / "e.npz")
    assert Examples.load(tmp_path / "e.npz") == examples
    (tmp_path / "e.npz").write_bytes(b"PK broken")
    with pytest.raises(DataError, match="gec data prepare"):
        Examples.load(tmp_path / "e.npz")


@pytest.mark.parametrize(
    ("line", "wrong", "right"),
    [
        ("I [has|have] [a |]cats.", "I has a cats .", "I have cats ."),
        ("However[|,] [he|He] left[.|!]", "However he left .", "However , He left !"),
        ("No error.", "No error .", "No error ."),
    ],
)
def test_marked_lines_give_both_sides(line: str, wrong: str, right: str) -> None:
    assert list(sources.marked_pairs(["# level=A2", "", line])) == [(wrong.split(), right.split())]


def test_preparing_leaves_development_sentences_out(tmp_path: Path) -> None:
    from gec.text.byte_pairs import BytePairs
    from gec.text.subwords import BYTE_OF

    english = tmp_path / "english"
    (english / "lists").mkdir(parents=True)
    shared = "one two three four five six seven eight nine"
    (english / "a.txt").write_text(f"# x\n[She go|She goes] home.\nIt is {shared}.\nHe is here.\n")
    (english / "c.txt").write_text(f"{shared.title()} ten.\nThe cats sleep here.\n")
    (english / "dev.src").write_text(f"zero {shared}\n")
    for name in ("counts.tsv", "forms.txt"):
        (english / name).write_text("cat\t3\n" if name == "counts.tsv" else "go_goes:VB_VBZ\n")
    words = BytePairs.of({char: i for i, char in enumerate(sorted(BYTE_OF))}, [])
    part = finetune_data.Part(
        name="a", files=("english/a.*",), format="marked", licence="CC0", share=1.0
    )
    clean = replace(part, name="c", files=("english/c.txt",), format="clean")
    recipe = finetune_data.DataRecipe(
        part=(part, clean), exclude=("english/dev.src",), word_lists="english/lists",
        word_counts="english/counts.tsv", inflections="english/forms.txt",
    )  # fmt: skip
    finetune_data.prepare(recipe, tmp_path, tmp_path / "out", words, 200)
    examples = Examples.load(tmp_path / "out" / "examples.npz")
    texts = [
        (" ".join(words.decode(s)), " ".join(words.decode(t)))
        for s, t in zip(examples.sources, examples.targets, strict=True)
    ]
    assert sorted(texts) == [
        ("He is here .", "He is here ."),
        ("She go home .", "She goes home ."),
        ("The cats sleep here .", "The cats sleep here ."),
    ]
    provenance = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert [part["shared"] for part in provenance] == [1, 1]
    assert not (tmp_path / "out" / "held_out.npz").exists()
    half = replace(recipe, held_out=0.5, part=(part, clean, replace(part, name="again")))
    finetune_data.prepare(half, tmp_path, tmp_path / "half", words, 200)
    both = [Examples.load(tmp_path / "half" / f"{name}.npz") for name in ("examples", "held_out")]
    assert all(both)
    trained, kept = ({" ".join(words.decode(ids)) for ids in part.targets} for part in both)
    assert trained | kept == {right for _, right in texts}
    assert not trained & kept  # of both parts that have it
    finetune_data.prepare(recipe, tmp_path, tmp_path / "half", words, 200)
    assert not (tmp_path / "half" / "held_out.npz").exists()  # of another preparation
    missing = replace(recipe, part=(replace(part, files=("english/none*",)),))
    with pytest.raises(DataError, match="there is no such file"):
        finetune_data.prepare(missing, tmp_path, tmp_path / "out", words, 200)


RECIPE = """
name = "tiny"
task = "gec"
method = "finetune"
[pretrained]
package = "x"
wheel_sha256 = "0"
file = "x"
file_sha256 = "0"
[data]
word_lists = "x"
word_counts = "x"
inflections = "x"
[[data.part]]
name = "a"
files = ["x"]
format = "marked"
licence = "x"
share = 1.0
[[data.part]]
name = "b"
files = ["x"]
format = "clean"
licence = "x"
share = 0.5
[training]
batch_tokens = 128
widths = [12, 20]
learning_rate = 3e-3
warmup_steps = 3
decay_share = 0.5
weight_decay = 0.01
gradient_clip = 1.0
edit_weight = 2.0
kept_sample = 0.5
save_every = "5m"
compile = false
"""


def test_a_run_may_begin_with_some_of_the_layers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, packed = tmp_path / "r.toml", tmp_path / "packed"
    recipe.write_text(RECIPE + "\n[carry]\nlayers = [1]\n")
    packed.mkdir()
    some_examples().save(packed / "examples.npz")
    base = random_state()
    monkeypatch.setattr(pretrained, "load", lambda _: (CONFIG, base, None))
    finetune.train(recipe, packed, tmp_path / "out", budget=0)
    found = load_file(tmp_path / "out" / "weights.safetensors")
    name = "ffn.down.weight"
    assert torch.equal(found[f"layers.0.{name}"], base[f"layers.1.{name}"])
    assert not any(name.startswith("layers.1.") for name in found)
    finetune.train(recipe, packed, tmp_path / "out", budget=0, resume=True)
