"""The settings of a non-autoregressive drafter (:mod:`gec.models.network.nat`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from gec.errors import ModelError
from gec.models.network.transformer_config import TransformerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class NatConfig:
    """The settings of a drafter besides those of its network.

    Attributes:
        block: the largest k that the drafter is trained for.
        causal_prefix: whether prefix tokens see only tokens before them; their states are cached.
        shared_encoder: whether the drafter has no encoder and reads the verifier's output, which
            must be as wide.
        mask_id: the id of MASK in the vocabulary; None: one past the vocabulary, with a vector of
            its own.
        begins_with_bos: whether the decoder is fed BOS before the prefix.
        layer_positions: whether positions are added before every layer of the decoder, not once.
        copies_source: whether MASKs are fed embeddings copied from the source, not their own.
        output_states: whether a prefix token is fed, with its embedding, the verifier's last state
            of the token before it, from which the verifier predicted it; MASKs get that of the
            prefix's last token. It needs shared_encoder and causal_prefix.
        output_ids: the ids that the drafter can say; none: all. With a large vocabulary the output
            layer is most of a shallow drafter's work, and few ids make most of a task's outputs.
    """

    block: int = 25
    causal_prefix: bool = False
    shared_encoder: bool = False
    # to_dict leaves out the following settings if they have their defaults
    mask_id: int | None = None
    begins_with_bos: bool = True
    layer_positions: bool = False
    copies_source: bool = False
    output_states: bool = False
    output_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if type(self.block) is not int or self.block < 1:
            raise ModelError(f"block must be a positive integer, not {self.block!r}")
        if self.mask_id is not None and type(self.mask_id) is not int:
            raise ModelError(f"mask_id must be an id of the vocabulary, not {self.mask_id!r}")
        ids: object = self.output_ids  # a list in a config.json
        if not isinstance(ids, list | tuple) or any(type(token) is not int for token in ids):
            raise ModelError(f"output_ids must be a list of ids, not {ids!r:.40}")
        object.__setattr__(self, "output_ids", tuple(ids))
        if self.copies_source and not self.layer_positions:
            raise ModelError("copies_source needs layer_positions: a copy has no place of its own")
        if self.layer_positions and self.mask_id is None:
            raise ModelError("layer_positions needs a mask_id of the vocabulary")
        if self.copies_source and self.shared_encoder:
            raise ModelError("copies_source needs an encoder of its own, not shared_encoder")
        cached = self.shared_encoder and self.causal_prefix and self.begins_with_bos
        if self.output_states and not cached:
            raise ModelError("output_states need shared_encoder, causal_prefix and begins_with_bos")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings for a ``config.json``, without later ones at their defaults."""
        late = {"mask_id", "begins_with_bos", "layer_positions", "copies_source"}
        late |= {"output_states", "output_ids"}
        defaults = {field.name: field.default for field in fields(self)}
        values = asdict(self)
        return {k: v for k, v in values.items() if k not in late or v != defaults[k]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> NatConfig:
        """Return the settings of a ``config.json``; unknown keys raise ModelError."""
        try:
            return cls(**values)
        except TypeError as error:
            raise ModelError(f"unknown drafter settings: {error}") from error

    def check(self, config: TransformerConfig) -> None:
        """Raise ModelError if a network of these settings cannot draft so."""
        if config.positions == "relative":
            raise ModelError("a block drafter needs positions other than relative")
        if self.mask_id is not None and not 0 <= self.mask_id < config.vocab_size:
            raise ModelError(f"mask_id must be an id of the vocabulary, not {self.mask_id}")
        if self.layer_positions and (config.embedding_norm or config.scale_output):
            raise ModelError("layer_positions allow neither embedding_norm nor scale_output")
        if self.output_states and (config.embedding_norm or self.layer_positions):
            raise ModelError("output_states allow neither embedding_norm nor layer_positions")
        if self.output_ids:
            self._check_output(config)
        if self.block >= config.max_positions:
            raise ModelError(
                f"blocks of {self.block} tokens do not fit into {config.max_positions} positions"
            )

    def _check_output(self, config: TransformerConfig) -> None:
        ids = set(self.output_ids)
        if len(ids) < len(self.output_ids) or not ids <= set(range(config.vocab_size)):
            raise ModelError("output_ids must be ids of the vocabulary, each once")
        if config.eos_id not in ids:
            raise ModelError(f"output_ids must have the id of EOS, {config.eos_id}")
        if config.tie_embeddings:
            raise ModelError("output_ids need an output layer of their own: tie_embeddings = false")
