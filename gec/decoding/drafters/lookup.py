"""Prompt lookup: draft what follows the output's last tokens in the source.

Saxena 2023, *Prompt Lookup Decoding* (https://github.com/apoorvumang/prompt-lookup-decoding). An
output that takes its words from all over the source, such as a title, is no copy of it from left to
right, but a name of several pieces in it stands in the source as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gec.decoding.drafters import Drafter
from gec.errors import ConfigError

if TYPE_CHECKING:
    from gec.decoding.state import State

LONGEST = 3
"""Tokens at the output's end that are looked up at most."""


def lookup(source: Sequence[int], output: Sequence[int], longest: int = LONGEST) -> int | None:
    """Return the first place behind the most of the last ``longest`` output tokens; None: nowhere.

    >>> lookup([7, 8, 9, 5, 8, 6], [3, 8]), lookup([7, 8, 9, 5, 8, 6], [5, 8])
    (2, 5)
    >>> lookup([7, 8], [9]) is None
    True
    """
    if not output:
        return None
    ends = [i for i, token in enumerate(source) if token == output[-1]]
    for back in range(1, min(longest, len(output))):
        if len(ends) < 2:
            break
        wanted = output[-1 - back]
        ends = [i for i in ends if i >= back and source[i - back] == wanted] or ends[:1]
    return ends[0] + 1 if ends else None


class LookupDrafter(Drafter):
    """Drafts ``k`` tokens of the source from where :func:`lookup` finds the output's end; EOS last.

    Raises:
        ConfigError: ``k`` is below 1.
    """

    def __init__(self, k: int) -> None:
        if k < 1:
            raise ConfigError(f"k must be at least 1, not {k}")
        self.k = k

    def propose(self, state: State) -> list[list[int]]:
        drafts = []
        for row in state.rows:
            place = lookup(row.source, row.tokens)
            rest = [] if place is None else [*row.source[place:], state.eos_id]
            drafts.append(rest[: self.k])
        return drafts
