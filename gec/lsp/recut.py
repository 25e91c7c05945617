"""The sentences of a text that was changed at one place: only those around it are found anew."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import itemgetter

from gec.lsp.positions import difference
from gec.text.protection import Span
from gec.text.segmentation import Cuts, cut

HARMLESS = re.compile(r"(?:[^\W_]|[ ,.;!?’“”])*")
"""What is markup in no kind of document, behind a letter on the same line."""
_LINE_BREAK = re.compile(r"[\r\n]")
AROUND = 3
"""Sentences before and behind a change that are found again, to see that they are the same."""
FAR = 40
"""The most sentences to go further in search of one that begins a line."""


@dataclass(frozen=True, slots=True)
class Recut:
    """The sentences of a changed text.

    Attributes:
        cuts: as :func:`gec.text.segmentation.cut` finds them.
        same, rest: so many sentences at the beginning, and at the end, are those of before.
    """

    cuts: Cuts
    same: int
    rest: int


def recut(
    old: Cuts, text: str, *, dictionary: Collection[str] = (), spans: Sequence[Span] = ()
) -> Recut | None:
    """Return the sentences of a text like that of ``old``, with ``spans`` protected.

    None: the change reaches too far, or may be markup, so the whole text must be cut.
    """
    start, end, stop = difference(old.text, text)
    if not (HARMLESS.fullmatch(old.text, start, end) and HARMLESS.fullmatch(text, start, stop)):
        return None
    shift = stop - end
    first = _begin(old, bisect_left(old.spans, start, key=itemgetter(1)) - AROUND)
    last = _end(old, bisect_right(old.spans, end, key=itemgetter(0)) + AROUND)
    if last - first < 2 * AROUND:
        return None
    begin = old.spans[first][0] if first else 0
    close = old.spans[last - 1][1] if last < len(old.spans) else len(old.text)
    before = bisect_left(old.protected, begin, key=itemgetter(1))
    behind = bisect_left(old.protected, close, key=itemgetter(0))
    if _crosses(old.protected, begin) or _crosses(old.protected, close):
        return None
    inside = [(a - begin, b - begin) for a, b in spans if begin <= a and b <= close + shift]
    if not _whole_lines(old, first, last) and _LINE_BREAK.search(text, begin, close + shift):
        return None  # the length of a line says whether it is a title
    window = cut(text[begin : close + shift], dictionary=dictionary, spans=inside)
    found = [(a + begin, b + begin) for a, b in window.spans]
    kept = [(a + begin, b + begin) for a, b in window.protected]
    # what begins or ends a window may look like a bullet or a title: it must not
    head, tail = old.spans[first + AROUND - 1][0], old.spans[last - AROUND][1]
    if first and not (
        _until(found, head) == _until(old.spans[first:], head)
        and _until(kept, head) == _until(old.protected[before:], head)
    ):
        return None
    if last < len(old.spans) and not (
        _since(found, tail + shift) == _moved(_since(old.spans[first:last], tail), shift)
        and _since(kept, tail + shift) == _moved(_since(old.protected[before:behind], tail), shift)
    ):
        return None
    cuts = Cuts(
        text,
        [*old.spans[:first], *found, *_moved(old.spans[last:], shift)],
        [
            *old.protected[:before],
            *kept,
            *_moved(old.protected[behind:], shift),
        ],
    )
    return Recut(cuts, first, len(old.spans) - last)


def _begin(old: Cuts, place: int) -> int:
    """Return a sentence from which to begin, one that begins a line if there is one near."""
    for near in range(place, max(0, place - FAR), -1):
        if _begins_line(old.text, old.spans[near][0]):
            return near
    return max(0, place)


def _end(old: Cuts, place: int) -> int:
    """Return the sentence behind the last to look at: one that begins a line if there is one."""
    for near in range(place, min(len(old.spans), place + FAR)):
        if _begins_line(old.text, old.spans[near][0]):
            return near
    return min(len(old.spans), place)


def _whole_lines(old: Cuts, first: int, last: int) -> bool:
    """Whether sentences begin a line, and those behind them another one."""
    ends = last == len(old.spans) or _begins_line(old.text, old.spans[last][0])
    return ends and (not first or _begins_line(old.text, old.spans[first][0]))


def _begins_line(text: str, start: int) -> bool:
    while start and text[start - 1] in " \t":
        start -= 1
    return not start or text[start - 1] in "\r\n"


def _crosses(spans: Sequence[Span], at: int) -> bool:
    """Whether one of the sorted spans has a place within it."""
    place = bisect_left(spans, at, key=itemgetter(0)) - 1
    return place >= 0 and spans[place][1] > at


def _until(spans: Sequence[Span], place: int) -> list[Span]:
    """Return those of the sorted spans that begin before a place."""
    return [*spans[: bisect_left(spans, place, key=itemgetter(0))]]


def _since(spans: Sequence[Span], place: int) -> list[Span]:
    """Return those of the sorted spans that end behind a place."""
    return [*spans[bisect_right(spans, place, key=itemgetter(1)) :]]


def _moved(spans: Sequence[Span], shift: int) -> list[Span]:
    return [(a + shift, b + shift) for a, b in spans] if shift else [*spans]
