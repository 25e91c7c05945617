"""A pretrained network, by the table ``[pretrained]`` of a recipe or of an update's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from gec.errors import ModelError
from gec.models.convert import gguf
from gec.models.fetch.store import Pretrained, fetch
from gec.models.network.llama import LlamaConfig
from gec.text.byte_pairs import BytePairs


def of_settings(values: Any, where: Path) -> Pretrained:
    """Read the same table of a ``config.json``; what does not fit raises ModelError."""
    try:
        return Pretrained(**values)
    except TypeError as error:
        raise ModelError(f"{where}, pretrained: {error}") from error


def load(
    source: Pretrained, given: Path | None = None
) -> tuple[LlamaConfig, dict[str, Tensor], BytePairs]:
    """Fetch a network; return its settings, its weights in float32 and its vocabulary.

    Raises:
        ModelError: it cannot be had, or is of another kind.
    """
    return gguf.read(fetch(source, given), source.max_positions)
