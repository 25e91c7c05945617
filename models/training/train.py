"""``gec train RECIPE --data PACKED --out RUN --budget 2h``: one plain loop over Lightning Fabric.

The schedule is a trapezoid over the time budget: warm-up, constant, linear decay to zero. The run
folder holds ``last.ckpt`` (replaced atomically, resumes exactly), ``log.csv`` and TensorBoard
events. Continue a finished run with ``--resume`` and a larger budget.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from lightning.fabric import Fabric
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset

from gec.decoding.decoder import Decoder
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.model import Model
from gec.edits.align import align
from gec.edits.edits import WordEdit
from gec.errors import ConfigError, DataError, ModelError
from gec.models.engines.verifier import TransformerVerifier
from gec.models.load import bundle
from gec.models.network.transformer import Transformer, TransformerConfig
from gec.models.training.data import (
    Batch,
    NoisyBatches,
    load_noiser,
    make_batch,
    open_text,
    respelt,
    worker_starts,
)
from gec.models.training.recipe import (
    Recipe,
    TrainingRecipe,
    load_recipe,
    method_of,
    parse_duration,
    task_of,
)
from gec.text.spelling import Speller
from gec.text.subwords import PAD_ID, Subwords

Pair = tuple[list[int], list[int]]
"""Token ids of a source and a target."""
_DECODED = 300  # validation sentences that are decoded, besides all being scored


@dataclass(slots=True)
class Progress:
    """Where a run stands; saved in the checkpoint."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0
    positions: tuple[tuple[int, int], ...] = ()
    history: list[dict[str, float]] = field(default_factory=list)


def loss_of(
    model: nn.Module, batch: Batch, training: TrainingRecipe, edit_weight: float
) -> tuple[Tensor, Tensor]:
    """Return (loss, number of target tokens); edited tokens weigh ``edit_weight``, others 1.

    The vocabulary is scored at every edited token and at a random sample of the others; the
    sample's weight is raised by 1/share, so that the loss stays unbiased.
    """
    real = batch.target_out != PAD_ID
    share = training.kept_sample if torch.is_grad_enabled() else 1.0
    sampled = torch.rand(real.shape, device=real.device) < share
    wanted = real & (batch.edited | sampled)
    logits = model(batch.source, batch.target_in, wanted).float()
    edited = batch.edited[wanted]
    weight = torch.where(edited, edit_weight, 1.0 / share)
    losses = F.cross_entropy(
        logits,
        batch.target_out[wanted],
        reduction="none",
        label_smoothing=training.label_smoothing,
    )
    # no token at all may be drawn of a small batch: no loss then, not 0 / 0
    return (losses * weight).sum() / weight.sum().clamp_min(1e-6), real.sum()


def learning_rate(share: float, training: Schedule) -> float:
    """Return the learning rate after ``share`` (0 to 1) of the budget."""
    warm = min(1.0, (share + 1e-4) / max(training.warmup_share, 1e-9))
    return training.learning_rate * min(warm, _decay(share, training))


def edit_weight(share: float, training: TrainingRecipe) -> float:
    """Return the loss weight of edited tokens after ``share`` of the budget."""
    end = training.edit_weight_end
    return end + (training.edit_weight - end) * _decay(share, training)


def _decay(share: float, training: Schedule) -> float:
    """Return 1 before the last ``decay_share`` of the budget, then linearly down to 0."""
    return min(1.0, max(0.0, 1.0 - share) / max(training.decay_share, 1e-9))


def make_optimizers(model: nn.Module, training: Schedule) -> list[torch.optim.Optimizer]:
    """Return Muon for the layers' matrices (Jordan 2024) and AdamW for the rest, or AdamW alone."""
    if training.optimizer not in ("muon", "adamw"):
        raise ConfigError(f"unknown optimizer {training.optimizer!r}, expected muon or adamw")
    named = {id(p): (name, p) for name, p in model.named_parameters() if p.requires_grad}.values()
    muon = training.optimizer == "muon"
    matrices = [p for name, p in named if muon and p.ndim == 2 and "coder." in name]
    taken = {id(p) for p in matrices}
    rest = [p for _, p in named if id(p) not in taken]
    lr, decay = training.learning_rate, training.weight_decay
    adamw = torch.optim.AdamW(rest, lr=lr, betas=(0.9, 0.98), weight_decay=decay)
    if not matrices:
        return [adamw]
    return [
        adamw,
        torch.optim.Muon(matrices, lr=lr, weight_decay=decay, adjust_lr_fn="match_rms_adamw"),
    ]


