"""``gec data prepare`` of source and target texts: read, deduplicated, packed.

A packed folder holds ``train.tsv``, ``dev.tsv`` and ``test.tsv`` (source TAB target, a pair a line,
no pair of dev or test in train), ``tokenizer.json`` and ``provenance.json``.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from gec.errors import DataError
from gec.models.load.places import find
from gec.models.training.generation_recipe import GenerationRecipe, Texts
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
