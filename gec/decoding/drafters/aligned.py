"""Input-guided drafting that always has a draft: copy the source from where the output has got to.

Algorithm 1 of Ge et al. 2022 drafts nothing behind a new word until a copied one follows. A beam
holds several hypotheses, most of them with a new word somewhere, and goes on only where all of
them follow their drafts; so here each is drafted for from the place in the source that the edit
distance tells, behind a new word, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gec.decoding.drafters import Drafter
from gec.errors import ConfigError

if TYPE_CHECKING:
    from gec.decoding.state import State


@dataclass(frozen=True, slots=True)
class Progress:
    """``costs[j]``: the edit distance of the row's first ``length`` tokens to ``source[:j]``."""

    length: int
    costs: tuple[int, ...]

    def after(self, tokens: Sequence[int], source: Sequence[int]) -> Progress:
        """Return the progress after more tokens of the output."""
        costs = self.costs
        for token in tokens:
            row = [costs[0] + 1]
            for j, word in enumerate(source):
                row.append(min(costs[j] + (word != token), costs[j + 1] + 1, row[j] + 1))
            costs = tuple(row)
        return Progress(self.length + len(tokens), costs)

    @property
    def place(self) -> int:
        """How much of the source the output most likely stands for; of equals the most."""
        least = min(self.costs)
        return max(j for j, cost in enumerate(self.costs) if cost == least)


class AlignedCopyDrafter(Drafter):
    """Drafts the source, and EOS, from where the output stands by edit distance.

    A sentence's first pass has no draft: it makes several hypotheses of one, of which one at most
    could follow it.

    Args:
        longest: tokens drafted at most; passes of a whole beam seldom get further.
    """

    def __init__(self, longest: int = 2) -> None:
        if longest < 0:
            raise ConfigError(f"the longest draft must be at least 0 tokens, not {longest}")
        self.longest = longest

    def start(self, sources: Sequence[Sequence[int]]) -> list[Progress]:
        return [Progress(0, tuple(range(len(source) + 1))) for source in sources]

    def propose(self, state: State) -> list[list[int]]:
        memory: list[Progress] = state.draft_memory
        drafts = []
        for number, row in enumerate(state.rows):
            progress = memory[number]
            memory[number] = progress.after(row.tokens[progress.length :], row.source)
            rest = [*row.source[memory[number].place :], state.eos_id]
            drafts.append(rest[: self.longest] if row.tokens else [])
        return drafts

    def select(self, memory: list[Progress], rows: Sequence[int]) -> list[Progress]:
        return [memory[row] for row in rows]

    def join(self, memory: list[Progress], other: list[Progress]) -> list[Progress]:
        return memory + other
