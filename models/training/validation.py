"""How well a corrector does on held-out sentences while it is trained."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F

from gec.decoding.decoder import Decoder
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.model import Model
from gec.edits.align import align
from gec.edits.edits import WordEdit
from gec.errors import DataError
from gec.models.engines.verifier import TransformerVerifier
from gec.models.network.transformer import Transformer
from gec.models.training.noisy_batches import Batch, encoded, load_noiser, make_batch
from gec.models.training.recipe import Recipe
from gec.models.training.sources import open_text
from gec.models.training.streams import Pair
from gec.text.spelling import Speller
from gec.text.subwords import PAD_ID, Subwords

DECODED = 300  # validation sentences that are decoded, besides all being scored


@torch.no_grad()
def validate(model: Transformer, batches: list[Batch]) -> dict[str, float]:
    """Score held-out corrupted sentences by teacher forcing.

    ``exact``: share of sentences whose every token is the model's first choice, which is the share
    greedy decoding would get right to the last token; counted apart for clean and corrupted input.
    """
    model.eval()
    sums = dict.fromkeys(
        "edit_loss edit_right edits kept_loss kept clean_right clean noisy_right noisy".split(), 0.0
    )
    for batch in batches:
        logits = model(batch.source, batch.target_in).float()  # [B, T, V]
        real = batch.target_out != PAD_ID  # [B, T]
        losses = F.cross_entropy(logits.transpose(1, 2), batch.target_out, reduction="none")
        right = (logits.argmax(-1) == batch.target_out) | ~real  # [B, T]
        kept = real & ~batch.edited
        clean = ~batch.edited.any(1)  # [B]
        exact = right.all(1)  # [B]
        for name, value in {
            "edit_loss": losses[batch.edited].sum(),
            "edit_right": right[batch.edited].sum(),
            "edits": batch.edited.sum(),
            "kept_loss": losses[kept].sum(),
            "kept": kept.sum(),
            "clean_right": exact[clean].sum(),
            "clean": clean.sum(),
            "noisy_right": exact[~clean].sum(),
            "noisy": (~clean).sum(),
        }.items():
            sums[name] += float(value)
    model.train()
    return {
        "edit_loss": sums["edit_loss"] / max(1, sums["edits"]),
        "edit_accuracy": sums["edit_right"] / max(1, sums["edits"]),
        "kept_loss": sums["kept_loss"] / max(1, sums["kept"]),
        "exact_noisy": sums["noisy_right"] / max(1, sums["noisy"]),
        "clean_changed": 1 - sums["clean_right"] / max(1, sums["clean"]),
    }


@torch.no_grad()
def decode(model: Transformer, subwords: Subwords, pairs: Sequence[Pair]) -> dict[str, float]:
    """Score held-out sentences by decoding them (IAD, which is greedy): edits and whole sentences.

    ``decoded_f05`` is of word edits against those that lead to the target; ``decoded_exact`` is
    the share of sentences that come out as the target, ``copied_exact`` what copying has of them.
    """
    scores = decoded(TransformerVerifier(model), subwords, pairs)
    model.train()
    return scores


def decoded(verifier: Model, subwords: Subwords, pairs: Sequence[Pair]) -> dict[str, float]:
    """Return :func:`decode`'s scores of anything that can be decoded."""
    outputs = Decoder(verifier, CopyDrafter()).decode([source for source, _ in pairs])
    hits = proposed = wanted = exact = copied = 0
    for (source, target), (hypothesis, *_) in zip(pairs, outputs, strict=True):
        given, right, said = map(subwords.decode, (source, target, hypothesis.tokens))
        ours, theirs = ({_change(e, other) for e in align(given, other)} for other in (said, right))
        hits += len(ours & theirs)
        proposed += len(ours)
        wanted += len(theirs)
        exact += said == right
        copied += given == right
    precision, recall = hits / max(1, proposed), hits / max(1, wanted)
    return {
        "decoded_f05": 1.25 * precision * recall / max(1e-9, 0.25 * precision + recall),
        "decoded_exact": exact / max(1, len(pairs)),
        "copied_exact": copied / max(1, len(pairs)),
    }


def _change(edit: WordEdit, words: Sequence[str]) -> tuple[int, int, str]:
    new = " ".join(words[edit.target_start : edit.target_end])
    return edit.source_start, edit.source_end, new


def validation_pairs(
    packed: Path, recipe: Recipe, subwords: Subwords
) -> tuple[list[Pair], list[Pair]]:
    """Return the held-out sentences, always corrupted the same way, and the held-out real pairs.

    Those of a breaker's recipe are the other way round.
    """
    noiser, speller = load_noiser(packed, recipe), Speller.load(packed)
    rng = random.Random(12345)

    def pair(given: Sequence[str], right: Sequence[str]) -> Pair:
        return encoded(given, right, subwords, speller, reverse=recipe.training.reverse)

    pairs = []
    for line in open_text(packed / "validation.txt"):
        words = line.split(" ")
        pairs.append(pair(noiser.corrupt(words, rng), words))
    if not pairs:
        raise DataError(f"{packed / 'validation.txt'} is empty: prepare the data again")
    real = []
    if (packed / "validation_pairs.txt").exists():
        for line in open_text(packed / "validation_pairs.txt"):
            wrong, _, right = line.partition("\t")
            real.append(pair(wrong.split(" "), right.split(" ")))
    return pairs, real


def batches_of_pairs(pairs: list[Pair]) -> list[Batch]:
    """Cut pairs, sorted by length, into batches of fifty."""
    pairs = sorted(pairs, key=lambda pair: len(pair[1]))
    return [make_batch(pairs[i : i + 50], (0, 0)) for i in range(0, len(pairs), 50)]
