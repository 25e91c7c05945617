"""Tiny models of the Hugging Face families: random ones, and ones that learnt to correct.

Ids: 0 pad, 1 BOS, 2 EOS, words from 3 (M2M-100 insists on 1 for the pad). The task: word 5 becomes
6, word 7 goes away, and after a 9 a 10 is put in.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor

VOCABULARY = 14
EOS = 2
_SIZES = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 40,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": EOS,
    "forced_eos_token_id": None,
    "dropout": 0.0,
}
_T5_SIZES = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "d_kv": 6,
    "d_ff": 48,
    "num_layers": 1,
    "num_decoder_layers": 1,
    "num_heads": 4,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 12,
    "pad_token_id": 0,
    "eos_token_id": EOS,
    "decoder_start_token_id": 0,
    "dropout_rate": 0.0,
}
_GATED = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
_SPLIT = {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": VOCABULARY - 1}

KINDS: dict[str, Callable[[], Any]] = {
    "bart": lambda: transformers.BartConfig(**_SIZES, decoder_start_token_id=EOS),
    "bart with a forced first token": lambda: transformers.BartConfig(
        **_SIZES, decoder_start_token_id=EOS, forced_bos_token_id=1, scale_embedding=True
    ),
    "mbart": lambda: transformers.MBartConfig(
        **_SIZES, decoder_start_token_id=EOS, activation_function="relu"
    ),
    "marian": lambda: transformers.MarianConfig(
        **_SIZES, decoder_start_token_id=0, scale_embedding=True, activation_function="swish"
    ),
    "marian with two vocabularies": lambda: transformers.MarianConfig(
        **_SIZES, **_SPLIT, decoder_start_token_id=0
    ),
    "pegasus": lambda: transformers.PegasusConfig(
        **_SIZES, decoder_start_token_id=0, scale_embedding=True
    ),
    "blenderbot": lambda: transformers.BlenderbotConfig(
        **_SIZES, decoder_start_token_id=1, encoder_no_repeat_ngram_size=0
    ),
    "m2m_100": lambda: transformers.M2M100Config(
        **_SIZES | {"pad_token_id": 1, "bos_token_id": 0}, decoder_start_token_id=EOS
    ),
    "t5": lambda: transformers.T5Config(**_T5_SIZES),
    "t5 1.1": lambda: transformers.T5Config(**_T5_SIZES, **_GATED),
    "mt5": lambda: transformers.MT5Config(**_T5_SIZES, **_GATED),
}
TRAINED = ["bart", "marian", "pegasus", "t5", "t5 1.1", "mt5"]


def corrected(source: list[int]) -> list[int]:
    """Return the right answer of the toy task."""
    target: list[int] = []
    for token in source:
        if token != 7:
            target.append(6 if token == 5 else token)
        if token == 9:
            target.append(10)
    return target


def sentences(count: int, seed: int) -> list[list[int]]:
    rng = random.Random(seed)
    return [
        [rng.randrange(3, VOCABULARY - 1) for _ in range(rng.randint(1, 6))] for _ in range(count)
    ]


@dataclass(frozen=True)
class Theirs:
    """A model of the original library."""

    kind: str
    model: Any

    @property
    def wrapped(self) -> bool:
        """Whether its sources begin with BOS."""
        return self.kind.startswith("bart")

    def batch(self, sources: list[list[int]]) -> dict[str, Tensor]:
        """Return the sources as it wants them, padded."""
        pad = self.model.config.pad_token_id
        rows = [[*([1] if self.wrapped else []), *source, EOS] for source in sources]
        width = max(map(len, rows))
        return {
            "input_ids": torch.tensor([row + [pad] * (width - len(row)) for row in rows]),
            "attention_mask": torch.tensor(
                [[1] * len(row) + [0] * (width - len(row)) for row in rows]
            ),
        }

    def plain(self, ids: list[int]) -> tuple[int, ...]:
        """Return a generated row without what it begins and ends with."""
        forced = self.model.generation_config.forced_bos_token_id is not None
        ids = ids[1 + forced :]
        return tuple(ids[: ids.index(EOS)] if EOS in ids else ids)

    def greedy(self, sources: list[list[int]], limit: int) -> list[tuple[int, ...]]:
        found = self.model.generate(
            **self.batch(sources), max_new_tokens=limit, num_beams=1, do_sample=False
        )
        return [self.plain(row) for row in found.tolist()]

    def save(self, folder: Path) -> Path:
        self.model.save_pretrained(folder)
        return folder


def _fresh(kind: str) -> Any:
    torch.manual_seed(len(kind))
    config = KINDS[kind]()
    return transformers.AutoModelForSeq2SeqLM.from_config(config)


@cache
def random_model(kind: str) -> Theirs:
    """Return a model with large random weights, so that every part of it matters."""
    model = _fresh(kind).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                parameter.normal_(std=0.4)
            if "norm" in name and name.endswith("weight"):
                parameter.add_(1)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.normal_()
    if kind == "t5 1.1":  # published ones have an output of their own
        model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.lm_head.weight))
    return Theirs(kind, model)


@cache
def trained_model(kind: str) -> Theirs:
    """Return a model that was trained on the toy task, by its own library."""
    theirs = Theirs(kind, _fresh(kind))
    model = theirs.model.train()
    optimizer = torch.optim.AdamW(model.parameters())
    pad = model.config.pad_token_id
    for step in range(120):
        optimizer.param_groups[0]["lr"] = 8e-3 * min(1, (step + 1) / 30)
        sources = sentences(48, step)
        targets = [[*corrected(source), EOS] for source in sources]
        width = max(map(len, targets))
        labels = torch.tensor([row + [-100] * (width - len(row)) for row in targets])
        start = torch.full((len(labels), 1), model.config.decoder_start_token_id)
        fed = torch.cat([start, labels[:, :-1].masked_fill(labels[:, :-1] == -100, pad)], 1)
        logits = model(**theirs.batch(sources), decoder_input_ids=fed).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    return theirs
