"""Tiny fairseq models, random and trained, with a checkpoint and dictionaries in a folder.

The language: word ``b`` is written ``c``, ``d`` goes away, after ``e`` an ``f`` is put in. Needs
fairseq.
"""

from __future__ import annotations

import random
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gec.models.convert.fairseq_compat import load_fairseq

WORDS = [*"abcdefghij"]
SMALL = {
    "encoder_embed_dim": 32,
    "encoder_ffn_embed_dim": 48,
    "encoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_embed_dim": 32,
    "decoder_ffn_embed_dim": 48,
    "decoder_layers": 2,
    "decoder_attention_heads": 4,
    "dropout": 0.0,
    "max_source_positions": 60,
    "max_target_positions": 60,
}
JOINED = {"share_all_embeddings": True, "share_decoder_input_output_embed": True}
PRE = {"encoder_normalize_before": True, "decoder_normalize_before": True}
LEARNED = {"encoder_learned_pos": True, "decoder_learned_pos": True}
# name: (arch, options beside SMALL, one dictionary for both sides)
FAMILIES: dict[str, tuple[str, dict[str, Any], bool]] = {
    "transformer": ("transformer", {}, True),
    "transformer, joined": ("transformer", JOINED, True),
    "transformer, two dictionaries": ("transformer", PRE, False),
    "transformer, two dictionaries, tied output": (
        "transformer",
        {"share_decoder_input_output_embed": True},
        False,
    ),
    "transformer, pre-norm, learned": ("transformer", PRE | LEARNED | JOINED, True),
    "transformer, no final norm of the decoder": (
        "transformer",
        PRE | {"no_decoder_final_norm": True},
        True,
    ),
    "transformer, small encoder": (
        "transformer",
        {"encoder_attention_heads": 2, "encoder_ffn_embed_dim": 40, "encoder_layers": 1},
        True,
    ),
    "transformer_wmt_en_de": ("transformer_wmt_en_de", JOINED, True),
    "transformer_wmt_en_de_big": ("transformer_wmt_en_de_big", JOINED, True),
    "transformer_wmt_en_de_big_t2t": ("transformer_wmt_en_de_big_t2t", JOINED, True),
    "transformer_vaswani_wmt_en_de_big": ("transformer_vaswani_wmt_en_de_big", {}, True),
    "transformer_vaswani_wmt_en_fr_big": ("transformer_vaswani_wmt_en_fr_big", {}, True),
    "transformer_tiny": ("transformer_tiny", {}, True),
    "transformer_iwslt_de_en": ("transformer_iwslt_de_en", {}, True),
    "bart_base": ("bart_base", {}, True),
    "bart_large": ("bart_large", {}, True),
}
TO_TRAIN = (
    "transformer, joined",
    "transformer, two dictionaries, tied output",
    "transformer, pre-norm, learned",
    "transformer_wmt_en_de",
    "transformer_iwslt_de_en",
    "bart_base",
)


def corrected(words: Sequence[str]) -> list[str]:
    found: list[str] = []
    for word in words:
        if word == "b":
            found.append("c")
        elif word == "e":
            found += ["e", "f"]
        elif word != "d":
            found.append(word)
    return found


def sentences(count: int, seed: int, longest: int = 6) -> list[list[str]]:
    rng = random.Random(seed)
    return [rng.choices(WORDS, k=rng.randint(1, longest)) for _ in range(count)]


def write_dictionaries(folder: Path, *, joined: bool) -> None:
    """Write ``dict.en.txt`` and ``dict.xx.txt``: the same, or other words in another order."""
    folder.mkdir(parents=True, exist_ok=True)
    target = WORDS if joined else [*reversed(WORDS), "only_there"]
    source = WORDS if joined else [*WORDS[4:], "only_here", "here_too", *WORDS[:4]]
    for name, words in (("en", source), ("xx", target)):
        lines = "".join(f"{word} 1\n" for word in words)
        (folder / f"dict.{name}.txt").write_text(lines, encoding="utf-8")


