"""One process of a training run, alone or one of several."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import IterableDataset

from gec.models.training import loop

BUDGET = 60


@dataclass
class Numbers:
    """A batch."""

    values: Tensor
    position: tuple[int, int]

    def to(self, device: torch.device) -> Numbers:
        return self


class Stream(IterableDataset[Numbers]):
    """Other numbers for every rank."""

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def __iter__(self) -> Iterator[Numbers]:
        generator = torch.Generator().manual_seed(self.rank)
        for place in itertools.count():
            yield Numbers(torch.randn(4, 3, generator=generator), (0, place + 1))


class Sums:
    """Learns to add up numbers; ``before`` acts before a step."""

    def __init__(self, before: Mapping[int, Callable[[], None]]) -> None:
        self.module, self.config = nn.Linear(3, 1), dict[str, Any]()
        self.before, self.steps, self.shares = before, 0, list[float]()

    def stream(self, rank: int, starts: Sequence[tuple[int, int]]) -> Stream:
        return Stream(rank)

    def loss(self, model: nn.Module, batch: Numbers, share: float) -> tuple[Tensor, Tensor]:
        if self.steps in self.before:
            self.before[self.steps]()
        self.steps += 1
        self.shares.append(share)
        wanted = batch.values.sum(1, keepdim=True)
        return (model(batch.values) - wanted).square().mean(), torch.tensor(4)

    def measure(self, device: torch.device) -> dict[str, float]:
        return {}


def ask() -> None:
    """Send the process group a SIGTERM from outside of it."""
    command = ["kill", "-TERM", "--", f"-{os.getpgrp()}"]
    subprocess.run(command, start_new_session=True, check=True)


def main(
    run: Path,
    variables: Mapping[str, str],
    seconds: float,
    asked: int | None = None,
    workers: int = 0,
) -> None:
    """Train, and leave what came of it in the run's folder.

    Every step takes ``seconds`` by this process's clock. Before step ``asked`` it is asked to end;
    where it has ``workers``, they are as well.
    """
    os.environ.update(variables)
    os.setpgrp()
    multiprocessing.set_start_method("fork", force=True)  # of workers, as without a fork server
    torch.set_num_threads(1)
    clock = itertools.count()
    loop.time = SimpleNamespace(monotonic=lambda: next(clock) * seconds)  # type: ignore[assignment]
    schedule = SimpleNamespace(
        optimizer="adamw", learning_rate=0.1, warmup_share=0.2, decay_share=0.5, weight_decay=0.0,
        gradient_clip=1.0, precision="32-true", validate_every="20s", save_every="20s",
    )  # fmt: skip
    sums = Sums({} if asked is None else {asked: ask})
    progress = loop.fit(lambda: sums, schedule, run, budget=BUDGET, workers=workers)
    found = {"weights": sums.module.state_dict(), "shares": sums.shares}
    found |= {"step": progress.step, "seconds": progress.seconds, "tokens": progress.tokens}
    torch.save(found, run / f"rank{variables['RANK']}.pt")
