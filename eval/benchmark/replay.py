"""Time any architecture without training it: random weights, recorded outputs.

Speed depends on shapes and on which tokens come out, not on the values of the weights. So a random
network of any shape does all of its work, and then its logits are overwritten such that its choices
are what the shipped model chose. A drafter is right at most as often, and outputs are as long, as
with the shipped model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, cast

import torch

from gec.decoding.model import Model
from gec.decoding.scores import Scores
from gec.errors import ConfigError
from gec.eval.benchmark.contenders import Ids
from gec.models.engines.scores import TorchScores
from gec.models.load.bundle import Bundle
from gec.models.network.transformer import Transformer, TransformerConfig

CHOSEN, ENDED = 1e2, 3e4
"""Logits of a recorded token and of the EOS at an output's end: above what a random network gives,
the second far above the first, so that every beam ends there; both exist in float16."""

SAME = "bundle"
"""The shape of the bundle itself: how far a replay may be from the real thing."""


@dataclass(slots=True)
class Memory:
    """The network's memory of the rows, and what was recorded for them."""

    inner: Any
    outputs: list[Ids]


class Chosen:
    """The scores of a pass with other likeliest tokens: those of a network without torch.

    The network's own are computed all the same. Nothing else may be asked.
    """

    def __init__(self, inner: Scores, choices: list[list[int]]) -> None:
        self.lengths, self._inner, self._choices = inner.lengths, inner, choices

    def best(self) -> None:
        self._inner.best()

    def read(self, *columns: None) -> list[list[list[int]]]:
        return [self._choices for _ in columns]


class Replay:
    """Meets :class:`gec.decoding.model.Model`: one that does, with recorded choices.

    The best after ``p`` output tokens is the recorded token ``p``, and EOS from the recording's end
    on. So a draft is rejected where it leaves the recording, and the beams of a search (which do
    leave it, and are fed token by token) all end where it ends. Behind the place where a draft
    leaves it the draft itself is the best, and EOS at its end, so that no correction is foreseen
    (:mod:`gec.decoding.drafters.reentry`): what the recorded network would have chosen there is not
    known, and passes are rather too many than too few.
    """

    def __init__(self, model: Model, outputs: Mapping[Ids, Ids]) -> None:
        self.model, self.outputs = model, outputs
        self.bos_id, self.eos_id = model.bos_id, model.eos_id
        self.max_positions = model.max_positions

    def start(self, sources: Sequence[Sequence[int]]) -> Memory:
        return Memory(self.model.start(sources), [self.outputs[tuple(s)] for s in sources])

    def verify(
        self, memory: Memory, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> Scores:
        scores = self.model.verify(memory.inner, tokens, starts)
        choices = [
            self._choices(output, block, start)
            for output, block, start in zip(memory.outputs, tokens, starts, strict=True)
        ]
        if not isinstance(scores, TorchScores):
            return cast(Scores, Chosen(scores, choices))
        index = torch.tensor([*chain(*choices)], device=scores.raw.device)[:, None]  # [N, 1]
        values = torch.where(index == self.eos_id, ENDED, CHOSEN).to(scores.raw.dtype)
        with torch.inference_mode():
            scores.raw[:, self.eos_id] = -ENDED  # no beam ends early
            scores.raw.scatter_(1, index, values)
        return scores

    def _choices(self, output: Ids, block: Sequence[int], start: int) -> list[int]:
        """Return the choice after each token of a row's block, which stands at ``start``."""
        recorded = [*output[start : start + len(block)]]
        recorded += [self.eos_id] * (len(block) - len(recorded))
        for place in range(1, len(block)):
            if block[place] != recorded[place - 1]:
                return [*recorded[:place], *block[place + 1 :], self.eos_id]
        return recorded

    def select(self, memory: Memory, rows: Sequence[int]) -> Memory:
        inner = self.model.select(memory.inner, rows)
        return Memory(inner, [memory.outputs[row] for row in rows])

    def join(self, memory: Memory, other: Memory) -> Memory:
        inner = self.model.join(memory.inner, other.inner)
        return Memory(inner, memory.outputs + other.outputs)


_SHAPE = re.compile(r"(?P<encoder>\d+)\+(?P<decoder>\d+)x(?P<width>\d+)(?P<rest>(,\w+=\d+)*)")


def architecture(text: str, base: TransformerConfig, vocabulary: int | None) -> TransformerConfig:
    """Read ``6+6x512`` or ``12+2x1024,ffn=4096,heads=16``: layers, width, and what departs.

    Without more, a head is 64 wide and the feed-forward network four times the width, as in
    Vaswani et al. 2017, Table 3. Ids and positions are the bundle's; the vocabulary is, unless a
    larger one is asked for.

    Raises:
        ConfigError: another form, or numbers that make no network.
    """
    if vocabulary is not None and vocabulary < base.vocab_size:
        raise ConfigError(
            f"a replay needs at least the bundle's {base.vocab_size} vocabulary entries, "
            f"not {vocabulary}"
        )
    size = vocabulary or base.vocab_size
    if text == SAME:
        return replace(base, vocab_size=size)
    found = _SHAPE.fullmatch(text.replace(" ", ""))
    if not found:
        raise ConfigError(
            f"an architecture is {SAME}, or layers and width as in 6+6x512 or "
            f"6+6x512,ffn=1024,heads=4, not {text!r}"
        )
    width = int(found["width"])
    options = dict(pair.split("=") for pair in found["rest"].split(",")[1:])
    if unknown := sorted(set(options) - {"ffn", "heads"}):
        raise ConfigError(f"an architecture has ffn and heads, not {unknown[0]!r}: {text!r}")
    heads = int(options.get("heads", max(1, width // 64)))
    if not heads or width % heads:
        raise ConfigError(f"width {width} is no multiple of {heads} heads: {text!r}")
    if not (width and int(found["encoder"]) and int(found["decoder"])):
        raise ConfigError(f"an architecture needs layers and a width of at least 1: {text!r}")
    return TransformerConfig(
        vocab_size=size,
        width=width,
        heads=heads,
        ffn_width=int(options.get("ffn", 4 * width)),
        encoder_layers=int(found["encoder"]),
        decoder_layers=int(found["decoder"]),
        max_positions=base.max_positions,
        dropout=0.0,
        pad_id=base.pad_id,
        bos_id=base.bos_id,
        eos_id=base.eos_id,
    )


def random_bundle(bundle: Bundle, config: TransformerConfig) -> Bundle:
    """Return a bundle with the same vocabulary around a random network of another shape."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = Transformer(config).eval()
    settings = bundle.config | {"network": config.to_dict()}
    return replace(bundle, name="random", config=settings, network=network)
