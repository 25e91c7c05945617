"""An engine and its network's output layer as the decoding loop's verifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from gec.errors import ModelError
from gec.models.engines.eager import EagerEngine
from gec.models.engines.engine import Block, Engine
from gec.models.engines.scores import TorchScores
from gec.models.network.transformer import Transformer


def check_computed(hidden: Tensor) -> None:
    """Raise ModelError where a CPU computed NaN or infinity; a GPU would have to be waited for."""
    if hidden.is_cpu and not hidden.sum().isfinite():
        raise ModelError("the model computes NaN: its weights are too large or broken")


def scored(engine: Engine, hidden: Tensor, block: Block) -> TorchScores:
    """Return the scores that the output layer gives of a block's hidden states.

    Raises:
        ModelError: they are not finite.
    """
    check_computed(hidden)
    logits: Tensor = engine.network.output(hidden)  # [B, T, V] or [N, V]
    return TorchScores(logits.flatten(0, -2), block.lengths, block.begins)


class Verifier:
    """Meets :class:`gec.decoding.model.Model` with any engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.network = engine, engine.network
        self.bos_id, self.eos_id = engine.bos_id, engine.eos_id
        self.max_positions = engine.max_positions

    @property
    def threads(self) -> int:
        """How many threads of a CPU compute."""
        return torch.get_num_threads()

    @torch.inference_mode()
    def start(self, sources: Sequence[Sequence[int]]) -> Any:
        """Encode the sources."""
        return self.engine.start(sources)

    @torch.inference_mode()
    def verify(
        self, memory: Any, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> TorchScores:
        """Return the scores of a block."""
        block = Block(tokens, starts)
        return scored(self.engine, self.engine.run(memory, block), block)

    @torch.inference_mode()
    def select(self, memory: Any, rows: Sequence[int]) -> Any:
        """Return the memory of the given rows."""
        return self.engine.select(memory, rows)

    @torch.inference_mode()
    def join(self, memory: Any, other: Any) -> Any:
        """Return the memory of both memories' rows."""
        return self.engine.join(memory, other)


def shares_memory(model: object, engine: Engine) -> bool:
    """Whether an engine can work in the memory of a verifier: of one network, run alike."""
    if not isinstance(model, Verifier) or model.network is not engine.network:
        return False
    eager = isinstance(model.engine, EagerEngine) and isinstance(engine, EagerEngine)
    return eager or model.engine is engine


class TransformerVerifier(Verifier):
    """The verifier of a Transformer that runs operation by operation."""

    def __init__(self, network: Transformer) -> None:
        super().__init__(EagerEngine(network))
