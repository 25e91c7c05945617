"""Endless streams of batches, sorted by length, that a run resumes exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

Pair = tuple[list[int], list[int]]
"""Token ids of a source and a target."""
Place = tuple[int, int]
"""A pool's number and the next batch in it."""
BatchT = TypeVar("BatchT")


def pad(rows: Sequence[Sequence[int]], value: int) -> Tensor:
    """Return rows as one tensor [B, T]; ``value`` fills the shorter ones."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[value] * (width - len(row))] for row in rows])


def batches_of(pairs: Sequence[Pair], batch_tokens: int) -> list[list[Pair]]:
    """Cut pairs, sorted by length, into batches of at most ``batch_tokens``, padding counted."""
    batches: list[list[Pair]] = []
    current: list[Pair] = []
    width = 0
    for pair in sorted(pairs, key=lambda pair: (len(pair[1]), len(pair[0]))):
        width = max(width, len(pair[0]) + 1, len(pair[1]) + 1)
        if current and width * (len(current) + 1) > batch_tokens:
            batches.append(current)
            current, width = [], max(len(pair[0]), len(pair[1])) + 1
        current.append(pair)
    return [*batches, current]


class PooledBatches(IterableDataset[BatchT]):
    """Batches of pool after pool; what a pool holds depends on (seed, rank, its number) alone.

    Of W worker processes each makes every W-th pool; ``starts`` has the place of each in the
    stream, in the order in which they deliver (see :func:`worker_starts`).
    """

    def __init__(self, seed: int, rank: int, starts: Sequence[Place]) -> None:
        self.seed, self.rank, self.starts = seed, rank, tuple(starts)

    def pool(self, number: int) -> list[list[Pair]]:
        """Return the batches of a pool, in their order."""
        raise NotImplementedError

    def batch(self, pairs: Sequence[Pair], after: Place) -> BatchT:
        """Return pairs as a batch; ``after`` is where the stream stands behind it."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[BatchT]:
        worker = get_worker_info()
        number, stride = (worker.id, worker.num_workers) if worker else (0, 1)
        pool, skip = self.starts[number]
        while True:
            batches = self.pool(pool)
            for place in range(skip, len(batches)):
                last = place + 1 == len(batches)
                after = (pool + stride, 0) if last else (pool, place + 1)
                yield self.batch(batches[place], after)
            pool, skip = pool + stride, 0


def worker_starts(saved: Sequence[Place], workers: int) -> list[Place]:
    """Return where each worker begins: where it stood, or behind all if their number is another."""
    if len(saved) == workers:
        return list(saved)
    first = 1 + max((pool for pool, _ in saved), default=-1)
    return [(first + number, 0) for number in range(workers)]
