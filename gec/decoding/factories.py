"""What makes the drafters and acceptance rules of the strategies: one function each.

Each imports what it makes, so that a table of these functions imports none of it.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, cast

from gec.decoding.parts import Parts, Values
from gec.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from gec.decoding.acceptance import Acceptance
    from gec.decoding.drafters import Drafter
    from gec.decoding.drafters.auto import GuestModel, Way
    from gec.decoding.drafters.small_model import Length
    from gec.decoding.model import Model
    from gec.decoding.sampling import Sampling

# ---------------------------------------------------------------------------------------- drafters


def no_draft(_parts: Parts, _values: Values) -> Drafter:
    from gec.decoding.drafters import NoDraft

    return NoDraft()


def copied(_parts: Parts, _values: Values) -> Drafter:
    from gec.decoding.drafters.copy import CopyDrafter

    return CopyDrafter()


def reentered(parts: Parts, _values: Values) -> Drafter:
    from gec.decoding.drafters.reentry import ReentryDrafter

    return ReentryDrafter() if parts.words is None else ReentryDrafter.of(parts.words)


def looked_up(_parts: Parts, values: Values) -> Drafter:
    from gec.decoding.drafters.lookup import LookupDrafter

    return LookupDrafter(values["k"] or 8)


def blocks(parts: Parts, values: Values) -> Drafter:
    from gec.decoding.drafters.nat import NatDrafter

    assert parts.blocks is not None
    return NatDrafter(parts.blocks, values["k"], verifier=parts.model, sure=values["sure"])


def blocks_or_copies(parts: Parts, values: Values) -> Drafter:
    from gec.decoding.drafters.lookup import LookupDrafter, LookupOr

    drafter = blocks(parts, values)
    if not values["copy"]:
        return drafter
    assert parts.blocks is not None
    return LookupOr(LookupDrafter(values["k"] or parts.blocks.block, values["copy"]), drafter)


def blocks_alone(parts: Parts, values: Values) -> Drafter:
    from gec.decoding.drafters.nat import NatDrafter

    assert parts.blocks is not None
    return NatDrafter(parts.blocks, values["k"])


def heads(parts: Parts, values: Values) -> Drafter:
    from gec.decoding.drafters.heads import HeadsDrafter

    assert parts.heads is not None
    return HeadsDrafter(parts.heads, values["k"])


def small_model(parts: Parts, values: Values) -> Drafter:
    from gec.decoding.drafters.small_model import SmallModelDrafter

    small, sampling = parts.smaller[-1], _sampling(values)
    return SmallModelDrafter(small, length=_length(small, parts.model, values), sampling=sampling)


def nested_models(parts: Parts, values: Values) -> Drafter:
    from gec.decoding.drafters.small_model import SmallModelDrafter

    sampling, drafter = _sampling(values), no_draft(parts, values)
    larger = [parts.model, *parts.smaller[:-1]]
    for model, above in zip(reversed(parts.smaller), reversed(larger), strict=True):
        length = _length(model, above, values)
        drafter = SmallModelDrafter(model, drafter, length=length, sampling=sampling)
    return drafter


def first_layers(parts: Parts, values: Values) -> Drafter:
    from gec.decoding.drafters.early_exit import EarlyExitDrafter
    from gec.decoding.drafters.small_model import FixedLength

    assert parts.early is not None
    return EarlyExitDrafter(
        parts.early.exit,
        length=FixedLength(5 if values["gamma"] is None else values["gamma"]),
        sampling=_sampling(values),
        fallback=values["fallback"] or 0.0,
    )


def little_model(parts: Parts, values: Values) -> Drafter:
    from gec.decoding.bild import FALLBACK
    from gec.decoding.drafters.small_model import FixedLength, SmallModelDrafter

    return SmallModelDrafter(
        parts.smaller[-1],
        length=FixedLength(values["longest"]),
        sampling=_sampling(values),
        fallback=FALLBACK if values["fallback"] is None else values["fallback"],
    )


def aligned_or_small_model(parts: Parts, values: Values) -> Drafter:
    from gec.decoding.drafters.aligned import AlignedCopyDrafter
    from gec.decoding.drafters.small_model import FixedLength, SmallModelDrafter

    gamma = 2 if values["gamma"] is None else values["gamma"]
    if values["draft"] != "small":
        return AlignedCopyDrafter(gamma)
    return SmallModelDrafter(parts.smaller[-1], length=FixedLength(gamma))


def _length(small: Model, large: Model, values: Values) -> Length:
    """Return the given gamma or the choice of it; warn if the small model saves no time."""
    from gec.decoding.drafters.small_model import FixedLength
    from gec.decoding.lengths import AdaptiveLength, cost_ratio

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


def fastest(parts: Parts, values: Values) -> Drafter:
    from gec.decoding.drafters.auto import AutoDrafter

    ways = _ways(parts)
    first = parts.usual if parts.usual in ways else ""
    return AutoDrafter(ways, first=first, budget=values["budget"])


def _ways(parts: Parts) -> dict[str, Way]:
    """Return greedy decoding, then the exact ways to draft that a bundle has fitting parts for."""
    from gec.decoding.drafters import NoDraft
    from gec.decoding.drafters.auto import Way
    from gec.decoding.strategies import STRATEGIES, complete, parse

    ways = {"greedy": Way(NoDraft())}
    for specification in _candidates(parts):
        name, given = parse(specification)
        strategy, own = STRATEGIES[name], None
        if strategy.model is not verifier:
            own = cast("GuestModel", strategy.model(parts))
            if not own.fits(parts.model):
                continue
        try:
            drafter = strategy.drafter(parts, complete(name, given))
        except (ConfigError, ModelError):
            continue  # it does not fit the verifier
        ways[specification] = Way(drafter, own)
    return ways


def _candidates(parts: Parts) -> list[str]:
    """Return strategies that draft for a bundle, with drafts of sizes that often pay."""
    found = []
    if parts.blocks is not None:
        sizes = {min(k, parts.blocks.block, parts.blocks.max_positions - 1) for k in (4, 10)}
        found += [f"gad:k={k}" for k in sorted(sizes)]
    if parts.heads is not None:
        found.append(f"blockwise:k={min(4, parts.heads.heads + 1)}")
    if parts.early is not None:
        found.append("early-exit:gamma=2")
    if parts.smaller:
        found += ["speculative:gamma=2", "speculative:gamma=4"]
    if len(parts.smaller) > 1:
        found.append("hierarchical:gamma=3")
    return [*found, "lookup:k=8", "iad"]


# -------------------------------------------------------------------------------- acceptance rules


def exact(_values: Values) -> Acceptance:
    from gec.decoding.acceptance import Exact

    return Exact()


def tolerant(values: Values) -> Acceptance:
    from gec.decoding.acceptance import Conservative

    return Conservative(values["tolerance"])


def beam(values: Values) -> Acceptance:
    from gec.decoding.beam import BeamSearch

    return BeamSearch(values["beam_size"], values["length_penalty"])


def near_best(values: Values) -> Acceptance:
    from gec.decoding.acceptance import PaperTopBeta, TopBeta

    return (PaperTopBeta if values["literal"] else TopBeta)(values["beta"], values["tau"])


def all_drafts(_values: Values) -> Acceptance:
    from gec.decoding.acceptance import AcceptAll

    return AcceptAll()


def top_or_distance(values: Values) -> Acceptance:
    from gec.decoding.acceptance import Distance, Exact, TopK

    top, distance = values["accept_top"], values["accept_distance"]
    if top is not None and distance is not None:
        raise ConfigError("--accept-top and --accept-distance exclude each other")
    if top is not None:
        return TopK(top)
    return Exact() if distance is None else Distance(distance)


def sampled(values: Values) -> Acceptance:
    from gec.decoding.sampling import acceptance

    return acceptance(_sampling(values))


def drawn(values: Values) -> Acceptance:
    from gec.decoding.sampling import acceptance

    return acceptance(_sampling(values, 1.0))


def rolled_back(values: Values) -> Acceptance:
    from gec.decoding.bild import ROLLBACK, Rollback

    threshold = ROLLBACK if values["rollback"] is None else values["rollback"]
    return Rollback(threshold, _sampling(values))


def sampled_or_rolled_back(values: Values) -> Acceptance:
    return (sampled if values["rollback"] is None else rolled_back)(values)


def _sampling(values: Values, temperature: float = 0.0) -> Sampling:
    """Return how to draw; options that need a temperature are refused without one."""
    from gec.decoding.sampling import Sampling

    given = values["temperature"]
    sampling = Sampling(
        temperature if given is None else given, values["top_k"], values["top_p"], values["epsilon"]
    )
    if sampling.greedy and (sampling.top_k is not None or sampling.top_p < 1 or sampling.epsilon):
        raise ConfigError(
            "--top-k, --top-p and --epsilon draw tokens: they need a --temperature above 0"
        )
    return sampling


# ---------------------------------------------------------------------------------------- verifiers


def verifier(parts: Parts) -> Model:
    return parts.model


def with_heads(parts: Parts) -> Model:
    assert parts.heads is not None
    return parts.heads


def with_exit(parts: Parts) -> Model:
    assert parts.early is not None
    return parts.early


def with_guests(parts: Parts) -> Model:
    from gec.decoding.drafters.auto import HostVerifier

    guests = parts.heads is not None or parts.early is not None
    return HostVerifier(parts.model) if guests else parts.model


def nobody(parts: Parts) -> Model:
    from gec.decoding.drafters.nat import Unverified

    assert parts.blocks is not None
    return Unverified(parts.blocks)
