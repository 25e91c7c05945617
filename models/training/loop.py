"""One plain training loop over Lightning Fabric, for every objective.

The schedule is a trapezoid over the time budget: warm-up, constant, linear decay to zero. The run
folder holds ``last.ckpt`` (replaced atomically, resumes exactly), ``log.csv`` and TensorBoard
events.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from lightning.fabric import Fabric
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset

from gec.errors import ConfigError, DataError
from gec.models.training.checkpoint import Progress, keep_snapshot, load_checkpoint, save_checkpoint
from gec.models.training.processes import Ranks, make_fabric
from gec.models.training.recipe import parse_duration
from gec.models.training.run_log import RunLog
from gec.models.training.schedule import Schedule, learning_rate, make_optimizers
from gec.models.training.signals import Stop, deaf
from gec.models.training.streams import worker_starts

_STEPS_A_ROW = 100
_LONGEST_STEP = 60.0  # seconds; what takes longer was a machine that slept


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
    counts, hence its share of the budget and its learning rate; all end if any is asked to. The
    checkpoint has the first one's place in its data; resumed, the others take theirs from it.

    Raises:
        ConfigError: the recipe does not fit the checkpoint or the data.
        DataError: the packed data or the checkpoint is missing or broken; the loss is not finite;
            a checkpoint cannot be saved (the last one is kept).
    """
    fabric = make_fabric(training.precision)
    fabric.launch()
    fabric.seed_everything(seed, verbose=False)
    run = _Run(fabric, make(), training, out, budget, snapshots)
    run.begin(resume, workers)
    with closing(run.log), Stop() as stop:  # before the workers start: they inherit its deafness
        run.train(workers, stop)
        run.measure()
        run.save()
    return run.progress


@dataclass(slots=True)
class _Report:
    """Sums over the steps since the last row of the log.

    Attributes:
        since: when the first of these steps began, by the monotonic clock.
    """

    since: float
    loss: float = 0.0
    steps: int = 0
    tokens: int = 0


