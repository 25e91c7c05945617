"""Extra heads for blockwise decoding without torch, on a verifier in C.

As :mod:`gec.models.engines.heads_verifier` has it. The heads' layers are small: they compute in
float32 by NumPy, and the verifier's own output layer reads what they give.

Shapes: B rows, D width, H hidden units of a head.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gec.errors import ModelError
from gec.models.engines.light import LightScores, LightVerifier
from gec.models.native import threads
from gec.models.native.weights import check_finite

Array = NDArray[Any]
_EPSILON = 1e-5  # of the norm, as in torch


class LightHeads:
    """The weights of :class:`gec.models.network.heads.Heads`.

    Raises:
        ModelError: they are none of ``count`` heads [D, H] and [H, D], or not finite.
    """

    def __init__(self, tensors: Mapping[str, Array], count: Any, width: int, hidden: Any) -> None:
        if type(count) is not int or not 1 <= count <= len(tensors):  # each head has several
            raise ModelError(f"{len(tensors)} tensors for {count!r} heads")
        shapes: dict[str, tuple[Any, ...]] = {"norm.weight": (width,), "norm.bias": (width,)}
        for head in range(count):
            shapes[f"up.{head}.weight"], shapes[f"up.{head}.bias"] = (hidden, width), (hidden,)
            shapes[f"down.{head}.weight"], shapes[f"down.{head}.bias"] = (width, hidden), (width,)
        if {name: x.shape for name, x in tensors.items()} != shapes:
            raise ModelError(f"size mismatch: no weights of {count} heads of {width} x {hidden}")
        own = {name: np.asarray(x, np.float32) for name, x in tensors.items()}
        try:
            check_finite(own)
        except ValueError as error:
            raise ModelError(f"the heads: {error}") from error
        self.count, self.width = count, width
        self._weights = own

    def __call__(self, states: Array, head: int) -> Array:
        """Return the hidden states [B, D] of head ``head`` (from 0) for ``states`` [B, D]."""
        w = self._weights
        centred = states - states.mean(-1, keepdims=True)
        scale = np.sqrt(np.square(centred).mean(-1, keepdims=True) + np.float32(_EPSILON))
        x = centred / scale * w["norm.weight"] + w["norm.bias"]
        x = np.maximum(x @ w[f"up.{head}.weight"].T + w[f"up.{head}.bias"], 0)
        found: Array = states + x @ w[f"down.{head}.weight"].T + w[f"down.{head}.bias"]
        return found


@dataclass(slots=True)
class HeadsMemory:
    """The verifier's memory, and the scores of its last block."""

    inner: Any
    last: LightScores | None = None


class LightHeadsVerifier:
    """Meets :class:`gec.decoding.drafters.heads.HeadsModel`."""

    def __init__(self, model: LightVerifier, heads: LightHeads) -> None:
        self.model, self.extra, self.heads = model, heads, heads.count
        self.bos_id, self.eos_id = model.bos_id, model.eos_id
        self.max_positions = model.max_positions

    def fits(self, model: object) -> bool:
        """Whether it can work in the memory of a verifier without heads."""
        return model is self.model

    def over(self, memory: Any) -> HeadsMemory:
        """Return a memory of its own around that of a verifier without heads."""
        return HeadsMemory(memory)

    def start(self, sources: Sequence[Sequence[int]]) -> HeadsMemory:
        """Encode the sources."""
        return HeadsMemory(self.model.start(sources))

    def verify(
        self, memory: HeadsMemory, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> LightScores:
        """Return the scores of a block, and keep its hidden states for ``propose``."""
        memory.last = self.model.verify(memory.inner, tokens, starts)
        return memory.last

    def propose(self, memory: HeadsMemory, places: Sequence[int], heads: int) -> list[list[int]]:
        """Return the ids of the first ``heads`` heads at place ``places[r]`` of row r's block."""
        assert memory.last is not None, "propose follows verify"
        lengths = memory.last.lengths
        begins = np.cumsum(lengths) - lengths
        # a draft accepted with its EOS has no place of its own
        states = memory.last.hidden[begins + np.minimum(places, np.subtract(lengths, 1))]  # [B, D]
        ahead = np.stack([self.extra(states, head) for head in range(heads)], 1)  # [B, heads, D]
        rows = np.ascontiguousarray(ahead.reshape(-1, ahead.shape[-1]), np.float32)
        nothing: Array = np.full(len(rows), -1, np.int32)
        best, *_ = self.model.network.best(rows, nothing, threads.count())
        chosen: list[list[int]] = best.reshape(len(states), heads).tolist()
        return chosen

    def select(self, memory: HeadsMemory, rows: Sequence[int]) -> HeadsMemory:
        """Return the memory of the given rows."""
        return HeadsMemory(self.model.select(memory.inner, rows))

    def join(self, memory: HeadsMemory, other: HeadsMemory) -> HeadsMemory:
        """Return the memory of both memories' rows."""
        return HeadsMemory(self.model.join(memory.inner, other.inner))
