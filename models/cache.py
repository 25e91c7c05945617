"""Keys and values that a decoder keeps between passes, and where a block of tokens stands in them.

Shapes: B rows, S source length, T block length, D model width, H heads.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(slots=True)
class Positions:
    """Where a block stands: row r covers positions ``starts[r] .. starts[r] + T - 1``."""

    index: Tensor  # [T] when all rows start at the same place, else [B, T]
    start: int | None  # the common start, or None
    end: int  # one past the last position any row writes
    mask: Tensor | None  # [B or 1, 1, T, end], True where a key may be seen; None: see `causal`
    causal: bool

    @classmethod
    def of(cls, starts: list[int], block: int, device: torch.device) -> Positions:
        """Lay out a block of ``block`` tokens after ``starts[r]`` cached ones in each row r."""
        end = max(starts) + block
        if len(set(starts)) == 1:
            start = starts[0]
            index = torch.arange(start, end, device=device)
            if block == 1 or start == 0:
                return cls(index, start, end, None, block > 1)
            mask = torch.arange(end, device=device) <= index[:, None]
            return cls(index, start, end, mask[None, None], False)
        index = torch.tensor(starts, device=device)[:, None] + torch.arange(block, device=device)
        mask = torch.arange(end, device=device) <= index[:, :, None]
        return cls(index, None, end, mask[:, None], False)


class LayerCache:
    """Keys and values of one decoder layer, [B, H, capacity, D/H], and those of the source.

    The cache is truncated by writing over it: what lies beyond a row's length is never read.
    """

    def __init__(self, source_keys: Tensor, source_values: Tensor) -> None:
        self.source_keys = source_keys  # [B, H, S, D/H]
        self.source_values = source_values
        b, h, _, d = source_keys.shape
        self.keys = source_keys.new_zeros(b, h, 0, d)
        self.values = self.keys

    def write(self, k: Tensor, v: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        """Store a block's keys and values [B, H, T, D/H]; return all of them up to its end."""
        self._reserve(positions.end)
        if positions.start is not None:
            self.keys[:, :, positions.start : positions.end] = k
            self.values[:, :, positions.start : positions.end] = v
        else:
            index = positions.index[:, None, :, None].expand_as(k)
            self.keys.scatter_(2, index, k)
            self.values.scatter_(2, index, v)
        return self.keys[:, :, : positions.end], self.values[:, :, : positions.end]

    def select(self, rows: Tensor) -> None:
        """Keep (and reorder or repeat) the given rows."""
        self.keys, self.values = self.keys[rows], self.values[rows]
        self.source_keys, self.source_values = self.source_keys[rows], self.source_values[rows]

    def join(self, other: LayerCache) -> None:
        """Append another cache's rows; the shorter of both is padded."""
        self.keys, self.values = _stack(self.keys, other.keys), _stack(self.values, other.values)
        self.source_keys = _stack(self.source_keys, other.source_keys)
        self.source_values = _stack(self.source_values, other.source_values)

    def _reserve(self, length: int) -> None:
        b, h, capacity, d = self.keys.shape
        if length > capacity:
            grow = (b, h, max(32, 2 * capacity, length + 8) - capacity, d)
            self.keys = torch.cat([self.keys, self.keys.new_zeros(grow)], 2)
            self.values = torch.cat([self.values, self.values.new_zeros(grow)], 2)


def _stack(first: Tensor, second: Tensor) -> Tensor:
    """Return the rows of both [B, H, L, D/H], padded to the longer length."""
    length = max(first.shape[2], second.shape[2])
    padded = [F.pad(x, (0, 0, 0, length - x.shape[2])) for x in (first, second)]
    return torch.cat(padded)
