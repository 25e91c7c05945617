"""Positions of the Language Server Protocol and code points of a text, there and back.

A position is a line and a character, both counted from 0. A line ends at ``\\n``, ``\\r\\n`` or
``\\r`` and nowhere else. Characters are code units of the encoding that client and server agreed
on: UTF-8, UTF-16 or UTF-32. Specification 3.17, sections "Text Documents" and "Position".
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

UTF8, UTF16, UTF32 = "utf-8", "utf-16", "utf-32"
_WIDE = {
    UTF8: re.compile(r"[^\x00-\x7f]"),
    UTF16: re.compile("[\U00010000-\U0010ffff]"),
    UTF32: re.compile(r"(?!)"),
}
"""Characters of more than one code unit."""
_LINE_END = re.compile(r"\r\n|\n|\r")
_BREAKS = "\r\n"

Position = tuple[int, int]
"""A line and a character."""


@dataclass(frozen=True)
class Text:
    """The text of a document with its lines.

    Attributes:
        value: the text.
        starts: where each line begins, in code points.
        encoding: what a client's characters count: ``UTF8``, ``UTF16`` or ``UTF32``.
    """

    value: str
    starts: tuple[int, ...]
    encoding: str

    @classmethod
    def of(cls, value: str, encoding: str = UTF16) -> Text:
        """Return a text with its lines.

        >>> Text.of("a\\r\\n😀b").position(4), Text.of("a\\r\\n😀b").offset(1, 2)
        ((1, 2), 4)
        """
        return cls(value, (0, *(found.end() for found in _LINE_END.finditer(value))), encoding)

    def position(self, offset: int) -> Position:
        """Return the position of a code point; what lies beyond the text counts as its end."""
        offset = max(0, min(offset, len(self.value)))
        line = bisect_right(self.starts, offset) - 1
        return line, self._units(offset) - self._units(self.starts[line])

    def offset(self, line: int, character: int) -> int:
        """Return the code point of a position.

        A character beyond the line is the line's end, before its line break; a line beyond the
        text is the text's end. A position within a character is where the character begins.
        """
        if line < 0:
            return 0
        if line >= len(self.starts):
            return len(self.value)
        start, end = self.line(line)
        if character <= 0:
            return start
        wanted = self._units(start) + character
        return start + bisect_right(range(start, end + 1), wanted, key=self._units) - 1

    def line(self, number: int) -> tuple[int, int]:
        """Return where a line begins and ends, without its line break."""
        start = self.starts[number]
        last = number + 1 == len(self.starts)
        end = len(self.value) if last else self.starts[number + 1]
        while not last and end > start and self.value[end - 1] in _BREAKS:
            end -= 1
        return start, end

    def line_of(self, offset: int) -> int:
        """Return the number of the line that a code point stands in."""
        return bisect_right(self.starts, offset) - 1

    def replaced(self, start: int, end: int, new: str) -> Text:
        """Return the text with ``new`` in place of the code points from ``start`` to ``end``."""
        value = f"{self.value[:start]}{new}{self.value[end:]}"
        # the lines around the change are looked at again: it may join \r and \n, or part them
        first = max(0, bisect_left(self.starts, start) - 2)
        last = bisect_right(self.starts, end + 1)
        shift = len(new) - (end - start)
        begin = self.starts[first]
        stop = (self.starts[last] if last < len(self.starts) else len(self.value)) + shift
        fresh = [found.end() for found in _LINE_END.finditer(value, begin, stop)]
        behind = [at + shift for at in self.starts[last:]]
        if fresh and behind and fresh[-1] == behind[0]:
            fresh.pop()
        return Text(value, (*self.starts[: first + 1], *fresh, *behind), self.encoding)

    def _units(self, offset: int) -> int:
        """Return how many code units stand before a code point."""
        places, extra = self._wide
        return offset + extra[bisect_left(places, offset)]

    @cached_property
    def _wide(self) -> tuple[list[int], list[int]]:
        """Where wide characters stand, and how many units more than characters before each."""
        pattern = _WIDE[self.encoding]
        if self.value.isascii() or self.encoding == UTF32:
            return [], [0]
        places: list[int] = []
        more: list[int] = []
        for found in pattern.finditer(self.value):
            places.append(found.start())
            more.append(1 if self.encoding == UTF16 else _utf8_units(found[0]) - 1)
        return places, [*accumulate(more, initial=0)]


def _utf8_units(character: str) -> int:
    point = ord(character)
    return 1 if point < 0x80 else 2 if point < 0x800 else 3 if point < 0x10000 else 4


def difference(old: str, new: str) -> tuple[int, int, int]:
    """Return where two texts begin to differ, and where that ends in the old and in the new one.

    >>> difference("a cat", "a black cat")
    (2, 2, 8)
    """
    start = _shared(old, new)
    behind = _shared(old[start:][::-1], new[start:][::-1])
    return start, len(old) - behind, len(new) - behind


def _shared(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginnings."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
