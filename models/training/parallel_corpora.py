"""``gec data prepare`` of source and target texts: read, deduplicated, packed.

A packed folder holds ``train.tsv``, ``dev.tsv`` and ``test.tsv`` (source TAB target, a pair a line,
no pair of dev or test in train), ``tokenizer.json`` and ``provenance.json``.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from gec.errors import DataError
from gec.models.load.places import find
from gec.models.training.generation_recipe import GenerationData, GenerationRecipe, Texts
from gec.models.training.pair_formats import detokenized, json_pairs
from gec.models.training.sources import open_text
from gec.models.training.streams import Pair
from gec.text.vocabulary import CorrectorVocabulary, OwnVocabulary, TextCodec, Vocabulary


def read_pairs(texts: Texts, data_dir: Path) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a corpus, blanks normalised; empty ones are left out.

    Raises:
        DataError: a file is missing, too few columns, or files of different lengths.
    """
    path = data_dir / texts.source
    if texts.target is not None:
        target = data_dir / texts.target
        sources, targets = _lines(path, texts), _lines(target, texts)
        for number in range(1, sys.maxsize):
            source, right = next(sources, None), next(targets, None)
            if (source is None) != (right is None):
                raise DataError(f"{path} and {target} differ in length, from line {number} on")
            if source is None or right is None:
                return
            yield from _usable(source, right, texts)
    if texts.fields is not None:
        for source, right in islice(json_pairs(path, texts.fields), texts.first_lines):
            yield from _usable(source, right, texts)
        return
    for number, line in enumerate(_lines(path, texts), 1):
        columns = line.split("\t")
        if len(columns) <= max(texts.columns):
            raise DataError(f"{path}:{number}: expected {max(texts.columns) + 1} columns: {line!r}")
        if texts.skip is None or not columns[-1].startswith(texts.skip):
            yield from _usable(columns[texts.columns[0]], columns[texts.columns[1]], texts)


def _lines(path: Path, texts: Texts) -> Iterator[str]:
    return islice(open_text(path), texts.first_lines)


def _usable(source: str, target: str, texts: Texts) -> Iterator[tuple[str, str]]:
    source, target = " ".join(source.split()), " ".join(target.split())
    if texts.tokenized:
        source, target = detokenized(source), detokenized(target)
    if source and target and not (texts.changed and source == target):
        yield source, target


@dataclass(frozen=True, slots=True)
class Corpora:
    """The pairs of a recipe's data: of each corpus that is trained on, and of those held out.

    ``provenance`` says of each corpus that is trained on where it comes from.
    """

    train: list[list[tuple[str, str]]]
    dev: list[list[tuple[str, str]]]
    test: list[list[tuple[str, str]]]
    provenance: list[dict[str, Any]]

    @classmethod
    def read(cls, data: GenerationData, data_dir: Path) -> Corpora:
        """Read, deduplicate and mix them; no source that is held out is trained on.

        Raises:
            DataError: a corpus is missing or broken, or there is nothing to train on.
        """
        dev, test = (
            [[*islice(read_pairs(texts, data_dir), texts.limit)] for texts in corpora]
            for corpora in (data.dev, data.test)
        )
        held_out = {source for pairs in (*dev, *test) for source, _ in pairs}
        found = cls([], dev, test, [])
        seen: set[tuple[str, str]] = set()
        for texts in data.train:
            pairs = [
                pair
                for pair in dict.fromkeys(read_pairs(texts, data_dir))
                if pair not in seen and pair[0] not in held_out
            ]
            random.Random(0).shuffle(pairs)
            pairs = pairs[: texts.limit]
            seen.update(pairs)
            found.train.append(pairs)
            about = {"source": texts.source, "target": texts.target, "licence": texts.licence}
            found.provenance.append(about | {"pairs": len(pairs)})
            print(f"{texts.source}: {len(pairs)} pairs", file=sys.stderr)
        if not seen:
            raise DataError("no pair to train on: the corpora are empty or all of it is held out")
        return found


def prepare_generation(recipe: GenerationRecipe, data_dir: Path, out: Path) -> None:
    """Read, deduplicate and pack the corpora; learn the vocabulary of both sides together.

    A recipe that starts from a bundle has the bundle's vocabulary.

    Raises:
        DataError: a corpus is missing, broken or empty.
    """
    out.mkdir(parents=True, exist_ok=True)
    data = recipe.data
    corpora = Corpora.read(data, data_dir)
    for name, held_out in (("dev", corpora.dev), ("test", corpora.test)):
        _write_pairs(out / f"{name}.tsv", [*chain.from_iterable(held_out)])
    train = [*chain.from_iterable(corpora.train)]
    random.Random(0).shuffle(train)
    vocabulary = _vocabulary(recipe, train)
    longest = data.longest
    kept = [p for p in train if max(len(vocabulary.encode(text)) for text in p) <= longest]
    print(f"{len(train) - len(kept)} pairs of more than {longest} tokens left out", file=sys.stderr)
    _write_pairs(out / "train.tsv", kept)
    vocabulary.save(out)
    (out / "provenance.json").write_text(
        json.dumps(corpora.provenance, indent=1) + "\n", encoding="utf-8"
    )


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
