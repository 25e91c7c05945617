"""Input-guided drafting that re-enters the source at once, and drafts the corrections it foresees.

After a bifurcation Algorithm 1 of Ge et al. 2022 has the verifier decode token by token until the
output's last tokens occur in the source, and once only. Three things save passes here. Whatever is
drafted is verified, so that a wrong guess costs nothing but a longer pass.

- What follows a corrected word is nearly always the source behind the word it replaced, or the word
  it was put in front of. So the copy goes on where the edit distance of the tokens since the last
  accepted draft is least; or behind the last two tokens, where the source has them further on.
- Where pieces are parts of words (a byte-level BPE), a new piece mostly stands for the whole word:
  the copy goes on behind the pieces that only continue the old one.
- A pass scores the draft behind the bifurcation, too. What the verifier chose there, a few tokens
  behind the error, it mostly chooses again once the error is mended: these *foreseen* corrections
  are part of the next draft, so that several errors of a sentence are corrected by one pass. (The
  places beside the error are left out: there it only tries to mend it by other means.)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from gec.decoding.drafters import Drafter

if TYPE_CHECKING:
    from gec.decoding.acceptance import Kept
    from gec.decoding.state import State

WINDOW = 10
"""Source tokens behind the last copied one among which the copy may go on."""

FAR = 40
"""The same for a copy that goes on behind two tokens that stand there alike."""

CERTAIN = 2
"""Accepted tokens that make a re-entry certain; one may be a frequent word that fits by chance."""

NEAR = 3
"""Places behind a bifurcation at which nothing is foreseen yet."""

MISSES = 2
"""Drafts in a row with nothing rightly foreseen, after which a row foresees nothing more."""

SMALL = (
    ("the", "a", "an"),
    (",", ".", ":", ";"),
    ("to", "of", "in", "on", "at", "for", "with", "by", "from", "about", "as", "into"),
    ("is", "are", "was", "were", "be", "been", "have", "has", "had", "do", "does", "did", "will",
     "would", "can"),
)  # fmt: skip
"""Kinds of words that a correction exchanges for one another or puts in, not for other words."""

_NO_KINDS: Mapping[int, int] = {}


@dataclass(slots=True)
class Place:
    """How a row has followed its drafts.

    Attributes:
        length: the row's tokens when its last draft was made.
        draft: that draft.
        starts: for each of its tokens the source token that it copies, replaces or stands before.
        copies: for each of its tokens whether it is that source token.
        copied: the source up to here stands for the output up to ``new``.
        new: output tokens since then.
        foreseen: what the verifier is likely to choose in place of source tokens, or before them.
        misses: drafts in a row of whose foreseen tokens none stood.
    """

    length: int = 0
    draft: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    copies: list[bool] = field(default_factory=list)
    copied: int = 0
    new: tuple[int, ...] = ()
    foreseen: dict[int, int] = field(default_factory=dict)
    misses: int = 0

    def follow(self, tokens: Sequence[int], source: Sequence[int]) -> None:
        """Take note of a row's tokens, some of the last draft and what the verifier put behind."""
        gained = tokens[self.length :]
        if tokens and not self.draft:  # another drafter began the row
            self.copied = _common(tokens, source)
            gained = tokens[self.copied :]
        self.length = len(tokens)
        accepted = _common(gained, self.draft)
        last = next((i for i in reversed(range(accepted)) if self.copies[i]), None)
        if accepted >= CERTAIN and last is not None:
            self.copied, self.new = self.starts[last] + 1, tuple(gained[last + 1 :])
        else:
            self.new += tuple(gained)
        if (old := len(self.new) - 2 * WINDOW) > 0:  # far from the source: as if one for one
            self.copied, self.new = min(self.copied + old, len(source)), self.new[old:]

    def learn(self, choices: Sequence[int], accepted: int, source: Sequence[int], eos: int) -> None:
        """Take note of what the verifier chose behind the ``accepted`` tokens of the draft."""
        ahead = [i for i, copy in enumerate(self.copies[: len(choices)]) if not copy]
        if ahead and ahead[0] <= accepted:
            right = sum(i < accepted for i in ahead)
            self.misses = 0 if right else self.misses + 1
        if self.misses >= MISSES:
            self.foreseen.clear()
            return
        for start in self.starts[: accepted + 1]:
            self.foreseen.pop(start, None)
        first = accepted + NEAR
        before = self.starts[first - 1] if first <= len(self.starts) else -1
        for place in range(first, min(len(choices), len(self.draft))):
            start = self.starts[place]
            if start == before:  # a source token behind one foreseen before it
                continue
            before = start
            if choices[place] == (source[start] if start < len(source) else eos):
                self.foreseen.pop(start, None)
            else:
                self.foreseen[start] = choices[place]


