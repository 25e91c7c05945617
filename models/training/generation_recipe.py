"""Recipes that generate: translation, summarization, simplification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from gec.decoding.decoder import LengthLimit
from gec.errors import ConfigError
from gec.models.load.bundle import read_config
from gec.models.load.places import find
from gec.models.training.recipe import build, parse_duration, read_layers


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """One corpus: ``source`` and ``target`` files, or columns of ``source`` without a ``target``.

    ``columns`` counts from 0. Lines whose last column begins with ``skip`` are left out. A file of
    JSON Lines has ``fields`` instead. ``tokenized`` text (Penn Treebank) is written as people
    write; ``changed`` leaves out pairs whose source is the target. Only the ``first_lines`` of a
    file are read; of the pairs in them, mixed, ``limit`` are taken.
    """

    source: str
    licence: str
    target: str | None = None
    columns: tuple[int, int] = (0, 1)
    skip: str | None = None
    limit: int | None = None
    first_lines: int | None = None
    fields: tuple[str, str] | None = None
    tokenized: bool = False
    changed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationData:
    """What is trained on, validated and held out.

    ``vocabulary`` is how many subwords are learned, none for a model that starts as a corrector;
    ``longest`` is the most tokens of a source or a target; ``test`` is packed as it is, and none of
    its sources, nor of ``dev``'s, is trained on.
    """

    longest: int
    vocabulary: int | None = None
    train: tuple[Texts, ...]
    dev: tuple[Texts, ...]
    test: tuple[Texts, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSchedule:
    """As in a correction recipe; ``snapshots`` are the saved weights that are averaged at the end.

    The papers' peak learning rates and dropout are for WMT; small data wants more dropout.
    """

    batch_tokens: int = 4096
    optimizer: str = "adamw"
    learning_rate: float = 5e-4
    warmup_share: float = 0.05
    decay_share: float = 0.5
    weight_decay: float = 0.01
    gradient_clip: float = 3.0
    label_smoothing: float = 0.1
    precision: str = "bf16-mixed"
    validate_every: str = "5m"
    save_every: str = "2m"
    snapshots: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class DrafterRecipe:
    """The NAT drafter; blocks in training have from ``smallest_block`` to ``block`` tokens.

    ``blocks`` is how many a target gives in a step, each behind a prefix of its own;
    ``causal_prefix``, ``shared_encoder`` and ``output_states``: see
    :class:`gec.models.network.nat_config.NatConfig`; ``output_ids`` is how many ids a fine-tuned
    decoder's drafter can say, the most frequent ones, None: all.
    ``glancing``: share of the wrongly predicted tokens that is shown, at the beginning and at the
    end (Qian et al. 2021). ``network`` changes settings of the verifier's.
    """

    block: int = 25
    smallest_block: int = 5
    blocks: int = 1
    causal_prefix: bool = False
    shared_encoder: bool = False
    output_states: bool = False
    output_ids: int | None = None
    glancing: tuple[float, float] = (0.5, 0.3)
    network: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.blocks < 1:
            raise ConfigError(f"blocks must be at least 1, not {self.blocks}")
        if self.output_ids is not None and self.output_ids < 2:
            raise ConfigError(f"output_ids must be at least 2, not {self.output_ids}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadsRecipe:
    """``count`` extra heads (k = count + 1); ``joint`` trains the verifier with them."""

    count: int = 9
    hidden: int = 512
    joint: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DistillRecipe:
    """``beam_size`` 1 is greedy; ``calibration`` sources align the smaller models.

    ``sources`` is how many training sources the teacher decodes, all of them if it is None;
    ``precision`` what it decodes in on a CPU: fp32, or int8, in which few outputs differ.
    """

    beam_size: int = 5
    batch_size: int = 64
    sources: int | None = None
    precision: str = "fp32"
    calibration: int = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRecipe:
    """A recipe for translation, summarization or simplification.

    Attributes:
        start: a corrector's bundle whose vocabulary and weights the first model begins with; of
            its network only the dropout can be changed.
        limit: of the outputs' length: ``ratio`` times the source's tokens and ``extra``
            (:class:`gec.decoding.decoder.LengthLimit`), if the usual one does not fit.
        split: the bundle cuts lines into sentences.
        budget: training time of teacher, verifier, drafter and heads; a stage not named is left
            out, and without a teacher the verifier is trained on the data as they are.
        stages: settings of [schedule] that are others for a stage.
        early_exit: the verifier is trained to speak behind this decoder layer, too.
        small: smaller models that draft, by name; settings over the verifier's network. Each is
            trained for the budget of ``small`` as the verifier is, then for that of ``align`` on
            the verifier's own greedy outputs (prediction alignment, Kim et al. 2023, 3.5.1).
    """

    name: str
    task: str
    source_language: str
    target_language: str
    data: GenerationData
    budget: dict[str, str]
    network: dict[str, Any] = field(default_factory=dict)
    start: str | None = None
    schedule: GenerationSchedule = GenerationSchedule()
    stages: dict[str, Any] = field(default_factory=dict)
    drafter: DrafterRecipe = DrafterRecipe()
    heads: HeadsRecipe = HeadsRecipe()
    distill: DistillRecipe = DistillRecipe()
    limit: dict[str, Any] = field(default_factory=dict)
    split: bool = True
    early_exit: int | None = None
    small: dict[str, Any] = field(default_factory=dict)

    def schedule_of(self, stage: str) -> GenerationSchedule:
        """Return a stage's schedule; settings that do not exist raise ConfigError."""
        try:
            return replace(self.schedule, **self.stages.get(stage, {}))
        except TypeError as error:
            raise ConfigError(f"recipe {self.name}, [stages.{stage}]: {error}") from error