@torch.no_grad()
def validate(model: Transformer, batches: list[Batch]) -> dict[str, float]:
    """Score held-out corrupted sentences by teacher forcing.

    ``exact``: share of sentences whose every token is the model's first choice, which is the share
    greedy decoding would get right to the last token; counted apart for clean and corrupted input.
    """
    model.eval()
    sums = dict.fromkeys(
        "edit_loss edit_right edits kept_loss kept clean_right clean noisy_right noisy".split(), 0.0
    )
    for batch in batches:
        logits = model(batch.source, batch.target_in).float()
        real = batch.target_out != PAD_ID
        losses = F.cross_entropy(logits.transpose(1, 2), batch.target_out, reduction="none")
        right = (logits.argmax(-1) == batch.target_out) | ~real
        kept = real & ~batch.edited
        clean = ~batch.edited.any(1)
        exact = right.all(1)
        for name, value in {
            "edit_loss": losses[batch.edited].sum(),
            "edit_right": right[batch.edited].sum(),
            "edits": batch.edited.sum(),
            "kept_loss": losses[kept].sum(),
            "kept": kept.sum(),
            "clean_right": exact[clean].sum(),
            "clean": clean.sum(),
            "noisy_right": exact[~clean].sum(),
            "noisy": (~clean).sum(),
        }.items():
            sums[name] += float(value)
    model.train()
    return {
        "edit_loss": sums["edit_loss"] / max(1, sums["edits"]),
        "edit_accuracy": sums["edit_right"] / max(1, sums["edits"]),
        "kept_loss": sums["kept_loss"] / max(1, sums["kept"]),
        "exact_noisy": sums["noisy_right"] / max(1, sums["noisy"]),
        "clean_changed": 1 - sums["clean_right"] / max(1, sums["clean"]),
    }


@torch.no_grad()
def decode(model: Transformer, subwords: Subwords, pairs: Sequence[Pair]) -> dict[str, float]:
    """Score held-out sentences by decoding them (IAD, which is greedy): edits and whole sentences.

    ``decoded_f05`` is of word edits against those that lead to the target; ``decoded_exact`` is
    the share of sentences that come out as the target, ``copied_exact`` what copying has of them.
    """
    scores = decoded(TransformerVerifier(model), subwords, pairs)
    model.train()
    return scores


def decoded(verifier: Model, subwords: Subwords, pairs: Sequence[Pair]) -> dict[str, float]:
    """Return :func:`decode`'s scores of anything that can be decoded."""
    outputs = Decoder(verifier, CopyDrafter()).decode([source for source, _ in pairs])
    hits = proposed = wanted = exact = copied = 0
    for (source, target), (hypothesis, *_) in zip(pairs, outputs, strict=True):
        given, right, said = map(subwords.decode, (source, target, hypothesis.tokens))
        ours, theirs = ({_change(e, other) for e in align(given, other)} for other in (said, right))
        hits, proposed, wanted = (
            hits + len(ours & theirs),
            proposed + len(ours),
            wanted + len(theirs),
        )
        exact, copied = exact + (said == right), copied + (given == right)
    precision, recall = hits / max(1, proposed), hits / max(1, wanted)
    return {
        "decoded_f05": 1.25 * precision * recall / max(1e-9, 0.25 * precision + recall),
        "decoded_exact": exact / max(1, len(pairs)),
        "copied_exact": copied / max(1, len(pairs)),
    }


def _change(edit: WordEdit, words: Sequence[str]) -> tuple[int, int, str]:
    new = " ".join(words[edit.target_start : edit.target_end])
    return edit.source_start, edit.source_end, new


def validation_pairs(
    packed: Path, recipe: Recipe, subwords: Subwords
) -> tuple[list[Pair], list[Pair]]:
    """Return the held-out sentences, always corrupted the same way, and the held-out real pairs."""
    import random

    noiser, speller = load_noiser(packed, recipe), Speller.load(packed)
    rng = random.Random(12345)
    pairs = []
    for line in open_text(packed / "validation.txt"):
        words = line.split(" ")
        given = respelt(noiser.corrupt(words, rng), speller)
        pairs.append((subwords.encode(given), subwords.encode(words)))
    if not pairs:
        raise DataError(f"{packed / 'validation.txt'} is empty: prepare the data again")
    real = []
    if (packed / "validation_pairs.txt").exists():
        for line in open_text(packed / "validation_pairs.txt"):
            wrong, _, right = line.partition("\t")
            given = respelt(wrong.split(" "), speller)
            real.append((subwords.encode(given), subwords.encode(right.split(" "))))
    return pairs, real