def reentry(window: Sequence[int], new: Sequence[int], kinds: Mapping[int, int] = _NO_KINDS) -> int:
    """Return how many tokens of ``window`` the tokens ``new`` most likely stand for.

    That is the beginning of the window at the least edit distance. Of two as near a substitution
    (the longer one) is taken for likelier than an insertion, except where the last new token is of
    another kind than what it would replace: a marker (of case or inflection) in place of a word.

    >>> reentry([7, 8, 9], [5]), reentry([7, 8, 9], [8]), reentry([7, 8, 9], [5], {5: 1})
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
    alike = not last or kinds.get(new[-1]) == kinds.get(window[last - 1])
    return last if alike or costs[last - 1] > least else last - 1


class Vocabulary(Protocol):
    """What the drafter asks of a vocabulary of words: see :class:`ReentryDrafter`."""

    @property
    def markers(self) -> Collection[int]: ...

    @property
    def begins(self) -> Sequence[bool]: ...

    def encode_word(self, word: str) -> tuple[int, ...]: ...


class ReentryDrafter(Drafter):
    """Drafts the source from where the output stands in it, with what is foreseen; EOS behind it.

    Nothing is foreseen where the rule of acceptance lets more stand than the verifier's choice.

    Args:
        kinds: a number for ids that are exchanged for one of the same number, or put in: markers
            that stand before or behind a word and change it, articles, punctuation marks.
        begins: for each id whether it begins a word, where most words are one piece; () otherwise.
    """

    def __init__(self, kinds: Mapping[int, int] = _NO_KINDS, begins: Sequence[bool] = ()) -> None:
        self.kinds, self.begins = kinds, begins

    @classmethod
    def of(cls, words: Vocabulary) -> ReentryDrafter:
        """Return the drafter for a vocabulary."""
        kinds = dict.fromkeys(words.markers, 0)
        for number, small in enumerate(SMALL, 1):
            kinds |= {ids[0]: number for ids in map(words.encode_word, small) if len(ids) == 1}
        return cls(kinds, words.begins)

    def start(self, sources: Sequence[Sequence[int]]) -> list[Place]:
        return [Place() for _ in sources]

    def propose(self, state: State) -> list[list[int]]:
        places: list[Place] = state.draft_memory
        for row, place in zip(state.rows, places, strict=True):
            place.follow(row.tokens, row.source)
            begin = self._entry(row.source, row.tokens, place)
            self._draft(row.source, begin, place, state.eos_id)
        return [place.draft for place in places]

    def observe(self, state: State, kept: Sequence[Kept]) -> None:
        for one in kept:
            if one.choices is not None:
                row, place = state.rows[one.parent], state.draft_memory[one.parent]
                place.learn(one.choices, one.accepted, row.source, state.eos_id)

    def select(self, memory: list[Place], rows: Sequence[int]) -> list[Place]:
        return [replace(memory[r], foreseen=dict(memory[r].foreseen)) for r in rows]

    def join(self, memory: list[Place], other: list[Place]) -> list[Place]:
        return memory + other

    def _entry(self, source: Sequence[int], tokens: Sequence[int], place: Place) -> int:
        """Return where in the source the copy goes on behind the row's tokens."""
        begin = place.copied + self._stand_for(_window(source, place.copied), place.new)
        if not place.new or len(tokens) < 2 or (begin and source[begin - 1] == tokens[-1]):
            return begin
        last = list(tokens[-2:])
        for i in range(max(1, place.copied), min(len(source), place.copied + FAR)):
            if [*source[i - 1 : i + 1]] == last:
                return i + 1
        return begin

    def _stand_for(self, rest: Sequence[int], new: Sequence[int]) -> int:
        """Return how many tokens of the rest of the source new ones most likely stand for."""
        count = reentry(rest, new, self.kinds)
        if self.begins and count and rest[count - 1] != new[-1]:
            while count < len(rest) and not self.begins[rest[count]]:
                count += 1
        return count

    def _draft(self, source: Sequence[int], begin: int, place: Place, eos: int) -> None:
        """Draft the source from ``begin`` on, and what is foreseen there."""
        if not place.foreseen:  # as most
            rest = [*source[begin:], eos]
            place.draft, place.starts = rest, [*range(begin, begin + len(rest))]
            place.copies = [True] * len(rest)
            return
        place.draft, place.starts, place.copies = [], [], []

        def add(token: int, start: int, copy: bool) -> None:
            place.draft.append(token)
            place.starts.append(start)
            place.copies.append(copy)

        while begin <= len(source):
            token = place.foreseen.get(begin)
            if token is not None:
                count = self._stand_for(_window(source, begin), (token,))
                add(token, begin, False)
                begin += count
                if token == eos:
                    return
                if count:
                    continue
            add(source[begin] if begin < len(source) else eos, begin, True)
            begin += 1


def _window(source: Sequence[int], begin: int) -> Sequence[int]:
    return source[begin : begin + WINDOW]


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the length of the common beginning."""
    count = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        count += 1
    return count
