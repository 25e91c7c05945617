"""The prose of reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from gec.documents.passage import LINE_END, Passage, without

_RST_KEPT = re.compile(
    r"``.+?``|:[\w:.+-]+:`[^`]+`|`[^`]+`(?::[\w:.+-]+:|__?)?|\|[^|\s][^|\n]*\|_{0,2}"
    r"|\[[^\]\n]+\]_|\b\w+__?\b(?!\w)",
    re.DOTALL,
)


def passages(source: str, name: str) -> Iterator[Passage]:
    """Yield paragraphs; docutils knows their lines but not the place, so we look for it."""
    from docutils import nodes  # type: ignore[import-untyped]
    from docutils.core import publish_doctree  # type: ignore[import-untyped]

    settings = {
        "report_level": 5, "halt_level": 5, "warning_stream": False,
        "file_insertion_enabled": False, "raw_enabled": False, "_disable_config": True,
    }  # fmt: skip
    starts = [0, *(found.end() for found in LINE_END.finditer(source)), len(source)]
    lines = [source[a:b] for a, b in pairwise(starts)]
    at = 0
    tree: Any = publish_doctree(source, settings_overrides=settings)
    kinds = (nodes.paragraph, nodes.title, nodes.subtitle, nodes.term, nodes.caption, nodes.rubric)
    for node in tree.findall(lambda node: isinstance(node, kinds)):
        if isinstance(node.parent, nodes.system_message):
            continue
        wanted = [line.strip() for line in (node.rawsource or "").splitlines() if line.strip()]
        found = _find_lines(lines, wanted, at)
        if found is None:
            continue
        pieces = []
        for number, line in zip(range(found, found + len(wanted)), wanted, strict=True):
            start = starts[number] + lines[number].index(line)
            pieces.append((start, starts[number + 1]))
        at = found + len(wanted)
        first, last = pieces[0][0], pieces[-1][1]
        kept = [m.span() for m in _RST_KEPT.finditer(source, first, last)]
        marks = [m.span() for m in re.finditer(r"\*{1,2}(?=\w)|(?<=\w)\*{1,2}|::(?=\s*\Z)",
                                               source[first:last])]  # fmt: skip
        marks = [(first + a, first + b) for a, b in marks]
        clean = [piece for start, end in pieces for piece in without(start, end, marks)]
        fragment = not isinstance(node, nodes.paragraph) or isinstance(
            node.parent, (nodes.list_item, nodes.entry, nodes.field_body)
        )
        yield Passage(tuple(clean), tuple(kept), fragment=fragment)


def _find_lines(lines: Sequence[str], wanted: Sequence[str], at: int) -> int | None:
    """Return the first line from ``at`` on from which lines end in those wanted, bullets aside."""
    if not wanted:
        return None
    for first in range(at, len(lines) - len(wanted) + 1):
        if all(
            lines[first + i].rstrip().endswith(line)
            and (i == 0 or lines[first + i].strip() == line)
            for i, line in enumerate(wanted)
        ):
            return first
    return None
