"""A budget of needless changes: the least confidence that keeps it, by kind of text.

A bundle knows of some kinds of text how sure it was of its edits in sentences without errors, all
of them needless (``gec calibrate`` measures it). From that follows which least confidence lets so
many of these sentences be changed and no more. What was measured on n sentences says nothing of
shares below 1/n: there the surest needless edit seen is still left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gec.errors import ConfigError

_STEP = 1e-4  # confidences are kept to so much


@dataclass(frozen=True, slots=True)
class Budget:
    """How many of the sentences without errors may be changed.

    Attributes:
        share: 0 to 1.
        kind: the kind of text that it holds for; None: whatever the kind.
    """

    share: float
    kind: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ConfigError(f"a budget lies between 0 and 1, not {self.share}")

    @classmethod
    def read(cls, text: str) -> Budget:
        """Read ``1/1000``, ``0.001`` or ``0.1%``, and a kind of text behind a colon.

        >>> Budget.read("1/1000:documentation")
        Budget(share=0.001, kind='documentation')
        """
        number, colon, kind = text.partition(":")
        top, slash, below = number.strip().removesuffix("%").partition("/")
        try:
            share = float(top) / (float(below) if slash else 1.0)
        except (ValueError, ZeroDivisionError):
            share = math.nan
        if number.strip().endswith("%"):
            share = math.nan if slash else share / 100
        if not 0 <= share <= 1 or bool(colon) != bool(kind.strip()):
            raise ConfigError(f"expected a share such as 1/1000 or 1/1000:KIND, not {text!r}")
        return cls(share, kind.strip() or None)


@dataclass(frozen=True, slots=True)
class Needless:
    """The needless edits in sentences of one kind.

    Attributes:
        sentences: how many sentences without errors were looked at.
        confidences: the surest edit's of each sentence that has any, to four places.
    """

    sentences: int
    confidences: tuple[float, ...]

    def __post_init__(self) -> None:
        numbers = [self.sentences, *self.confidences]
        if not all(isinstance(n, int | float) and math.isfinite(n) and n >= 0 for n in numbers):
            raise ConfigError(f"sentences and confidences must be numbers of at least 0: {numbers}")
        if self.sentences < max(1, len(self.confidences)):
            raise ConfigError(f"{len(self.confidences)} of {self.sentences} sentences were changed")
        object.__setattr__(self, "confidences", tuple(sorted(self.confidences, reverse=True)))

    @classmethod
    def of(cls, sentences: int, confidences: list[float]) -> Needless:
        """Round confidences up, so that none seems less sure than it is."""
        return cls(sentences, tuple(math.ceil(c / _STEP) * _STEP for c in confidences))

    def least(self, share: float) -> float:
        """Return the least confidence that changes at most this share of the sentences."""
        allowed = math.floor(share * self.sentences + 1e-9)
        if allowed >= len(self.confidences):
            return 0.0
        return min(1.0, round(self.confidences[allowed] + _STEP, 4))

    def to_dict(self) -> dict[str, Any]:
        """Return it for a bundle's ``config.json``."""
        return {"sentences": self.sentences, "confidences": [round(c, 4) for c in self.confidences]}


def read_kinds(values: Any) -> dict[str, Needless]:
    """Return the kinds of text of a bundle's ``config.json``.

    Raises:
        ConfigError: they are not what :meth:`Needless.to_dict` gives.
    """
    try:
        return {
            str(kind): Needless(found["sentences"], tuple(found["confidences"]))
            for kind, found in dict(values).items()
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"sentences and confidences of each kind of text wanted: {error}"
        ) from None


def least_confidence(budget: Budget, kinds: Mapping[str, Needless]) -> float:
    """Return the least confidence that keeps a budget, for any kind of text the highest of all.

    Raises:
        ConfigError: the bundle knows no kind, or not this one.
    """
    if not kinds:
        raise ConfigError(
            "this bundle knows no needless changes: gec calibrate --write with texts without errors"
        )
    if budget.kind is None:
        return max(kind.least(budget.share) for kind in kinds.values())
    if budget.kind not in kinds:
        raise ConfigError(f"unknown kind of text {budget.kind!r}, known are {', '.join(kinds)}")
    return kinds[budget.kind].least(budget.share)
