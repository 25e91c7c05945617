"""The log of a run: printed rows, ``log.csv`` and TensorBoard events."""

from __future__ import annotations

import csv
from pathlib import Path


class RunLog:
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
        """Log values of a step, in the first process only."""
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
        """Write what TensorBoard has not written yet."""
        if self.board is not None:
            self.board.close()