def _batches(pairs: list[Pair]) -> list[Batch]:
    pairs = sorted(pairs, key=lambda pair: len(pair[1]))
    return [make_batch(pairs[i : i + 50], (0, 0)) for i in range(0, len(pairs), 50)]


class _Stop:
    """Listens to signals within the block.

    ``asked()`` is True once SIGTERM or SIGINT asked to save and end; ``resumed()`` where the
    process had been stopped (SIGSTOP) and went on since the last call.

    A signal to the process group ends the workers, too, and torch raises their end wherever the run
    just is. Once asked, that ends the block and nothing more: the step may be half
    done, so the last checkpoint stands.
    """

    def __enter__(self) -> _Stop:
        self._asked = self._resumed = False
        handlers = {signal.SIGTERM: self._ask, signal.SIGINT: self._ask}
        if hasattr(signal, "SIGCONT"):
            handlers[signal.SIGCONT] = self._go_on
        self._before = {name: signal.signal(name, handlers[name]) for name in handlers}
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        for name, handler in self._before.items():
            signal.signal(name, handler)
        return self._asked and isinstance(error, RuntimeError) and "DataLoader worker" in str(error)

    def asked(self) -> bool:
        return self._asked

    def resumed(self) -> bool:
        resumed, self._resumed = self._resumed, False
        return resumed

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True

    def _go_on(self, _number: int, _frame: FrameType | None) -> None:
        self._resumed = True


class Schedule(Protocol):
    """What :func:`fit` reads of a recipe: see TrainingRecipe in gec.models.training.recipe."""

    @property
    def optimizer(self) -> str: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def warmup_share(self) -> float: ...
    @property
    def decay_share(self) -> float: ...
    @property
    def weight_decay(self) -> float: ...
    @property
    def gradient_clip(self) -> float: ...
    @property
    def precision(self) -> str: ...
    @property
    def validate_every(self) -> str: ...
    @property
    def save_every(self) -> str: ...


class Objective(Protocol):
    """What a run trains, on what data, and how it is measured.

    Attributes:
        module: the network; only its parameters that require gradients are trained.
        config: its architecture, kept in the checkpoint: a run is continued with the same one.
    """

    @property
    def module(self) -> nn.Module: ...
    @property
    def config(self) -> dict[str, Any]: ...

    def stream(self, rank: int, starts: Sequence[tuple[int, int]]) -> IterableDataset[Any]:
        """Return the endless batches; each has ``position`` and ``to(device)``."""

    def loss(self, model: nn.Module, batch: Any, share: float) -> tuple[Tensor, Tensor]:
        """Return (loss, number of target tokens) after ``share`` of the budget."""

    def measure(self, device: torch.device) -> dict[str, float]:
        """Return validation scores; the module is put into training mode again."""


class Correction:
    """The objective of a correction recipe: noisy sentences in, clean ones out."""

    def __init__(
        self,
        recipe: Recipe,
        packed: Path,
        *,
        seed: int,
        init: str | None = None,
        evaluate: Callable[[Transformer], dict[str, float]] | None = None,
    ) -> None:
        self.recipe, self.packed, self.seed, self.evaluate = recipe, packed, seed, evaluate
        self.subwords = Subwords.load(packed)
        try:
            config = TransformerConfig.from_dict(
                {"vocab_size": len(self.subwords)} | recipe.network
            )
        except ModelError as error:
            raise ConfigError(f"recipe {recipe.name}, [network]: {error}") from error
        self.module, self.config = Transformer(config), config.to_dict()
        if init is not None:
            _start_from(bundle.load(init), self.module, self.subwords)

    @cached_property
    def _validation(self) -> tuple[list[Pair], list[Batch], list[Batch]]:
        pairs, real = validation_pairs(self.packed, self.recipe, self.subwords)
        return pairs, _batches(pairs), _batches(real)

    def stream(self, rank: int, starts: Sequence[tuple[int, int]]) -> NoisyBatches:
        return NoisyBatches(self.packed, self.recipe, seed=self.seed, rank=rank, starts=starts)

    def loss(self, model: nn.Module, batch: Batch, share: float) -> tuple[Tensor, Tensor]:
        training = self.recipe.training
        return loss_of(model, batch, training, edit_weight(share, training))

    def measure(self, device: torch.device) -> dict[str, float]:
        pairs, validation, real = self._validation
        scores = validate(self.module, [b.to(device) for b in validation])
        if real:
            on_pairs = validate(self.module, [b.to(device) for b in real])
            scores |= {f"pairs_{name}": value for name, value in on_pairs.items()}
        scores |= decode(self.module, self.subwords, pairs[:_DECODED])
        if self.evaluate is not None:
            scores |= self.evaluate(self.module)
            self.module.train()
        return scores


