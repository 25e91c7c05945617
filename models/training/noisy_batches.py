"""The stream that ``gec train`` reads: batches of freshly corrupted sentences.

Errors are made afresh for every example, determined by (seed, rank, pool number) alone.
"""

from __future__ import annotations

import lzma
import random
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import torch
from torch import Tensor

from gec.errors import DataError
from gec.models.training.noise import DEFAULT_RATES, Lexicon, Noiser
from gec.models.training.recipe import Recipe
from gec.models.training.sources import open_text
from gec.models.training.streams import Pair, Place, PooledBatches, batches_of, pad
from gec.text.inflection import Inflections
from gec.text.spelling import Speller
from gec.text.subwords import BOS_ID, EOS_ID, PAD_ID, Subwords
from gec.text.words import tokenize_line


@dataclass(slots=True)
class Batch:
    """Padded ids: source [B, S]; target_in and target_out [B, T]; edited [B, T] is True on the
    target tokens that differ from the source; position says where the stream stands after it."""

    source: Tensor
    target_in: Tensor
    target_out: Tensor
    edited: Tensor
    position: Place

    def to(self, device: torch.device) -> Batch:
        """Return the batch on a device."""
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


def make_batch(pairs: Sequence[Pair], position: Place) -> Batch:
    """Pad (source, target) id pairs; the source ends with EOS, the target is shifted by BOS."""
    sources = [[*source, EOS_ID] for source, _ in pairs]
    targets = [[*target, EOS_ID] for _, target in pairs]
    edited = [edited_tokens(s, t) for s, t in zip(sources, targets, strict=True)]
    return Batch(
        source=pad(sources, PAD_ID),
        target_in=pad([[BOS_ID, *t[:-1]] for t in targets], PAD_ID),
        target_out=pad(targets, PAD_ID),
        edited=pad(edited, False),
        position=position,
    )


class NoisyBatches(PooledBatches[Batch]):
    """An endless stream of length-bucketed batches of freshly corrupted sentences.

    Pool n (2,048 sentences or more, drawn by source weight, corrupted, sorted by length, cut into
    batches, shuffled) depends on (seed, rank, n) alone, so that a run resumes exactly at any batch.
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
        starts: Sequence[Place] = ((0, 0),),
    ) -> None:
        super().__init__(seed, rank, starts)
        self.subwords = Subwords.load(packed)
        self.noiser = load_noiser(packed, recipe)
        self.speller = Speller.load(packed)
        self.recipe = recipe
        self.size = max(self.POOL, recipe.training.batch_tokens // 2)
        self.sources: list[list[str]] = []
        for source in recipe.data.source:
            lines = list(open_text(packed / f"{source.name}.txt"))
            if not lines:
                raise DataError(f"no sentence of {source.file} in {packed}: prepare it again")
            self.sources.append(lines)

    def pool(self, number: int) -> list[list[Pair]]:
        """Draw, corrupt and encode the sentences of a pool; return its batches, shuffled."""
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
            reverse = self.recipe.training.reverse
            source, target = encoded(given, words, self.subwords, self.speller, reverse=reverse)
            if max(len(source), len(target)) < self.MAX_TOKENS:
                pairs.append((source, target))
        batches = batches_of(pairs, self.recipe.training.batch_tokens)
        rng.shuffle(batches)
        return batches

    def batch(self, pairs: Sequence[Pair], after: Place) -> Batch:
        """Return pairs as a batch."""
        return make_batch(pairs, after)


def encoded(
    given: Sequence[str],
    right: Sequence[str],
    subwords: Subwords,
    speller: Speller | None,
    *,
    reverse: bool,
) -> Pair:
    """Return what a network reads and writes: a corrector, or (``reverse``) a breaker."""
    if reverse:
        return subwords.encode(right), subwords.encode(given)
    return subwords.encode(respelt(given, speller)), subwords.encode(right)


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
