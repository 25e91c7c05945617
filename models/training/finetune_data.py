"""Examples for fine-tuning a pretrained decoder: pairs of many sources as token ids, in one file.

``gec data prepare`` writes ``examples.npz``: all ids one after another, where each source and
target ends, which target tokens differ from the source, and which part each pair is of.
"""

from __future__ import annotations

import json
import random
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from gec.edits.align import align
from gec.errors import ConfigError, DataError
from gec.models.training.noise.lexicon import Lexicon
from gec.models.training.noise.noiser import Noiser
from gec.models.training.recipe import FORMATS, Source, build, files_of, folder_of, read_layers
from gec.models.training.sources import (
    clean_pairs,
    clean_sentences,
    marked_pairs,
    open_text,
    word_counts,
)
from gec.models.training.tables.inflection_table import build_inflections
from gec.text.byte_pairs import BytePairs
from gec.text.words import tokenize_line

Words = Sequence[str]
SHARED_WORDS = 8
"""A sentence that shares so many words in a row with a development set is left out."""
HELD_OUT = "held_out.npz"
_HASHES = 10_000
_MISSPELT_RATES = {"R:SPELL": 5.0, "R:ORTH": 3.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some files of one kind; see the comments of ``en_large.toml``."""

    name: str
    files: tuple[str, ...]
    format: str
    licence: str
    share: float
    words: tuple[int, int] = (3, 60)
    limit: int | None = None
    first_lines: int | None = None
    skip_types: tuple[str, ...] = ()
    misspelt: float = 0.0
    packaged: bool = False

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ConfigError(f"part {self.name}: format must be one of {', '.join(FORMATS)}")
        if not self.share >= 0 or not 0 <= self.misspelt <= 1:
            raise ConfigError(f"part {self.name}: share and misspelt are shares, not negative")

    def paths(self, data_dir: Path) -> list[Path]:
        """Return the files, the project's if ``packaged``; raise DataError if there is none."""
        folder = folder_of(self.packaged, data_dir)
        return [path for pattern in self.files for path in files_of(folder, pattern)]

    def pairs(self, path: Path, rng: random.Random) -> Iterator[tuple[Words, Words]]:
        """Yield (wrong, right) words of one file, in a random order, ``limit`` of them."""
        yield from islice(self._pairs(path, rng), self.limit)

    def _pairs(self, path: Path, rng: random.Random) -> Iterator[tuple[Words, Words]]:
        source = Source(
            file=str(path), licence=self.licence, weight=1.0, words=self.words,
            skip_types=self.skip_types, vary_names=self.format == "clean",
        )  # fmt: skip
        if self.format == "pairs":
            pairs = [(wrong, right) for wrong, right, _ in clean_pairs(path, source)]
            rng.shuffle(pairs)
            yield from pairs
            return
        lines = list(islice(open_text(path), self.first_lines))
        rng.shuffle(lines)  # before the words are cut: most lines of a long file are not taken
        if self.format == "marked":
            yield from marked_pairs(lines)
        else:
            for words in clean_sentences(lines, source, rng):
                yield words, words


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRecipe:
    """What is trained on, and what must not be."""

    part: tuple[Part, ...]
    word_lists: str
    word_counts: str
    inflections: str
    exclude: tuple[str, ...] = ()
    held_out: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.held_out < 1:
            raise ConfigError("held_out must be a share of the pairs: at least 0 and below 1")


@dataclass(slots=True)
class Examples:
    """Pairs of token ids [N], flat; ``edited`` marks each target's tokens and its EOS."""

    names: list[str]
    sources: list[list[int]] = field(default_factory=list)
    targets: list[list[int]] = field(default_factory=list)
    edited: list[list[bool]] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)

    def add(
        self, part: int, source: list[int], target: list[int], marks: list[bool] | None = None
    ) -> None:
        """Append a pair; without ``marks`` those of :func:`edited` are the target's."""
        self.sources.append(source)
        self.targets.append(target)
        self.edited.append(edited(source, target) if marks is None else marks)
        self.parts.append(part)

    def __len__(self) -> int:
        return len(self.parts)

    def lengths(self) -> NDArray[np.int64]:
        """Return the ids of source and target together, of each pair [N]."""
        both = zip(self.sources, self.targets, strict=True)
        return np.array([len(source) + len(target) for source, target in both], np.int64)

    def save(self, path: Path) -> None:
        """Write one compressed ``.npz`` file, whole or not at all."""
        part = path.with_name("part.npz")
        np.savez_compressed(
            part,
            names=np.array(self.names),
            source=np.concatenate([np.array(ids, np.int32) for ids in self.sources]),
            target=np.concatenate([np.array(ids, np.int32) for ids in self.targets]),
            edited=np.concatenate([np.array(marks, bool) for marks in self.edited]),
            source_lengths=np.array([len(ids) for ids in self.sources], np.int32),
            target_lengths=np.array([len(ids) for ids in self.targets], np.int32),
            parts=np.array(self.parts, np.int16),
        )
        part.replace(path)

    @classmethod
    def load(cls, path: Path) -> Examples:
        """Read what :meth:`save` wrote; anything else raises DataError."""
        try:
            with np.load(path, allow_pickle=False) as file:
                sizes, after = file["source_lengths"], file["target_lengths"]
                return cls(
                    [str(name) for name in file["names"]],
                    _cut(file["source"], sizes),
                    _cut(file["target"], after),
                    _cut(file["edited"], after + 1),
                    file["parts"].tolist(),
                )
        except (OSError, EOFError, ValueError, KeyError, BadZipFile, zlib.error) as error:
            raise DataError(f"cannot read {path} (gec data prepare writes it): {error}") from error


