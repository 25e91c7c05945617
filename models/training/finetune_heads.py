"""``gec train RECIPE --part heads``: extra heads on a fine-tuned decoder, for blockwise decoding.

    RUN/bundle          the verifier that the training left; gains heads.safetensors
    RUN/distilled.tsv   its greedy outputs for some of the training sources
    RUN/heads           the heads' run, which goes on where it was saved

The verifier is not trained: it reads each pair once (:mod:`gec.models.training.verifier_states`).
"""

from __future__ import annotations

from pathlib import Path

from gec.errors import ConfigError
from gec.models.load import generation
from gec.models.network.heads import Heads
from gec.models.network.llama import Llama
from gec.models.training.checkpoint import Progress, mean_weights
from gec.models.training.finetune_data import HELD_OUT, Examples
from gec.models.training.finetune_distilled import distilled, positions, verifier_of
from gec.models.training.finetune_texts import text_recipe
from gec.models.training.loop import fit
from gec.models.training.objectives import FrozenHeads, HeadsObjective
from gec.models.training.verifier_states import VerifierStates


def train(recipe: Path, packed: Path, out: Path, *, budget: float, seed: int = 0) -> Progress:
    """Train the heads of a recipe's run for ``budget`` seconds; put them into the bundle.

    Raises:
        ConfigError: the recipe has no ``[heads]``, or would train the verifier with them.
    """
    settings = text_recipe(recipe)
    shape = settings.heads
    if shape is None:
        raise ConfigError(f"recipe {settings.name} has no [heads]")
    if shape.joint:
        raise ConfigError(f"recipe {settings.name}: heads of a fine-tuned decoder are not joint")
    bundle = verifier_of(out)
    pairs = distilled(settings, bundle, packed, out, seed)
    config = bundle.network.config
    held_out, most = Examples.load(packed / HELD_OUT), positions(config) - 1
    dev = [
        (source, target)
        for source, target in zip(held_out.sources, held_out.targets, strict=True)
        if max(len(source), len(target)) < most
    ]

    def objective() -> HeadsObjective:
        network = verifier_of(out).network
        assert isinstance(network, Llama)
        reader = VerifierStates(network, settings.distill.precision, reads_output=True)
        heads = Heads(shape.count, network.config.width, shape.hidden)
        trainee = FrozenHeads(reader, network, heads)
        return HeadsObjective(pairs, dev, settings.schedule, seed, trainee)

    progress = fit(
        objective,
        settings.schedule,
        out / "heads",
        budget=budget,
        resume=True,
        seed=seed,
        snapshots=settings.schedule.snapshots,
    )
    heads = Heads(shape.count, config.width, shape.hidden)
    weights = mean_weights(out / "heads")
    heads.load_state_dict({name.removeprefix("heads."): x for name, x in weights.items()})
    generation.save_heads(heads, out / "bundle")
    return progress
