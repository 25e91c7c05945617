"""Models and drafters without a trained network, for the tests of the decoding loop.

Ids: 0 pad, 1 BOS, 2 EOS; words begin at 3. After litgpt's tests of speculative decoding: a model
that always, never or sometimes agrees with the draft shows every path of the loop.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from gec.decoding.decoder import State
from gec.decoding.drafters import Drafter
from gec.models.engines.eager import Memory
from gec.models.engines.scores import TorchScores
from gec.models.engines.verifier import TransformerVerifier
from gec.models.network.transformer import Transformer, TransformerConfig

torch.set_num_threads(1)  # tiny tensors: several threads would only wait for one another

PAD, BOS, EOS = 0, 1, 2
Tokens = Sequence[int]
Rule = Callable[[tuple[int, ...], tuple[int, ...]], int]
"""From a source and the output so far, both without BOS, to the next token."""


# ----------------------------------------------------------------------------- rules


def copies(source: tuple[int, ...], output: tuple[int, ...]) -> int:
    """Always agree with the copied source."""
    return source[len(output)] if len(output) < len(source) else EOS


def disagrees(source: tuple[int, ...], output: tuple[int, ...]) -> int:
    """Never agree: at every place the word after the source's, modulo 2 to stay in {3, 4}."""
    return 3 + (source[len(output)] - 3 + 1) % 2 if len(output) < len(source) else EOS


def rewrites(change: Callable[[list[int]], list[int]]) -> Rule:
    """Return the rule that turns every source into ``change(source)``."""

    def rule(source: tuple[int, ...], output: tuple[int, ...]) -> int:
        target = change(list(source))
        return target[len(output)] if len(output) < len(target) else EOS

    return rule


def sometimes(seed: int, vocab_size: int, agreement: float = 0.75) -> Rule:
    """Follow the source after the last output token most of the time, else say anything.

    The sentence may end early or never: both happen.
    """

    def rule(source: tuple[int, ...], output: tuple[int, ...]) -> int:
        rng = random.Random(f"{seed}/{source}/{output}")
        if rng.random() < agreement:
            if not output:
                return source[0] if source else EOS
            places = [i for i, token in enumerate(source) if token == output[-1]]
            if places:
                place = rng.choice(places)
                return source[place + 1] if place + 1 < len(source) else EOS
        return rng.randrange(EOS, vocab_size)

    return rule


# ---------------------------------------------------------------------------- models


@dataclass
class FakeRow:
    source: tuple[int, ...]
    cached: list[int] = field(default_factory=list)


class RuleModel:
    """Meets the Model protocol with a rule, and with a cache that must be used rightly.

    The rule's token has logit 0, every other one ``-margin``, but the runner-up (see ``second``),
    which has ``-gap``. Scores beyond a row's block favour random tokens: nobody may read them.
    """

    bos_id, eos_id = BOS, EOS

    def __init__(
        self,
        rule: Rule,
        *,
        vocab_size: int = 12,
        max_positions: int = 100,
        second: Rule | None = None,
        gap: float = 1.0,
        margin: float = 10.0,
    ) -> None:
        self.rule, self.second, self.gap, self.margin = rule, second, gap, margin
        self.vocab_size, self.max_positions = vocab_size, max_positions
        self.calls = 0
        self.row_counts: list[int] = []
        self._noise = random.Random(0)

    def scores(self, source: Tokens, output: Tokens) -> Tensor:
        """Return the logits [V] after ``output``."""
        logits = torch.full((self.vocab_size,), -self.margin)
        if self.second is not None:
            logits[self.second(tuple(source), tuple(output))] = -self.gap
        logits[self.rule(tuple(source), tuple(output))] = 0.0
        return logits

    def start(self, sources: Sequence[Tokens]) -> list[FakeRow]:
        assert all(len(source) < self.max_positions for source in sources)
        return [FakeRow(tuple(source)) for source in sources]

    def verify(
        self, memory: list[FakeRow], tokens: Sequence[Tokens], starts: Tokens
    ) -> TorchScores:
        self.calls += 1
        self.row_counts.append(len(memory))
        assert len(memory) == len(tokens) == len(starts)
        width = max(map(len, tokens))
        logits = torch.empty(len(tokens), width, self.vocab_size)
        for r, (row, block, start) in enumerate(zip(memory, tokens, starts, strict=True)):
            assert 0 <= start <= len(row.cached), "the cache does not hold what shall be kept"
            assert block, "an empty block"
            assert start + len(block) <= self.max_positions, "beyond the model's positions"
            assert EOS not in block, "EOS is never fed"
            row.cached[start:] = block
            assert row.cached[0] == BOS
            for i in range(width):
                if i < len(block):
                    logits[r, i] = self.scores(row.source, row.cached[1 : start + i + 1])
                else:
                    logits[r, i] = torch.eye(self.vocab_size)[
                        self._noise.randrange(self.vocab_size)
                    ]
        return TorchScores.padded(logits, [len(block) for block in tokens])

    def select(self, memory: list[FakeRow], rows: Sequence[int]) -> list[FakeRow]:
        return [FakeRow(memory[r].source, list(memory[r].cached)) for r in rows]

    def join(self, memory: list[FakeRow], other: list[FakeRow]) -> list[FakeRow]:
        return memory + other


