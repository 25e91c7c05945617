"""The schedule of a run: a trapezoid over its time, and the optimizers that follow it."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import nn

from gec.errors import ConfigError
from gec.models.training.recipe import TrainingRecipe


class Schedule(Protocol):
    """What :func:`fit` reads of a recipe: see TrainingRecipe in gec.models.training.recipe."""

    @property
    def optimizer(self) -> str: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def warmup_share(self) -> float: ...
    @property
    def decay_share(self) -> float: ...
    @property
    def weight_decay(self) -> float: ...
    @property
    def gradient_clip(self) -> float: ...
    @property
    def precision(self) -> str: ...
    @property
    def validate_every(self) -> str: ...
    @property
    def save_every(self) -> str: ...


def learning_rate(share: float, training: Schedule) -> float:
    """Return the learning rate after ``share`` (0 to 1) of the budget."""
    warm = min(1.0, (share + 1e-4) / max(training.warmup_share, 1e-9))
    return training.learning_rate * min(warm, _decay(share, training))


def edit_weight(share: float, training: TrainingRecipe) -> float:
    """Return the loss weight of edited tokens after ``share`` of the budget."""
    end = training.edit_weight_end
    return end + (training.edit_weight - end) * _decay(share, training)


def _decay(share: float, training: Schedule) -> float:
    """Return 1 before the last ``decay_share`` of the budget, then linearly down to 0."""
    return min(1.0, max(0.0, 1.0 - share) / max(training.decay_share, 1e-9))


def make_optimizers(model: nn.Module, training: Schedule) -> list[torch.optim.Optimizer]:
    """Return Muon for the layers' matrices (Jordan 2024) and AdamW for the rest, or AdamW alone."""
    if training.optimizer not in ("muon", "adamw"):
        raise ConfigError(f"unknown optimizer {training.optimizer!r}, expected muon or adamw")
    named = {id(p): (name, p) for name, p in model.named_parameters() if p.requires_grad}.values()
    muon = training.optimizer == "muon"
    matrices = [p for name, p in named if muon and p.ndim == 2 and "coder." in name]
    taken = {id(p) for p in matrices}
    rest = [p for _, p in named if id(p) not in taken]
    lr, decay = training.learning_rate, training.weight_decay
    adamw = torch.optim.AdamW(rest, lr=lr, betas=(0.9, 0.98), weight_decay=decay)
    if not matrices:
        return [adamw]
    return [
        adamw,
        torch.optim.Muon(matrices, lr=lr, weight_decay=decay, adjust_lr_fn="match_rms_adamw"),
    ]
