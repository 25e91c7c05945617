"""What drafts for a fine-tuned decoder is trained on: the decoder's own outputs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from gec.errors import ConfigError, DataError
from gec.models.load import generation
from gec.models.training.distill import distill
from gec.models.training.finetune_data import Examples
from gec.models.training.finetune_texts import TextRecipe
from gec.models.training.parallel_corpora import encoded
from gec.models.training.streams import Pair


def verifier_of(out: Path) -> generation.GenerationBundle:
    """Return the bundle of a run; ConfigError if its verifier has not been trained."""
    if not (out / "bundle" / "config.json").is_file():
        raise ConfigError(f"{out} has no bundle yet: train the verifier first")
    return generation.load(str(out / "bundle"))


def distilled(
    recipe: TextRecipe, bundle: generation.GenerationBundle, packed: Path, out: Path, seed: int
) -> list[Pair]:
    """Return the verifier's outputs for some of the training sources, as ids.

    They lie in ``out / "distilled.tsv"``; what is missing there is decoded. All that drafts is
    trained on the same.

    Raises:
        DataError: the verifier writes nothing.
    """
    examples = Examples.load(packed / "examples.npz")
    chosen = random.Random(seed).sample(range(len(examples)), len(examples))
    settings = recipe.distill
    texts = [bundle.vocabulary.decode(examples.sources[i]) for i in chosen[: settings.sources]]
    path = out / "distilled.tsv"
    distill(
        bundle,
        [text for text in texts if text],
        path,
        beam_size=settings.beam_size,
        batch_size=settings.batch_size,
        precision=settings.precision,
        resume=True,
    )
    pairs = encoded(path, bundle.vocabulary, positions(bundle.network.config) - 2)
    if not pairs:
        raise DataError(f"{path} holds no pair to train on: the verifier writes nothing")
    return pairs


def positions(config: Any) -> int:
    """Return how many positions a source, or an output, has: half of the decoder's."""
    return int(config.max_positions) // 2
