"""``gec data prepare``: clean text, tokenized, filtered and packed for ``gec train``.

A packed folder holds one ``NAME.txt`` a source (a tokenized sentence a line, or wrong TAB right),
``validation.txt``, ``validation_pairs.txt`` if there are pairs, ``tokenizer.json``,
``inflections.tsv``, the speller's ``words.tsv.gz`` and ``misspellings.tsv.gz``, the language model
``ngrams.bin``, the noise's word ``lists`` and ``provenance.json``.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from gec.models.load import bundle
from gec.models.training.noisy_batches import load_noiser
from gec.models.training.recipe import Recipe, Source, load_recipe, method_of, task_of
from gec.models.training.sources import clean_sentences, corrections, open_text, word_counts
from gec.models.training.tables.inflection_table import build_inflections
from gec.models.training.tables.ngram_table import build_ngrams
from gec.models.training.tables.spelling_table import read_speller
from gec.text.subwords import Subwords
from gec.text.words import tokenize_line

_VOCABULARY_SAMPLE = 200_000  # sentences that subwords are learned from


def _key(words: Iterable[str]) -> str:
    return " ".join(words).lower()


def _excluded(files: Iterable[Path]) -> set[str]:
    keys = set()
    for path in files:
        for line in open_text(path):
            if path.suffix == ".m2":
                if not line.startswith("S "):
                    continue
                line = line[2:]
            for text in line.split("\t"):
                keys.add(_key(tokenize_line(text)))
    return keys


def _held_out(repository: str, percent: int = 5) -> bool:
    """Whether a repository's pairs are for validation; the same in every preparation."""
    return zlib.crc32(repository.encode()) % 100 < percent


def prepare(
    recipe: Recipe,
    data_dir: Path,
    out: Path,
    *,
    exclude: Sequence[Path] = (),
    subwords: Subwords | None = None,
) -> None:
    """Tokenize, filter, deduplicate and pack the sources; learn the subwords, if none are given.

    Raises:
        DataError: a source is missing or broken.
    """
    out.mkdir(parents=True, exist_ok=True)
    data, packing = recipe.data, _Packing(recipe, data_dir, out, exclude)
    for source in data.source:
        if source.format == "clean":
            packing.add_sentences(source)
        else:
            packing.add_pairs(source)
    packing.write_held_out_pairs()
    counts = word_counts(data_dir / data.word_counts)
    names = [source.name for source in data.source if source.format == "clean"]
    build_ngrams(lambda: _sentences(out, names)).save(out)
    read_speller(data_dir / data.noise_lists, counts, open_text).save(out)
    if subwords is None:
        inflections = build_inflections(open_text(data_dir / data.inflections), counts)
        sample = packing.vocabulary_sample
        subwords = Subwords.train(sample, size=data.vocabulary, inflections=inflections)
    subwords.save(out)
    (out / "lists").mkdir(exist_ok=True)
    for path in (data_dir / data.noise_lists).glob("*.xz"):
        shutil.copyfile(path, out / "lists" / path.name)
    provenance = json.dumps(packing.provenance, indent=1)
    (out / "provenance.json").write_text(provenance + "\n", encoding="utf-8")


