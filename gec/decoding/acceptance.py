"""Acceptance rules: how many drafted tokens stand, and the verifier's own next token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from gec.decoding.scores import Scores
from gec.errors import ConfigError

if TYPE_CHECKING:
    from gec.decoding.state import State


@dataclass(frozen=True, slots=True)
class Kept:
    """One row of the next state: its parent row and the tokens that follow the parent's.

    Attributes:
        choices: the verifier's choice at every place of the pass, where nothing else can stand.
    """

    parent: int
    tokens: list[int]
    drafted: int = 0
    accepted: int = 0
    logprobs: list[float] | None = None
    score: float = 0.0
    choices: Sequence[int] | None = None


class Acceptance(Protocol):
    """Decides which tokens every row gains by ``state.drafts`` and their scores.

    It reads scores once: a pass has one transfer from the device.
    """

    def __call__(self, state: State, scores: Scores) -> list[Kept]: ...


@dataclass(frozen=True, slots=True)
class Exact:
    """Top-1 acceptance: a drafted token stands when it is the verifier's first choice.

    With it any drafter gives token for token the greedy output (Ge et al. 2022, section 3).

    Attributes:
        logprobs: also return the log-probability (nats) of every token kept.
    """

    logprobs: bool = False

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        best = scores.best()
        columns = scores.read(best, *(scores.logprobs(best) if self.logprobs else ()))
        logprobs = (columns[1], columns[1]) if self.logprobs else None
        return decide(state, columns[0], _never, logprobs)


@dataclass(frozen=True, slots=True)
class Conservative:
    """A drafted token also stands when the verifier prefers another by at most ``tolerance`` nats.

    With the copy drafter this is conservative IAD: fewer and surer corrections, and fewer passes.
    ``tolerance=0`` is :class:`Exact`.
    """

    tolerance: float
    logprobs: bool = False

    def __post_init__(self) -> None:
        if not self.tolerance >= 0:
            raise ConfigError(f"tolerance must be a number of nats >= 0, not {self.tolerance}")

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        if not self.tolerance:
            return Exact(self.logprobs)(state, scores)
        best, drafts = scores.best(), state.drafts
        wanted = scores.logprobs(best, drafts) if self.logprobs else []
        choices, behind, *logprobs = scores.read(best, scores.behind(drafts), *wanted)
        return decide(
            state,
            choices,
            lambda row, place: behind[row][place] <= self.tolerance,
            (logprobs[0], logprobs[1]) if logprobs else None,
        )


@dataclass(frozen=True, slots=True)
class TopBeta:
    """A drafted token stands among the verifier's best ``beta``, at most ``tau`` nats behind.

    GAD++ (Ge et al. 2022, section 4.3), SpecDec++ (Xia et al. 2022, section 3.3), with the
    verifier's log-probability of the drafted token, as in the implementation they released.
    ``beta=1`` is :class:`Exact` but for ties, and so is ``tau=0``.
    """

    beta: int
    tau: float

    def __post_init__(self) -> None:
        check_beta_tau(self.beta, self.tau)

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        drafts = state.drafts
        best, behind, rank = scores.read(scores.best(), scores.behind(drafts), scores.rank(drafts))

        def stands(row: int, place: int) -> bool:
            near: bool = behind[row][place] <= self.tau and rank[row][place] < self.beta
            return near

        return decide(state, best, stands)


@dataclass(frozen=True, slots=True)
class PaperTopBeta:
    """Equations (6) and (7) of Xia et al. 2022 as they are printed, with the drafter's certainty.

    A drafted token stands when the *drafter's* log-probability of it is at least the verifier's of
    its ``beta``-th best token, and at most ``tau`` below the verifier's of its best. The verifier's
    opinion of the drafted token itself does not enter: a sure drafter is trusted, and of an unsure
    one even the verifier's first choice is refused (and then decided by the verifier, which costs a
    pass). Raises ConfigError where the drafter has no log-probabilities of its drafts.
    """

    beta: int
    tau: float

    def __post_init__(self) -> None:
        check_beta_tau(self.beta, self.tau)

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        certainty = state.drafter.logprobs(state.draft_memory)
        if certainty is None:
            raise ConfigError(
                "PaperTopBeta compares the drafter's log-probabilities, and a "
                f"{type(state.drafter).__name__} has none: use a NatDrafter, or TopBeta"
            )
        best, highest, _ = scores.read(scores.best(), *scores.top(self.beta))

        def stands(row: int, place: int) -> bool:
            sure, verifier = certainty[row][place], highest[row][place]
            trusted: bool = sure >= verifier[-1] and verifier[0] - sure <= self.tau
            return trusted

        return decide(state, best, stands, trusted=False)


@dataclass(frozen=True, slots=True)
class TopK:
    """A drafted token stands among the verifier's best ``k`` (Stern et al. 2018, section 5.1)."""

    k: int

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"the best k: k must be at least 1, not {self.k}")

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        best, rank = scores.read(scores.best(), scores.rank(state.drafts))
        return decide(state, best, lambda row, place: rank[row][place] < self.k)


