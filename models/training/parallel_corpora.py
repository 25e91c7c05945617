"""Source and target texts: recipes that generate, ``gec data prepare`` for them, batches.

A packed folder holds ``train.tsv``, ``dev.tsv`` and ``test.tsv`` (source TAB target, a pair a line,
no pair of dev or test in train), ``tokenizer.json`` and ``provenance.json``.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from gec.decoding.decoder import LengthLimit
from gec.errors import ConfigError, DataError
from gec.models.load.bundle import find, read_config
from gec.models.training.data import open_text
from gec.models.training.pair_formats import detokenized, json_pairs
from gec.models.training.recipe import build, parse_duration, read_layers
from gec.text.vocabulary import (
    BOS_ID,
    EOS_ID,
    PAD_ID,
    CorrectorVocabulary,
    OwnVocabulary,
    TextCodec,
    Vocabulary,
)

Pair = tuple[list[int], list[int]]
"""Token ids of a source and a target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """One corpus: ``source`` and ``target`` files, or columns of ``source`` without a ``target``.

    ``columns`` counts from 0. Lines whose last column begins with ``skip`` are left out. A file of
    JSON Lines has ``fields`` instead. ``tokenized`` text (Penn Treebank) is written as people
    write; ``changed`` leaves out pairs whose source is the target.
    """

    source: str
    licence: str
    target: str | None = None
    columns: tuple[int, int] = (0, 1)
    skip: str | None = None
    limit: int | None = None
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

    ``glancing``: share of the wrongly predicted tokens that is shown, at the beginning and at the
    end (Qian et al. 2021). ``network`` changes settings of the verifier's.
    """

    block: int = 25
    smallest_block: int = 5
    causal_prefix: bool = False
    shared_encoder: bool = False
    glancing: tuple[float, float] = (0.5, 0.3)
    network: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadsRecipe:
    """``count`` extra heads (k = count + 1); ``joint`` trains the verifier with them."""

    count: int = 9
    hidden: int = 512
    joint: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DistillRecipe:
    """``beam_size`` 1 is greedy; ``calibration`` sources align the smaller models.

    ``sources`` is how many training sources the teacher decodes, all of them where it is None.
    """

    beam_size: int = 5
    batch_size: int = 64
    sources: int | None = None
    calibration: int = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRecipe:
    """A recipe for translation, summarization or simplification.

    Attributes:
        start: a corrector's bundle whose vocabulary and weights the first model begins with; of
            its network only the dropout can be changed.
        limit: of the outputs' length: ``ratio`` times the source's tokens and ``extra``
            (:class:`gec.decoding.decoder.LengthLimit`), where the usual one does not fit.
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
        try:
            return replace(self.schedule, **self.stages.get(stage, {}))
        except TypeError as error:
            raise ConfigError(f"recipe {self.name}, [stages.{stage}]: {error}") from error


def load_generation_recipe(path: Path) -> GenerationRecipe:
    """Read a recipe whose task is not correction; errors as for the others."""
    raw = read_layers(path)
    data = raw.get("data")
    for part in ("train", "dev", "test"):
        corpora = data.get(part, []) if isinstance(data, dict) else None
        if not isinstance(data, dict) or not isinstance(corpora, list):
            raise ConfigError(f"{path}: no list [[data.{part}]]")
        if not corpora and part != "test":
            raise ConfigError(f"{path}: no [[data.{part}]]")
        data[part] = [build(path, Texts, texts, f"data.{part}") for texts in corpora]
    raw["data"] = build(path, GenerationData, data, "data")
    for name, kind in (
        ("schedule", GenerationSchedule),
        ("drafter", DrafterRecipe),
        ("heads", HeadsRecipe),
        ("distill", DistillRecipe),
    ):
        if name in raw:
            raw[name] = build(path, kind, raw[name], name)
    recipe: GenerationRecipe = _started(path, build(path, GenerationRecipe, raw, "top level"))
    stages = ("teacher", "verifier", "drafter", "heads", "small", "align")
    for stage, time in recipe.budget.items():
        if stage not in stages:
            raise ConfigError(f"{path}: [budget] {stage} is none of {', '.join(stages)}")
        parse_duration(time)
    if "verifier" not in recipe.budget:
        raise ConfigError(f"{path}: [budget] names no verifier")
    layers, exit_layer = recipe.network.get("decoder_layers", 6), recipe.early_exit
    if exit_layer is not None and not (type(exit_layer) is int and 1 <= exit_layer < layers):
        raise ConfigError(
            f"{path}: early_exit must be a decoder layer from 1 to {layers - 1}, not {exit_layer!r}"
        )
    if (sources := recipe.distill.sources) is not None and not (
        type(sources) is int and sources >= 1
    ):
        raise ConfigError(f"{path}: [distill] sources must be 1 or more, not {sources!r}")
    try:
        LengthLimit(**recipe.limit)
    except (TypeError, ConfigError) as error:
        raise ConfigError(f"{path}: limit: {error}") from error
    for name, settings in recipe.small.items():
        if not isinstance(settings, dict):
            raise ConfigError(f"{path}: [small.{name}] must be a table of network settings")
    if bool(recipe.small) != ("small" in recipe.budget):
        raise ConfigError(f"{path}: [small.NAME] and [budget] small need each other")
    if "align" in recipe.budget and not recipe.small:
        raise ConfigError(f"{path}: [budget] align needs a [small.NAME] to align")
    for stage in recipe.stages:
        recipe.schedule_of(stage)
    return recipe


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


