"""Batches of a fine-tuning run: rows of one width, an epoch the same in every run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gec.models.network.llama import LlamaConfig
from gec.models.training.finetune_data import Examples
from gec.models.training.finetune_recipe import TrainingRecipe


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one width: ids [B, T], where a target token is predicted, which, and if edited."""

    tokens: Tensor
    wanted: Tensor
    target: Tensor
    edited: Tensor

    @classmethod
    def of(cls, examples: Examples, rows: Sequence[int], width: int, config: LlamaConfig) -> Batch:
        """Lay the examples ``rows`` out, padded to ``width`` with EOS."""
        shape = len(rows), width
        tokens = torch.full(shape, config.eos_id)
        wanted, marks = torch.zeros(shape, dtype=torch.bool), torch.zeros(shape, dtype=torch.bool)
        target = torch.zeros(shape, dtype=torch.long)
        for row, i in enumerate(rows):
            before = [config.bos_id, *examples.sources[i], *config.separator]
            after = [*examples.targets[i], config.eos_id]
            first, last = len(before) - 1, len(before) + len(after) - 1
            tokens[row, : last + 1] = torch.tensor(before + after)
            wanted[row, first:last] = True
            target[row, first:last] = torch.tensor(after)
            marks[row, first:last] = torch.tensor(examples.edited[i])
        return cls(tokens, wanted, target, marks)


class Batches:
    """The batches of each epoch, the same in every run with the same examples and shares."""

    def __init__(
        self, examples: Examples, shares: Sequence[float], training: TrainingRecipe, extra: int
    ) -> None:
        """``extra`` ids stand beside a pair's own: BOS, separator, EOS."""
        self._parts = np.array(examples.parts)
        self._lengths = examples.lengths() + extra
        self._shares, self._training = shares, training

    def epoch(self, number: int) -> list[tuple[int, NDArray[np.int64]]]:
        """Return (width, rows) of each batch of an epoch, shuffled.

        A part's share of 1.4 takes each pair once and two fifths of them twice; the next epoch
        goes on with the following two fifths.
        """
        order = np.random.default_rng([7, number])
        taken: list[NDArray[np.int64]] = []
        for part, share in enumerate(self._shares):
            own = np.flatnonzero(self._parts == part)
            mixed = np.random.default_rng([11, part]).permutation(own)
            count = round(len(own) * (share % 1))
            taken += [own] * int(share)
            taken.append(np.roll(mixed, -number * count)[:count])
        rows = order.permutation(np.concatenate(taken))
        batches = []
        least = 0
        for width in self._training.widths:
            lengths = self._lengths[rows]
            fitting = rows[(lengths > least) & (lengths <= width)]
            size = self._training.batch_tokens // width
            whole = range(0, len(fitting) - size + 1, size)
            batches += [(width, fitting[i : i + size]) for i in whole]
            least = width
        return [batches[i] for i in order.permutation(len(batches))]
