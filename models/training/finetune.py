"""``gec train`` of a recipe whose method is "finetune": a pretrained decoder learns a task.

A pair is one row ``BOS source separator target EOS``; the loss is the target's. Weights compute in
bfloat16 and are kept and updated in float32. The embedding stays as it is: it is most of a small
network's numbers, and the update that a release ships need not hold it.

The run folder holds ``last.ckpt`` (replaced atomically, resumes exactly), ``weights.safetensors``,
``log.csv``, if the recipe holds pairs out ``validation.csv`` and, if it is none for corrections,
``bundle/`` for ``gec generate``. On a CPU set
MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_ to some gigabytes: else the C library gives every
large block back, and the time goes into faulting pages in anew.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor

from gec.errors import ConfigError, DataError
from gec.models.fetch import pretrained, update
from gec.models.load.weights import reason
from gec.models.training import finetune_data, finetune_texts
from gec.models.training.finetune_batches import Batch, Batches
from gec.models.training.finetune_data import Examples
from gec.models.training.finetune_network import Trainer
from gec.models.training.finetune_recipe import carry_of, pretrained_of, training_recipe
from gec.models.training.finetune_texts import TextRecipe
from gec.models.training.finetune_validation import validate
from gec.models.training.recipe import parse_duration, task_of
from gec.models.training.signals import Stop
from gec.untrusted import guarded

METHOD = "finetune"
_STEPS_A_ROW = 10
_LONGEST_STEP = 60.0  # seconds; what takes longer was compiled, or the machine slept


@dataclass(slots=True)
class Progress:
    """Where a run stands: steps, seconds and tokens so far, and the next batch of an epoch."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0
    epoch: int = 0
    batch: int = 0


def train(
    recipe: Path,
    packed: Path,
    out: Path,
    *,
    budget: float,
    resume: bool = False,
    init: Path | None = None,
    seed: int = 0,
) -> Progress:
    """Train for ``budget`` seconds of steps; Ctrl-C or SIGTERM saves and ends.

    Args:
        init: a ``weights.safetensors``, or an update's folder, to begin from.

    Raises:
        ConfigError, DataError, ModelError: a recipe, data or a checkpoint that cannot be used.
    """
    training = training_recipe(recipe)
    parts = _parts(recipe)
    examples = Examples.load(packed / "examples.npz")
    if examples.names != list(parts.shares):
        raise ConfigError(f"{packed} was prepared with other parts than {recipe} has")
    checkpoint = out / "last.ckpt"
    if checkpoint.exists() and not resume:
        raise ConfigError(f"{checkpoint} exists: continue it with --resume or choose another --out")
    if checkpoint.exists() and init is not None:
        raise ConfigError(f"--init begins a run, but {checkpoint} exists: leave it out")
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    config, state, words = pretrained.load(pretrained_of(recipe))
    if init is not None:
        state = _begin_from(init, state)
    carry = carry_of(recipe)
    state = carry.of(state)
    config = replace(config, layers=len(carry.layers) or config.layers)
    held = packed / finetune_data.HELD_OUT
    kept_back = Examples.load(held) if held.exists() else None
    if kept_back is not None and kept_back.names != parts.held_out:
        raise ConfigError(f"{held} was prepared with other parts than {packed}/examples.npz")
    trainer = Trainer(config, state, training)
    progress = fit(trainer, examples, [*parts.shares.values()], kept_back, out, budget)
    if parts.text is not None:
        finetune_texts.save_bundle(parts.text, config, trainer.state(), words, out / "bundle")
    return progress


