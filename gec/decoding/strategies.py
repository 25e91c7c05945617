"""The strategies by name: one table for all commands that decode.

A strategy is a row of :data:`STRATEGIES`: what drafts, what accepts, its options, what it promises
and what it needs of a bundle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gec.decoding import choices as o
from gec.decoding import factories as make
from gec.decoding.choices import Option
from gec.decoding.parts import (
    BLOCKS,
    EARLY,
    HEADS,
    SMALLER,
    SMALLER_IF_ASKED,
    TWO_SMALLER,
    Need,
    Parts,
    Values,
)
from gec.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from gec.decoding.acceptance import Acceptance
    from gec.decoding.decoder import Decoder
    from gec.decoding.drafters import Drafter
    from gec.decoding.model import Model

__all__ = [
    "STRATEGIES",
    "Parts",
    "Promise",
    "Strategy",
    "complete",
    "make_decoder",
    "named",
    "options",
    "parse",
    "promise",
    "servable",
    "usual",
]

Promise = Literal["exact", "beam", "distribution", "approximate"]
"""Whose outputs a strategy returns: greedy decoding's, beam search's, draws from the verifier's
distribution, or nobody's but its own."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """One way to decode.

    Attributes:
        drafter: makes the drafter of a bundle's parts and the options' values.
        acceptance: makes the acceptance rule of the options' values.
        promise: whose outputs it returns, by the options' values.
        options: what a user may say about it.
        needs: what a bundle must have.
        model: what verifies.
        verified: what verifies is a model with probabilities of its own.
    """

    drafter: Callable[[Parts, Values], Drafter]
    acceptance: Callable[[Values], Acceptance]
    promise: Callable[[Values], Promise]
    options: tuple[Option, ...] = ()
    needs: tuple[Need, ...] = ()
    model: Callable[[Parts], Model] = make.verifier
    verified: bool = True

    def lacks(self, parts: Parts, values: Values) -> str | None:
        """Return what a bundle lacks to decode so; None: nothing."""
        return next((need.lack for need in self.needs if not need.met(parts, values)), None)

    def takes(self, key: str) -> bool:
        """Whether it has an option."""
        return any(option.key == key for option in self.options)


def _always(promise: Promise) -> Callable[[Values], Promise]:
    return lambda values: promise


def _exact_unless(*keys: str) -> Callable[[Values], Promise]:
    """Return the promise of what is exact as long as none of some options loosens it."""

    def promise(values: Values) -> Promise:
        return "exact" if all(values[key] in (None, 0) for key in keys) else "approximate"

    return promise


def _as_sampled(values: Values) -> Promise:
    return "distribution" if values["temperature"] else "exact"


def _as_drawn(values: Values) -> Promise:
    return "exact" if values["temperature"] == 0 else "distribution"


def _as_rolled_back(values: Values) -> Promise:
    return _as_sampled(values) if values["rollback"] is None else "approximate"


_TWO_MODELS = (o.GAMMA, o.COST_RATIO, *o.SAMPLING)

STRATEGIES: dict[str, Strategy] = {
    "iad": Strategy(make.reentered, make.tolerant, _exact_unless("tolerance"), (o.TOLERANCE,)),
    "greedy": Strategy(make.no_draft, make.exact, _always("exact")),
    "beam": Strategy(make.no_draft, make.beam, _always("beam"), (o.BEAM_SIZE, o.LENGTH_PENALTY)),
    "iad-paper": Strategy(make.copied, make.tolerant, _exact_unless("tolerance"), (o.TOLERANCE,)),
    "lookup": Strategy(make.looked_up, make.exact, _always("exact"), (o.K,)),
    "gad": Strategy(
        make.blocks_or_copies, make.exact, _always("exact"), (o.K, o.COPY, o.SURE), (BLOCKS,)
    ),
    "gad++": Strategy(
        make.blocks,
        make.near_best,
        _always("approximate"),
        (o.K, o.BETA, o.TAU, o.LITERAL, o.SURE),
        (BLOCKS,),
    ),
    "nat": Strategy(
        make.blocks_alone,
        make.all_drafts,
        _always("approximate"),
        (o.K,),
        (BLOCKS,),
        make.nobody,
        verified=False,
    ),
    "blockwise": Strategy(
        make.heads,
        make.top_or_distance,
        _exact_unless("accept_top", "accept_distance"),
        (o.K, o.ACCEPT_TOP, o.ACCEPT_DISTANCE),
        (HEADS,),
        make.with_heads,
    ),
    "auto": Strategy(
        make.fastest, make.exact, _always("exact"), (o.BUDGET,), model=make.with_guests
    ),
    "sample": Strategy(make.no_draft, make.drawn, _as_drawn, o.SAMPLING),
    "iad-sample": Strategy(make.reentered, make.drawn, _as_drawn, o.SAMPLING),
    "speculative": Strategy(make.small_model, make.sampled, _as_sampled, _TWO_MODELS, (SMALLER,)),
    "hierarchical": Strategy(
        make.nested_models, make.sampled, _as_sampled, _TWO_MODELS, (SMALLER, TWO_SMALLER)
    ),
    "early-exit": Strategy(
        make.first_layers,
        make.sampled_or_rolled_back,
        _as_rolled_back,
        (o.GAMMA, o.FALLBACK, o.ROLLBACK, *o.SAMPLING),
        (EARLY,),
        make.with_exit,
    ),
    "bild": Strategy(
        make.little_model,
        make.rolled_back,
        _always("approximate"),
        (o.FALLBACK, o.ROLLBACK, o.LONGEST, *o.SAMPLING),
        (SMALLER,),
    ),
    "speculative-beam": Strategy(
        make.aligned_or_small_model,
        make.beam,
        _always("beam"),
        (o.BEAM_SIZE, o.LENGTH_PENALTY, o.GAMMA, o.DRAFT),
        (SMALLER_IF_ASKED,),
    ),
}


def servable(parts: Parts) -> list[str]:
    """Return the strategies that a bundle's parts suffice for."""
    return [
        name
        for name, strategy in STRATEGIES.items()
        if strategy.lacks(parts, complete(name, {})) is None
    ]


