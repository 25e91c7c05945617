"""Keys and values that a decoder keeps between passes, and the positions of a block of tokens.

Shapes: B rows, S source length, T longest block, N tokens of all blocks, D model width, H heads.

A block comes in one of two layouts. *Padded*: [B, T, ...], with padding behind the shorter rows.
*Packed*: [N, ...], the rows' tokens one after another without padding, which saves work if one row
drafts a sentence and its neighbours a token each. Only attention looks at rows: a packed block is
padded for attention and packed again (:meth:`Positions.spread`, :meth:`Positions.gather`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from gec.models.network.packing import Packing


@dataclass(slots=True)
class Positions:
    """The positions of a block: row r covers ``starts[r] .. starts[r] + T - 1``."""

    index: Tensor  # [T] if all rows start at the same position, else [B, T]; [N] if packed
    start: int | None  # the common start, or None
    end: int  # one past the last position that any row writes
    mask: Tensor | None  # [B or 1, 1, T, end], True at visible keys; None: `causal` decides
    causal: bool
    packed: Packing | None = None

    @classmethod
    def of(cls, starts: Sequence[int], block: int, device: torch.device) -> Positions:
        """Return the positions of a padded block: T = ``block``, after ``starts[r]`` in row r."""
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

    @classmethod
    def pack(cls, starts: Sequence[int], lengths: Sequence[int], device: torch.device) -> Positions:
        """Return the positions of a packed block: ``lengths[r]`` after ``starts[r]`` in row r."""
        longest = max(lengths)
        first = torch.tensor(starts, device=device)
        packing = Packing.of(lengths, device)
        index = first[packing.rows] + packing.columns
        end = max(start + length for start, length in zip(starts, lengths, strict=True))
        places = first[:, None] + torch.arange(longest, device=device)  # [B, T]
        mask = torch.arange(end, device=device) <= places[:, :, None]
        return cls(index, None, end, mask[:, None], False, packing)

    def spread(self, x: Tensor) -> Tensor:
        """Return a block in its own layout as [B, T, ...]; padding is zero."""
        return x if self.packed is None else self.packed.spread(x)

    def gather(self, x: Tensor) -> Tensor:
        """Return [B, T, ...] in the block's own layout."""
        return x if self.packed is None else self.packed.gather(x)


class SelfCache:
    """Keys and values of one layer's self-attention, [B, capacity, H, D/H].

    Writing over the cache truncates it: nothing beyond a row's length is ever read.
    """

    def __init__(self, empty: Tensor) -> None:
        """Begin with ``empty`` [B, 0, H, D/H]."""
        self.keys = self.values = empty

    def write(self, k: Tensor, v: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        """Store a block's keys and values [B, T, H, D/H] (or packed [N, H, D/H]).

        Returns all keys and values up to the block's end, [B, end, H, D/H].
        """
        self._reserve(positions.end)
        if positions.start is not None:
            self.keys[:, positions.start : positions.end] = k
            self.values[:, positions.start : positions.end] = v
        else:
            b, capacity = self.keys.shape[:2]
            packed = positions.packed
            rows = packed.rows if packed else torch.arange(b, device=k.device)[:, None]
            places = (rows * capacity + positions.index).flatten()  # [B T] or [N]
            shape = -1, *self.keys.shape[2:]
            self.keys.view(shape).index_copy_(0, places, k.reshape(shape))
            self.values.view(shape).index_copy_(0, places, v.reshape(shape))
        return self.keys[:, : positions.end], self.values[:, : positions.end]

    def select(self, rows: Tensor) -> None:
        """Keep (and reorder or repeat) the given rows."""
        self.keys, self.values = self.keys[rows], self.values[rows]

    def join(self, other: SelfCache) -> None:
        """Append another cache's rows; the shorter cache is padded."""
        self.keys, self.values = _stack(self.keys, other.keys), _stack(self.values, other.values)

    def _reserve(self, length: int) -> None:
        b, capacity, h, d = self.keys.shape
        if length > capacity:
            grow = (b, max(32, 2 * capacity, length + 8) - capacity, h, d)
            self.keys = torch.cat([self.keys, self.keys.new_zeros(grow)], 1)
            self.values = torch.cat([self.values, self.values.new_zeros(grow)], 1)


class LayerCache(SelfCache):
    """Keys and values of one decoder layer, and the source's, [B, S, H, D/H]."""

    def __init__(self, source_keys: Tensor, source_values: Tensor) -> None:
        super().__init__(source_keys.new_zeros(source_keys.shape[0], 0, *source_keys.shape[2:]))
        self.source_keys, self.source_values = source_keys, source_values

    def select(self, rows: Tensor) -> None:
        """Keep (and reorder or repeat) the given rows, also of the source."""
        super().select(rows)
        self.source_keys, self.source_values = self.source_keys[rows], self.source_values[rows]

    def join(self, other: SelfCache) -> None:
        """Append another :class:`LayerCache`'s rows, also of the source."""
        assert isinstance(other, LayerCache)
        super().join(other)
        self.source_keys = _stack(self.source_keys, other.source_keys)
        self.source_values = _stack(self.source_values, other.source_values)


class PassingCache(LayerCache):
    """A cache that stores nothing, for training: the block is the whole target."""

    def __init__(self, cache: LayerCache) -> None:
        self.source_keys, self.source_values = cache.source_keys, cache.source_values

    def write(self, k: Tensor, v: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        """Return the block's own keys and values, through which gradients flow."""
        return k, v


def _stack(first: Tensor, second: Tensor) -> Tensor:
    """Return the rows of both [B, L, H, D/H], padded to the longer length."""
    length = max(first.shape[1], second.shape[1])
    padded = [F.pad(x, (0, 0, 0, 0, 0, length - x.shape[1])) for x in (first, second)]
    return torch.cat(padded)
