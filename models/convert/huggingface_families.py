"""The Hugging Face families that are configurations of our Transformer, both ways.

A family is a row of a table: what its ``config.json`` calls our settings, which settings are fixed
in it, and what it calls our weights. BART's relatives (Lewis et al. 2020; mBART, Blenderbot,
Marian, Pegasus, M2M-100) differ in rows only; T5 (Raffel et al. 2020) has names of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gec.errors import ModelError
from gec.models.convert.huggingface_names import (
    Values,
    bart_names,
    reads_bart,
    reads_t5,
    t5_names,
    writes_bart,
    writes_t5,
)
from gec.models.network.transformer import TransformerConfig

_PLAIN = {"norm_type": "layer", "norm_epsilon": 1e-5, "bias": True, "scale_attention": True}
_PLAIN |= {"gated": False, "scale_output": False}
_T5 = {"norm": "pre", "norm_type": "rms", "positions": "relative", "embedding_norm": False}
_T5 |= {"bias": False, "scale_attention": False, "scale_embedding": False, "output_bias": False}


@dataclass(frozen=True, slots=True)
class Family:
    """One ``model_type``.

    Attributes:
        model_type: as ``config.json`` names it.
        architecture: the class that generates, the only one taken.
        fixed: our settings that are the same in all its models.
        first_row: rows of a learned position table that are never read.
        defaults: what ``config.json`` may leave out.
        positions: the kind of position in its own models ("relative" is told by nothing else).
        reads: from ``config.json`` to our settings.
        writes: from our settings to ``config.json``.
        names: from one of our weights to theirs, which stand together in it.
    """

    model_type: str
    architecture: str
    positions: str
    fixed: Values
    defaults: Values
    reads: Callable[[Values], dict[str, Any]]
    writes: Callable[[TransformerConfig], dict[str, Any]]
    names: Callable[[str, TransformerConfig | None], list[str]]
    first_row: int = 0
    source_bos: bool = False

    def settings(self, values: Values) -> dict[str, Any]:
        """Return our settings for a ``config.json``; raise ModelError if it lacks one."""
        given = {**self.defaults, **{k: v for k, v in values.items() if v is not None}}
        try:
            return {"positions": self.positions, **self.fixed, **self.reads(given)}
        except KeyError as error:
            raise ModelError(f"config.json has no {error.args[0]!r}") from None

    def obstacles(self, config: TransformerConfig) -> list[str]:
        """Return what of a network this family cannot express."""
        found = [
            f"{name}={getattr(config, name)!r}"
            for name, value in self.fixed.items()
            if getattr(config, name) != value
        ]
        if (config.positions == "relative") != (self.positions == "relative"):
            found.append(f"positions={config.positions!r}")
        for name in ("encoder_final_norm", "decoder_final_norm"):
            if getattr(config, name) not in (None, config.norm == "pre"):
                found.append(f"{name}={getattr(config, name)!r}")
        if config.source_vocab_size is not None and self.model_type != "marian":
            found.append("an embedding of the encoder's own")
        if config.output_bias and self.model_type in ("m2m_100", "t5", "mt5"):
            found.append("output_bias=True")
        return found


def _bart(model_type: str, architecture: str, positions: str, **more: Any) -> Family:
    fixed = _PLAIN | {key: more.pop(key) for key in ("norm", "embedding_norm")}
    if model_type == "m2m_100":
        fixed["position_offset"] = 2
    sizes = {"encoder_layers": 12, "decoder_layers": 12, "scale_embedding": False}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_ffn_dim": 4096, f"{side}_attention_heads": 16}
    defaults = sizes | {
        "d_model": 1024,
        "max_position_embeddings": 1024,
        "activation_function": "gelu",
    }
    defaults |= more.pop("defaults")
    return Family(
        model_type, architecture, positions, fixed, defaults, reads_bart, writes_bart,
        bart_names, **more,
    )  # fmt: skip


def _ids(pad: int, eos: int, **more: Any) -> dict[str, Any]:
    return {"pad_token_id": pad, "eos_token_id": eos, **more}


_T5_DEFAULTS = {
    "vocab_size": 32128,
    "d_model": 512,
    "d_kv": 64,
    "d_ff": 2048,
    "num_layers": 6,
    "num_heads": 8,
    "relative_attention_num_buckets": 32,
    "relative_attention_max_distance": 128,
    "layer_norm_epsilon": 1e-6,
    "feed_forward_proj": "relu",
} | _ids(0, 1, decoder_start_token_id=0)
_MT5_DEFAULTS = {
    "vocab_size": 250112,
    "d_ff": 1024,
    "num_layers": 8,
    "num_heads": 6,
    "feed_forward_proj": "gated-gelu",
    "scale_decoder_outputs": False,  # whatever config.json says of tied embeddings
}
FAMILIES = {
    family.model_type: family
    for family in (
        _bart(
            "bart", "BartForConditionalGeneration", "learned", norm="post", embedding_norm=True,
            first_row=2, source_bos=True,
            defaults=_ids(1, 2, bos_token_id=0, decoder_start_token_id=2, vocab_size=50265),
        ),
        _bart(
            "mbart", "MBartForConditionalGeneration", "learned", norm="pre", embedding_norm=True,
            first_row=2, defaults=_ids(1, 2, vocab_size=50265),
        ),
        _bart(
            "marian", "MarianMTModel", "sinusoidal_halves", norm="post", embedding_norm=False,
            defaults=_ids(58100, 0, decoder_start_token_id=58100, vocab_size=58101),
        ),
        _bart(
            "pegasus", "PegasusForConditionalGeneration", "sinusoidal_halves", norm="pre",
            embedding_norm=False, defaults=_ids(0, 1, decoder_start_token_id=0, vocab_size=50265),
        ),
        _bart(
            "blenderbot", "BlenderbotForConditionalGeneration", "learned", norm="pre",
            embedding_norm=False, defaults=_ids(0, 2, decoder_start_token_id=1, vocab_size=8008),
        ),
        _bart(
            "m2m_100", "M2M100ForConditionalGeneration", "sinusoidal_tensor2tensor", norm="pre",
            embedding_norm=False, defaults=_ids(
                1, 2, decoder_start_token_id=2, vocab_size=128112, activation_function="relu",
                scale_embedding=True,
            ),
        ),
        Family(
            "t5", "T5ForConditionalGeneration", "relative", _T5, _T5_DEFAULTS, reads_t5,
            writes_t5, t5_names,
        ),
        Family(
            "mt5", "MT5ForConditionalGeneration", "relative", _T5 | {"scale_output": False},
            _T5_DEFAULTS | _MT5_DEFAULTS,
            reads_t5, writes_t5, t5_names,
        ),
    )
}  # fmt: skip


def family_for(config: TransformerConfig, preferred: str | None = None) -> Family:
    """Return the family that can express a network; the preferred one, or one of its positions.

    Raises:
        ModelError: none can; the message says what stands in the way of the nearest.
    """

    def distance(family: Family) -> tuple[bool, bool, bool]:
        learned = family.positions == "learned"
        return family.model_type != preferred, family.positions != config.positions, not learned

    def able() -> Iterator[Family]:
        for family in sorted(FAMILIES.values(), key=distance):
            table = family.positions in (config.positions, "learned") or (
                family.positions == "sinusoidal_halves"  # a frozen table, but stored and read
            )
            if table and not family.obstacles(config):
                yield family

    found = next(able(), None)
    if found is None:
        nearest = min(FAMILIES.values(), key=lambda family: len(family.obstacles(config)))
        reasons = ", ".join(nearest.obstacles(config))
        raise ModelError(
            f"no Hugging Face family expresses this network; the nearest, {nearest.model_type}, "
            f"cannot express {reasons}"
        )
    return found
