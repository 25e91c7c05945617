"""Ragged rows one after another, without padding, and padded: B rows, T the longest, N tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(slots=True)
class Packing:
    """How the tokens [N] of ragged rows lie in [B, T]."""

    count: int  # B
    longest: int  # T
    rows: Tensor  # [N]
    columns: Tensor  # [N]

    @classmethod
    def of(cls, lengths: Sequence[int], device: torch.device) -> Packing:
        rows = [row for row, length in enumerate(lengths) for _ in range(length)]
        columns = [column for length in lengths for column in range(length)]
        both = torch.tensor([rows, columns], device=device)
        return cls(len(lengths), max(lengths), both[0], both[1])

    def spread(self, x: Tensor, fill: float = 0) -> Tensor:
        """Return [B, T, ...] of [N, ...], with ``fill`` where there is nothing."""
        padded = x.new_full((self.count * self.longest, *x.shape[1:]), fill)
        padded.index_copy_(0, self.rows * self.longest + self.columns, x)
        return padded.view(self.count, self.longest, *x.shape[1:])

    def gather(self, x: Tensor) -> Tensor:
        """Return [N, ...] of [B, T, ...]."""
        return x.flatten(0, 1).index_select(0, self.rows * self.longest + self.columns)