def tiny_network(seed: int = 0, **settings: object) -> Transformer:
    """Return a random network in float64, so that no tie depends on the order of a sum."""
    defaults: dict[str, object] = {
        "vocab_size": 31, "width": 32, "heads": 4, "ffn_width": 48, "encoder_layers": 1,
        "decoder_layers": 1, "max_positions": 80, "dropout": 0.0,
    }  # fmt: skip
    torch.manual_seed(seed)
    network = Transformer(TransformerConfig.from_dict(defaults | settings))
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.ndim == 1:  # norms and biases begin as 1 and 0: make them matter
                parameter.add_(torch.randn_like(parameter) * 0.2)
            else:
                parameter.mul_(1.5)
    return network.double().eval()


class CopyBiased:
    """A network that prefers what follows the last token in the source, so that drafts stand.

    Every successor of the fed token in ``BOS source EOS`` gains ``bonus`` nats.
    """

    def __init__(self, network: Transformer, bonus: float) -> None:
        self.verifier, self.bonus = TransformerVerifier(network), bonus
        self.bos_id, self.eos_id = self.verifier.bos_id, self.verifier.eos_id
        self.max_positions = self.verifier.max_positions
        self._known: dict[tuple[Tokens, Tokens], Tensor] = {}

    def gain(self, source: Tokens, fed: int) -> list[int]:
        whole = [BOS, *source, EOS]
        return sorted({after for token, after in itertools.pairwise(whole) if token == fed})

    def start(self, sources: Sequence[Tokens]) -> tuple[Memory, list[Tokens]]:
        return self.verifier.start(sources), list(sources)

    def verify(
        self, memory: tuple[Memory, list[Tokens]], tokens: Sequence[Tokens], starts: Tokens
    ) -> TorchScores:
        scores = self.verifier.verify(memory[0], tokens, starts)
        logits = scores.raw.clone()  # [N, V]
        for begin, source, block in zip(scores.begins, memory[1], tokens, strict=True):
            for i, fed in enumerate(block):
                logits[begin + i, self.gain(source, fed)] += self.bonus
        return TorchScores(logits, scores.lengths, scores.begins)

    def select(
        self, memory: tuple[Memory, list[Tokens]], rows: Sequence[int]
    ) -> tuple[Memory, list[Tokens]]:
        return self.verifier.select(memory[0], rows), [memory[1][r] for r in rows]

    def join(
        self, memory: tuple[Memory, list[Tokens]], other: tuple[Memory, list[Tokens]]
    ) -> tuple[Memory, list[Tokens]]:
        return self.verifier.join(memory[0], other[0]), memory[1] + other[1]

    def scores(self, source: Tokens, output: Tokens) -> Tensor:
        """Return the logits [V] after ``output``, computed without a cache (and remembered)."""
        key = (tuple(source), tuple(output))
        if key not in self._known:
            fed = [BOS, *output]
            with torch.inference_mode():
                logits = self.verifier.network(torch.tensor([[*source, EOS]]), torch.tensor([fed]))
                logits[0, -1, self.gain(source, fed[-1])] += self.bonus
            self._known[key] = logits[0, -1]
        return self._known[key]


# -------------------------------------------------------------------------- drafters


class RandomDrafter(Drafter):
    """Proposes garbage of any length, also none and also far beyond the limit; EOS only last."""

    def __init__(self, seed: int, vocab_size: int, longest: int = 40) -> None:
        self.rng, self.vocab_size, self.longest = random.Random(seed), vocab_size, longest

    def propose(self, state: State) -> list[list[int]]:
        return [self._draft() for _ in state.rows]

    def _draft(self) -> list[int]:
        length = self.rng.choice((0, 1, 2, 5, self.longest))
        draft = [self.rng.randrange(3, self.vocab_size) for _ in range(length)]
        return [*draft, EOS] if self.rng.random() < 0.3 else draft


class FixedDrafter(Drafter):
    """Proposes for row r of the first pass ``drafts[r]``, then nothing."""

    def __init__(self, drafts: Sequence[Tokens]) -> None:
        self.drafts = [list(draft) for draft in drafts]

    def propose(self, state: State) -> list[list[int]]:
        return [self.drafts[row.sentence] if not row.tokens else [] for row in state.rows]
