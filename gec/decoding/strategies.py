"""Strategies by name: what ``gec generate`` and ``gec bench generate`` can decode with.

A strategy is a row of :data:`STRATEGIES` here and one of its options in gec.decoding.options.
"""

from __future__ import annotations

import warnings
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
from gec.decoding.bild import FALLBACK, ROLLBACK, Rollback, big_little_decoder
from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters import Drafter
from gec.decoding.drafters.aligned import AlignedCopyDrafter
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.drafters.early_exit import EarlyExitDrafter, ExitModel
from gec.decoding.drafters.heads import HeadsDrafter, HeadsModel
from gec.decoding.drafters.nat import BlockModel, NatDrafter, Unverified
from gec.decoding.drafters.reentry import ReentryDrafter
from gec.decoding.drafters.small_model import FixedLength, Length, SmallModelDrafter
from gec.decoding.lengths import AdaptiveLength, cost_ratio
from gec.decoding.model import Model
from gec.decoding.options import complete
from gec.decoding.sampling import Sampling, acceptance
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
        longest: the most tokens a source may have (without EOS); None: what the model takes.
        split: lines are cut into sentences.
        smaller: smaller models of the same task and vocabulary, the largest first.
        early: the verifier with an exit behind its first layers, if it was trained with one.
    """

    name: str
    model: Model
    blocks: BlockModel | None = None
    heads: HeadsModel | None = None
    limit: LengthLimit = field(default_factory=LengthLimit)
    longest: int | None = None
    split: bool = True
    smaller: tuple[Model, ...] = ()
    early: ExitModel | None = None


Build = Callable[[Parts, Mapping[str, Any]], Decoder]
"""Makes a decoder of a bundle's parts and a value for each of the strategy's options."""


def _greedy(parts: Parts, _values: Mapping[str, Any]) -> Decoder:
    return Decoder(parts.model, limit=parts.limit)


def _beam(parts: Parts, values: Mapping[str, Any]) -> Decoder:
    rule = BeamSearch(values["beam_size"], values["length_penalty"])
    return Decoder(parts.model, None, rule, limit=parts.limit)


def _copying(drafter: type[CopyDrafter | ReentryDrafter]) -> Build:
    """Return what decodes with drafts of the source."""

    def build(parts: Parts, values: Mapping[str, Any]) -> Decoder:
        return Decoder(parts.model, drafter(), Conservative(values["tolerance"]), limit=parts.limit)

    return build


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


def _sample(parts: Parts, values: Mapping[str, Any]) -> Decoder:
    rule = acceptance(_sampling(values, 1.0))
    return Decoder(parts.model, None, rule, limit=parts.limit, seed=values["seed"])


def _speculative(parts: Parts, values: Mapping[str, Any]) -> Decoder:
    small, sampling = _smaller(parts)[-1], _sampling(values, 0.0)
    length = _length(small, parts.model, values)
    drafter = SmallModelDrafter(small, length=length, sampling=sampling)
    return _sampled(parts.model, drafter, sampling, parts, values)


def _hierarchical(parts: Parts, values: Mapping[str, Any]) -> Decoder:
    models = _smaller(parts)
    if len(models) < 2:
        raise ModelError(
            f"bundle {parts.name} has one smaller model, a hierarchy needs two or more: "
            "choose speculative"
        )
    sampling = _sampling(values, 0.0)
    drafter: Drafter | None = None
    larger = [parts.model, *models[:-1]]
    for model, verifier in zip(reversed(models), reversed(larger), strict=True):
        length = _length(model, verifier, values)
        drafter = SmallModelDrafter(model, drafter, length=length, sampling=sampling)
    return _sampled(parts.model, drafter, sampling, parts, values)


def _early_exit(parts: Parts, values: Mapping[str, Any]) -> Decoder:
    if parts.early is None:
        raise ModelError(
            f"bundle {parts.name} was not trained with an early exit: train one "
            "(early_exit in the recipe) or choose another strategy"
        )
    sampling, gamma = _sampling(values, 0.0), values["gamma"]
    drafter = EarlyExitDrafter(
        parts.early.exit,
        length=FixedLength(5 if gamma is None else gamma),
        sampling=sampling,
        fallback=values["fallback"] or 0.0,
    )
    if values["rollback"] is None:
        return _sampled(parts.early, drafter, sampling, parts, values)
    rule = Rollback(values["rollback"], sampling)
    return Decoder(parts.early, drafter, rule, limit=parts.limit, seed=values["seed"])


def _bild(parts: Parts, values: Mapping[str, Any]) -> Decoder:
    return big_little_decoder(
        parts.model,
        _smaller(parts)[-1],
        fallback=FALLBACK if values["fallback"] is None else values["fallback"],
        rollback=ROLLBACK if values["rollback"] is None else values["rollback"],
        longest=values["longest"],
        sampling=_sampling(values, 0.0),
        limit=parts.limit,
        seed=values["seed"],
    )


def _speculative_beam(parts: Parts, values: Mapping[str, Any]) -> Decoder:
    gamma = 2 if values["gamma"] is None else values["gamma"]
    drafter: Drafter = AlignedCopyDrafter(gamma)
    if values["draft"] == "small":
        drafter = SmallModelDrafter(_smaller(parts)[-1], length=FixedLength(gamma))
    rule = BeamSearch(values["beam_size"], values["length_penalty"])
    return Decoder(parts.model, drafter, rule, limit=parts.limit)


def _smaller(parts: Parts) -> tuple[Model, ...]:
    if not parts.smaller:
        raise ModelError(
            f"bundle {parts.name} has no smaller model to draft with: train one "
            "(gec train RECIPE --part small) or choose another strategy"
        )
    return parts.smaller


def _sampling(values: Mapping[str, Any], temperature: float) -> Sampling:
    """Return how to draw; options that need a temperature are refused without one."""
    given = values["temperature"]
    sampling = Sampling(temperature if given is None else given, values["top_k"], values["top_p"])
    if sampling.greedy and (sampling.top_k is not None or sampling.top_p < 1):
        raise ConfigError("--top-k and --top-p draw tokens: they need a --temperature above 0")
    return sampling


def _length(small: Model, large: Model, values: Mapping[str, Any]) -> Length:
    """Return the given gamma or the choice of it; warn where the small model saves no time."""
    gamma, cost = values["gamma"], values["cost_ratio"]
    if gamma is not None:
        if cost is not None:
            raise ConfigError("--gamma and --cost-ratio exclude each other: one chooses the other")
        return FixedLength(gamma)
    if cost is None:
        timing = cost_ratio(small, large)
        if warning := timing.warning():
            warnings.warn(warning, stacklevel=2)
        cost = timing.ratio
    return AdaptiveLength(cost)


def _sampled(
    model: Model,
    drafter: Drafter | None,
    sampling: Sampling,
    parts: Parts,
    values: Mapping[str, Any],
) -> Decoder:
    rule = acceptance(sampling)
    return Decoder(model, drafter, rule, limit=parts.limit, seed=values["seed"])


STRATEGIES: dict[str, Build] = {
    "greedy": _greedy,
    "beam": _beam,
    "iad": _copying(ReentryDrafter),
    "iad-paper": _copying(CopyDrafter),
    "gad": _gad,
    "gad++": _gad_plus_plus,
    "nat": _nat,
    "blockwise": _blockwise,
    "sample": _sample,
    "speculative": _speculative,
    "hierarchical": _hierarchical,
    "early-exit": _early_exit,
    "bild": _bild,
    "speculative-beam": _speculative_beam,
}


def make_decoder(parts: Parts, name: str, values: Mapping[str, Any] | None = None) -> Decoder:
    """Return the decoder of a strategy; options that are not given have their defaults.

    Raises:
        ConfigError: no such strategy, an option of another strategy, a value out of range.
        ModelError: the bundle lacks what the strategy needs.
    """
    given = complete(name, values or {})  # refuses unknown names
    return STRATEGIES[name](parts, given)