@dataclass(frozen=True, slots=True)
class Distance:
    """A drafted token stands when its id is at most ``epsilon`` from the verifier's choice.

    Stern et al. 2018, section 5.2: for ids with an order, such as the intensities of an image.
    """

    epsilon: int

    def __post_init__(self) -> None:
        if self.epsilon < 0:
            raise ConfigError(f"a distance must be at least 0, not {self.epsilon}")

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        [best] = scores.read(scores.best())

        def stands(row: int, place: int) -> bool:
            chosen, drafted = best[row][place], state.drafts[row][place]
            # EOS is no intensity: it neither stands in for a token nor is replaced by one
            special = state.eos_id in (chosen, drafted)
            return not special and abs(chosen - drafted) <= self.epsilon

        return decide(state, best, stands)


@dataclass(frozen=True, slots=True)
class AcceptAll:
    """Every draft stands unseen: the drafter decodes alone. Where it has none, the model's choice.

    The loop leaves the verifier the last place of an output, so at the length limit there is none.
    """

    def __call__(self, state: State, scores: Scores) -> list[Kept]:
        [best] = scores.read(scores.best())
        return [
            Kept(row, list(draft) or [best[row][0]], len(draft), len(draft))
            for row, draft in enumerate(state.drafts)
        ]


def check_beta_tau(beta: int, tau: float) -> None:
    """Refuse what GAD++ has no meaning for."""
    if beta < 1 or not tau >= 0:
        raise ConfigError(f"beta must be at least 1 and tau at least 0, not {beta} and {tau}")


def _never(row: int, place: int) -> bool:
    """Let only the verifier's first choice stand."""
    return False


def decide(
    state: State,
    best: Sequence[Sequence[int]],
    stands: Callable[[int, int], bool],
    logprobs: tuple[Sequence[Sequence[float]], Sequence[Sequence[float]]] | None = None,
    *,
    trusted: bool = True,
) -> list[Kept]:
    """Keep each row's draft up to the bifurcation, then the verifier's choice there.

    Args:
        best: the verifier's choice by row and place.
        stands: does the drafted token of a row and place stand although it is not the choice?
        logprobs: log-probabilities (nats) of the choices, and of the drafted tokens.
        trusted: the verifier's choice always stands; False: ``stands`` is asked about it, too.
    """
    kept = []
    for row, (draft, choices) in enumerate(zip(state.drafts, best, strict=True)):
        count = len(draft) if trusted and [*draft] == choices[: len(draft)] else 0  # as most
        for place, token in enumerate(draft[count:]):
            if not (trusted and token == choices[place]) and not stands(row, place):
                break
            count += 1
        # a row is accepted beyond its last place only when the draft ended with EOS
        decided = choices[min(count, len(choices) - 1)]
        tokens = ended(draft[:count], decided, state.eos_id)
        of_tokens = None
        if logprobs is not None:
            chosen, drafted = logprobs
            of_tokens = [*drafted[row][:count], *chosen[row][count : len(tokens)]]
        seen = choices if stands is _never else None
        kept.append(Kept(row, tokens, len(draft), count, of_tokens, choices=seen))
    return kept


def keep(state: State, decisions: Sequence[tuple[int, int]]) -> list[Kept]:
    """Keep so many drafted tokens of each row, then the decided token unless the output ended."""
    return [
        Kept(row, ended(draft[:count], token, state.eos_id), len(draft), count)
        for row, (draft, (count, token)) in enumerate(zip(state.drafts, decisions, strict=True))
    ]


def ended(accepted: Sequence[int], decided: int, eos_id: int) -> list[int]:
    """Return accepted tokens and the verifier's own behind them, unless they end with EOS."""
    done = bool(accepted) and accepted[-1] == eos_id
    return [*accepted] if done else [*accepted, decided]
