"""The work of decoding: floating-point operations, memory traffic, arithmetic intensity.

The work is counted from the architecture and from the scored blocks, as Kim et al. 2023 (section 2,
Figure 8) do for the small and the large model: generating token by token reads all weights for one
token's arithmetic, scoring a draft reads them once for all of its tokens.

A multiplication and an addition are two operations. Matrix products and attention are counted;
norms, activations, softmax and embeddings are not. Traffic is the least that a pass must read and
write: the weights once, keys and values of every row, the logits; other activations stay in cache.

Shapes: S source length (EOS included), T block length, L cached tokens, D width, F feed-forward
width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gec.decoding.model import Model
from gec.decoding.scores import Scores
from gec.decoding.strategies import Parts
from gec.errors import ModelError
from gec.models.engines.light import LightVerifier
from gec.models.engines.verifier import Verifier
from gec.models.network.transformer_config import TransformerConfig


@dataclass(frozen=True, slots=True)
class Operations:
    """Work that adds up.

    Attributes:
        passes: passes of the decoder; a batch is one pass.
        flops: floating-point operations.
        bytes: bytes read and written.
    """

    passes: int = 0
    flops: int = 0
    bytes: int = 0

    def __add__(self, other: Operations) -> Operations:
        return Operations(
            self.passes + other.passes, self.flops + other.flops, self.bytes + other.bytes
        )

    @property
    def intensity(self) -> float:
        """Operations per byte of traffic."""
        return self.flops / max(1, self.bytes)


def encoding(config: TransformerConfig, sources: Sequence[int], size: int = 4) -> Operations:
    """Return the work of encoding sources of these lengths, padded to the longest.

    This includes the keys and values of the source for every decoder layer. ``size`` is the number
    of bytes of a number.
    """
    b, s, d, f = len(sources), max(sources), config.width, config.ffn_width
    layer_weights = 4 * d * d + 2 * d * f
    cross_weights = config.decoder_layers * 2 * d * d
    weights = config.encoder_layers * layer_weights + cross_weights
    attention = config.encoder_layers * 4 * s * s * d
    written = config.decoder_layers * 2 * b * s * d
    return Operations(0, b * (2 * s * weights + attention), size * (weights + written))


def decoding(
    config: TransformerConfig,
    sources: Sequence[int],
    starts: Sequence[int],
    blocks: Sequence[int],
    size: int = 4,
) -> Operations:
    """Return the work of one decoder pass: ``blocks[r]`` tokens of row r after ``starts[r]``."""
    b, t, s, d = len(blocks), max(blocks), max(sources), config.width
    f = config.decoder_ffn_width or config.ffn_width
    end = max(starts) + t
    layer_weights = 6 * d * d + 2 * d * f  # self-attention; cross-attention's query and output
    weights = config.decoder_layers * layer_weights + config.vocab_size * d
    attention = config.decoder_layers * 4 * t * (end + s) * d
    cached = config.decoder_layers * 2 * d * (sum(starts) + b * s)  # read
    made = config.decoder_layers * 2 * d * b * t + b * t * config.vocab_size  # written
    return Operations(1, b * (2 * t * weights + attention), size * (weights + cached + made))


class Counted:
    """A model that counts its work and scores like the model that it wraps."""

    def __init__(self, model: Model, config: TransformerConfig, size: int = 4) -> None:
        self.model, self.config, self.size = model, config, size
        self.bos_id, self.eos_id = model.bos_id, model.eos_id
        self.max_positions = model.max_positions
        self.total = Operations()

    def start(self, sources: Sequence[Sequence[int]]) -> tuple[Any, list[int]]:
        """Return the model's memory of the sources, and their lengths; count the encoding."""
        lengths = [len(source) + 1 for source in sources]
        self.total += encoding(self.config, lengths, self.size)
        return self.model.start(sources), lengths

    def verify(
        self,
        memory: tuple[Any, list[int]],
        tokens: Sequence[Sequence[int]],
        starts: Sequence[int],
    ) -> Scores:
        """Return the model's scores of the block, and count the pass."""
        blocks = [len(block) for block in tokens]
        self.total += decoding(self.config, memory[1], starts, blocks, self.size)
        return self.model.verify(memory[0], tokens, starts)

    def select(self, memory: tuple[Any, list[int]], rows: Sequence[int]) -> tuple[Any, list[int]]:
        """Return the memory of the given rows."""
        return self.model.select(memory[0], rows), [memory[1][row] for row in rows]

    def join(
        self, memory: tuple[Any, list[int]], other: tuple[Any, list[int]]
    ) -> tuple[Any, list[int]]:
        """Return the memory of both memories' rows."""
        return self.model.join(memory[0], other[0]), memory[1] + other[1]


def counted(parts: Parts) -> tuple[Parts, list[Counted]]:
    """Return the parts with models that count their work, and these models, the verifier first.

    Other drafters (blocks, heads, an early exit) are left out, because nothing counts their work.

    Raises:
        ModelError: the verifier is not a bare encoder-decoder.
    """
    pairs = [(model, _config_of(model)) for model in (parts.model, *parts.smaller)]
    models = [Counted(model, config) for model, config in pairs if config is not None]
    if not models or models[0].model is not parts.model:
        raise ModelError(
            f"the work of {parts.name} is not counted: it is a decoder alone, or ids stand before "
            "its outputs"
        )
    verifier, *smaller = models
    return (
        replace(parts, model=verifier, smaller=tuple(smaller), blocks=None, heads=None, early=None),
        models,
    )


def _config_of(model: Model) -> TransformerConfig | None:
    """Return the settings of the Transformer that a bare verifier runs; None: it is another one."""
    if not isinstance(model, Verifier | LightVerifier):
        return None
    config = model.network.config
    return config if isinstance(config, TransformerConfig) else None
