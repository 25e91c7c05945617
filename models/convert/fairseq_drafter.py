"""Drafters that were trained in fairseq with our plugin (``--arch gec_block``)."""

from __future__ import annotations

from pathlib import Path

from gec.errors import ModelError
from gec.models.convert.fairseq_checkpoint import read_checkpoint
from gec.models.convert.fairseq_format import EOS, PAD
from gec.models.nat import NatConfig, NatTransformer
from gec.models.transformer import TransformerConfig

ARCHITECTURE = "gec_block"
_PREFIX = "network."


def drafter_from_fairseq(checkpoint: str | Path) -> NatTransformer:
    """Read a drafter in evaluation mode; its ids are those of the dictionary it was trained with.

    Raises:
        ModelError: the file cannot be read, is of another architecture, or lacks weights.
    """
    found = read_checkpoint(Path(checkpoint))
    arch = found.settings.get("arch") or found.settings.get("_name")
    if arch != ARCHITECTURE:
        raise ModelError(f"{found.path} is a {arch!r}, not a drafter ({ARCHITECTURE!r})")
    options = {
        name.removeprefix("drafter_"): value
        for name, value in found.settings.items()
        if name.startswith("drafter_")
    }
    weights = {name.removeprefix(_PREFIX): value for name, value in found.weights.items()}
    try:
        nat = NatConfig(block=options.pop("block"), causal_prefix=options.pop("causal_prefix"))
        config = TransformerConfig(
            vocab_size=len(weights["embedding.weight"]),
            positions="learned",
            activation="gelu",
            pad_id=PAD,
            bos_id=EOS,
            eos_id=EOS,
            **options,
        )
        network = NatTransformer(config, nat)
        network.load_state_dict(weights)
    except (KeyError, TypeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ModelError(f"{found.path} is no complete drafter: {reason}") from None
    return network.eval()
