"""What a caller may ask of a corrector: settings, and the options of one call."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from gec.correct.needless import Budget, Needless, least_confidence
from gec.errors import ConfigError

BALANCED = "balanced"
"""The setting that holds if nobody asks for another."""

MOST_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Setting:
    """What an edit must overcome to be made.

    Attributes:
        tolerance: nats by which the model must prefer another token to the source's (>= 0).
        min_confidence: the least confidence an edit may have (0 to 1).
        types: error types whose edits need another least confidence (``{"R:PREP": 0.5}``).
        rounds: how often the model may read a sentence that it changed, at least 1.
    """

    tolerance: float = 0.0
    min_confidence: float = 0.0
    types: Mapping[str, float] = field(default_factory=dict, hash=False)
    rounds: int = 1

    def __post_init__(self) -> None:
        if not (math.isfinite(self.tolerance) and self.tolerance >= 0):
            raise ConfigError(f"tolerance must be a number of nats >= 0, not {self.tolerance}")
        if not 0 <= self.min_confidence <= 1:
            raise ConfigError(f"min_confidence must lie between 0 and 1, not {self.min_confidence}")
        _check_rounds(self.rounds)
        for name, least in self.types.items():
            if not 0 <= least <= 1:
                raise ConfigError(f"types, {name}: must lie between 0 and 1, not {least}")

    def least(self, type: str) -> float:
        """Return the least confidence that an edit of an error type must have."""
        return self.types.get(type, self.min_confidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What one call asks of a corrector; None keeps what the corrector was made with.

    Attributes:
        setting: one of the corrector's named settings: precise, balanced, thorough.
        tolerance: nats, instead of the setting's.
        min_confidence: 0 to 1, instead of the setting's.
        max_needless: the least confidence is the one that keeps this budget.
        rounds: how often the model may read a sentence that it changed, instead of the setting's.
        dictionary: words never to change (whole words, case counts), besides the corrector's own.
        protected: spans of the text never to change, as (start, end) in code points.
        spelling: let the dictionary correct misspelt words.
    """

    setting: str | None = None
    tolerance: float | None = None
    min_confidence: float | None = None
    max_needless: Budget | None = None
    rounds: int | None = None
    dictionary: Collection[str] = frozenset()
    protected: tuple[tuple[int, int], ...] = ()
    spelling: bool | None = None

    def __post_init__(self) -> None:
        if self.min_confidence is not None and self.max_needless is not None:
            raise ConfigError("min_confidence and max_needless exclude each other")
        if self.rounds is not None:
            _check_rounds(self.rounds)

    def over(self, own: Options) -> Options:
        """Put these options over a corrector's own; a setting that is asked for hides its numbers.

        Both dictionaries count.
        """
        beneath = own
        if self.setting:
            beneath = replace(beneath, tolerance=None, rounds=None)
        if self.setting or self.min_confidence is not None or self.max_needless is not None:
            beneath = replace(beneath, min_confidence=None, max_needless=None)
        return Options(
            setting=self.setting or own.setting,
            tolerance=_first(self.tolerance, beneath.tolerance),
            min_confidence=_first(self.min_confidence, beneath.min_confidence),
            max_needless=self.max_needless or beneath.max_needless,
            rounds=self.rounds or beneath.rounds,
            dictionary=frozenset(own.dictionary) | frozenset(self.dictionary),
            protected=self.protected or own.protected,
            spelling=own.spelling if self.spelling is None else self.spelling,
        )

    def choose(
        self, settings: Mapping[str, Setting], kinds: Mapping[str, Needless] | None = None
    ) -> Setting:
        """Return the setting that the options name, with the options' numbers over its own.

        ``kinds``: what the bundle knows of needless changes.

        Raises:
            ConfigError: there is no setting of that name, a number is out of its range, or the
                bundle cannot keep a budget.
        """
        name = self.setting or BALANCED
        if name not in settings:
            raise ConfigError(
                f"unknown setting {name!r}, this bundle has {', '.join(sorted(settings))}"
            )
        setting = settings[name]
        if self.tolerance is not None:
            setting = replace(setting, tolerance=self.tolerance)
        if self.rounds is not None:
            setting = replace(setting, rounds=self.rounds)
        least = self.min_confidence
        if self.max_needless is not None:
            least = least_confidence(self.max_needless, kinds or {})
        if least is not None:  # if a caller asks for one, it holds for all types
            setting = replace(setting, min_confidence=least, types={})
        return setting


def _check_rounds(rounds: object) -> None:
    if isinstance(rounds, bool) or not isinstance(rounds, int) or not 1 <= rounds <= MOST_ROUNDS:
        raise ConfigError(f"rounds must be a whole number from 1 to {MOST_ROUNDS}, not {rounds!r}")


def _first(asked: float | None, own: float | None) -> float | None:
    return own if asked is None else asked
