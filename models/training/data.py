"""From clean text to training batches: ``gec data prepare`` and the stream ``gec train`` reads.

A packed folder holds one ``NAME.txt`` a source (a tokenized sentence a line, or wrong TAB right),
``validation.txt``, ``validation_pairs.txt`` where there are pairs, ``tokenizer.json``,
``inflections.tsv``, the speller's ``words.tsv.gz`` and ``misspellings.tsv.gz``, the language model
``ngrams.bin``, the noise's word ``lists`` and ``provenance.json``. Errors are made afresh for every
example, determined by (seed, rank, pool number) alone.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
import shutil
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from gec.errors import DataError
from gec.models.load import bundle
from gec.models.training.noise import DEFAULT_RATES, Lexicon, Noiser
from gec.models.training.recipe import DataRecipe, Recipe, Source, load_recipe, method_of, task_of
from gec.models.training.tables.inflection_table import build_inflections
from gec.models.training.tables.ngram_table import build_ngrams
from gec.models.training.tables.spelling_table import read_speller
from gec.text.inflection import Inflections
from gec.text.spelling import Speller
from gec.text.subwords import BOS_ID, EOS_ID, PAD_ID, Subwords
from gec.text.words import tokenize_line

_FIRST_NAMES = {
    "Tom": """Tom John Peter Paul David Michael James Robert Daniel Mark George Kevin Ali Ahmed Omar
    Carlos Juan Pedro Luis Marco Ivan Igor Hans Kenji Hiroshi Wei Chen Raj Arjun Samuel Eric Jack
    Henry Oscar Felix Leo Adam Simon Martin Thomas Andrew Brian Steve Nick Alex Max""".split(),
    "Mary": """Mary Anna Maria Susan Linda Sarah Emma Julia Laura Alice Kate Jane Helen Lucy Sophie
    Fatima Leila Yuki Mei Ling Priya Elena Olga Ingrid Carmen Rosa Clara Nina Eva Ruth Amy Emily
    Grace Chloe Lisa Karen Nancy Sandra Diana Irene Marta Sonia Hannah Rachel""".split(),
}
_READABLE = re.compile(r"[A-Za-z0-9\"'][\x20-\x7e‘’“”–—…é]*[.!?][\"'”’)]?")


def open_text(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, ``.xz`` or plain, without their line ends."""
    try:
        with (
            lzma.open(path, "rt", encoding="utf-8")
            if path.suffix == ".xz"
            else path.open(encoding="utf-8") as file
        ):
            for line in file:
                yield line.rstrip("\r\n")
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path}: {error}") from error


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


def clean_sentences(
    lines: Iterable[str], source: Source, rng: random.Random
) -> Iterator[list[str]]:
    """Yield the words of the usable lines, with other first names if ``source`` says so."""
    for line in lines:
        line = line.strip()
        if not _READABLE.fullmatch(line) or line.count('"') % 2:
            continue
        words = tokenize_line(line)
        if not source.words[0] <= len(words) <= source.words[1]:
            continue
        if source.vary_names:
            new = {old: rng.choice(names) for old, names in _FIRST_NAMES.items()}
            words = [new.get(word, word) for word in words]
        yield words


