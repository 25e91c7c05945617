"""Batches of source and target texts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gec.errors import DataError
from gec.models.training.streams import Pair, Place, PooledBatches, batches_of, pad
from gec.text.vocabulary import BOS_ID, EOS_ID, PAD_ID

_SORTED = 20_000  # pairs sorted by length together: enough that batches hold little padding


@dataclass(slots=True)
class ParallelBatch:
    """Padded ids: source [B, S] with EOS; target [B, T] with EOS; position says where the stream
    stands behind it."""

    source: Tensor
    target: Tensor
    position: Place

    @property
    def target_in(self) -> Tensor:
        """[B, T]: the target behind BOS, without its last place."""
        start = torch.full_like(self.target[:, :1], BOS_ID)
        return torch.cat([start, self.target[:, :-1]], 1).masked_fill(self.target == PAD_ID, PAD_ID)

    def to(self, device: torch.device) -> ParallelBatch:
        """Return the batch on a device."""
        return ParallelBatch(self.source.to(device), self.target.to(device), self.position)


def make_parallel_batch(pairs: Sequence[Pair], position: Place) -> ParallelBatch:
    """Pad pairs of ids; sources and targets end with EOS."""
    sources, targets = ([[*ids, EOS_ID] for ids in side] for side in zip(*pairs, strict=True))
    return ParallelBatch(pad(sources, PAD_ID), pad(targets, PAD_ID), position)


class ParallelBatches(PooledBatches[ParallelBatch]):
    """An endless stream of length-bucketed batches: epoch after epoch, each in another order.

    An epoch is one pool. Its order depends on (seed, rank, its number) alone, so that a run resumes
    exactly.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        batch_tokens: int,
        *,
        seed: int = 0,
        rank: int = 0,
        starts: Sequence[Place] = ((0, 0),),
    ) -> None:
        super().__init__(seed, rank, starts)
        if not pairs:
            raise DataError("no pair to train on")  # else the search for a batch would never end
        self.pairs, self.batch_tokens = pairs, batch_tokens

    def pool(self, number: int) -> list[list[Pair]]:
        """Return an epoch's batches in its order."""
        rng = random.Random(f"{self.seed}/{self.rank}/{number}")
        order = list(self.pairs)
        rng.shuffle(order)
        batches = [
            batch
            for start in range(0, len(order), _SORTED)
            for batch in batches_of(order[start : start + _SORTED], self.batch_tokens)
        ]
        rng.shuffle(batches)
        return batches

    def batch(self, pairs: Sequence[Pair], after: Place) -> ParallelBatch:
        """Return pairs as a batch."""
        return make_parallel_batch(pairs, after)