@torch.no_grad()
def lead_to_the_end(output: Tensor, last: nn.Module, *, pad: int, eos: int) -> None:
    """Make a random network end its sentences, and give the pad no probability.

    A trained one does both. The bias of the last module is a direction that all hidden states
    share; without a norm these are longer and differ more.
    """
    normed = isinstance(last, nn.LayerNorm)
    last.bias.add_(0.5 if normed else 1.0)
    output[pad] = -1.0
    output[eos] += 0.25 if normed else 6 / output.shape[1]


class Toy:
    """A fairseq model with its task.

    Attributes:
        folder: has ``model.pt`` (after :meth:`save`) and the dictionaries.
        trained: it has learnt to correct, more or less.
    """

    def __init__(self, folder: Path, arch: str, options: dict[str, Any], *, joined: bool) -> None:
        load_fairseq()
        from fairseq import models, tasks
        from omegaconf import OmegaConf

        write_dictionaries(folder, joined=joined)
        self.folder = folder
        self.trained = False
        self.task_settings = {
            "_name": "translation",
            "data": str(folder),
            "source_lang": "en",
            "target_lang": "xx",
        }
        self.settings = {"arch": arch, **SMALL, **options}
        self.task = tasks.setup_task(OmegaConf.create(self.task_settings))
        torch.manual_seed(1)
        self.model = models.build_model(Namespace(**self.settings), self.task)
        decoder = self.model.decoder
        with torch.no_grad():
            for parameter in self.model.parameters():
                if parameter.dim() == 1:
                    parameter.add_(torch.randn_like(parameter) * 0.1)
        last = decoder.layers[-1]
        norm = decoder.layer_norm or (last.fc2 if last.normalize_before else last.final_layer_norm)
        lead_to_the_end(decoder.output_projection.weight, norm, pad=1, eos=2)
        self.model.eval()

    def source_ids(self, words: Sequence[str]) -> list[int]:
        return [self.task.source_dictionary.index(word) for word in words]

    def target_words(self, ids: Sequence[int]) -> list[str]:
        return [self.task.target_dictionary[i] for i in ids]

    def train(self, steps: int = 220) -> None:
        """Teach it to correct, with teacher forcing."""
        self.trained = True
        self.model.train()
        optimizer = torch.optim.Adam(self.model.parameters(), lr=4e-3)
        for step in range(steps):
            batch = sentences(32, seed=1000 + step)
            loss = self._loss(batch)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()
        self.model.eval()

    def _loss(self, batch: Sequence[Sequence[str]]) -> torch.Tensor:
        from fairseq.data.data_utils import collate_tokens

        target_dictionary = self.task.target_dictionary
        pad, eos = target_dictionary.pad(), target_dictionary.eos()
        sources = [torch.tensor([*self.source_ids(words), eos]) for words in batch]
        targets = [
            torch.tensor([*(target_dictionary.index(w) for w in corrected(words)), eos])
            for words in batch
        ]
        source = collate_tokens(sources, pad, left_pad=True)
        target = collate_tokens(targets, pad)
        fed = collate_tokens(targets, pad, eos, move_eos_to_beginning=True)
        lengths = torch.tensor([len(row) for row in sources])
        logits, _ = self.model(source, lengths, fed)
        return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=pad)

    def save(self, *, old_style: bool = False) -> Path:
        """Write a checkpoint as fairseq 0.12 does, or with ``args``, as up to 0.10."""
        from fairseq.checkpoint_utils import torch_persistent_save

        history = [
            {
                "criterion_name": "CrossEntropyCriterion",
                "optimizer_name": "FairseqAdam",
                "lr_scheduler_state": {"best": 1.0},
                "num_updates": 3,
            }
        ]
        options = {k: v for k, v in self.task_settings.items() if k != "_name"}
        state = {
            "args": Namespace(task="translation", **self.settings, **options)
            if old_style
            else None,
            "cfg": None
            if old_style
            else {"model": Namespace(**self.settings), "task": self.task_settings},
            "model": self.model.state_dict(),
            "optimizer_history": history,
            "extra_state": {"train_iterator": {"epoch": 1}},
            "last_optimizer_state": None,
        }
        path = self.folder / "model.pt"
        torch_persistent_save(state, str(path))
        return path
