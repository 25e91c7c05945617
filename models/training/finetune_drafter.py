"""``gec train RECIPE --part drafter``: a block drafter for a decoder fine-tuned to generate.

    RUN/bundle          the verifier that the training left; gains drafter/
    RUN/distilled.tsv   its greedy outputs for some of the training sources
    RUN/drafter         the drafter's run, which goes on where it was saved

The drafter is one of an encoder-decoder (:mod:`gec.models.network.nat`) whose attention to the
source reads the verifier's last states of it, and which may read those of the output, too
(``output_states``). The verifier and the embedding, which is a copy of the verifier's, are not
trained.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from gec.errors import ConfigError, ModelError
from gec.models.load import generation
from gec.models.network.llama import Llama, LlamaConfig
from gec.models.network.nat import NatConfig, NatTransformer
from gec.models.network.transformer import TransformerConfig
from gec.models.training.checkpoint import Progress, mean_weights
from gec.models.training.finetune_data import HELD_OUT, Examples
from gec.models.training.finetune_distilled import distilled, positions, verifier_of
from gec.models.training.finetune_texts import TextRecipe, text_recipe
from gec.models.training.loop import fit
from gec.models.training.objectives import Nat
from gec.models.training.streams import Pair
from gec.models.training.verifier_states import VerifierStates
from gec.text.vocabulary import PAD_ID


@dataclass(frozen=True, slots=True)
class DrafterRun:
    """A recipe with ``[drafter]``, and the folders of its data and its run.

    Raises:
        ConfigError: the recipe has no ``[drafter]``.
    """

    recipe: TextRecipe
    packed: Path
    out: Path
    seed: int = 0

    def __post_init__(self) -> None:
        if self.recipe.drafter is None:
            raise ConfigError(f"recipe {self.recipe.name} has no [drafter]")

    def train(self, budget: float) -> Progress:
        """Distil what is left, train for ``budget`` seconds, put the drafter into the bundle."""
        bundle = verifier_of(self.out)
        pairs = distilled(self.recipe, bundle, self.packed, self.out, self.seed)

        def objective() -> Nat:
            verifier = generation.load(str(self.out / "bundle")).network
            assert isinstance(verifier, Llama)
            drafter, recipe = self._network(verifier, pairs), self.recipe
            assert recipe.drafter is not None
            reader = VerifierStates(
                verifier, recipe.distill.precision, reads_output=recipe.drafter.output_states
            )
            dev = self._dev(verifier.config)
            return Nat(pairs, dev, recipe.schedule, self.seed, drafter, recipe.drafter, reader)

        progress = fit(
            objective,
            self.recipe.schedule,
            self.out / "drafter",
            budget=budget,
            resume=True,
            seed=self.seed,
            snapshots=self.recipe.schedule.snapshots,
        )
        assert isinstance(bundle.network, Llama)
        nat = self._network(bundle.network, pairs)
        nat.load_state_dict(mean_weights(self.out / "drafter"))
        generation.save_drafter(nat, self.out / "bundle", bundle.vocabulary)
        return progress

    def _dev(self, config: LlamaConfig) -> list[Pair]:
        held_out = Examples.load(self.packed / HELD_OUT)
        pairs = zip(held_out.sources, held_out.targets, strict=True)
        return [pair for pair in pairs if max(map(len, pair)) < positions(config) - 1]

    def _network(self, verifier: Llama, pairs: Sequence[Pair]) -> NatTransformer:
        """Return a drafter, untrained but for its embedding and what is made of it."""
        recipe, theirs = self.recipe.drafter, verifier.config
        assert recipe is not None
        said = _frequent(pairs, recipe.output_ids, theirs.eos_id) if recipe.output_ids else ()
        shape = {
            "vocab_size": theirs.vocab_size,
            "width": theirs.width,
            "heads": theirs.heads,
            "ffn_width": theirs.ffn_width,
            "encoder_layers": 1,  # it has none: the verifier's states stand for one
            "decoder_layers": 1,
            "max_positions": positions(theirs),
            "positions": "learned",
            "activation": "gelu",
            "tie_embeddings": not said,
        }
        ids = {"pad_id": PAD_ID, "bos_id": theirs.separator[-1], "eos_id": theirs.eos_id}
        try:
            network = NatTransformer(
                TransformerConfig.from_dict(shape | recipe.network | ids),
                NatConfig(
                    block=recipe.block,
                    causal_prefix=True,
                    shared_encoder=True,
                    output_states=recipe.output_states,
                    output_ids=said,
                ),
            )
        except ModelError as error:
            raise ConfigError(f"recipe {self.recipe.name}, [drafter]: {error}") from error
        with torch.no_grad():
            network.embedding.weight.copy_(verifier.embedding.weight)
            if said:
                network.output.weight.copy_(verifier.embedding.weight[list(said)])
            network.embedding.weight[PAD_ID].zero_()
        network.embedding.requires_grad_(False)
        network.output.requires_grad_(False)
        return network


def _frequent(pairs: Sequence[Pair], count: int, eos_id: int) -> tuple[int, ...]:
    """Return the most frequent ids of the targets, then of the sources, and EOS, in order."""
    written = Counter(token for _, target in pairs for token in target)
    read = Counter(token for source, _ in pairs for token in source)
    ordered = sorted({*written, *read} - {eos_id}, key=lambda i: (-written[i], -read[i], i))
    return tuple(sorted([eos_id, *ordered[: count - 1]]))


def train(recipe: Path, packed: Path, out: Path, *, budget: float, seed: int = 0) -> Progress:
    """Train the drafter of a recipe's run; see :class:`DrafterRun`."""
    return DrafterRun(text_recipe(recipe), packed, out, seed).train(budget)
