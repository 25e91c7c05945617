"""How large a network may be: no larger than the file that holds its weights."""

from __future__ import annotations

from pathlib import Path

from gec.errors import ModelError
from gec.models.network.transformer_config import TransformerConfig
from gec.untrusted import size_of

_MOST_LAYERS = 256  # of the encoder or the decoder
_LARGEST_TABLE = 1 << 26  # numbers of the sines and cosines, which are in no file


def check_sizes(config: TransformerConfig, path: Path, *, encoder: bool = True) -> None:
    """Refuse a network that the file at ``path`` is too small for, before it takes memory.

    Args:
        encoder: False: the network has none of its own.

    Raises:
        ModelError: it has more weights than the file has bytes, or layers or positions without end.
    """
    layers = max(config.encoder_layers, config.decoder_layers)
    if layers > _MOST_LAYERS:
        raise ModelError(f"a network of {layers} layers: at most {_MOST_LAYERS} are read")
    places = config.position_offset + config.max_positions
    if places * config.width > _LARGEST_TABLE:
        raise ModelError(f"{places} positions of width {config.width} are too many to be read")
    weights, size = _weights(config, encoder), size_of(path, "load")
    if weights > size:
        raise ModelError(
            f"cannot load {path}: size mismatch: {size} bytes for at least {weights} weights"
        )


def _weights(config: TransformerConfig, encoder: bool) -> int:
    """Return how many weights the large matrices of a network have."""
    width = config.width

    def layer(heads: int, ffn_width: int, attentions: int) -> int:
        inner = heads * (config.head_width or width // heads)
        return 4 * attentions * inner * width + (2 + config.gated) * width * ffn_width

    tables = config.vocab_size * (1 if config.tie_embeddings else 2)
    tables += config.source_vocab_size or 0
    tables += config.max_positions * (1 + encoder) * (config.positions == "learned")
    decoder_heads = config.decoder_heads or config.heads
    decoder_ffn_width = config.decoder_ffn_width or config.ffn_width
    return (
        tables * width
        + encoder * config.encoder_layers * layer(config.heads, config.ffn_width, 1)
        + config.decoder_layers * layer(decoder_heads, decoder_ffn_width, 2)
    )
