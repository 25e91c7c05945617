"""The settings of a decoder-only network of the Llama family, and their limits."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from gec.errors import ModelError
from gec.untrusted import size_of

MOST_LAYERS, LARGEST_TABLE, LONGEST_SEPARATOR = 256, 1 << 22, 64
"""Limits above those of any such network with which a CPU corrects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaConfig:
    """The architecture; defaults are those of SmolLM2-135M.

    Attributes:
        vocab_size: entries of the vocabulary.
        width: D, the width of all hidden states.
        heads, kv_heads: query heads, and key and value heads, each of which a group of query
            heads shares.
        ffn_width: width of the gate and of what the gate multiplies.
        layers: number of layers.
        max_positions: the most tokens of prefix, source, separator and output together.
        rope_base: base of the rotation's wavelengths.
        norm_epsilon: number added to the mean square.
        bos_id, eos_id: the first token, and the token that ends an output.
        separator: ids between source and output.
    """

    vocab_size: int = 49152
    width: int = 576
    heads: int = 9
    kv_heads: int = 3
    ffn_width: int = 1536
    layers: int = 30
    max_positions: int = 1024
    rope_base: float = 100000.0
    norm_epsilon: float = 1e-5
    bos_id: int = 1
    eos_id: int = 2
    separator: tuple[int, ...] = (198,)

    def __post_init__(self) -> None:
        for name in "vocab_size width heads kv_heads ffn_width layers max_positions".split():
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ModelError(f"{name} must be a positive integer, not {value!r}")
        for name in ("rope_base", "norm_epsilon"):
            value = getattr(self, name)
            least = 1 if name == "rope_base" else 1e-12
            if type(value) not in (int, float) or not least <= value < 1e9:
                raise ModelError(f"{name} must be a number of at least {least}, not {value!r}")
        if self.width % self.heads or self.heads % self.kv_heads or self.head_width % 2:
            raise ModelError(
                f"width {self.width}, heads {self.heads} and kv_heads {self.kv_heads} do not fit: "
                "heads divide the width into even parts, kv_heads divide the heads"
            )
        ids = self.separator
        if not isinstance(ids, list | tuple) or not 0 < len(ids) <= LONGEST_SEPARATOR:
            raise ModelError(f"separator must be a list of 1 to {LONGEST_SEPARATOR} ids")
        if self.max_positions < len(ids) + 8:
            raise ModelError(f"{self.max_positions} positions leave none for source and output")
        for value in (self.bos_id, self.eos_id, *ids):
            if type(value) is not int or not 0 <= value < self.vocab_size:
                raise ModelError(f"{value!r} is no id of a vocabulary of {self.vocab_size}")
        object.__setattr__(self, "separator", tuple(ids))  # JSON has lists only

    @property
    def tie_embeddings(self) -> bool:
        """True: the output projection is the embedding."""
        return True

    @property
    def head_width(self) -> int:
        """d, the width of a head."""
        return self.width // self.heads

    def to_dict(self) -> dict[str, Any]:
        """Return the settings for a ``config.json`` or a checkpoint."""
        return {"family": "llama"} | asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> LlamaConfig:
        """Return the settings of a ``config.json``; unknown keys raise ModelError."""
        values = {name: value for name, value in values.items() if name != "family"}
        if unknown := sorted(set(values) - {field.name for field in fields(cls)}):
            raise ModelError(f"unknown architecture settings: {', '.join(unknown)}")
        return cls(**values)

    def check_size(self, path: Path) -> None:
        """Raise ModelError if the file at ``path`` is too small for the network's weights.

        This check comes before anything is allocated.
        """
        inner = (self.heads + 2 * self.kv_heads) * self.head_width
        layer = self.width * (inner + self.width + 3 * self.ffn_width)
        if self.layers > MOST_LAYERS or self.max_positions * self.head_width > LARGEST_TABLE:
            raise ModelError(
                f"{self.layers} layers and {self.max_positions} positions of heads "
                f"{self.head_width} wide are too many to be read"
            )
        weights, size = self.vocab_size * self.width + self.layers * layer, size_of(path, "load")
        if weights > size:
            raise ModelError(
                f"cannot load {path}: size mismatch: {size} bytes for at least {weights} weights"
            )
