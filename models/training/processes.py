"""The processes of a run: the devices they use, and what they must agree on."""

from __future__ import annotations

import os

import torch
from lightning.fabric import Fabric


def make_fabric(precision: str) -> Fabric:
    """Return what to train on: torchrun's processes, else all GPUs, else the CPU."""
    here, world = (int(os.environ.get(name, 0)) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE"))
    nodes = world // here if here else 1
    return Fabric(devices=here or "auto", num_nodes=nodes, precision=precision)  # type: ignore[arg-type]


class Ranks:
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