def usual(task: str) -> str:
    """Return the exact strategy that is likely the fastest: a task's outputs may be copies."""
    return "iad" if task == "simplification" else "greedy"


def options() -> dict[str, tuple[Option, list[str]]]:
    """Return every option by its key, with the strategies that take it."""
    found: dict[str, tuple[Option, list[str]]] = {}
    for name, strategy in STRATEGIES.items():
        for option in strategy.options:
            found.setdefault(option.key, (option, []))[1].append(name)
    return found


def named(name: str) -> Strategy:
    """Return a strategy.

    Raises:
        ConfigError: no such strategy.
    """
    if name not in STRATEGIES:
        raise ConfigError(f"unknown strategy {name!r}, expected one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name]


def complete(name: str, values: Values) -> dict[str, Any]:
    """Return a value for each of the strategy's options: the given one or the default.

    Raises:
        ConfigError: no such strategy, or an option of another strategy.
    """
    known = {option.key: option.default for option in named(name).options}
    for key in values:
        if key not in known:
            owners = options()[key][1] if key in options() else ["no strategy"]
            raise ConfigError(
                f"--{key.replace('_', '-')} belongs to {' and '.join(owners)}, not to {name}"
            )
    return known | dict(values)


def parse(specification: str) -> tuple[str, dict[str, Any]]:
    """Read ``NAME`` or ``NAME:OPTION=VALUE,...``.

    >>> parse("gad++:beta=3,tau=1")
    ('gad++', {'beta': 3, 'tau': 1.0})

    Raises:
        ConfigError: no such strategy or option, or a value that cannot be read.
    """
    name, _, rest = specification.partition(":")
    known = {option.name: option for option in named(name).options}
    values = {}
    for part in filter(None, rest.split(",")):
        key, _, text = part.partition("=")
        if key not in known:
            names = ", ".join(known) or "none"
            raise ConfigError(f"strategy {name} has no option {key!r}; it has: {names}")
        try:
            values[known[key].key] = known[key].kind(text)
        except ValueError as error:
            raise ConfigError(f"{specification}, {key}: {error}") from None
    return name, values


def promise(name: str, values: Values | None = None) -> Promise:
    """Return whose outputs a strategy returns with some options, the others at their defaults.

    >>> promise("iad"), promise("iad", {"tolerance": 0.5}), promise("speculative-beam")
    ('exact', 'approximate', 'beam')
    """
    return named(name).promise(complete(name, values or {}))


def make_decoder(
    parts: Parts, name: str, values: Values | None = None, *, logprobs: bool = False
) -> Decoder:
    """Return the decoder of a strategy; options that are not given have their defaults.

    ``logprobs``: its hypotheses have the verifier's log-probability of every token.

    Raises:
        ConfigError: no such strategy, an option of another strategy, a value out of range, or
            log-probabilities of what nobody verifies.
        ModelError: the bundle lacks what the strategy needs.
    """
    from gec.decoding.decoder import Decoder
    from gec.decoding.probable import with_logprobs

    given = complete(name, values or {})  # refuses unknown names
    strategy = STRATEGIES[name]
    if lack := strategy.lacks(parts, given):
        can = ", ".join(servable(parts))
        raise ModelError(f"bundle {parts.name} {lack} or choose another strategy ({can})")
    rule = strategy.acceptance(given)
    if logprobs:
        if not strategy.verified:
            raise ConfigError(f"strategy {name} asks no verifier how probable its outputs are")
        rule = with_logprobs(rule)
    drafter, seed = strategy.drafter(parts, given), given.get("seed", 0)
    return Decoder(strategy.model(parts), drafter, rule, limit=parts.limit, seed=seed)