def train(
    recipe: Recipe,
    packed: Path,
    out: Path,
    *,
    budget: float,
    resume: bool = False,
    seed: int = 0,
    workers: int = 1,
    init: str | None = None,
    evaluate: Callable[[Transformer], dict[str, float]] | None = None,
) -> Progress:
    """Train a correction recipe: see :func:`fit`.

    A new run starts from the weights of the bundle ``init``, if one is named. ``evaluate`` adds
    scores of its own to every validation.
    """
    goes_on = resume and (out / "last.ckpt").exists()

    def objective() -> Correction:
        start = None if goes_on else init
        return Correction(recipe, packed, seed=seed, init=start, evaluate=evaluate)

    return fit(
        objective, recipe.training, out, budget=budget, resume=resume, seed=seed, workers=workers
    )


def fit(
    make: Callable[[], Objective],
    training: Schedule,
    out: Path,
    *,
    budget: float,
    resume: bool = False,
    seed: int = 0,
    workers: int = 1,
    snapshots: int = 0,
) -> Progress:
    """Train until ``budget`` seconds of training time are used, or until asked to stop.

    ``make`` is called once, after the random numbers are seeded. The last ``snapshots`` saved
    weights are kept as ``step-*.ckpt``, to be averaged.

    SIGTERM and SIGINT (Ctrl-C) ask: the run saves and returns. Call it in the main thread.

    Of several processes (torchrun) each has a replica and data of its own. The first one's clock
    counts, hence its share of the budget and its learning rate; all end where any is asked to. The
    checkpoint has the first one's place in its data; resumed, the others take theirs from it.

    Raises:
        ConfigError: the recipe does not fit the checkpoint or the data.
        DataError: the packed data or the checkpoint is missing or broken; the loss is not finite;
            a checkpoint cannot be saved (the last one is kept).
    """
    fabric = _fabric(training.precision)
    fabric.launch()
    ranks = _Ranks(fabric)
    fabric.seed_everything(seed, verbose=False)
    objective = make()
    module, config = objective.module, objective.config
    optimizers = make_optimizers(module, training)
    model, *wrapped = fabric.setup(module, *optimizers)
    progress = Progress()
    checkpoint = out / "last.ckpt"
    out.mkdir(parents=True, exist_ok=True)
    exists = ranks.any(checkpoint.exists())  # also where the disk is not that of the others
    if resume and exists:
        progress = _load(fabric, checkpoint, module, optimizers, config)
    elif exists:
        raise ConfigError(f"{checkpoint} exists: continue it with --resume or choose another --out")
    starts = worker_starts(progress.positions, max(1, workers))
    stream = objective.stream(fabric.global_rank, starts)
    parameters = sum(p.numel() for p in module.parameters())
    fabric.print(f"{parameters / 1e6:.1f} M parameters on {fabric.device}, from {progress.step}")
    save_every, validate_every = map(parse_duration, (training.save_every, training.validate_every))
    last = time.monotonic()
    next_save = progress.seconds + save_every
    next_validation = progress.seconds + validate_every
    report = {"loss": 0.0, "steps": 0, "tokens": 0, "since": last}
    log = _Log(out, fabric.is_global_zero)

    def measure() -> None:
        scores = objective.measure(fabric.device)
        progress.history.append({"step": float(progress.step)} | scores)
        log.row(step=progress.step, minutes=progress.seconds / 60, **scores)

    def save() -> None:
        _save(ranks, checkpoint, module, optimizers, config, progress)
        if snapshots and fabric.is_global_zero:
            _keep_snapshot(checkpoint, progress.step, snapshots)

    with closing(log), _Stop() as stop:  # before the workers start: they inherit deafness to Ctrl-C
        batches: Iterator[Any] = iter(
            DataLoader(
                stream,
                batch_size=None,
                num_workers=workers,
                prefetch_factor=8 if workers else None,
                generator=torch.Generator(),  # else it draws from the one a resumed run restored
                worker_init_fn=_deaf,
            )
        )
        module.train()
        turn = deque(starts)  # the workers deliver in turn
        while progress.seconds < budget:
            batch = None
            try:
                batch = next(batches).to(fabric.device)
            except RuntimeError:  # a signal to the process group may end the workers, too
                if not stop.asked():
                    raise
            ended = ranks.any(batch is None or stop.asked())
            if ended or batch is None:
                break
            share = progress.seconds / budget
            rate = learning_rate(share, training)
            for optimizer in optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = rate
            loss, tokens = objective.loss(model, batch, share)
            fabric.backward(loss)
            norm = nn.utils.clip_grad_norm_(module.parameters(), training.gradient_clip)
            if not math.isfinite(float(norm)):
                raise DataError(
                    f"the loss is not finite at step {progress.step}; "
                    f"the last good checkpoint is {checkpoint}"
                )
            for optimizer in wrapped:
                optimizer.step()
                optimizer.zero_grad()
            now = time.monotonic()
            # a paused run loses no budget, a suspended machine little
            took = 0.0 if stop.resumed() else min(now - last, 60.0)
            last = now
            seconds, scored = ranks.after_step(took, int(tokens))
            progress.seconds += seconds
            progress.step += 1
            progress.tokens += scored
            turn.popleft()
            turn.append(batch.position)
            progress.positions = tuple(turn)
            report["loss"] += float(loss.detach())
            report["steps"] += 1
            report["tokens"] += scored
            if progress.step % 100 == 0:
                log.row(
                    step=progress.step,
                    minutes=progress.seconds / 60,
                    tokens=progress.tokens,
                    rate=rate,
                    loss=report["loss"] / report["steps"],
                    tokens_per_second=report["tokens"] / (now - report["since"]),
                )
                report = {"loss": 0.0, "steps": 0, "tokens": 0, "since": now}
            if progress.seconds >= next_validation:
                measure()
                next_validation = progress.seconds + validate_every
            if progress.seconds >= next_save:
                save()
                next_save = progress.seconds + save_every
        measure()
        save()
    return progress


