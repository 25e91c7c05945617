"""The options of the strategies: what gec.decoding.strategies puts into its table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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


def below_one(text: str) -> float:
    """Read a number of at least 0 and below 1."""
    if (value := fraction(text)) == 1:
        raise ValueError("must be at least 0 and below 1, not 1")
    return value


def one_of(*names: str) -> Callable[[str], str]:
    """Return what reads one of some names."""

    def read(text: str) -> str:
        if text not in names:
            raise ValueError(f"must be one of {', '.join(names)}, not {text!r}")
        return text

    return read


BEAM_SIZE = Option("beam-size", positive, 5, "hypotheses kept")
LENGTH_PENALTY = Option(
    "length-penalty", number, 1.0, "exponent of the length: more, longer outputs"
)
GAMMA = Option(
    "gamma",
    natural,
    None,
    "tokens drafted a pass, 0 for none (default: what the acceptance rate and the cost ratio call "
    "for; early-exit 5, speculative-beam 2)",
)
COST_RATIO = Option(
    "cost-ratio",
    not_negative,
    None,
    "time of the drafting model's pass in passes of the verifier, to choose gamma by "
    "(default: measured)",
)
SAMPLING = (
    Option(
        "temperature",
        not_negative,
        None,
        "0 takes the likeliest token, more draws (default: 1 for sample, else 0)",
    ),
    Option("top-k", positive, None, "draw among the K likeliest tokens (default: among all)"),
    Option("top-p", share, 1.0, "draw among the likeliest tokens that sum to P (nucleus)"),
    Option(
        "epsilon", below_one, 0.0, "never draw a token less likely than this, but the likeliest"
    ),
    Option("seed", natural, 0, "another seed draws another output"),
)
FALLBACK = Option(
    "fallback",
    fraction,
    None,
    "ask the large model where the small one's likeliest token is below P, 0 to 1 "
    "(default: 0.6 for bild, else 0)",
)
ROLLBACK = Option(
    "rollback",
    threshold,
    None,
    "nats, 0 to inf; take back a drafted token whose cross-entropy under the large model is more "
    "(default: 2 for bild; early-exit without it is exact)",
)

TOLERANCE = Option("tolerance", not_negative, 0.0, "nats a copied token may be behind the best")
K = Option(
    "k",
    positive,
    None,
    "tokens drafted at once (default: as many as were trained, lookup 8)",
)
COPY = Option(
    "copy",
    natural,
    0,
    "draft what follows in the source where the output's last N tokens, 1 to 3, stand in it; 0 "
    "never does",
)
SURE = Option(
    "sure",
    fraction,
    0.0,
    "end a draft before the first token that the drafter finds less likely than this, 0 to 1",
)
BETA = Option("beta", positive, 3, "a drafted token must be among the verifier's best BETA")
TAU = Option("tau", not_negative, 1.0, "and at most TAU nats behind its best")
LITERAL = Option("literal", switch, False, "yes: the drafter's log-probability, as in the paper")
ACCEPT_TOP = Option("accept-top", positive, None, "accept what is among the verifier's best N")
ACCEPT_DISTANCE = Option(
    "accept-distance", natural, None, "accept ids at most N from the verifier's best"
)
LONGEST = Option("longest", positive, 10, "tokens the small model writes at most before it is read")
BUDGET = Option(
    "budget",
    fraction,
    0.03,
    "share of the time by which trying other strategies may make a run slower than greedy decoding",
)
DRAFT = Option("draft", one_of("source", "small"), "source", "what drafts: source or small")
