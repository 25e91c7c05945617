"""The settings of an encoder-decoder Transformer: sizes, and the options of other families."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from gec.errors import ModelError

CHOICES = {
    "positions": (
        "sinusoidal", "sinusoidal_halves", "sinusoidal_tensor2tensor", "learned", "relative"
    ),
    "norm": ("pre", "post"),
    "norm_type": ("layer", "rms"),
    "activation": ("relu", "gelu", "gelu_tanh", "silu"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerConfig:
    """The architecture; defaults are Transformer-base (Vaswani et al. 2017, Table 3).

    Attributes:
        vocab_size: entries of the output, and of the source unless ``source_vocab_size`` is given.
        width: D, the width of all hidden states.
        heads, ffn_width: sizes of every layer; ``decoder_heads`` and ``decoder_ffn_width``
            override them in the decoder.
        max_positions: the most tokens of a source or an output.
        positions: kind of positions.
            "sinusoidal": sines and cosines interleaved (Vaswani et al. 2017, section 3.5);
            "sinusoidal_halves": all sines, then all cosines (Marian, Pegasus);
            "sinusoidal_tensor2tensor": halves whose rates end at 1e-4 itself (fairseq);
            "learned": a table for either side;
            "relative": a learned bias of attention by distance (T5; Raffel et al. 2020, 2.1).
        position_offset: the first place of the sinusoidal table (fairseq: padding index + 1).
            Learned tables need no offset: they leave out their unused first rows.
        relative_buckets, relative_distance: number of biases of a head, and the distance from
            which on all distances share the last bias ("relative" only).
        norm: "pre", before every sublayer, or "post", after its skip connection.
        norm_type: "layer", or "rms" (no mean, no bias; T5).
        encoder_final_norm, decoder_final_norm: whether a norm follows the last layer; None: only
            if ``norm`` is "pre".
        embedding_norm: whether a norm follows embedding plus position, on both sides (BART).
        norm_epsilon: number added to the variance.
        scale_embedding: whether to multiply embeddings by the root of the width.
        tie_embeddings: whether the output projection is the embedding.
        source_vocab_size: entries of the encoder's own embedding; None: it reads the decoder's.
        output_bias: whether the output has a bias (final logits bias of BART and Marian).
        scale_output: whether to divide by the root of the width before the output (T5 with tied
            embeddings).
        activation: activation of the feed-forward network; others call "gelu_tanh" gelu_new.
        gated: whether the feed-forward network multiplies with a gate (Shazeer 2020; T5 1.1).
        bias: whether linear layers have biases.
        scale_attention: whether to divide scores by the root of the head width (not in T5).
        head_width: width of every head; None: ``width / heads``.
        bos_id: first id that the decoder is fed: its family's decoder start token, which may be
            the EOS (fairseq, BART) or the pad (T5, Marian).
        source_prefix: ids before every source (BART: its BOS). EOS always follows the source.
        decoder_prefix: ids fed before ``bos_id`` (BART: its EOS, if a first BOS is forced).
    """

    vocab_size: int
    width: int = 512
    heads: int = 8
    ffn_width: int = 2048
    encoder_layers: int = 6
    decoder_layers: int = 6
    max_positions: int = 512
    positions: str = "sinusoidal"
    norm: str = "pre"
    activation: str = "relu"
    dropout: float = 0.1
    tie_embeddings: bool = True
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2
    # to_dict leaves out the following settings if they have their defaults
    source_vocab_size: int | None = None
    scale_embedding: bool = True
    embedding_norm: bool = False
    position_offset: int = 0
    relative_buckets: int = 32
    relative_distance: int = 128
    norm_type: str = "layer"
    norm_epsilon: float = 1e-5
    encoder_final_norm: bool | None = None
    decoder_final_norm: bool | None = None
    gated: bool = False
    bias: bool = True
    scale_attention: bool = True
    head_width: int | None = None
    decoder_heads: int | None = None
    decoder_ffn_width: int | None = None
    output_bias: bool = False
    scale_output: bool = False
    source_prefix: tuple[int, ...] = ()
    decoder_prefix: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ModelError(f"{name} must be one of {allowed}, not {getattr(self, name)!r}")
        self._check_numbers()
        self._check_ids()
        if self.head_width is None:
            for name in ("heads", "decoder_heads"):
                if self.width % (getattr(self, name) or 1):
                    raise ModelError(
                        f"width {self.width} is not a multiple of {name} {getattr(self, name)}"
                    )
        # a quarter (encoder) or half (decoder) of the buckets hold exact distances
        if self.relative_buckets < 4 or self.relative_distance <= self.relative_buckets // 2:
            raise ModelError(
                "relative_buckets must be at least 4 and relative_distance more than half of it, "
                f"not {self.relative_buckets} and {self.relative_distance}"
            )

    def _check_numbers(self) -> None:
        counts = (
            "vocab_size width heads ffn_width encoder_layers decoder_layers max_positions "
            "relative_buckets relative_distance"
        )
        optional = ("source_vocab_size", "head_width", "decoder_heads", "decoder_ffn_width")
        given = [name for name in optional if getattr(self, name) is not None]
        for name in [*counts.split(), *given]:
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ModelError(f"{name} must be a positive integer, not {value!r}")
        if type(self.position_offset) is not int or self.position_offset < 0:
            raise ModelError(
                f"position_offset must be an integer of at least 0, not {self.position_offset!r}"
            )
        if not isinstance(self.dropout, int | float) or not 0 <= self.dropout <= 1:
            raise ModelError(f"dropout must lie between 0 and 1, not {self.dropout!r}")
        if not isinstance(self.norm_epsilon, int | float) or not self.norm_epsilon > 0:
            raise ModelError(f"norm_epsilon must be above 0, not {self.norm_epsilon!r}")

    def _check_ids(self) -> None:
        source_size = self.source_vocab_size or self.vocab_size
        for name in ("pad_id", "bos_id", "eos_id"):
            # the source holds EOS and pad, too
            size = self.vocab_size if name == "bos_id" else min(self.vocab_size, source_size)
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value < size:
                raise ModelError(f"{name} must lie between 0 and {size - 1}, not {value!r}")
        for name, size in (("source_prefix", source_size), ("decoder_prefix", self.vocab_size)):
            ids = getattr(self, name)
            if not isinstance(ids, list | tuple) or not all(
                type(i) is int and 0 <= i < size for i in ids
            ):
                raise ModelError(f"{name} must be ids between 0 and {size - 1}, not {ids!r}")
            object.__setattr__(self, name, tuple(ids))  # JSON has lists only

    def to_dict(self) -> dict[str, Any]:
        """Return the settings for a ``config.json`` or a checkpoint.

        Options of foreign families are left out if they have their defaults: so files of the plain
        network stay the same, and older versions read them.
        """
        always = [field.name for field in fields(self)]
        always = always[: always.index("source_vocab_size")]
        defaults = {field.name: field.default for field in fields(self)}
        return {
            name: value
            for name, value in asdict(self).items()
            if name in always or value != defaults[name]
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TransformerConfig:
        """Return the settings of a ``config.json``; unknown or missing keys raise ModelError."""
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise ModelError(f"unknown architecture settings: {', '.join(unknown)}")
        try:
            return cls(**values)
        except TypeError as error:
            raise ModelError(f"incomplete architecture: {error}") from error
