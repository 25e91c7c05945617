"""A second network's opinion of edits: does it, too, find the edited sentence likelier?

Two networks that were trained apart make different mistakes, so what both prefer is right more
often: the reason why ensembles of correctors gain precision. The second one decodes nothing here.
It scores the sentence as it is and with each edit alone, as outputs for the same source, in one
pass. What is decoded stays the first network's, token for token; only the confidence changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from gec.decoding.model import Model
from gec.text.subwords import WordCodec

_TOGETHER = 8  # rows of a pass: the sentence and its edits

Change = tuple[int, int, Sequence[str]]
"""The first word, the one after the last, and the words that replace them."""


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """Asks a network about edits of sentences. Safe to use from several threads.

    Attributes:
        name: the bundle that it is of.
        model: the network.
        subwords: its tokens.
    """

    name: str
    model: Model
    subwords: WordCodec
    _lock: Any = field(default_factory=Lock, repr=False, compare=False)

    def __call__(self, words: Sequence[str], changes: Sequence[Change]) -> list[float]:
        """Return for each change by how many nats the network prefers the sentence with it.

        That is log p(changed | words) - log p(words | words), over all tokens and EOS. Of a
        sentence that is longer than what the network reads it says nothing: 0.
        """
        source = self.subwords.encode(words)
        outputs = [source]
        for start, end, new in changes:
            outputs.append(self.subwords.encode([*words[:start], *new, *words[end:]]))
        if not changes or max(map(len, outputs)) >= self.model.max_positions:
            return [0.0] * len(changes)
        likelihoods: list[float] = []
        for first in range(0, len(outputs), _TOGETHER):
            likelihoods += self._likelihoods(source, outputs[first : first + _TOGETHER])
        return [likelihood - likelihoods[0] for likelihood in likelihoods[1:]]

    def _likelihoods(self, source: list[int], outputs: Sequence[list[int]]) -> list[float]:
        """Return the log-probability (nats) of each output, its EOS included."""
        model, rows = self.model, len(outputs)
        with self._lock:
            memory = model.select(model.start([source]), [0] * rows)
            scores = model.verify(memory, [[model.bos_id, *ids] for ids in outputs], [0] * rows)
            [found] = scores.read(*scores.logprobs([[*ids, model.eos_id] for ids in outputs]))
        return [math.fsum(row[: len(ids) + 1]) for row, ids in zip(found, outputs, strict=True)]
