"""Input-guided drafting that re-enters the source at once, behind a new word, too.

After a bifurcation Algorithm 1 of Ge et al. 2022 has the verifier decode token by token until the
output's last tokens occur in the source, and once only. But what follows a corrected word is nearly
always the source behind the word it replaced, or the word it was put in front of. So the copy goes
on where the edit distance of the tokens since the last accepted draft is least, and is verified
like any other draft: a wrong guess costs nothing but a longer pass.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gec.decoding.drafters import Drafter

if TYPE_CHECKING:
    from gec.decoding.state import State

WINDOW = 10
"""Source tokens behind the last copied one among which the copy may go on."""

CERTAIN = 2
"""Accepted tokens that make a re-entry certain; one may be a frequent word that fits by chance."""


@dataclass(slots=True)
class Place:
    """How a row has followed its drafts.

    Attributes:
        drafted: where in the source its last draft began.
        length: the row's tokens at that time.
        copied: the source up to here stands for the output up to ``new``.
        new: output tokens since then.
    """

    drafted: int = 0
    length: int = 0
    copied: int = 0
    new: tuple[int, ...] = ()

    def draft(self, source: Sequence[int], tokens: Sequence[int], markers: Collection[int]) -> int:
        """Take note of the row's tokens and return where in the source its next draft begins."""
        gained = tokens[self.length :]
        accepted = _common(gained, source[self.drafted :])
        if accepted >= CERTAIN:
            self.copied, self.new = self.drafted + accepted, tuple(gained[accepted:])
        else:
            self.new += tuple(gained)
        window = source[self.copied : self.copied + WINDOW]
        self.drafted = self.copied + reentry(window, self.new, markers)
        self.length = len(tokens)
        return self.drafted


def reentry(window: Sequence[int], new: Sequence[int], markers: Collection[int] = ()) -> int:
    """Return how many tokens of ``window`` the tokens ``new`` most likely stand for.

    That is the beginning of the window at the least edit distance. Of two as near a substitution
    (the longer one) is taken for likelier than an insertion, except where the last new token is a
    marker (of case or inflection) and what it would replace is none, or the other way round.

    >>> reentry([7, 8, 9], [5]), reentry([7, 8, 9], [8]), reentry([7, 8, 9], [5], markers={5})
    (1, 2, 0)
    """
    if not new:
        return 0
    costs = list(range(len(window) + 1))
    for token in new:
        row = [costs[0] + 1]
        for j, old in enumerate(window):
            row.append(min(costs[j] + (old != token), costs[j + 1] + 1, row[j] + 1))
        costs = row
    least = min(costs)
    last = max(j for j, cost in enumerate(costs) if cost == least)
    alike = not last or (new[-1] in markers) == (window[last - 1] in markers)
    return last if alike or costs[last - 1] > least else last - 1


class ReentryDrafter(Drafter):
    """Drafts the source from where the output stands in it, always; EOS behind it.

    Args:
        markers: ids that stand before or behind a word and change it, never alone.
    """

    def __init__(self, markers: Collection[int] = ()) -> None:
        self.markers = frozenset(markers)

    def start(self, sources: Sequence[Sequence[int]]) -> list[Place]:
        return [Place() for _ in sources]

    def propose(self, state: State) -> list[list[int]]:
        places: list[Place] = state.draft_memory
        return [
            [*row.source[place.draft(row.source, row.tokens, self.markers) :], state.eos_id]
            for row, place in zip(state.rows, places, strict=True)
        ]

    def select(self, memory: list[Place], rows: Sequence[int]) -> list[Place]:
        return [Place(p.drafted, p.length, p.copied, p.new) for p in (memory[r] for r in rows)]

    def join(self, memory: list[Place], other: list[Place]) -> list[Place]:
        return memory + other


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the length of the common beginning."""
    count = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        count += 1
    return count