def clean_pairs(path: Path, source: Source) -> Iterator[tuple[list[str], list[str], str]]:
    """Yield (wrong, right, repository) of the usable lines."""
    for number, line in enumerate(open_text(path), 1):
        columns = line.split("\t")
        if len(columns) < 4:
            raise DataError(f"{path}:{number}: expected wrong, right, types, repository: {line!r}")
        texts, types = columns[:2], columns[2].replace(",", " ").split()
        if source.skip_types and all(kind in source.skip_types for kind in types):
            continue
        if not all(_READABLE.fullmatch(text.strip()) for text in texts):
            continue
        wrong, right = map(tokenize_line, texts)
        if wrong != right and source.words[0] <= len(right) <= source.words[1]:
            yield wrong, right, columns[3]


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
    data: DataRecipe = recipe.data
    out.mkdir(parents=True, exist_ok=True)
    banned_keys = _excluded([*(data_dir / name for name in data.exclude), *exclude])
    seen = set(banned_keys)
    rng = random.Random(0)
    provenance = []
    vocabulary_sample: list[list[str]] = []
    held_out_pairs: list[str] = []
    for number, source in enumerate(data.source):
        if source.pairs:
            lines, banned, held = [], 0, 0
            for wrong, right, repository in clean_pairs(data_dir / source.file, source):
                line = f"{' '.join(wrong)}\t{' '.join(right)}"
                if line in seen or not banned_keys.isdisjoint((_key(wrong), _key(right))):
                    banned += 1
                elif _held_out(repository):
                    held += 1
                    held_out_pairs.append(line)
                else:
                    lines.append(line)
                seen.add(line)
            rng.shuffle(lines)
            lines = lines[: source.limit]
            (out / f"{source.name}.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")
            counts = {"pairs": len(lines), "held_out": held}
            provenance.append(_origin(source) | counts | {"dropped": banned})
            print(f"{source.name}: {counts}, dropped {banned}", file=sys.stderr)
            continue
        sentences, banned = [], 0
        excluded = len(seen)
        for words in clean_sentences(open_text(data_dir / source.file), source, rng):
            key = _key(words)
            if key in seen:
                banned += 1
                continue
            seen.add(key)
            sentences.append(words)
        rng.shuffle(sentences)
        sentences = sentences[: source.limit]
        if number == 0:
            held_out, sentences = sentences[: data.validation], sentences[data.validation :]
            _write_lines(out / "validation.txt", held_out)
        _write_lines(out / f"{source.name}.txt", sentences)
        share = source.weight / sum(s.weight for s in data.source)
        vocabulary_sample += sentences[: int(200_000 * share)]
        counts = {"sentences": len(sentences), "words": sum(map(len, sentences))}
        provenance.append(
            _origin(source)
            | counts
            | {"duplicates_or_dev_sentences_dropped": banned, "known_before": excluded}
        )
        print(f"{source.name}: {counts}, dropped {banned}", file=sys.stderr)
    if held_out_pairs:
        rng.shuffle(held_out_pairs)
        (out / "validation_pairs.txt").write_text(
            "\n".join([*held_out_pairs[: data.validation], ""]), encoding="utf-8"
        )
    counts = word_counts(data_dir / data.word_counts)
    names = [source.name for source in data.source if not source.pairs]
    build_ngrams(lambda: _sentences(out, names)).save(out)
    read_speller(data_dir / data.noise_lists, counts, open_text).save(out)
    if subwords is None:
        inflections = build_inflections(open_text(data_dir / data.inflections), counts)
        subwords = Subwords.train(vocabulary_sample, size=data.vocabulary, inflections=inflections)
    subwords.save(out)
    (out / "lists").mkdir(exist_ok=True)
    for path in (data_dir / data.noise_lists).glob("*.xz"):
        shutil.copyfile(path, out / "lists" / path.name)
    (out / "provenance.json").write_text(json.dumps(provenance, indent=1) + "\n", encoding="utf-8")


def _sentences(packed: Path, names: Iterable[str]) -> Iterator[list[str]]:
    for name in names:
        for line in open_text(packed / f"{name}.txt"):
            yield line.split(" ")


def _origin(source: Source) -> dict[str, str | float]:
    return {name: getattr(source, name) for name in ("name", "file", "licence", "weight")}


def word_counts(path: Path) -> dict[str, int]:
    counts = {}
    for number, line in enumerate(open_text(path), 1):
        word, _, count = line.partition("\t")
        if not count.isdecimal():
            raise DataError(f"{path}:{number}: expected word TAB count: {line!r}")
        counts[word] = int(count)
    return counts


