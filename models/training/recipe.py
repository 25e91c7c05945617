"""Recipes: one TOML file says which data, noise, network and schedule make a model."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_origin, get_type_hints

from gec.errors import ConfigError, DataError
from gec.models.training.carry import Carry

FORMATS = ("marked", "pairs", "clean")
"""What a file of a recipe may hold: see :class:`Source`."""
PACKAGED = Path(__file__).parents[1] / "corpora"
"""Corpora that were written for this project: its source code holds them, a wheel does not."""


def folder_of(packaged: bool, data_dir: Path) -> Path:
    """Return where a recipe's files lie; raise DataError if this project's corpora are not here."""
    if not packaged:
        return data_dir
    if not PACKAGED.is_dir():
        raise DataError(
            f"{PACKAGED} is not there: an installed package has no corpora, so train in a clone of "
            "the project or in its source archive"
        )
    return PACKAGED


def files_of(folder: Path, pattern: str) -> list[Path]:
    """Return the files of a folder that a pattern matches; raise DataError if there is none."""
    if not (found := sorted(folder.glob(pattern))):
        raise DataError(f"cannot read {folder / pattern}: there is no such file")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Clean sentences, a line each, or corrections, which are not corrupted any further.

    Attributes:
        file: a path, or a pattern of some, in the data folder; in this project's ``corpora`` if
            ``packaged``.
        weight: share of the training sentences.
        words: the shortest and the longest sentence.
        format: "clean"; "pairs": columns wrong, right, error types, repository; "marked":
            ``[wrong|right]`` within the sentence, ``#`` begins a comment.
        skip_types: a pair is left out when every one of its types is among these.
        name: what its part of the packed folder is called; by default the file's name without its
            endings.
    """

    file: str
    licence: str
    weight: float
    words: tuple[int, int] = (3, 60)
    limit: int | None = None
    vary_names: bool = False
    format: str = "clean"
    skip_types: tuple[str, ...] = ()
    packaged: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            known = ", ".join(FORMATS)
            raise ConfigError(f"source {self.file}: format must be one of {known}")
        object.__setattr__(self, "name", self.name or Path(self.file).name.split(".")[0])

    def paths(self, data_dir: Path) -> list[Path]:
        """Return the files; raise DataError if there is none."""
        return files_of(folder_of(self.packaged, data_dir), self.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRecipe:
    """What is packed: the sources, the word lists, and what must not be trained on.

    ``weights`` replaces the weights of sources by their names.
    """

    vocabulary: int
    validation: int
    inflections: str
    word_counts: str
    noise_lists: str
    source: tuple[Source, ...]
    weights: dict[str, float] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseRecipe:
    """How many errors sentences get, and how likely each error type is."""

    clean_share: float
    mean_errors: float
    rates: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRecipe:
    """Schedule and loss; times such as ``15m`` are seconds, minutes or hours (s, m, h).

    ``reverse``: the right sentence is the source and the wrong one the target, so that the network
    learns to make errors.
    """

    batch_tokens: int
    joined_share: float
    optimizer: str
    learning_rate: float
    warmup_share: float
    decay_share: float
    weight_decay: float
    gradient_clip: float
    label_smoothing: float
    edit_weight: float
    edit_weight_end: float
    kept_sample: float
    precision: str
    validate_every: str
    save_every: str
    reverse: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A correction recipe."""

    name: str
    task: str
    language: str
    data: DataRecipe
    noise: NoiseRecipe
    network: dict[str, Any]
    training: TrainingRecipe
    carry: Carry = field(default_factory=Carry)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read recipe {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not a valid TOML file: {error}") from error


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Return ``below`` with the settings of ``above`` in their place, table by table."""
    return below | {
        name: _over(below[name], value)
        if isinstance(value, dict) and isinstance(below.get(name), dict)
        else value
        for name, value in above.items()
    }


def parse_duration(text: str) -> float:
    """Return seconds: ``parse_duration("25m") == 1500.0``; a bare number is seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if not match:
        raise ConfigError(f"not a duration: {text!r}, expected for example 90s, 25m or 2h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def read_layers(path: Path) -> dict[str, Any]:
    """Read a recipe's tables over those of its ``base``, a recipe beside it."""
    raw = _read(path)
    if (base := raw.pop("base", None)) is not None:
        if not isinstance(base, str):
            raise ConfigError(f"{path}: base must be the name of a recipe, not {base!r}")
        below = _read(path.parent / base)
        if "base" in below:
            raise ConfigError(f"{path}: its base {base} has a base itself")
        raw = _over(below, raw)
    return raw


def build(path: Path, kind: Any, values: Any, where: str) -> Any:
    """Return the dataclass ``kind`` of a recipe's table; what does not fit raises ConfigError."""
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: [{where}] is missing or not a table")
    if unknown := sorted(set(values) - {f.name for f in fields(kind)}):
        raise ConfigError(f"{path}: unknown setting in [{where}]: {', '.join(unknown)}")
    frozen = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    hints = get_type_hints(kind)
    for setting in fields(kind):
        value = frozen.get(setting.name)
        if value is not None and not isinstance(value, _classes(hints[setting.name])):
            raise ConfigError(
                f"{path}: [{where}] {setting.name} must be {setting.type}, not {value!r}"
            )
    try:
        return kind(**frozen)
    except TypeError as error:
        raise ConfigError(f"{path}: [{where}]: {error}") from error


def _classes(hint: Any) -> tuple[type, ...]:
    """Return the classes of which a setting of this type must be, any class for a union."""
    kind = get_origin(hint) or hint
    if kind in (Any, Union, UnionType):
        return (object,)
    return (int, float) if kind is float else (kind,)


def load_recipe(path: Path) -> Recipe:
    """Read a correction recipe; ``[[data.more]]`` are sources besides those of its base.

    A missing file, bad TOML, an unknown or missing setting raises ConfigError.
    """
    raw = read_layers(path)
    data = raw.get("data")
    sources = data.get("source") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(sources, list) or not sources:
        raise ConfigError(f"{path}: no [[data.source]]")
    more = data.pop("more", [])
    if not isinstance(more, list):
        raise ConfigError(f"{path}: write [[data.more]], a list of sources")
    data["source"] = [
        *(build(path, Source, source, "data.source") for source in sources),
        *(build(path, Source, source, "data.more") for source in more),
    ]
    names = [source.name for source in data["source"]]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"{path}: two sources are called {twice[0]}: give one another name")
    parts = {
        "data": _weighed(path, build(path, DataRecipe, data, "data")),
        "noise": build(path, NoiseRecipe, raw.get("noise"), "noise"),
        "training": build(path, TrainingRecipe, raw.get("training"), "training"),
        "carry": build(path, Carry, raw.get("carry", {}), "carry"),
    }
    recipe: Recipe = build(path, Recipe, raw | parts, "top level")
    return recipe


def _weighed(path: Path, data: DataRecipe) -> DataRecipe:
    """Return the data with the sources' weights replaced."""
    if unknown := sorted(set(data.weights) - {source.name for source in data.source}):
        raise ConfigError(f"{path}: [data.weights] names no source: {', '.join(unknown)}")
    for name, weight in data.weights.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0:
            raise ConfigError(
                f"{path}: [data.weights] {name} must be a number >= 0, not {weight!r}"
            )
    weights = {source.name: source.weight for source in data.source} | data.weights
    if not sum(weights.values()) > 0:
        raise ConfigError(f"{path}: all sources have weight 0")
    sources = tuple(replace(source, weight=weights[source.name]) for source in data.source)
    return replace(data, source=sources)


def task_of(path: Path) -> str:
    """Return what a recipe is for: "gec" for correction."""
    return str(read_layers(path).get("task"))


def method_of(path: Path) -> str:
    """Return how a recipe trains: "noise" from random weights, or "finetune"."""
    return str(read_layers(path).get("method", "noise"))