# ------------------------------------------------------------------------------------ preparing


def read_pairs(texts: Texts, data_dir: Path) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a corpus, blanks normalised; empty ones are left out.

    Raises:
        DataError: a file is missing, too few columns, or files of different lengths.
    """
    path = data_dir / texts.source
    if texts.target is not None:
        target = data_dir / texts.target
        sources, targets = open_text(path), open_text(target)
        for number in range(1, sys.maxsize):
            source, right = next(sources, None), next(targets, None)
            if (source is None) != (right is None):
                raise DataError(f"{path} and {target} differ in length, from line {number} on")
            if source is None or right is None:
                return
            yield from _usable(source, right, texts)
    if texts.fields is not None:
        for source, right in json_pairs(path, texts.fields):
            yield from _usable(source, right, texts)
        return
    for number, line in enumerate(open_text(path), 1):
        columns = line.split("\t")
        if len(columns) <= max(texts.columns):
            raise DataError(f"{path}:{number}: expected {max(texts.columns) + 1} columns: {line!r}")
        if texts.skip is None or not columns[-1].startswith(texts.skip):
            yield from _usable(columns[texts.columns[0]], columns[texts.columns[1]], texts)


def _usable(source: str, target: str, texts: Texts) -> Iterator[tuple[str, str]]:
    source, target = " ".join(source.split()), " ".join(target.split())
    if texts.tokenized:
        source, target = detokenized(source), detokenized(target)
    if source and target and not (texts.changed and source == target):
        yield source, target


def prepare_generation(recipe: GenerationRecipe, data_dir: Path, out: Path) -> None:
    """Read, deduplicate and pack the corpora; learn the vocabulary of both sides together.

    A recipe that starts from a bundle has the bundle's vocabulary.

    Raises:
        DataError: a corpus is missing, broken or empty.
    """
    out.mkdir(parents=True, exist_ok=True)
    data = recipe.data
    held_out: set[str] = set()
    for name, corpora in (("dev", data.dev), ("test", data.test)):
        pairs = [p for texts in corpora for p in islice(read_pairs(texts, data_dir), texts.limit)]
        held_out.update(source for source, _ in pairs)
        _write_pairs(out / f"{name}.tsv", pairs)
    seen: set[tuple[str, str]] = set()
    train: list[tuple[str, str]] = []
    provenance = []
    for texts in data.train:
        found = [
            pair
            for pair in dict.fromkeys(read_pairs(texts, data_dir))
            if pair not in seen and pair[0] not in held_out
        ]
        random.Random(0).shuffle(found)
        found = found[: texts.limit]
        seen.update(found)
        train += found
        about = {"source": texts.source, "target": texts.target, "licence": texts.licence}
        provenance.append(about | {"pairs": len(found)})
        print(f"{texts.source}: {len(found)} pairs", file=sys.stderr)
    if not train:
        raise DataError("no pair to train on: the corpora are empty or all of it is held out")
    random.Random(0).shuffle(train)
    vocabulary = _vocabulary(recipe, train)
    longest = data.longest
    kept = [p for p in train if max(len(vocabulary.encode(text)) for text in p) <= longest]
    print(f"{len(train) - len(kept)} pairs of more than {longest} tokens left out", file=sys.stderr)
    _write_pairs(out / "train.tsv", kept)
    vocabulary.save(out)
    (out / "provenance.json").write_text(json.dumps(provenance, indent=1) + "\n", encoding="utf-8")


def _vocabulary(recipe: GenerationRecipe, pairs: Sequence[tuple[str, str]]) -> OwnVocabulary:
    if recipe.start is not None:
        return CorrectorVocabulary.load(find(recipe.start))
    sample = (text for pair in pairs[:200_000] for text in pair)
    return Vocabulary.train(sample, size=recipe.data.vocabulary or 0)


def _write_pairs(path: Path, pairs: Sequence[tuple[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{source}\t{target}\n" for source, target in pairs)


def packed_pairs(path: Path) -> list[tuple[str, str]]:
    """Return the pairs of a packed file; a missing or empty one raises DataError."""
    pairs = []
    for number, line in enumerate(open_text(path), 1):
        source, tab, target = line.partition("\t")
        if not tab:
            raise DataError(f"{path}:{number}: expected source TAB target: {line!r}")
        pairs.append((source, target))
    if not pairs:
        raise DataError(f"{path} is empty: prepare the data again")
    return pairs


def encoded(path: Path, vocabulary: TextCodec, longest: int) -> list[Pair]:
    """Return the pairs of a packed file as ids, without those of more than ``longest`` tokens."""
    pairs = [(vocabulary.encode(s), vocabulary.encode(t)) for s, t in packed_pairs(path)]
    return [pair for pair in pairs if 0 < max(map(len, pair)) <= longest]


# -------------------------------------------------------------------------------------- batches


@dataclass(slots=True)
class ParallelBatch:
    """Padded ids: source [B, S] with EOS; target [B, T] with EOS; position as in data.Batch."""

    source: Tensor
    target: Tensor
    position: tuple[int, int]

    @property
    def target_in(self) -> Tensor:
        """[B, T]: the target behind BOS, without its last place."""
        start = torch.full_like(self.target[:, :1], BOS_ID)
        return torch.cat([start, self.target[:, :-1]], 1).masked_fill(self.target == PAD_ID, PAD_ID)

    def to(self, device: torch.device) -> ParallelBatch:
        return ParallelBatch(self.source.to(device), self.target.to(device), self.position)


def make_parallel_batch(pairs: Sequence[Pair], position: tuple[int, int]) -> ParallelBatch:
    def pad(rows: Sequence[Sequence[int]]) -> Tensor:
        width = max(map(len, rows)) + 1
        return torch.tensor([[*r, EOS_ID, *[PAD_ID] * (width - len(r) - 1)] for r in rows])

    return ParallelBatch(pad([s for s, _ in pairs]), pad([t for _, t in pairs]), position)


def batches_of(pairs: Sequence[Pair], batch_tokens: int) -> list[list[Pair]]:
    """Cut pairs, sorted by length, into batches of at most ``batch_tokens``, padding counted."""
    batches: list[list[Pair]] = []
    current: list[Pair] = []
    width = 0
    for pair in sorted(pairs, key=lambda pair: (len(pair[1]), len(pair[0]))):
        width = max(width, len(pair[0]) + 1, len(pair[1]) + 1)
        if current and width * (len(current) + 1) > batch_tokens:
            batches.append(current)
            current, width = [], max(len(pair[0]), len(pair[1])) + 1
        current.append(pair)
    return [*batches, current]


class ParallelBatches(IterableDataset[ParallelBatch]):
    """An endless stream of length-bucketed batches: epoch after epoch, each in another order.

    Epoch n's order depends on (seed, rank, n) alone, so that a run resumes exactly. Of W workers
    each makes every W-th epoch; ``starts`` is as in data.NoisyBatches.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        batch_tokens: int,
        *,
        seed: int = 0,
        rank: int = 0,
        starts: Sequence[tuple[int, int]] = ((0, 0),),
    ) -> None:
        self.pairs, self.batch_tokens = pairs, batch_tokens
        self.seed, self.rank, self.starts = seed, rank, tuple(starts)

    def __iter__(self) -> Iterator[ParallelBatch]:
        worker = get_worker_info()
        number, stride = (worker.id, worker.num_workers) if worker else (0, 1)
        epoch, skip = self.starts[number]
        while True:
            batches = self._epoch(epoch)
            for place in range(skip, len(batches)):
                last = place + 1 == len(batches)
                after = (epoch + stride, 0) if last else (epoch, place + 1)
                yield make_parallel_batch(batches[place], after)
            epoch, skip = epoch + stride, 0

    def _epoch(self, number: int) -> list[list[Pair]]:
        rng = random.Random(f"{self.seed}/{self.rank}/{number}")
        order = list(self.pairs)
        rng.shuffle(order)
        pool = 20_000  # sorted by length together: enough that batches hold little padding
        batches = [
            batch
            for start in range(0, len(order), pool)
            for batch in batches_of(order[start : start + pool], self.batch_tokens)
        ]
        rng.shuffle(batches)
        return batches
