"""Fine-tuning a pretrained decoder to generate: its recipes, its examples, the bundle of a run.

The texts are those of :mod:`gec.models.training.parallel_corpora`; they are packed as corrections
are (:mod:`gec.models.training.finetune_data`), with every target token marked as edited: the loss
is of all of them, and ``edited_loss`` is the only one that a run has to show.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from gec.errors import ConfigError, DataError
from gec.models.fetch.store import Pretrained
from gec.models.load import generation
from gec.models.network.llama import Llama, LlamaConfig
from gec.models.training.carry import Carry
from gec.models.training.finetune_data import HELD_OUT, Examples
from gec.models.training.finetune_recipe import (
    TrainingRecipe,
    carry_of,
    pretrained_of,
    training_recipe,
)
from gec.models.training.generation_recipe import (
    DistillRecipe,
    DrafterRecipe,
    GenerationData,
    GenerationSchedule,
    HeadsRecipe,
    Texts,
    check_limit,
    data_of,
)
from gec.models.training.parallel_corpora import Corpora
from gec.models.training.recipe import build, read_layers
from gec.text.byte_pairs import BytePairs
from gec.text.vocabulary import PretrainedVocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class TextData(GenerationData):
    """``cut``: of a source of more than ``longest`` tokens these are read; else it is left out."""

    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallRecipe:
    """A smaller model: ``layers`` are numbers of the verifier's layers that it begins as.

    ``learning_rate`` is that of ``[training]`` if it is None: what has lost most of its layers has
    more to learn than the verifier had.
    """

    layers: tuple[int, ...]
    learning_rate: float | None = None

    def __post_init__(self) -> None:
        if not self.layers or any(type(number) is not int for number in self.layers):
            raise ConfigError("a smaller model needs layers, by their numbers")
        if self.learning_rate is not None and not self.learning_rate > 0:
            raise ConfigError(f"learning_rate must be above 0, not {self.learning_rate}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRecipe:
    """A recipe that fine-tunes a decoder to generate; see the comments of ``titles_deep.toml``.

    ``limit`` and ``split`` are a bundle's; ``drafter``, ``heads`` and the models of ``small``, by
    name, are trained by ``--part drafter``, ``heads`` and ``small``, the first two by their
    ``schedule``, all on what the verifier decodes for them (``distill``); all as of
    :class:`gec.models.training.generation_recipe.GenerationRecipe`.
    """

    name: str
    task: str
    method: str
    source_language: str
    target_language: str
    pretrained: Pretrained
    data: TextData
    training: TrainingRecipe
    limit: dict[str, Any] = field(default_factory=dict)
    split: bool = True
    drafter: DrafterRecipe | None = None
    heads: HeadsRecipe | None = None
    small: dict[str, SmallRecipe] = field(default_factory=dict)
    schedule: GenerationSchedule = field(default_factory=GenerationSchedule)
    distill: DistillRecipe = field(default_factory=DistillRecipe)
    carry: Carry = field(default_factory=Carry)

    def about(self, config: LlamaConfig) -> dict[str, Any]:
        """Return the bundle's ``config.json``.

        Where training cut sources, the bundle reads as many tokens as the network has room for.
        """
        longest = {} if self.data.cut else {"longest": self.data.longest}
        return {
            "name": self.name,
            "task": self.task,
            "source_language": self.source_language,
            "target_language": self.target_language,
            "network": config.to_dict(),
            "split": self.split,
            **longest,
            **({"limit": self.limit} if self.limit else {}),
        }


_TABLES = {
    "drafter": DrafterRecipe,
    "heads": HeadsRecipe,
    "schedule": GenerationSchedule,
    "distill": DistillRecipe,
}


def text_recipe(path: Path) -> TextRecipe:
    """Read a recipe; what does not fit raises ConfigError."""
    raw = read_layers(path)
    parts: dict[str, Any] = {
        "pretrained": pretrained_of(path),
        "data": data_of(path, raw.get("data"), TextData),
        "training": training_recipe(path),
        "carry": carry_of(path),
    }
    for name, kind in _TABLES.items():
        if name in raw:
            parts[name] = build(path, kind, raw[name], name)
    if "small" in raw:
        tables = raw["small"] if isinstance(raw["small"], dict) else {}
        parts["small"] = {
            name: build(path, SmallRecipe, table, f"small.{name}") for name, table in tables.items()
        }
    recipe: TextRecipe = build(path, TextRecipe, raw | parts, "top level")
    if recipe.task not in generation.TASKS:
        known = ", ".join(generation.TASKS)
        raise ConfigError(f"{path}: task must be gec or one of {known}, not {recipe.task!r}")
    if recipe.data.vocabulary is not None:
        raise ConfigError(f"{path}: [data] vocabulary is the pretrained network's: leave it out")
    check_limit(path, recipe.limit)
    return recipe


def prepare(recipe: TextRecipe, data_dir: Path, out: Path, words: BytePairs, longest: int) -> None:
    """Read, clean and encode the recipe's texts.

    Writes ``examples.npz``, ``held_out.npz`` with the pairs of ``dev``, which are validated on, and
    ``provenance.json``.

    Args:
        longest: the most ids of source and target together.

    Raises:
        DataError: a corpus is missing or broken, or there is no pair.
    """
    data, vocabulary = recipe.data, PretrainedVocabulary(words)
    corpora = Corpora.read(data, data_dir)
    train = _encoded(data.train, corpora.train, data, vocabulary, longest)
    held_out = _encoded(data.dev, corpora.dev, data, vocabulary, longest)
    if not train or not held_out:
        raise DataError(f"no pair of at most {longest} tokens to train on, or none to validate on")
    out.mkdir(parents=True, exist_ok=True)
    train.save(out / "examples.npz")
    held_out.save(out / HELD_OUT)
    vocabulary.save(out)
    text = json.dumps(corpora.provenance, indent=1)
    (out / "provenance.json").write_text(text + "\n", encoding="utf-8")


def _encoded(
    texts: Sequence[Texts],
    corpora: Sequence[Sequence[tuple[str, str]]],
    data: TextData,
    vocabulary: PretrainedVocabulary,
    longest: int,
) -> Examples:
    """Return pairs as ids, a part a corpus; say how many are too long."""
    examples, found = Examples([one.source for one in texts]), 0
    for number, pairs in enumerate(corpora):
        for source, target in pairs:
            ids, wanted = vocabulary.encode(source), vocabulary.encode(target)
            if data.cut:
                ids = ids[: data.longest]
            if len(ids) <= data.longest and len(ids) + len(wanted) <= longest:
                examples.add(number, ids, wanted, [True] * (len(wanted) + 1))
        found += len(pairs)
    if long := found - len(examples):
        print(f"{long} pairs that are too long left out", file=sys.stderr)
    return examples


def save_bundle(
    recipe: TextRecipe,
    config: LlamaConfig,
    state: Mapping[str, Tensor],
    words: BytePairs,
    folder: Path,
) -> None:
    """Write the bundle of ``gec generate`` with the weights of a run."""
    network = Llama.of(config, state).eval()
    vocabulary = PretrainedVocabulary(words)
    made = generation.GenerationBundle(recipe.name, recipe.about(config), network, vocabulary)
    generation.save(made, folder)