class _Run:
    """One run of :func:`fit`: what is trained, and where it stands."""

    def __init__(
        self,
        fabric: Fabric,
        objective: Objective,
        training: Schedule,
        out: Path,
        budget: float,
        snapshots: int,
    ) -> None:
        self.fabric, self.ranks = fabric, Ranks(fabric)
        self.objective, self.training = objective, training
        self.budget, self.snapshots = budget, snapshots
        self.module = objective.module
        self.optimizers = make_optimizers(self.module, training)
        self.model, *self.wrapped = fabric.setup(self.module, *self.optimizers)
        self.checkpoint = out / "last.ckpt"
        self.progress = Progress()

    def begin(self, resume: bool, workers: int) -> None:
        """Go on from the checkpoint if there is one and ``resume`` allows it; start the clock."""
        self.checkpoint.parent.mkdir(parents=True, exist_ok=True)
        # also if the disk is not that of the others
        exists = self.ranks.any(self.checkpoint.exists())
        if exists and not resume:
            raise ConfigError(
                f"{self.checkpoint} exists: continue it with --resume or choose another --out"
            )
        if exists:
            self.progress = load_checkpoint(
                self.checkpoint, self.module, self.optimizers, self.objective.config
            )
        self._turn = deque(worker_starts(self.progress.positions, max(1, workers)))
        self._stream = self.objective.stream(self.fabric.global_rank, list(self._turn))
        parameters = sum(p.numel() for p in self.module.parameters())
        self.fabric.print(
            f"{parameters / 1e6:.1f} M parameters on {self.fabric.device}, "
            f"from {self.progress.step}"
        )
        self._last = time.monotonic()
        self._report = _Report(self._last)
        self._set_next_save()
        self._set_next_validation()
        self.log = RunLog(self.checkpoint.parent, self.fabric.is_global_zero)

    def train(self, workers: int, stop: Stop) -> None:
        """Take steps until the budget is used or the run is asked to stop."""
        batches = _batches(self._stream, workers)
        self.module.train()
        while self.progress.seconds < self.budget:
            batch = self._next(batches, stop)
            if batch is None:
                return
            share = self.progress.seconds / self.budget
            rate = self._set_rate(share)
            loss, tokens = self._step(batch, share)
            self._count(batch, tokens, stop)
            self._tell(loss, rate)
            if self.progress.seconds >= self._next_validation:
                self.measure()
                self._set_next_validation()
            if self.progress.seconds >= self._next_save:
                self.save()
                self._set_next_save()

    def measure(self) -> None:
        """Validate, and keep the scores."""
        scores = self.objective.measure(self.fabric.device)
        progress = self.progress
        progress.history.append({"step": float(progress.step)} | scores)
        self.log.row(step=progress.step, minutes=progress.seconds / 60, **scores)

    def save(self) -> None:
        """Write the checkpoint and, if some are to be kept, a snapshot."""
        save_checkpoint(
            self.ranks,
            self.checkpoint,
            self.module,
            self.optimizers,
            self.objective.config,
            self.progress,
        )
        if self.snapshots and self.fabric.is_global_zero:
            keep_snapshot(self.checkpoint, self.progress.step, self.snapshots)

    def _next(self, batches: Iterator[Any], stop: Stop) -> Any:
        """Return the next batch, None if any process is asked to stop."""
        batch = None
        try:
            batch = next(batches).to(self.fabric.device)
        except RuntimeError:  # a signal to the process group may end the workers, too
            if not stop.asked():
                raise
        ended = self.ranks.any(batch is None or stop.asked())
        return None if ended else batch

    def _set_rate(self, share: float) -> float:
        """Give the optimizers the learning rate after ``share`` of the budget; return it."""
        rate = learning_rate(share, self.training)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
        return rate

    def _step(self, batch: Any, share: float) -> tuple[Tensor, int]:
        """Move the weights by one batch; return its loss and its number of target tokens."""
        loss, tokens = self.objective.loss(self.model, batch, share)
        self.fabric.backward(loss)
        parameters = self.module.parameters()
        norm = nn.utils.clip_grad_norm_(parameters, self.training.gradient_clip)
        if not math.isfinite(float(norm)):
            raise DataError(
                f"the loss is not finite at step {self.progress.step}; "
                f"the last good checkpoint is {self.checkpoint}"
            )
        for optimizer in self.wrapped:
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach(), int(tokens)

    def _count(self, batch: Any, tokens: int, stop: Stop) -> None:
        """Count a step: its time, its target tokens, and where it leaves the data."""
        self._turn.popleft()  # the workers deliver in turn
        self._turn.append(batch.position)
        now = time.monotonic()
        # a paused run loses no budget, a suspended machine little
        took = 0.0 if stop.resumed() else min(now - self._last, _LONGEST_STEP)
        self._last = now
        seconds, scored = self.ranks.after_step(took, tokens)
        self.progress.seconds += seconds
        self.progress.step += 1
        self.progress.tokens += scored
        self.progress.positions = tuple(self._turn)
        self._report.tokens += scored

    def _tell(self, loss: Tensor, rate: float) -> None:
        """Add a step to the report; every hundredth gives a row of the log."""
        report, progress = self._report, self.progress
        report.loss += float(loss)
        report.steps += 1
        if progress.step % _STEPS_A_ROW:
            return
        self.log.row(
            step=progress.step,
            minutes=progress.seconds / 60,
            tokens=progress.tokens,
            rate=rate,
            loss=report.loss / report.steps,
            tokens_per_second=report.tokens / (self._last - report.since),
        )
        self._report = _Report(self._last)

    def _set_next_save(self) -> None:
        self._next_save = self.progress.seconds + parse_duration(self.training.save_every)

    def _set_next_validation(self) -> None:
        self._next_validation = self.progress.seconds + parse_duration(self.training.validate_every)


def _batches(stream: IterableDataset[Any], workers: int) -> Iterator[Any]:
    """Return the stream's batches, made by worker processes if there are any."""
    return iter(
        DataLoader(
            stream,
            batch_size=None,
            num_workers=workers,
            prefetch_factor=8 if workers else None,
            generator=torch.Generator(),  # else it draws from the one a resumed run restored
            worker_init_fn=deaf,
        )
    )
