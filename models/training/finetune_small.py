"""``gec train RECIPE --part small``: smaller models that draft for a fine-tuned decoder.

    RUN/bundle          the verifier that the training left; gains smaller/NAME/
    RUN/distilled.tsv   its greedy outputs for some of the training sources
    RUN/small/NAME      the runs, which go on where they were saved

A smaller model begins as some of the verifier's layers and is fine-tuned on the verifier's own
outputs (prediction alignment; Kim et al. 2023, *Speculative Decoding with Big Little Decoder*,
section 3.5.1). The embedding is the verifier's and stays so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from gec.errors import ConfigError
from gec.models.load import generation
from gec.models.network.llama import Llama
from gec.models.training.carry import Carry
from gec.models.training.finetune import Progress, fit
from gec.models.training.finetune_data import Examples
from gec.models.training.finetune_distilled import distilled, verifier_of
from gec.models.training.finetune_network import Trainer
from gec.models.training.finetune_texts import text_recipe
from gec.models.training.streams import Pair

_HELD_OUT = 20
"""One of so many pairs is validated on."""


def train(recipe: Path, packed: Path, out: Path, *, budget: float, seed: int = 0) -> Progress:
    """Train the smaller models of a recipe's run, each for its layers' share of ``budget`` seconds.

    Returns:
        The sums of their steps, seconds and tokens.

    Raises:
        ConfigError: the recipe has no ``[small.NAME]``, or the verifier no such layer.
    """
    settings = text_recipe(recipe)
    if not settings.small:
        raise ConfigError(f"recipe {settings.name} has no [small.NAME]")
    examples, held_out = _examples(distilled(settings, verifier_of(out), packed, out, seed))
    bundle, done = verifier_of(out), Progress()  # again: decoding may have changed the network
    verifier = bundle.network
    assert isinstance(verifier, Llama)
    every = sum(len(small.layers) for small in settings.small.values())
    for name, small in settings.small.items():
        if missing := [n for n in small.layers if not 0 <= n < verifier.config.layers]:
            raise ConfigError(f"[small.{name}] layers: there is no layer {missing[0]}")
        config = replace(verifier.config, layers=len(small.layers))
        state = Carry(layers=small.layers).of(_state(verifier))
        rate = small.learning_rate or settings.training.learning_rate
        trainer = Trainer(config, state, replace(settings.training, learning_rate=rate))
        share = budget * len(small.layers) / every
        folder = out / "small" / name
        folder.mkdir(parents=True, exist_ok=True)
        progress = fit(trainer, examples, [1.0], held_out, folder, share)
        network = Llama.of(config, trainer.state()).eval()
        generation.save_smaller(network, name, out / "bundle", bundle.vocabulary)
        done = _sum(done, progress)
        if progress.seconds < share:
            break  # it was asked to stop, and has saved
    return done


def _state(network: Llama) -> dict[str, Tensor]:
    return {name: x for name, x in network.state_dict().items() if name != "output.weight"}


def _examples(pairs: Sequence[Pair]) -> tuple[Examples, Examples | None]:
    """Return the pairs to train on, and those to validate on, if there are enough of them."""
    train, held_out = Examples(["distilled"]), Examples(["distilled"])
    for number, (source, target) in enumerate(pairs):
        part = held_out if number % _HELD_OUT == _HELD_OUT - 1 else train
        part.add(0, source, target, [True] * (len(target) + 1))
    return train, held_out if len(held_out) else None


def _sum(one: Progress, other: Progress) -> Progress:
    return Progress(one.step + other.step, one.seconds + other.seconds, one.tokens + other.tokens)
