"""What trains a corrector: noisy sentences in, clean ones out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gec.errors import ConfigError, ModelError
from gec.models.load import bundle
from gec.models.network.transformer import Transformer, TransformerConfig
from gec.models.training.carry import Carry
from gec.models.training.noisy_batches import Batch, NoisyBatches
from gec.models.training.recipe import Recipe, TrainingRecipe
from gec.models.training.schedule import edit_weight
from gec.models.training.streams import Pair
from gec.models.training.validation import (
    DECODED,
    batches_of_pairs,
    decode,
    validate,
    validation_pairs,
)
from gec.text.subwords import PAD_ID, Subwords


def loss_of(
    model: nn.Module, batch: Batch, training: TrainingRecipe, edit_weight: float
) -> tuple[Tensor, Tensor]:
    """Return (loss, number of target tokens); edited tokens weigh ``edit_weight``, others 1.

    The vocabulary is scored at every edited token and at a random sample of the others; the
    sample's weight is raised by 1/share, so that the loss stays unbiased.
    """
    real = batch.target_out != PAD_ID  # [B, T]
    share = training.kept_sample if torch.is_grad_enabled() else 1.0
    sampled = torch.rand(real.shape, device=real.device) < share
    wanted = real & (batch.edited | sampled)  # [B, T], N of them
    logits = model(batch.source, batch.target_in, wanted).float()  # [N, V]
    edited = batch.edited[wanted]  # [N]
    weight = torch.where(edited, edit_weight, 1.0 / share)
    losses = F.cross_entropy(
        logits,
        batch.target_out[wanted],
        reduction="none",
        label_smoothing=training.label_smoothing,
    )
    # no token at all may be drawn of a small batch: no loss then, not 0 / 0
    return (losses * weight).sum() / weight.sum().clamp_min(1e-6), real.sum()


class Correction:
    """The objective of a correction recipe: noisy sentences in, clean ones out."""

    def __init__(
        self,
        recipe: Recipe,
        packed: Path,
        *,
        seed: int,
        init: str | None = None,
        evaluate: Callable[[Transformer], dict[str, float]] | None = None,
    ) -> None:
        self.recipe, self.packed, self.seed, self.evaluate = recipe, packed, seed, evaluate
        self.subwords = Subwords.load(packed)
        try:
            config = TransformerConfig.from_dict(
                {"vocab_size": len(self.subwords)} | recipe.network
            )
        except ModelError as error:
            raise ConfigError(f"recipe {recipe.name}, [network]: {error}") from error
        self.module, self.config = Transformer(config), config.to_dict()
        if init is not None:
            _start_from(bundle.load(init), self.module, self.subwords, recipe.carry)

    @cached_property
    def _validation(self) -> tuple[list[Pair], list[Batch], list[Batch]]:
        pairs, real = validation_pairs(self.packed, self.recipe, self.subwords)
        return pairs, batches_of_pairs(pairs), batches_of_pairs(real)

    def stream(self, rank: int, starts: Sequence[tuple[int, int]]) -> NoisyBatches:
        """Return the endless noisy batches of a process."""
        return NoisyBatches(self.packed, self.recipe, seed=self.seed, rank=rank, starts=starts)

    def loss(self, model: nn.Module, batch: Batch, share: float) -> tuple[Tensor, Tensor]:
        """Return (loss, number of target tokens) after ``share`` of the budget."""
        training = self.recipe.training
        return loss_of(model, batch, training, edit_weight(share, training))

    def measure(self, device: torch.device) -> dict[str, float]:
        """Return scores on held-out noise, on held-out real pairs if there are any, and decoded."""
        pairs, validation, real = self._validation
        scores = validate(self.module, [b.to(device) for b in validation])
        if real:
            on_pairs = validate(self.module, [b.to(device) for b in real])
            scores |= {f"pairs_{name}": value for name, value in on_pairs.items()}
        scores |= decode(self.module, self.subwords, pairs[:DECODED])
        if self.evaluate is not None:
            scores |= self.evaluate(self.module)
            self.module.train()
        return scores


def _start_from(
    start: bundle.Bundle, module: Transformer, subwords: Subwords, carry: Carry
) -> None:
    begun = start.network.config.to_dict()
    for stack, numbers in (("encoder", carry.encoder), ("decoder", carry.decoder)):
        if numbers:
            begun[f"{stack}_layers"] = len(numbers)
    if begun != module.config.to_dict():
        raise ConfigError(f"bundle {start.name} has another architecture than the recipe")
    if start.subwords != subwords:
        raise ConfigError(
            f"bundle {start.name} has other subwords than the data: prepare it with --subwords"
        )
    module.load_state_dict(carry.of(start.network.state_dict()))
