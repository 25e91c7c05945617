"""Fine-tuning recipes: the pretrained network, the schedule and the loss."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gec.errors import ConfigError
from gec.models.fetch.store import Pretrained
from gec.models.training.carry import Carry
from gec.models.training.recipe import build, parse_duration, read_layers


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRecipe:
    """Schedule and loss; see the comments of ``en_large.toml``."""

    batch_tokens: int
    widths: tuple[int, ...]
    learning_rate: float
    warmup_steps: int
    decay_share: float
    weight_decay: float
    gradient_clip: float
    edit_weight: float
    kept_sample: float
    save_every: str
    validate_every: str = "30m"
    compile: bool = True

    def __post_init__(self) -> None:
        if not self.widths or list(self.widths) != sorted(set(self.widths)):
            raise ConfigError("widths must be numbers of tokens, each above the one before")
        if self.batch_tokens < self.widths[-1]:
            raise ConfigError("batch_tokens must be no less than the largest of the widths")
        if not all(type(width) is int and width > 0 for width in self.widths):
            raise ConfigError(f"widths must be whole numbers of tokens, not {list(self.widths)}")
        if not 0 < self.kept_sample <= 1 or not 0 < self.decay_share <= 1:
            raise ConfigError("kept_sample and decay_share must be above 0 and at most 1")
        if not parse_duration(self.validate_every) > 0:
            raise ConfigError(f"validate_every must be above 0, not {self.validate_every!r}")
        if not self.learning_rate > 0 or not self.edit_weight > 0:
            raise ConfigError("learning_rate and edit_weight must be above 0")

    def rate(self, step: int, share: float) -> float:
        """Return the learning rate at a step, ``share`` (0 to 1) of the budget being spent."""
        warm = min(1.0, (step + 1) / max(1, self.warmup_steps))
        return self.learning_rate * warm * min(1.0, max(0.0, (1 - share) / self.decay_share))


def training_recipe(path: Path) -> TrainingRecipe:
    """Read a recipe's ``[training]``; what does not fit raises ConfigError."""
    recipe: TrainingRecipe = build(
        path, TrainingRecipe, read_layers(path).get("training"), "training"
    )
    return recipe


def pretrained_of(path: Path) -> Pretrained:
    """Read a recipe's ``[pretrained]``; what does not fit raises ConfigError."""
    source: Pretrained = build(path, Pretrained, read_layers(path).get("pretrained"), "pretrained")
    return source


def carry_of(path: Path) -> Carry:
    """Read a recipe's ``[carry]``, if it has one; what does not fit raises ConfigError."""
    found: Carry = build(path, Carry, read_layers(path).get("carry", {}), "carry")
    return found