def load_generation_recipe(path: Path) -> GenerationRecipe:
    """Read a recipe whose task is not correction; errors as for the others."""
    raw = read_layers(path)
    raw["data"] = data_of(path, raw.get("data"), GenerationData)
    for name, kind in _TABLES.items():
        if name in raw:
            raw[name] = build(path, kind, raw[name], name)
    recipe: GenerationRecipe = _started(path, build(path, GenerationRecipe, raw, "top level"))
    _check_budget(path, recipe)
    _check_numbers(path, recipe)
    _check_small(path, recipe)
    for stage in recipe.stages:
        recipe.schedule_of(stage)
    return recipe


_TABLES = {
    "schedule": GenerationSchedule,
    "drafter": DrafterRecipe,
    "heads": HeadsRecipe,
    "distill": DistillRecipe,
}
_BUDGETED = ("teacher", "verifier", "drafter", "heads", "small", "align")


Data = TypeVar("Data", bound=GenerationData)


def data_of(path: Path, data: Any, kind: type[Data]) -> Data:
    """Build ``[data]`` with its lists of corpora; what does not fit raises ConfigError."""
    for part in ("train", "dev", "test"):
        corpora = data.get(part, []) if isinstance(data, dict) else None
        if not isinstance(data, dict) or not isinstance(corpora, list):
            raise ConfigError(f"{path}: no list [[data.{part}]]")
        if not corpora and part != "test":
            raise ConfigError(f"{path}: no [[data.{part}]]")
        data[part] = [build(path, Texts, texts, f"data.{part}") for texts in corpora]
    found: Data = build(path, kind, data, "data")
    return found


def _check_budget(path: Path, recipe: GenerationRecipe) -> None:
    """Raise ConfigError if the times are of no stages, are no times, or lack the verifier's."""
    for stage, time in recipe.budget.items():
        if stage not in _BUDGETED:
            raise ConfigError(f"{path}: [budget] {stage} is none of {', '.join(_BUDGETED)}")
        parse_duration(time)
    if "verifier" not in recipe.budget:
        raise ConfigError(f"{path}: [budget] names no verifier")


def _check_numbers(path: Path, recipe: GenerationRecipe) -> None:
    """Raise ConfigError if the early exit, the distilled sources or the length limit is off."""
    layers, exit_layer = recipe.network.get("decoder_layers", 6), recipe.early_exit
    if exit_layer is not None and not (type(exit_layer) is int and 1 <= exit_layer < layers):
        raise ConfigError(
            f"{path}: early_exit must be a decoder layer from 1 to {layers - 1}, not {exit_layer!r}"
        )
    if (sources := recipe.distill.sources) is not None and not (
        type(sources) is int and sources >= 1
    ):
        raise ConfigError(f"{path}: [distill] sources must be 1 or more, not {sources!r}")
    if recipe.drafter.output_ids is not None:
        raise ConfigError(f"{path}: [drafter] output_ids is for fine-tuned decoders: leave it out")
    check_limit(path, recipe.limit)


def check_limit(path: Path, limit: Mapping[str, Any]) -> None:
    """Raise ConfigError if a limit of the outputs' length makes no sense."""
    try:
        LengthLimit(**limit)
    except (TypeError, ConfigError) as error:
        raise ConfigError(f"{path}: limit: {error}") from error


def _check_small(path: Path, recipe: GenerationRecipe) -> None:
    """Raise ConfigError if the smaller models do not fit the times that are given for them."""
    for name, settings in recipe.small.items():
        if not isinstance(settings, dict):
            raise ConfigError(f"{path}: [small.{name}] must be a table of network settings")
    if bool(recipe.small) != ("small" in recipe.budget):
        raise ConfigError(f"{path}: [small.NAME] and [budget] small need each other")
    if "align" in recipe.budget and not recipe.small:
        raise ConfigError(f"{path}: [budget] align needs a [small.NAME] to align")


def _started(path: Path, recipe: GenerationRecipe) -> GenerationRecipe:
    """Return a recipe with the network of the bundle that it starts from, if it does."""
    if recipe.start is None:
        if recipe.data.vocabulary is None or not recipe.network:
            raise ConfigError(f"{path}: [data] vocabulary and [network] are missing")
        return recipe
    if recipe.data.vocabulary is not None or recipe.network.keys() - {"dropout"}:
        raise ConfigError(
            f"{path}: with start, [data] vocabulary and all of [network] but dropout are "
            f"those of {recipe.start}"
        )
    config = read_config(find(recipe.start))
    network = config["network"]
    if config.get("task") != "gec" or "tokenizer" in config:
        raise ConfigError(f"{path}: start must be a corrector that was trained here")
    return replace(recipe, network=network | recipe.network)