def _write_lines(path: Path, sentences: Iterable[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(" ".join(words) + "\n" for words in sentences)


@dataclass(slots=True)
class Batch:
    """Padded ids: source [B, S]; target_in and target_out [B, T]; edited [B, T] is True on the
    target tokens that differ from the source; position says where the stream stands after it."""

    source: Tensor
    target_in: Tensor
    target_out: Tensor
    edited: Tensor
    position: tuple[int, int]

    def to(self, device: torch.device) -> Batch:
        return Batch(
            self.source.to(device),
            self.target_in.to(device),
            self.target_out.to(device),
            self.edited.to(device),
            self.position,
        )


def edited_tokens(source: Sequence[int], target: Sequence[int]) -> list[bool]:
    """Mark the target tokens an edit produces; a deletion marks the token that follows it."""
    marks = [False] * len(target)
    matcher = SequenceMatcher(None, source, target, autojunk=False)
    for kind, _, _, start, end in matcher.get_opcodes():
        if kind != "equal":
            for i in range(start, max(end, start + 1)):
                if i < len(target):
                    marks[i] = True
    return marks


def make_batch(pairs: Sequence[tuple[list[int], list[int]]], position: tuple[int, int]) -> Batch:
    """Pad (source, target) id pairs; the source ends with EOS, the target is shifted by BOS."""
    sources = [[*source, EOS_ID] for source, _ in pairs]
    targets = [[*target, EOS_ID] for _, target in pairs]
    edited = [edited_tokens(s, t) for s, t in zip(sources, targets, strict=True)]

    def pad(rows: Sequence[Sequence[int]], value: int) -> Tensor:
        width = max(map(len, rows))
        return torch.tensor([[*row, *[value] * (width - len(row))] for row in rows])

    return Batch(
        source=pad(sources, PAD_ID),
        target_in=pad([[BOS_ID, *t[:-1]] for t in targets], PAD_ID),
        target_out=pad(targets, PAD_ID),
        edited=pad(edited, False),
        position=position,
    )


class NoisyBatches(IterableDataset[Batch]):
    """An endless stream of length-bucketed batches of freshly corrupted sentences.

    Pool n (2,048 sentences or more, drawn by source weight, corrupted, sorted by length, cut into
    batches, shuffled) depends on (seed, rank, n) alone, so that a run resumes exactly at any batch.
    Of W worker processes each makes every W-th pool; ``starts`` has the place of each in the
    stream, in the order in which they deliver (see :func:`worker_starts`).
    """

    POOL = 2048  # at least, and enough for some batches
    MAX_TOKENS = 120

    def __init__(
        self,
        packed: Path,
        recipe: Recipe,
        *,
        seed: int = 0,
        rank: int = 0,
        starts: Sequence[tuple[int, int]] = ((0, 0),),
    ) -> None:
        self.subwords = Subwords.load(packed)
        self.noiser = load_noiser(packed, recipe)
        self.speller = Speller.load(packed)
        self.recipe, self.seed, self.rank, self.starts = recipe, seed, rank, tuple(starts)
        self.size = max(self.POOL, recipe.training.batch_tokens // 2)
        self.sources: list[list[str]] = []
        for source in recipe.data.source:
            lines = list(open_text(packed / f"{source.name}.txt"))
            if not lines:
                raise DataError(f"no sentence of {source.file} in {packed}: prepare it again")
            self.sources.append(lines)

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        number, stride = (worker.id, worker.num_workers) if worker else (0, 1)
        pool, skip = self.starts[number]
        while True:
            batches = self._pool(pool)
            for place in range(skip, len(batches)):
                last = place + 1 == len(batches)
                yield make_batch(batches[place], (pool + stride, 0) if last else (pool, place + 1))
            pool, skip = pool + stride, 0

    def _pool(self, number: int) -> list[list[tuple[list[int], list[int]]]]:
        rng = random.Random(f"{self.seed}/{self.rank}/{number}")
        weights = [source.weight for source in self.recipe.data.source]
        pairs = []
        for lines in rng.choices(self.sources, weights, k=self.size):
            at = rng.randrange(len(lines))
            wrong, tab, right = lines[at].partition("\t")
            words = (right or wrong).split(" ")
            if not tab and rng.random() < self.recipe.training.joined_share:
                words += lines[(at + 1) % len(lines)].split(" ")
            given = wrong.split(" ") if tab else self.noiser.corrupt(words, rng)
            source = self.subwords.encode(respelt(given, self.speller))
            target = self.subwords.encode(words)
            if max(len(source), len(target)) < self.MAX_TOKENS:
                pairs.append((source, target))
        pairs.sort(key=lambda pair: (len(pair[1]), len(pair[0])))
        batches: list[list[tuple[list[int], list[int]]]] = []
        current: list[tuple[list[int], list[int]]] = []
        width = 0
        for pair in pairs:
            width = max(width, len(pair[0]) + 1, len(pair[1]) + 1)
            if current and width * (len(current) + 1) > self.recipe.training.batch_tokens:
                batches.append(current)
                current, width = [], max(len(pair[0]), len(pair[1])) + 1
            current.append(pair)
        batches.append(current)
        rng.shuffle(batches)
        return batches


def worker_starts(saved: Sequence[tuple[int, int]], workers: int) -> list[tuple[int, int]]:
    """Return where each worker begins: where it stood, or behind all if their number is another."""
    if len(saved) == workers:
        return list(saved)
    first = 1 + max((pool for pool, _ in saved), default=-1)
    return [(first + number, 0) for number in range(workers)]


def respelt(words: Sequence[str], speller: Speller | None) -> list[str]:
    """Return what the model sees of ``words`` when the speller stands in front of it."""
    found = speller.correct(words) if speller else {}
    return [
        part
        for place, word in enumerate(words)
        for part in (tokenize_line(found[place][0]) if place in found else [word])
    ]


def load_noiser(packed: Path, recipe: Recipe) -> Noiser:
    """Build the recipe's noiser from a packed folder's word lists (put there by prepare)."""
    try:
        inflections = Inflections.load(packed / "inflections.tsv")
        lexicon = Lexicon.load(packed / "lists", inflections)
    except (OSError, EOFError, lzma.LZMAError, ValueError) as error:
        raise DataError(f"cannot read the word lists of {packed}: {error}") from error
    noise = recipe.noise
    return Noiser(
        lexicon,
        DEFAULT_RATES | noise.rates,
        clean_share=noise.clean_share,
        mean_errors=noise.mean_errors,
    )


def prepare_main(args: argparse.Namespace) -> int:
    """``gec data prepare RECIPE --data-dir DIR --out DIR [--exclude FILE ...]``."""
    if task_of(Path(args.recipe)) != "gec":
        from gec.models.training import stages as generation

        return generation.prepare_main(args)
    if method_of(Path(args.recipe)) == "finetune":
        from gec.models.training import finetune

        return finetune.prepare_main(args)
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