def _fabric(precision: str) -> Fabric:
    """Return what to train on: torchrun's processes, else all GPUs, else the CPU."""
    here, world = (int(os.environ.get(name, 0)) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE"))
    nodes = world // here if here else 1
    return Fabric(devices=here or "auto", num_nodes=nodes, precision=precision)  # type: ignore[arg-type]


def _deaf(_worker: int) -> None:
    """Let a worker outlive a SIGTERM to the process group: the run ends it, once it has saved."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


class _Ranks:
    """What the processes of a run must agree on, lest one of them waits for the others for ever.

    All of them must call a method, in the same order.
    """

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self.first = fabric.is_global_zero

    def any(self, flag: bool) -> bool:
        """Return whether the flag is set in any process."""
        return self._sum(float(flag))[0] > 0

    def after_step(self, seconds: float, tokens: int) -> tuple[float, int]:
        """Return the seconds of the first process, and the tokens of all."""
        seconds, total = self._sum(seconds if self.first else 0.0, float(tokens))
        return seconds, int(total)

    def _sum(self, *values: float) -> list[float]:
        if self._fabric.world_size == 1:
            return [*values]
        numbers = torch.tensor(values, dtype=torch.float64, device=self._fabric.device)
        torch.distributed.all_reduce(numbers)
        found: list[float] = numbers.tolist()
        return found


class _Log:
    """Prints rows, appends them to ``log.csv`` (name, step, value) and to TensorBoard if there."""

    def __init__(self, out: Path, active: bool) -> None:
        self.path, self.active, self.board = out / "log.csv", active, None
        if active:
            try:
                from torch.utils.tensorboard import SummaryWriter

                self.board = SummaryWriter(str(out / "events"))
            except ImportError:
                pass

    def row(self, *, step: int, **values: float) -> None:
        if not self.active:
            return
        text = " ".join(f"{name} {value:.4g}" for name, value in values.items())
        print(f"step {step} {text}", flush=True)
        with self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([step, name, value] for name, value in values.items())
        if self.board is not None:
            for name, value in values.items():
                self.board.add_scalar(name, value, step)

    def close(self) -> None:
        if self.board is not None:
            self.board.close()


def _save(
    ranks: _Ranks,
    path: Path,
    module: nn.Module,
    optimizers: list[torch.optim.Optimizer],
    config: dict[str, Any],
    progress: Progress,
) -> None:
    state: dict[str, Any] = {
        "config": config,
        "model": module.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in optimizers],
        "progress": {name: getattr(progress, name) for name in Progress.__slots__},
        "torch_rng": torch.get_rng_state(),
    }
    failed: Exception | None = None
    if ranks.first:
        part = path.with_suffix(".part")
        try:
            torch.save(state, part)
            part.replace(path)
        except (OSError, RuntimeError) as error:  # a full disk is a RuntimeError of torch's writer
            part.unlink(missing_ok=True)
            failed = error
    if ranks.any(failed is not None):  # all wait here until it is saved
        failed = failed or RuntimeError("see what the first process says")
        reason = (str(failed).splitlines() or [type(failed).__name__])[0]
        raise DataError(f"cannot save {path}, what is there is kept: {reason}") from failed


def _keep_snapshot(checkpoint: Path, step: int, count: int) -> None:
    """Copy the checkpoint's weights to ``step-N.ckpt`` and leave the last ``count`` of those."""
    state = torch.load(checkpoint, map_location="cpu", weights_only=True)
    part = checkpoint.with_name("snapshot.part")
    torch.save({name: state[name] for name in ("config", "model")}, part)
    part.replace(checkpoint.with_name(f"step-{step:08d}.ckpt"))
    for old in sorted(checkpoint.parent.glob("step-*.ckpt"))[:-count]:
        old.unlink()


def _start_from(start: bundle.Bundle, module: Transformer, subwords: Subwords) -> None:
    if start.network.config != module.config:
        raise ConfigError(f"bundle {start.name} has another architecture than the recipe")
    if start.subwords != subwords:
        raise ConfigError(
            f"bundle {start.name} has other subwords than the data: prepare it with --subwords"
        )
    module.load_state_dict(start.network.state_dict())


def _load(
    fabric: Fabric,
    path: Path,
    module: nn.Module,
    optimizers: list[torch.optim.Optimizer],
    config: dict[str, Any],
) -> Progress:
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        saved_config, saved_optimizers = state["config"], state["optimizers"]
        weights, rng, progress = state["model"], state["torch_rng"], Progress(**state["progress"])
    except Exception as error:  # whatever a broken file makes torch, or the dictionary, raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"cannot read checkpoint {path}: {reason}") from error
    if saved_config != config:
        raise ConfigError(f"{path} holds another architecture than the recipe: {saved_config}")
    module.load_state_dict(weights)
    try:
        for optimizer, saved in zip(optimizers, saved_optimizers, strict=True):
            optimizer.load_state_dict(saved)
    except (ValueError, KeyError) as error:
        raise ConfigError(f"{path} was made with another optimizer than the recipe's") from error
    torch.set_rng_state(rng)
    return progress


def main(
    args: argparse.Namespace,
    evaluate: Callable[[Transformer], dict[str, float]] | None = None,
) -> int:
    """``gec train RECIPE --out DIR``: hand recipes that generate on, train the others."""
    path, options = Path(args.recipe), vars(args)
    task = task_of(path)
    for name in ("data_dir", "part") if task == "gec" else ("data", "dev", "init"):
        if options.get(name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{option} is not for a recipe of task {task!r}")
    if getattr(args, "threads", None):
        torch.set_num_threads(args.threads)
    if task != "gec":
        from gec.models.training import stages as generation

        return generation.main(args)
    if args.data is None:
        raise ConfigError("--data names no prepared data (gec data prepare)")
    if method_of(path) == "finetune":
        from gec.models.training import finetune

        return finetune.main(args)
    progress = train(
        load_recipe(path),
        Path(args.data),
        Path(args.out),
        budget=parse_duration(args.budget or "25m"),
        resume=args.resume,
        seed=args.seed or 0,
        workers=args.workers,
        init=args.init,
        evaluate=evaluate,
    )
    print(f"{progress.step} steps, {progress.tokens} target tokens, {progress.seconds:.0f} s")
    return 0
