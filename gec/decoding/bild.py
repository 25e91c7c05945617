"""Big Little Decoder (BiLD): a small model writes, a large one is asked where it is not sure.

Kim et al. 2023, *Speculative Decoding with Big Little Decoder*, Algorithm 1, in the words of the
loop. The small model drafts until its likeliest token has less probability than ``fallback``
(alpha_FB), or until the draft is ``longest`` tokens long; the large one scores the draft in one
pass and keeps it up to the first token whose cross-entropy under it, -log p(x), exceeds
``rollback`` (alpha_RB, nats). There it puts its own token, and behind a draft that stands its next
one. The output is not the large model's: the two thresholds trade likeness to it for speed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gec.decoding.acceptance import Kept, decide, keep
from gec.decoding.decoder import Decoder, Hypothesis, LengthLimit
from gec.decoding.drafters.small_model import FixedLength, SmallModelDrafter
from gec.decoding.model import Model
from gec.decoding.sampling import GREEDY, Sampling, uniform
from gec.decoding.scores import Scores
from gec.decoding.state import State
from gec.errors import ConfigError

FALLBACK, ROLLBACK, LONGEST = 0.6, 2.0, 10
"""Thresholds to begin with, within the ranges of Kim et al. 2023; their cap on the draft."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """A drafted token stands while its cross-entropy under the verifier is at most ``threshold``.

    Attributes:
        threshold: alpha_RB in nats; infinity never rolls back.
        sampling: how the verifier's own token is chosen.
    """

    threshold: float = ROLLBACK
    sampling: Sampling = GREEDY

    def __post_init__(self) -> None:
        if not self.threshold >= 0:
            raise ConfigError(f"the rollback threshold must be >= 0 nats, not {self.threshold}")

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        [wanted] = scores.logprobs(state.drafts)
        best, drafted = scores.read(scores.best(), wanted)

        def stands(row: int, place: int) -> bool:
            likely: bool = -drafted[row][place] <= self.threshold
            return likely

        kept = decide(state, best, stands, trusted=False)
        if self.sampling.greedy:
            return kept
        last = [min(row.accepted, len(b) - 1) for row, b in zip(kept, best, strict=True)]
        numbers = [uniform(row) for row in state.rows]
        drawn = scores.at(last).distribution(self.sampling).draw(numbers)
        return keep(state, [(row.accepted, t) for row, t in zip(kept, drawn, strict=True)])


def big_little_decoder(
    large: Model,
    small: Model,
    *,
    fallback: float = FALLBACK,
    rollback: float = ROLLBACK,
    longest: int = LONGEST,
    sampling: Sampling = GREEDY,
    limit: LengthLimit | None = None,
    seed: int = 0,
) -> Decoder:
    """Return the decoder of the two models.

    ``fallback=0`` drafts ``longest`` tokens every time; ``rollback=inf`` takes whatever the small
    model is sure of (the ablations of Kim et al. 2023, Figure 5).

    Raises:
        ConfigError: a threshold or ``longest`` is out of range.
    """
    if longest < 1:
        raise ConfigError(f"the longest draft must be at least 1 token, not {longest}")
    drafter = SmallModelDrafter(
        small, length=FixedLength(longest), sampling=sampling, fallback=fallback
    )
    return Decoder(large, drafter, Rollback(rollback, sampling), limit=limit, seed=seed)


@dataclass(frozen=True, slots=True)
class Shares:
    """How the two models shared the work.

    Attributes:
        fallback: of the tokens of the output, the share that the large model wrote.
        rollback: of the tokens that the small model drafted, the share that was taken back.
        rollbacks: of the passes of the large model, the share that took something back.
    """

    fallback: float
    rollback: float
    rollbacks: float


def shares(hypotheses: Iterable[Hypothesis]) -> Shares:
    """Count what became of the drafts of some outputs (compare Kim et al. 2023, Table 4)."""
    steps = [step for hypothesis in hypotheses for step in hypothesis.steps]
    drafted, accepted, emitted = (
        sum(getattr(step, name) for step in steps) for name in ("drafted", "accepted", "emitted")
    )
    back = sum(step.accepted < min(step.drafted, step.emitted) for step in steps)
    return Shares(
        (emitted - accepted) / max(1, emitted),
        (drafted - accepted) / max(1, drafted),
        back / max(1, len(steps)),
    )
