"""The essay format of MultiGEC (Masciolini et al. 2025): many texts in one file.

Each text follows a line ``### essay_id = ID`` and goes on to the next such line; two line breaks
before that belong to the format::

    ### essay_id = 1
    Full text of the first essay.

    ### essay_id = 2
    Full text of the second essay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from gec.errors import DataError

_HEAD = re.compile(r"^### essay_id = ([^\r\n]*)(?:\r?\n|\Z)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Essay:
    """``text`` is without the line breaks around it."""

    id: str
    text: str


def is_essays(text: str) -> bool:
    """Tell whether a file is of this format: its first line that is not blank is an essay's."""
    return _HEAD.match(text.lstrip("\r\n")) is not None


def pieces(text: str, name: str = "the file") -> list[str]:
    """Cut a file into what stands before an essay and the essay, in turns; joined, it is the file.

    Raises:
        DataError: no essay, text before the first one, or an id that comes twice.
    """
    heads = list(_HEAD.finditer(text))
    if not heads:
        raise DataError(f"{name}: no line '### essay_id = ID'; is this a file of essays?")
    if text[: heads[0].start()].strip():
        raise DataError(f"{name}, line 1: text before the first line '### essay_id = ID'")
    seen: set[str] = set()
    found = []
    start = 0
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        if head[1].strip() in seen:
            line = text.count("\n", 0, head.start()) + 1
            raise DataError(f"{name}, line {line}: a second essay with the id {head[1].strip()}")
        seen.add(head[1].strip())
        end = len(text) if after is None else after.start()
        found += [text[start : head.end()], text[head.end() : end]]
        start = end
    return found


def parse(text: str, name: str = "the file") -> list[Essay]:
    r"""Return a file's essays; errors as for :func:`pieces`.

    >>> parse("### essay_id = a\nHello.\n\n### essay_id = b\nOne.\n\nTwo.\n\n")
    [Essay(id='a', text='Hello.'), Essay(id='b', text='One.\n\nTwo.')]
    """
    cut = pieces(text, name)
    ids = (_HEAD.search(before) for before in cut[::2])
    return [
        Essay(head[1].strip(), body.strip("\r\n"))
        for head, body in zip(ids, cut[1::2], strict=True)
        if head
    ]


def render(essays: Iterable[Essay]) -> str:
    r"""Return a file of essays, as MultiGEC's own script writes it.

    >>> render([Essay("a", "Hello.")])
    '### essay_id = a\nHello.\n\n'
    """
    return "".join(f"### essay_id = {essay.id}\n{essay.text}\n\n" for essay in essays)
