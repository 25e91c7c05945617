"""A tiny bundle of everything that the strategies of two models need."""

from __future__ import annotations

from functools import cache

from fake_models import tiny_network
from tiny_generation import random_bundle

from gec.models.load.generation import GenerationBundle


@cache
def bundle() -> GenerationBundle:
    """A verifier of three decoder layers with an exit behind the first, and two smaller models."""
    made = random_bundle(nat=False, heads=False)
    settings: dict[str, object] = {
        "vocab_size": len(made.vocabulary), "max_positions": 64, "tie_embeddings": False,
    }  # fmt: skip
    made.network = tiny_network(3, decoder_layers=3, **settings).float()
    made.config |= {"network": made.network.config.to_dict(), "early_exit": 1}
    made.config["limit"] = {"ratio": 0.5, "extra": 6}
    made.smaller = {
        "small": tiny_network(4, width=16, ffn_width=16, **settings).float(),
        "medium": tiny_network(3, decoder_layers=2, **settings).float(),
    }
    return made
