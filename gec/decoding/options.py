"""The strategies of ``gec generate`` by name, and the options that each takes.

Apart from gec.decoding.strategies, which makes decoders of them, so that --help needs no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gec.errors import ConfigError
from gec.values import fraction, natural, not_negative, number, positive


@dataclass(frozen=True, slots=True)
class Option:
    """A value a strategy takes: ``--NAME`` of gec generate, ``NAME=VALUE`` in a specification.

    Attributes:
        kind: reads and checks it; raises ValueError with the reason.
        default: where none is given; None where the strategy chooses.
    """

    name: str
    kind: Callable[[str], Any]
    default: Any
    help: str

    @property
    def key(self) -> str:
        return self.name.replace("-", "_")


def switch(text: str) -> bool:
    """Read ``yes`` or ``no``."""
    if text not in ("yes", "no"):
        raise ValueError(f"yes or no, not {text!r}")
    return text == "yes"


def threshold(text: str) -> float:
    """Read a number of at least 0, or ``inf``."""
    return float("inf") if text == "inf" else not_negative(text)


def share(text: str) -> float:
    """Read a number above 0 and at most 1."""
    if not (value := fraction(text)):
        raise ValueError("must be above 0 and at most 1, not 0")
    return value


def one_of(*names: str) -> Callable[[str], str]:
    """Return what reads one of some names."""

    def read(text: str) -> str:
        if text not in names:
            raise ValueError(f"must be one of {', '.join(names)}, not {text!r}")
        return text

    return read


_BEAM_SIZE = Option("beam-size", positive, 5, "hypotheses kept")
_LENGTH_PENALTY = Option(
    "length-penalty", number, 1.0, "exponent of the length: more, longer outputs"
)
_GAMMA = Option(
    "gamma",
    natural,
    None,
    "tokens drafted a pass, 0 for none (default: what the acceptance rate and the cost ratio call "
    "for; early-exit 5, speculative-beam 2)",
)
_COST_RATIO = Option(
    "cost-ratio",
    not_negative,
    None,
    "time of the drafting model's pass in passes of the verifier, to choose gamma by "
    "(default: measured)",
)
_SAMPLING = (
    Option(
        "temperature",
        not_negative,
        None,
        "0 takes the likeliest token, more draws (default: 1 for sample, else 0)",
    ),
    Option("top-k", positive, None, "draw among the K likeliest tokens (default: among all)"),
    Option("top-p", share, 1.0, "draw among the likeliest tokens that sum to P (nucleus)"),
    Option("seed", natural, 0, "another seed draws another output"),
)
_FALLBACK = Option(
    "fallback",
    fraction,
    None,
    "ask the large model where the small one's likeliest token is below P, 0 to 1 "
    "(default: 0.6 for bild, else 0)",
)
_ROLLBACK = Option(
    "rollback",
    threshold,
    None,
    "nats, 0 to inf; take back a drafted token whose cross-entropy under the large model is more "
    "(default: 2 for bild; early-exit without it is exact)",
)

_TOLERANCE = Option("tolerance", not_negative, 0.0, "nats a copied token may be behind the best")
_K = Option("k", positive, None, "tokens drafted at once (default: as many as were trained)")

OPTIONS: dict[str, tuple[Option, ...]] = {
    "greedy": (),
    "beam": (
        _BEAM_SIZE,
        _LENGTH_PENALTY,
    ),
    "iad": (_TOLERANCE,),
    "iad-paper": (_TOLERANCE,),
    "gad": (_K,),
    "gad++": (
        _K,
        Option("beta", positive, 3, "a drafted token must be among the verifier's best BETA"),
        Option("tau", not_negative, 1.0, "and at most TAU nats behind its best"),
        Option("literal", switch, False, "yes: the drafter's log-probability, as in the paper"),
    ),
    "nat": (_K,),
    "blockwise": (
        _K,
        Option("accept-top", positive, None, "accept what is among the verifier's best N"),
        Option("accept-distance", natural, None, "accept ids at most N from the verifier's best"),
    ),
    "sample": _SAMPLING,
    "speculative": (_GAMMA, _COST_RATIO, *_SAMPLING),
    "hierarchical": (_GAMMA, _COST_RATIO, *_SAMPLING),
    "early-exit": (_GAMMA, _FALLBACK, _ROLLBACK, *_SAMPLING),
    "bild": (
        _FALLBACK,
        _ROLLBACK,
        Option("longest", positive, 10, "tokens the small model writes at most before it is read"),
        *_SAMPLING,
    ),
    "speculative-beam": (
        _BEAM_SIZE,
        _LENGTH_PENALTY,
        _GAMMA,
        Option("draft", one_of("source", "small"), "source", "what drafts: source or small"),
    ),
}
"""The options of every strategy."""

EXACT = {"greedy", "gad"}
"""Strategies that return greedy decoding's tokens whatever their options say."""


def usual(task: str) -> str:
    """Return the strategy for a task where none is named: greedy decoding's output, if fast."""
    return "iad" if task == "simplification" else "greedy"


def options() -> dict[str, tuple[Option, list[str]]]:
    """Return every option by its key, with the strategies that take it."""
    found: dict[str, tuple[Option, list[str]]] = {}
    for name, taken in OPTIONS.items():
        for option in taken:
            found.setdefault(option.key, (option, []))[1].append(name)
    return found


def complete(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value for each of the strategy's options: the given one or the default.

    Raises:
        ConfigError: no such strategy, or an option of another strategy.
    """
    if name not in OPTIONS:
        raise ConfigError(f"unknown strategy {name!r}, expected one of {', '.join(OPTIONS)}")
    known = {option.key: option.default for option in OPTIONS[name]}
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
    if name not in OPTIONS:
        raise ConfigError(f"unknown strategy {name!r}, expected one of {', '.join(OPTIONS)}")
    known = {option.name: option for option in OPTIONS[name]}
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
