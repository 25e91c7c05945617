"""The processes of a run: signals that ask it to end, and what several replicas agree on."""

from __future__ import annotations

import os
import signal
from types import FrameType

import torch
from lightning.fabric import Fabric


class Stop:
    """Listens to signals within the block.

    ``asked()`` is True once SIGTERM or SIGINT asked to save and end; ``resumed()`` where the
    process had been stopped (SIGSTOP) and went on since the last call.

    A signal to the process group ends the workers, too, and torch raises their end wherever the run
    just is. Once asked, that ends the block and nothing more: the step may be half
    done, so the last checkpoint stands.
    """

    def __enter__(self) -> Stop:
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


def make_fabric(precision: str) -> Fabric:
    """Return what to train on: torchrun's processes, else all GPUs, else the CPU."""
    here, world = (int(os.environ.get(name, 0)) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE"))
    nodes = world // here if here else 1
    return Fabric(devices=here or "auto", num_nodes=nodes, precision=precision)  # type: ignore[arg-type]


def deaf(_worker: int) -> None:
    """Let a worker outlive a SIGTERM to the process group: the run ends it, once it has saved."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
