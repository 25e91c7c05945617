"""Diffs, drawn from the edits: unified for git and patch, coloured for people."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

from gec.output.wording import label

if TYPE_CHECKING:
    from gec.correct.result import Correction
    from gec.edits.edits import Edit

_CONTEXT = 3
_HEAD, _FRAME, _OLD, _NEW, _RESET = "\x1b[1m", "\x1b[36m", "\x1b[31;9m", "\x1b[32;1m", "\x1b[0m"


@dataclass(frozen=True)
class _Block:
    """Lines first..last (0-based, last exclusive) that change, and what they become."""

    first: int
    last: int
    new: str
    marked: str


def to_diff(name: str, correction: Correction, colour: bool = False) -> str:
    """Return what changed, in the manner of ``git diff``.

    Without colour, it is a unified diff that ``git apply`` and ``patch`` accept. With colour, for
    a person at a terminal, it has the same hunks as a word diff: every changed line stands once,
    with the words taken out struck through in red and the words put in bold green. A paragraph is
    often one long line; a line diff prints it twice and leaves the reader to find the changed
    words.

    Both are drawn from the edits and not from a second comparison of the texts, so they show
    exactly the edits, in time linear in the text.
    """
    lines = patch_lines(correction.original)
    starts = [0, *accumulate(len(line) for line in lines)]  # the last one is the text's end
    blocks = list(_blocks(correction, lines, starts))
    if not blocks:
        return ""
    paint = _paint if colour else _plain
    context = _ended if colour else partial(_line, " ")
    shown = label(name).lstrip("/")
    tab = "\t" if " " in shown else ""  # as git does, so that patch finds the name's end
    out = [paint(_HEAD, f"--- a/{shown}{tab}") + "\n", paint(_HEAD, f"+++ b/{shown}{tab}") + "\n"]
    drift = 0
    for group in _hunks(blocks):
        first = max(0, group[0].first - _CONTEXT)
        last = min(len(lines), group[-1].last + _CONTEXT)
        grown = sum(_count_lines(block.new) - (block.last - block.first) for block in group)
        old, new = last - first, last - first + grown
        header = f"@@ -{_range(first, old)} +{_range(first + drift, new)} @@"
        out.append(paint(_FRAME, header) + "\n")
        drift += grown
        at = first
        for block in group:
            out += [context(line) for line in lines[at : block.first]]
            if colour:
                out.append(_ended(block.marked))
            else:
                out += [_line("-", line) for line in lines[block.first : block.last]]
                out += [_line("+", line) for line in patch_lines(block.new)]
            at = block.last
        out += [context(line) for line in lines[at:last]]
    return "".join(out)


def _blocks(
    correction: Correction, lines: Sequence[str], starts: Sequence[int]
) -> Iterator[_Block]:
    """Merge the edits into runs of changed lines."""
    original = correction.original
    pending: list[Edit] = []
    first = last = 0

    def close() -> _Block:
        begin, end = starts[first], starts[last]
        new, marked, cursor = [], [], begin
        for edit in pending:
            kept = original[cursor : edit.start]
            old = original[edit.start : edit.end]
            new += [kept, edit.replacement]
            marked += [kept, _paint(_OLD, old), _paint(_NEW, edit.replacement)]
            cursor = edit.end
        rest = original[cursor:end]
        return _Block(first, last, "".join([*new, rest]), "".join([*marked, rest]))

    for edit in correction.edits:
        if edit.original == edit.replacement:
            continue
        begin = min(bisect_right(starts, edit.start), len(lines)) - 1
        end = min(bisect_right(starts, edit.end), len(lines))
        begin, end = max(begin, 0), max(end, 0)
        if pending and begin >= last:
            yield close()
            pending = []
        if not pending:
            first = begin
        last = max(end, last) if pending else end
        pending.append(edit)
    if pending:
        yield close()


def _hunks(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    group: list[_Block] = []
    for block in blocks:
        if group and block.first - group[-1].last > 2 * _CONTEXT:
            yield group
            group = []
        group.append(block)
    yield group


def patch_lines(text: str) -> list[str]:
    """Return the lines with their ends; only \\n ends one, as git and patch count."""
    pieces = text.split("\n")
    return [piece + "\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _count_lines(text: str) -> int:
    return len(patch_lines(text))


def _range(first: int, count: int) -> str:
    # A range of no lines names the line before it; a count of one is left out.
    return f"{first if count == 0 else first + 1}" + ("" if count == 1 else f",{count}")


def _line(sign: str, line: str) -> str:
    if line.endswith("\n"):
        return sign + line
    return f"{sign}{line}\n\\ No newline at end of file\n"


def _ended(line: str) -> str:
    return line if line.endswith("\n") else line + "\n"


def _plain(_code: str, text: str) -> str:
    return text


def _paint(code: str, text: str) -> str:
    return f"{code}{text}{_RESET}" if text else ""
