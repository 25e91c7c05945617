"""Lines and columns of a text.

A line ends at ``\\n``, ``\\r\\n`` or ``\\r`` and nowhere else (str.splitlines would also split at
form feeds and U+2028, which no editor counts). Lines and columns are 1-based; columns are code
points or UTF-16 code units.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

_LINE_END = re.compile(r"\r\n|\n|\r")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


class Positions:
    """Lines and columns of code-point offsets, each in logarithmic time.

    >>> positions = Positions("a\\r\\nbc")
    >>> positions.line(4), positions.column(4)
    (2, 2)
    """

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        self._astral = [match.start() for match in _ASTRAL.finditer(text)]

    def line(self, offset: int) -> int:
        """Return the line that an offset stands in."""
        return bisect_right(self._starts, offset)

    def column(self, offset: int) -> int:
        """Return the column of an offset, in code points."""
        return offset - self._starts[self.line(offset) - 1] + 1

    def utf16(self, offset: int) -> int:
        """Return the offset in UTF-16 code units: a character beyond U+FFFF counts two."""
        return offset + bisect_left(self._astral, offset)

    def utf16_column(self, offset: int) -> int:
        """Return the column of an offset, in UTF-16 code units."""
        return self.utf16(offset) - self.utf16(self._starts[self.line(offset) - 1]) + 1


def split_lines(text: str) -> list[tuple[str, str]]:
    """Return lines as (content, line end); nothing is lost, and no line follows the last end."""
    lines: list[tuple[str, str]] = []
    start = 0
    for match in _LINE_END.finditer(text):
        lines.append((text[start : match.start()], match.group()))
        start = match.end()
    if start < len(text):
        lines.append((text[start:], ""))
    return lines
