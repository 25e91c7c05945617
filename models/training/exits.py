"""Training a verifier with an early exit: the mean of the losses behind both exits.

Kim et al. 2023, *Speculative Decoding with Big Little Decoder*, section 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gec.models.network.early_exit import EarlyExitTrainee
from gec.models.training.objectives import ParallelObjective, mean_cross_entropy
from gec.models.training.parallel_batches import ParallelBatch
from gec.text.vocabulary import PAD_ID


@dataclass
class EarlyExit(ParallelObjective):
    """The next token, by teacher forcing, behind the first layers and behind all."""

    module: EarlyExitTrainee

    @property
    def config(self) -> dict[str, Any]:
        """The verifier's architecture and its exit, kept in checkpoints."""
        trainee = self.module
        return {"network": trainee.network.config.to_dict(), "early_exit": trainee.layers}

    def loss(self, model: nn.Module, batch: ParallelBatch, _share: float) -> tuple[Tensor, Tensor]:
        """Return (mean loss of both exits, number of target tokens)."""
        real = batch.target != PAD_ID
        truth, smoothing = batch.target[real], self.schedule.label_smoothing
        both = model(batch.source, batch.target_in, real)
        losses = [mean_cross_entropy(logits, truth, smoothing) for logits in both]
        return torch.stack(losses).mean(), real.sum()

    @torch.no_grad()
    def measure(self, device: torch.device) -> dict[str, float]:
        """Return dev loss (nats a token) and first-choice accuracy of the last and first exit.

        ``agreement`` is the share of tokens for which both exits have the same first choice.
        """
        self.module.eval()
        sums = dict.fromkeys(("dev_loss", "dev_accuracy", "exit_accuracy", "agreement"), 0.0)
        count = 0
        for batch in self.validation:
            batch = batch.to(device)
            real = batch.target != PAD_ID
            truth = batch.target[real]
            early, last = self.module(batch.source, batch.target_in, real)
            sums["dev_loss"] += float(F.cross_entropy(last.float(), truth, reduction="sum"))
            sums["dev_accuracy"] += float((last.argmax(-1) == truth).sum())
            sums["exit_accuracy"] += float((early.argmax(-1) == truth).sum())
            sums["agreement"] += float((early.argmax(-1) == last.argmax(-1)).sum())
            count += len(truth)
        self.module.train()
        return {name: value / count for name, value in sums.items()}
