"""Checkpoints: what a run saves of itself, how it goes on from there, and the weights in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gec.errors import ConfigError, DataError
from gec.models.load.weights import mean_of, reason
from gec.models.training.processes import Ranks


@dataclass(slots=True)
class Progress:
    """Where a run stands; saved in the checkpoint."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0
    positions: tuple[tuple[int, int], ...] = ()
    history: list[dict[str, float]] = field(default_factory=list)


def save_checkpoint(
    ranks: Ranks,
    path: Path,
    module: nn.Module,
    optimizers: list[torch.optim.Optimizer],
    config: dict[str, Any],
    progress: Progress,
) -> None:
    """Replace the checkpoint; the first process writes it, all of them call.

    Raises:
        DataError: in every process, if it cannot be written; the one before is kept.
    """
    state: dict[str, Any] = {
        "config": config,
        "model": module.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in optimizers],
        "progress": {name: getattr(progress, name) for name in Progress.__slots__},
        "torch_rng": torch.get_rng_state(),
    }
    failed: Exception | None = None
    if ranks.first:
        part = path.with_suffix(".part")
        try:
            torch.save(state, part)
            part.replace(path)
        except (OSError, RuntimeError) as error:  # a full disk is a RuntimeError of torch's writer
            part.unlink(missing_ok=True)
            failed = error
    if ranks.any(failed is not None):  # all wait here until it is saved
        failed = failed or RuntimeError("see what the first process says")
        raise DataError(f"cannot save {path}, what is there is kept: {reason(failed)}") from failed


def load_checkpoint(
    path: Path,
    module: nn.Module,
    optimizers: list[torch.optim.Optimizer],
    config: dict[str, Any],
) -> Progress:
    """Put a checkpoint's weights and states in their places; return where the run stood.

    Raises:
        DataError: the file cannot be read.
        ConfigError: it holds another architecture or optimizer than the recipe's.
    """
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        saved_config, saved_optimizers = state["config"], state["optimizers"]
        weights, rng, progress = state["model"], state["torch_rng"], Progress(**state["progress"])
    except Exception as error:  # whatever a broken file makes torch, or the dictionary, raise
        raise DataError(f"cannot read checkpoint {path}: {reason(error)}") from error
    if saved_config != config:
        raise ConfigError(f"{path} holds another architecture than the recipe: {saved_config}")
    module.load_state_dict(weights)
    try:
        for optimizer, saved in zip(optimizers, saved_optimizers, strict=True):
            optimizer.load_state_dict(saved)
    except (ValueError, KeyError) as error:
        raise ConfigError(f"{path} was made with another optimizer than the recipe's") from error
    torch.set_rng_state(rng)
    return progress


def keep_snapshot(checkpoint: Path, step: int, count: int) -> None:
    """Copy the checkpoint's weights to ``step-N.ckpt`` and leave the last ``count`` of those."""
    state = torch.load(checkpoint, map_location="cpu", weights_only=True)
    part = checkpoint.with_name("snapshot.part")
    torch.save({name: state[name] for name in ("config", "model")}, part)
    part.replace(checkpoint.with_name(f"step-{step:08d}.ckpt"))
    for old in sorted(checkpoint.parent.glob("step-*.ckpt"))[:-count]:
        old.unlink()


def mean_weights(run: Path) -> dict[str, Tensor]:
    """Return the mean of a run's snapshots, or the weights of its last checkpoint.

    Vaswani et al. 2017, section 6.1, average the last checkpoints.
    """
    paths = sorted(run.glob("step-*.ckpt")) or [run / "last.ckpt"]
    try:
        states = [torch.load(p, map_location="cpu", weights_only=True)["model"] for p in paths]
    except Exception as error:  # whatever a missing or broken file makes torch raise
        raise DataError(f"cannot read the weights in {run}: {reason(error)}") from error
    return mean_of(states)
