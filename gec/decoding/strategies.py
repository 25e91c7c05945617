"""Strategies by name: what ``gec generate`` and ``gec bench generate`` can decode with.

A strategy is a row of :data:`STRATEGIES` here and one of its options in gec.decoding.options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gec.decoding.acceptance import (
    AcceptAll,
    Acceptance,
    Conservative,
    Distance,
    Exact,
    PaperTopBeta,
    TopBeta,
    TopK,
)
from gec.decoding.beam import BeamSearch
from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.drafters.heads import HeadsDrafter, HeadsModel
from gec.decoding.drafters.nat import BlockModel, NatDrafter, Unverified
from gec.decoding.model import Model
from gec.decoding.options import complete
from gec.errors import ConfigError, ModelError


@dataclass(frozen=True, slots=True)
class Parts:
    """What a bundle offers to decode with.

    Attributes:
        name: the bundle's, for messages.
        model: the verifier.
        blocks: the non-autoregressive drafter, if the bundle has one.
        heads: the verifier with its extra heads, if the bundle has some.
        limit: how long outputs may get.
    """

    name: str
    model: Model
    blocks: BlockModel | None = None
    heads: HeadsModel | None = None
    limit: LengthLimit = field(default_factory=LengthLimit)


Build = Callable[[Parts, Mapping[str, Any]], Decoder]
"""Makes a decoder of a bundle's parts and a value for each of the strategy's options."""


def _greedy(parts: Parts, _values: Mapping[str, Any]) -> Decoder:
    return Decoder(parts.model, limit=parts.limit)


def _beam(parts: Parts, values: Mapping[str, Any]) -> Decoder:
    rule = BeamSearch(values["beam_size"], values["length_penalty"])
    return Decoder(parts.model, None, rule, limit=parts.limit)


def _iad(parts: Parts, values: Mapping[str, Any]) -> Decoder:
    return Decoder(parts.model, CopyDrafter(), Conservative(values["tolerance"]), limit=parts.limit)


def _gad(parts: Parts, values: Mapping[str, Any]) -> Decoder:
    drafter = NatDrafter(_blocks(parts), values["k"], verifier=parts.model)
    return Decoder(parts.model, drafter, Exact(), limit=parts.limit)


def _gad_plus_plus(parts: Parts, values: Mapping[str, Any]) -> Decoder:
    drafter = NatDrafter(_blocks(parts), values["k"], verifier=parts.model)
    rule = (PaperTopBeta if values["literal"] else TopBeta)(values["beta"], values["tau"])
    return Decoder(parts.model, drafter, rule, limit=parts.limit)


def _nat(parts: Parts, values: Mapping[str, Any]) -> Decoder:
    blocks = _blocks(parts)
    drafter = NatDrafter(blocks, values["k"])
    return Decoder(Unverified(blocks), drafter, AcceptAll(), limit=parts.limit)


def _blocks(parts: Parts) -> BlockModel:
    if parts.blocks is None:
        raise ModelError(
            f"bundle {parts.name} has no drafter/ that drafts blocks: train one "
            "(gec train RECIPE --part drafter) or choose another strategy"
        )
    return parts.blocks


def _blockwise(parts: Parts, values: Mapping[str, Any]) -> Decoder:
    if parts.heads is None:
        raise ModelError(
            f"bundle {parts.name} has no heads to decode blockwise: train some "
            "(gec train RECIPE --part heads) or choose another strategy"
        )
    top, distance = values["accept_top"], values["accept_distance"]
    if top is not None and distance is not None:
        raise ConfigError("--accept-top and --accept-distance exclude each other")
    rule: Acceptance = Exact()
    if top is not None:
        rule = TopK(top)
    elif distance is not None:
        rule = Distance(distance)
    drafter = HeadsDrafter(parts.heads, values["k"])
    return Decoder(parts.heads, drafter, rule, limit=parts.limit)


STRATEGIES: dict[str, Build] = {
    "greedy": _greedy,
    "beam": _beam,
    "iad": _iad,
    "gad": _gad,
    "gad++": _gad_plus_plus,
    "nat": _nat,
    "blockwise": _blockwise,
}


def make_decoder(parts: Parts, name: str, values: Mapping[str, Any] | None = None) -> Decoder:
    """Return the decoder of a strategy; options that are not given have their defaults.

    Raises:
        ConfigError: no such strategy, an option of another strategy, a value out of range.
        ModelError: the bundle lacks what the strategy needs.
    """
    return STRATEGIES[name](parts, complete(name, values or {}))