def _cut(flat: NDArray[Any], lengths: NDArray[Any]) -> list[list[Any]]:
    pieces = np.split(flat, np.cumsum(lengths)[:-1])
    return [piece.tolist() for piece in pieces]


def edited(source: Sequence[int], target: Sequence[int]) -> list[bool]:
    """Mark the target's tokens, and its end, that differ from the source or follow a deletion.

    >>> edited([1, 2, 3], [1, 9, 3]), edited([1, 2, 3], [1, 3]), edited([1, 2], [1])
    ([False, True, False, False], [False, True, False], [False, True])
    """
    marks = [False] * (len(target) + 1)
    names = [str(i) for i in source], [str(i) for i in target]
    for edit in align(*names):
        first, last = edit.target_start, edit.target_end
        marks[first : max(last, first + 1)] = [True] * max(last - first, 1)
    return marks


def runs(words: Words) -> set[tuple[str, ...]]:
    """Return every :data:`SHARED_WORDS` words in a row, without marks and case."""
    plain = [word.lower() for word in words if word[:1].isalnum()]
    last = max(1, len(plain) - SHARED_WORDS + 1)  # a shorter sentence is a run by itself
    return {tuple(plain[i : i + SHARED_WORDS]) for i in range(last)}


def _forbidden(paths: Iterable[Path]) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for path in paths:
        for line in open_text(path):
            if path.suffix == ".m2" and not line.startswith("S "):
                continue
            for text in line.removeprefix("S ").split("\t"):
                found |= runs(tokenize_line(text))
    return found


def held_out(right: Words, share: float) -> bool:
    """Tell whether the pair whose corrected side is ``right`` is one of the held-out share.

    The words' hash decides: a sentence that stands in several parts is held out of all of them.
    """
    return zlib.crc32(" ".join(right).lower().encode()) % _HASHES < share * _HASHES


def prepare(
    recipe: DataRecipe,
    data_dir: Path,
    out: Path,
    words: BytePairs,
    longest: int,
    exclude: Sequence[Path] = (),
) -> None:
    """Read, filter and encode all parts.

    Writes ``examples.npz``, ``held_out.npz`` with the pairs that are validated on (if the recipe
    holds any out) and ``provenance.json``.

    Args:
        longest: the most ids of source and target together.
        exclude: files whose sentences are left out, besides the recipe's.

    Raises:
        DataError: a file is missing or broken, or there is no pair.
    """
    rng = random.Random(0)
    forbidden = _forbidden([*(data_dir / name for name in recipe.exclude), *exclude])
    misspelt = any(part.misspelt for part in recipe.part)
    noiser = _misspeller(recipe, data_dir) if misspelt else None
    names = [part.name for part in recipe.part]
    examples, kept_back = Examples(names), Examples(names)
    provenance = []
    for number, part in enumerate(recipe.part):
        before, held, shared, long = len(examples), len(kept_back), 0, 0
        for path in part.paths(data_dir):
            for wrong, right in part.pairs(path, rng):
                if not forbidden.isdisjoint(runs(wrong) | runs(right)):
                    shared += 1
                    continue
                if noiser and rng.random() < part.misspelt:
                    wrong = noiser.corrupt(wrong, rng)
                source, target = words.encode(wrong), words.encode(right)
                if len(source) + len(target) > longest:
                    long += 1
                    continue
                of = kept_back if held_out(right, recipe.held_out) else examples
                of.add(number, source, target)
        counts = {
            "pairs": len(examples) - before, "held_out": len(kept_back) - held,
            "shared": shared, "too_long": long,
        }  # fmt: skip
        print(f"{part.name}: {counts}", file=sys.stderr)
        provenance.append({"part": part.name, "licence": part.licence} | counts)
    if not examples:
        raise DataError(f"the recipe's parts hold no pair in {data_dir}")
    out.mkdir(parents=True, exist_ok=True)
    examples.save(out / "examples.npz")
    (out / HELD_OUT).unlink(missing_ok=True)  # another preparation's: these may be trained on now
    if kept_back:
        kept_back.save(out / HELD_OUT)
    words.save(out)
    (out / "provenance.json").write_text(json.dumps(provenance, indent=1) + "\n", encoding="utf-8")


def _misspeller(recipe: DataRecipe, data_dir: Path) -> Noiser:
    counts = word_counts(data_dir / recipe.word_counts)
    inflections = build_inflections(open_text(data_dir / recipe.inflections), counts)
    try:
        lexicon = Lexicon.load(data_dir / recipe.word_lists, inflections)
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"cannot read {data_dir / recipe.word_lists}: {error}") from error
    return Noiser(lexicon, _MISSPELT_RATES, clean_share=0.0, mean_errors=0.15, max_errors=3)


def data_recipe(path: Path) -> DataRecipe:
    """Read a recipe's ``[data]``; what does not fit raises ConfigError."""
    data = read_layers(path).get("data")
    parts = data.get("part") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(parts, list) or not parts:
        raise ConfigError(f"{path}: no [[data.part]]")
    data["part"] = [build(path, Part, part, "data.part") for part in parts]
    recipe: DataRecipe = build(path, DataRecipe, data, "data")
    return recipe
