"""Prompt lookup: draft what follows the output's last tokens in the source.

Saxena 2023, *Prompt Lookup Decoding* (https://github.com/apoorvumang/prompt-lookup-decoding). An
output that takes its words from all over the source, such as a title, is no copy of it from left to
right, but a name of several pieces in it stands in the source as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gec.decoding.drafters import Drafter
from gec.errors import ConfigError

if TYPE_CHECKING:
    from gec.decoding.state import State

LONGEST = 3
"""Tokens at the output's end that are looked up at most."""


def lookup(
    source: Sequence[int], output: Sequence[int], longest: int = LONGEST, least: int = 1
) -> int | None:
    """Return the first place behind the most of the last ``longest`` output tokens.

    None: there is no place behind the last ``least`` of them.

    >>> lookup([7, 8, 9, 5, 8, 6], [3, 8]), lookup([7, 8, 9, 5, 8, 6], [5, 8])
    (2, 5)
    >>> lookup([7, 8], [9]), lookup([7, 8], [3, 8], least=2)
    (None, None)
    """
    if len(output) < least:
        return None
    ends = [i for i, token in enumerate(source) if output and token == output[-1]]
    for back in range(1, min(longest, len(output))):
        if len(ends) < 2 and back >= least:
            break
        wanted = output[-1 - back]
        longer = [i for i in ends if i >= back and source[i - back] == wanted]
        if not longer:
            if back < least:
                return None
            break
        ends = longer
    return ends[0] + 1 if ends else None


class LookupDrafter(Drafter):
    """Drafts ``k`` tokens of the source from where :func:`lookup` finds the output's end; EOS last.

    Args:
        least: how many of the output's last tokens must stand there, at most ``LONGEST``.

    Raises:
        ConfigError: ``k`` or ``least`` is out of range.
    """

    def __init__(self, k: int, least: int = 1) -> None:
        if k < 1:
            raise ConfigError(f"k must be at least 1, not {k}")
        if not 1 <= least <= LONGEST:
            raise ConfigError(f"copy must be from 1 to {LONGEST} tokens, or 0, not {least}")
        self.k, self.least = k, least

    def propose(self, state: State) -> list[list[int]]:
        drafts = []
        for row in state.rows:
            place = lookup(row.source, row.tokens, least=self.least)
            rest = [] if place is None else [*row.source[place:], state.eos_id]
            drafts.append(rest[: self.k])
        return drafts


class LookupOr(Drafter):
    """Drafts what the source goes on with where the output's end stands in it; else as another.

    Args:
        lookup: whose drafts are taken.
        other: what drafts for rows without one. It is not asked while every row has one, so it must
            find out for itself what the outputs have gained, as
            :class:`gec.decoding.drafters.nat.NatDrafter` does.
    """

    def __init__(self, lookup: LookupDrafter, other: Drafter) -> None:
        self.lookup, self.other = lookup, other

    def start(self, sources: Sequence[Sequence[int]]) -> Any:
        return self.other.start(sources)

    def propose(self, state: State) -> Sequence[Sequence[int]]:
        copied = self.lookup.propose(state)
        if all(copied):
            return copied
        others = self.other.propose(state)
        return [mine or theirs for mine, theirs in zip(copied, others, strict=True)]

    def select(self, memory: Any, rows: Sequence[int]) -> Any:
        return self.other.select(memory, rows)

    def join(self, memory: Any, other: Any) -> Any:
        return self.other.join(memory, other)
