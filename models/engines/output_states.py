"""What a verifier made of the outputs so far, kept for a drafter that reads it.

Shapes: B rows, L places, T tokens of a block, N tokens of all blocks, D model width.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from gec.models.engines.engine import Block


@dataclass(slots=True)
class OutputStates:
    """The last states [B, L, D] of BOS and the outputs; zero where nothing has been kept."""

    states: Tensor

    @classmethod
    def none(cls, rows: int, width: int, device: torch.device) -> OutputStates:
        """Return those of rows without a pass."""
        return cls(torch.zeros(rows, 0, width, device=device))

    def write(self, block: Block, hidden: Tensor) -> None:
        """Keep the states of a block, [B, T, D] or packed [N, D]."""
        pairs = list(zip(block.starts, block.lengths, strict=True))
        self._grow(max(start + length for start, length in pairs))
        rows = [row for row, (_, length) in enumerate(pairs) for _ in range(length)]
        places = [place for start, length in pairs for place in range(start, start + length)]
        index = torch.tensor([rows, places], device=hidden.device)
        self.states[index[0], index[1]] = hidden.flatten(0, -2).to(self.states.dtype)

    def read(self, length: int) -> Tensor:
        """Return the states of the first ``length`` places, [B, length, D]."""
        self._grow(length)
        return self.states[:, :length]

    def select(self, rows: Tensor) -> OutputStates:
        """Return those of the given rows."""
        return OutputStates(self.states[rows])

    def join(self, other: OutputStates) -> OutputStates:
        """Return those of both memories' rows."""
        length = max(self.states.shape[1], other.states.shape[1])
        self._grow(length)
        other._grow(length)
        return OutputStates(torch.cat([self.states, other.states]))

    def _grow(self, length: int) -> None:
        if (missing := length - self.states.shape[1]) > 0:
            self.states = F.pad(self.states, (0, 0, 0, missing))