def fit(
    trainer: Trainer,
    examples: Examples,
    shares: Sequence[float],
    held_out: Examples | None,
    out: Path,
    budget: float,
) -> Progress:
    """Train for ``budget`` seconds of steps in all, from where ``out`` was saved.

    Args:
        shares: how often an epoch takes each pair, by its part.
        held_out: what is validated on.

    Raises:
        DataError: there are fewer examples than a batch has, or the checkpoint is another's.
    """
    checkpoint = out / "last.ckpt"
    progress = _restore(trainer, checkpoint) if checkpoint.exists() else Progress()
    trainer.put_back()
    batches = Batches(examples, shares, trainer.training, len(trainer.config.separator) + 2)
    run = _Run(trainer, batches, examples, held_out, progress, out)
    if run.is_empty():
        raise DataError("there are fewer pairs than a batch of batch_tokens needs")
    begun = progress.step
    with Stop() as stop:
        run.train(budget, stop)
    run.save()
    if progress.seconds >= budget and progress.step > begun:
        run.validate()
    return progress


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of a recipe's data.

    Attributes:
        shares: how often an epoch takes each pair, by the part's name.
        held_out: the names of those that are validated on.
        text: the recipe, if it is none for corrections.
    """

    shares: dict[str, float]
    held_out: list[str]
    text: TextRecipe | None = None


def _parts(recipe: Path) -> _Parts:
    if task_of(recipe) == "gec":
        shares = {part.name: part.share for part in finetune_data.data_recipe(recipe).part}
        return _Parts(shares, list(shares))
    text = finetune_texts.text_recipe(recipe)
    shares = {texts.source: 1.0 for texts in text.data.train}
    return _Parts(shares, [texts.source for texts in text.data.dev], text)


class _Run:
    """One run: what is trained, on what, and where it stands."""

    def __init__(
        self,
        trainer: Trainer,
        batches: Batches,
        examples: Examples,
        held_out: Examples | None,
        progress: Progress,
        out: Path,
    ) -> None:
        self.trainer, self.batches, self.examples = trainer, batches, examples
        self.held_out = held_out
        self.progress, self.out = progress, out
        self._epoch = batches.epoch(progress.epoch)
        self._since_row = _Report(time.monotonic())

    def is_empty(self) -> bool:
        """Return whether the epoch that the run stands in has no batch."""
        return not self._epoch

    def train(self, budget: float, stop: Stop) -> None:
        """Take steps for ``budget`` seconds, or until the run is asked to stop.

        Validates after every ``validate_every`` of the steps' time but the last.
        """
        training, progress = self.trainer.training, self.progress
        save_every, saved = parse_duration(training.save_every), time.monotonic()
        validate_every = parse_duration(training.validate_every)
        while progress.seconds < budget and not stop.asked():
            width, rows = self._next()
            start = time.monotonic()
            batch = Batch.of(self.examples, rows.tolist(), width, self.trainer.config)
            rate = training.rate(progress.step, progress.seconds / budget)
            losses = self.trainer.step(batch, rate)
            before = progress.seconds
            progress.seconds += min(time.monotonic() - start, _LONGEST_STEP)
            self._count(int(batch.wanted.sum()), losses, rate)
            due = before // validate_every < progress.seconds // validate_every
            if due and progress.seconds < budget:
                self.validate()
            if time.monotonic() - saved > save_every:
                self.save()
                saved = time.monotonic()

    def validate(self) -> None:
        """Score the held-out pairs of each part: a line and a row of ``validation.csv`` each."""
        if self.held_out is None:
            return
        began = time.monotonic()
        for part, scores in validate(self.trainer, self.held_out).items():
            place = {"step": self.progress.step, "minutes": round(self.progress.seconds / 60, 2)}
            values = {name: round(value, 4) for name, value in asdict(scores).items()}
            _row(self.out / "validation.csv", place | {"part": part} | values)
        self._since_row.since += time.monotonic() - began

    def save(self) -> None:
        """Write the checkpoint and the weights."""
        _save(self.trainer, self.progress, self.out / "last.ckpt")

    def _next(self) -> tuple[int, NDArray[np.int64]]:
        """Return the width and the rows of the next batch."""
        progress = self.progress
        while progress.batch >= len(self._epoch):  # the next one may be empty: shares differ
            progress.epoch, progress.batch = progress.epoch + 1, 0
            self._epoch = self.batches.epoch(progress.epoch)
        return self._epoch[progress.batch]

    def _count(self, tokens: int, losses: tuple[float, float], rate: float) -> None:
        """Count a step; every tenth writes a row of the log."""
        progress, report = self.progress, self._since_row
        progress.step, progress.batch = progress.step + 1, progress.batch + 1
        progress.tokens += tokens
        report.add(tokens, losses)
        if progress.step % _STEPS_A_ROW == 0:
            _log(self.out, progress, rate, report)
            self._since_row = _Report(time.monotonic())


@dataclass(slots=True)
class _Report:
    """Sums over the steps since the last row of the log.

    Attributes:
        since: when the first of these steps began, by the monotonic clock.
        edited, kept: sums of the steps' mean losses, in nats a token.
    """

    since: float
    steps: int = 0
    tokens: int = 0
    edited: float = 0.0
    kept: float = 0.0

    def add(self, tokens: int, losses: tuple[float, float]) -> None:
        """Add a step."""
        self.steps += 1
        self.tokens += tokens
        self.edited += losses[0]
        self.kept += losses[1]


def _begin_from(init: Path, base: dict[str, Tensor]) -> dict[str, Tensor]:
    path = init / "update.safetensors" if init.is_dir() else init
    with guarded(f"cannot read {path}"):
        stored = load_file(path)
        return update.expand(base, stored) if init.is_dir() else stored


def _log(out: Path, progress: Progress, rate: float, report: _Report) -> None:
    """Print a line and append it to ``log.csv``; losses in nats, speed in target tokens/s."""
    row = {
        "step": progress.step,
        "minutes": round(progress.seconds / 60, 2),
        "target_tokens": progress.tokens,
        "learning_rate": rate,
        "edited_loss": round(report.edited / report.steps, 4),
        "kept_loss": round(report.kept / report.steps, 5),
        "tokens_per_second": round(report.tokens / (time.monotonic() - report.since)),
    }
    _row(out / "log.csv", row)


def _row(path: Path, row: dict[str, float] | dict[str, float | str]) -> None:
    """Print a row and append it to a table."""
    words = (f"{k} {v if isinstance(v, str) else format(v, '.6g')}" for k, v in row.items())
    print(" ".join(words), flush=True)
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, row)
        if new:
            writer.writeheader()
        writer.writerow(row)


def _save(trainer: Trainer, progress: Progress, path: Path) -> None:
    """Write the checkpoint and the weights, each replaced at once."""
    part, weights = path.with_suffix(".part"), path.with_name("weights.safetensors")
    try:
        torch.save(
            {
                "network": trainer.config.to_dict(),
                "exact": trainer.exact,
                "optimizer": trainer.optimizer.state_dict(),
                "progress": asdict(progress),
                "rng": torch.get_rng_state(),
            },
            part,
        )
        part.replace(path)
        save_file({n: t.contiguous() for n, t in trainer.state().items()}, part)
        part.replace(weights)
    except (OSError, RuntimeError) as error:  # a full disk is a RuntimeError of torch's writer
        part.unlink(missing_ok=True)
        raise DataError(f"cannot save {path}, what is there is kept: {reason(error)}") from error


def _restore(trainer: Trainer, path: Path) -> Progress:
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        network = state["network"] | {"separator": tuple(state["network"]["separator"])}
        if network != trainer.config.to_dict():
            raise ValueError(f"it holds another network: {network}")
        for own, stored in zip(trainer.exact, state["exact"], strict=True):
            own.copy_(stored)
        trainer.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["rng"])
        return Progress(**state["progress"])
    except Exception as error:  # whatever a broken file makes torch, or the dictionary, raise
        raise DataError(f"cannot read checkpoint {path}: {reason(error)}") from error


def prepare(recipe: Path, data_dir: Path, out: Path, exclude: Sequence[Path] = ()) -> None:
    """Pack a recipe's data, without the sentences of the files ``exclude`` (corrections only).

    Raises:
        ConfigError, DataError, ModelError: a recipe or data that cannot be used.
    """
    generates = task_of(recipe) != "gec"
    if generates and exclude:
        raise ConfigError("--exclude is for correction recipes: list the files under [[data.test]]")
    training = training_recipe(recipe)
    config, _, words = pretrained.load(pretrained_of(recipe))
    longest = training.widths[-1] - len(config.separator) - 2
    if generates:
        finetune_texts.prepare(finetune_texts.text_recipe(recipe), data_dir, out, words, longest)
    else:
        data = finetune_data.data_recipe(recipe)
        finetune_data.prepare(data, data_dir, out, words, longest, exclude)


def prepare_main(args: argparse.Namespace) -> int:
    """``gec data prepare`` of a fine-tuning recipe."""
    if args.subwords:
        raise ConfigError("--subwords is not for a fine-tuning recipe: its vocabulary is given")
    exclude = [Path(name) for name in getattr(args, "exclude", None) or ()]
    prepare(Path(args.recipe), Path(args.data_dir), Path(args.out), exclude)
    return 0


def _packed(args: argparse.Namespace) -> Path:
    """Return the folder of prepared data; corpora that ``--data-dir`` names are prepared once."""
    if args.data and args.data_dir:
        raise ConfigError("--data and --data-dir exclude each other")
    if args.data:
        return Path(args.data)
    packed = Path(args.out) / "data"
    if not (packed / "provenance.json").exists():
        if not args.data_dir:
            raise ConfigError(f"{packed} is not there yet: name the corpora (--data-dir) or --data")
        prepare(Path(args.recipe), Path(args.data_dir), packed)
    return packed


PARTS = ("drafter", "heads", "small")


def _part(args: argparse.Namespace) -> int:
    """``gec train --part``, for what drafts for a verifier that was trained to generate."""
    if args.part not in PARTS or args.init:
        raise ConfigError(
            f"a fine-tuning recipe has the parts {', '.join(PARTS)} besides, without --init"
        )
    part = import_module(f"gec.models.training.finetune_{args.part}")
    progress = part.train(
        Path(args.recipe),
        _packed(args),
        Path(args.out),
        budget=parse_duration(args.budget or "25m"),
        seed=args.seed or 0,
    )
    print(f"{progress.step} steps, {progress.tokens} target tokens, {progress.seconds:.0f} s")
    return 0


def main(args: argparse.Namespace) -> int:
    """``gec train`` of a fine-tuning recipe."""
    if args.dev or args.workers != 1:
        raise ConfigError("--dev and --workers are not for a fine-tuning recipe")
    if getattr(args, "part", None):
        return _part(args)
    progress = train(
        Path(args.recipe),
        _packed(args),
        Path(args.out),
        budget=parse_duration(args.budget or "25m"),
        resume=args.resume,
        init=Path(args.init) if args.init else None,
        seed=args.seed or 0,
    )
    print(f"{progress.step} steps, {progress.tokens} target tokens, {progress.seconds:.0f} s")
    return 0