class _Packing:
    """What is packed so far: source after source, no sentence and no pair twice."""

    def __init__(self, recipe: Recipe, data_dir: Path, out: Path, exclude: Sequence[Path]) -> None:
        self.data, self.data_dir, self.out = recipe.data, data_dir, out
        own = [data_dir / name for name in self.data.exclude]
        self._excluded = frozenset(_excluded([*own, *exclude]))
        self._seen = set(self._excluded)
        self._rng = random.Random(0)
        self._held_out_pairs: list[str] = []
        self._held_out_sentences: set[str] = set()
        self.vocabulary_sample: list[list[str]] = []
        self.provenance: list[dict[str, Any]] = []

    def add_pairs(self, source: Source) -> None:
        """Pack a source of real corrections; the pairs of some repositories are held out."""
        lines, dropped, held = [], 0, 0
        for wrong, right, repository in corrections(source, self.data_dir):
            line = f"{' '.join(wrong)}\t{' '.join(right)}"
            excluded = not self._excluded.isdisjoint((_key(wrong), _key(right)))
            excluded = excluded or _key(right) in self._held_out_sentences
            if line in self._seen or excluded:
                dropped += 1
            elif repository and _held_out(repository):
                held += 1
                self._held_out_pairs.append(line)
            else:
                lines.append(line)
            self._seen.add(line)
        self._rng.shuffle(lines)
        lines = lines[: source.limit]
        _write_lines(self.out / f"{source.name}.txt", lines)
        counts = {"pairs": len(lines), "held_out": held}
        self._note(source, counts, dropped, {"dropped": dropped})

    def add_sentences(self, source: Source) -> None:
        """Pack a source of clean sentences; some of the recipe's first source are held out."""
        sentences, dropped, known = [], 0, len(self._seen)
        lines = chain.from_iterable(map(open_text, source.paths(self.data_dir)))
        for words in clean_sentences(lines, source, self._rng):
            key = _key(words)
            if key in self._seen:
                dropped += 1
                continue
            self._seen.add(key)
            sentences.append(words)
        self._rng.shuffle(sentences)
        sentences = sentences[: source.limit]
        if source is self.data.source[0]:
            count = self.data.validation
            _write_lines(self.out / "validation.txt", map(" ".join, sentences[:count]))
            self._held_out_sentences = set(map(_key, sentences[:count]))
            sentences = sentences[count:]
        _write_lines(self.out / f"{source.name}.txt", map(" ".join, sentences))
        share = source.weight / sum(s.weight for s in self.data.source)
        self.vocabulary_sample += sentences[: int(_VOCABULARY_SAMPLE * share)]
        counts = {"sentences": len(sentences), "words": sum(map(len, sentences))}
        more = {"duplicates_or_dev_sentences_dropped": dropped, "known_before": known}
        self._note(source, counts, dropped, more)

    def write_held_out_pairs(self) -> None:
        """Write the pairs to validate on, if there are any."""
        if self._held_out_pairs:
            self._rng.shuffle(self._held_out_pairs)
            lines = self._held_out_pairs[: self.data.validation]
            _write_lines(self.out / "validation_pairs.txt", lines)

    def _note(
        self, source: Source, counts: dict[str, int], dropped: int, more: dict[str, int]
    ) -> None:
        """Say what became of a source, and keep it for ``provenance.json``."""
        self.provenance.append(_origin(source) | counts | more)
        print(f"{source.name}: {counts}, dropped {dropped}", file=sys.stderr)


def _sentences(packed: Path, names: Iterable[str]) -> Iterator[list[str]]:
    for name in names:
        for line in open_text(packed / f"{name}.txt"):
            yield line.split(" ")


def _origin(source: Source) -> dict[str, str | float]:
    return {name: getattr(source, name) for name in ("name", "file", "licence", "weight")}


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)


def prepare_main(args: argparse.Namespace) -> int:
    """``gec data prepare RECIPE --data-dir DIR --out DIR [--exclude FILE ...]``."""
    if method_of(Path(args.recipe)) == "finetune":
        from gec.models.training import finetune

        return finetune.prepare_main(args)
    if task_of(Path(args.recipe)) != "gec":
        from gec.models.training import stages as generation

        return generation.prepare_main(args)
    recipe = load_recipe(Path(args.recipe))
    exclude = [Path(name) for name in getattr(args, "exclude", None) or ()]
    subwords = Subwords.load(bundle.find(args.subwords)) if args.subwords else None
    prepare(recipe, Path(args.data_dir), Path(args.out), exclude=exclude, subwords=subwords)
    return 0


def noise_pairs(args: argparse.Namespace) -> Iterator[tuple[list[str], list[str]]]:
    """``gec data noise RECIPE [FILE] --data PACKED``: yield (corrupted, clean) sentences of words.

    A FILE holds tokenized sentences; without one they are the packed validation sentences.
    """
    noiser = load_noiser(Path(args.data), load_recipe(Path(args.recipe)))
    rng = random.Random(args.seed)
    path = Path(args.file) if args.file else Path(args.data) / "validation.txt"
    for line in open_text(path):
        if words := line.split():
            yield noiser.corrupt(words, rng), words
