"""The prose of LaTeX: paragraphs, titles and footnotes, without commands and formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gec.documents.passage import Passage
from gec.errors import DataError
from gec.text.protection import Span

_TEXT = frozenset(
    "textbf textit emph text underline textsc textsf textrm textmd textup uline".split()
)
_BLOCKS = frozenset(
    "title section subsection subsubsection paragraph subparagraph chapter part caption footnote "
    "thanks section* subsection* subsubsection* chapter*".split()
)
_NOTES = frozenset({"footnote", "thanks"})
_LISTS = frozenset({"itemize", "enumerate", "description"})
_SKIPPED = frozenset(
    "verbatim lstlisting minted equation equation* align align* gather gather* multline eqnarray "
    "tikzpicture thebibliography tabular array displaymath math alltt".split()
)


def passages(source: str, name: str) -> Iterator[Passage]:
    """Yield the paragraphs after ``\\begin{document}``, and titles and footnotes on their own."""
    from pylatexenc.latexwalker import LatexWalker  # type: ignore[import-untyped]

    try:
        nodes, _, _ = LatexWalker(source, tolerant_parsing=True).get_latex_nodes()
    except Exception as error:
        raise DataError(f"not LaTeX: {' '.join(str(error).split())}") from None
    walk = _Walk(source)
    walk.through(nodes)
    walk.end()
    yield from walk.found


class _Walk:
    """A walk through the nodes of a document; ``found`` has the passages that have ended."""

    def __init__(self, source: str) -> None:
        self.found: list[Passage] = []
        self._source = source
        self._begin = source.find(r"\begin{document}")
        self._pieces: list[Span] = []  # of the passage that we are in
        self._kept: list[Span] = []
        self._lists = 0  # that we are in

    def through(self, nodes: Iterable[Any]) -> None:
        for node in nodes:
            if node is not None:
                self._visit(node, node.pos, node.pos + node.len)

    def end(self, fragment: bool = False) -> None:
        """End the passage that we are in."""
        if self._pieces:
            fragment = fragment or self._lists > 0
            self.found.append(Passage(tuple(self._pieces), tuple(self._kept), fragment=fragment))
        self._pieces, self._kept = [], []

    def _visit(self, node: Any, start: int, stop: int) -> None:
        match type(node).__name__:
            case "LatexCharsNode":
                self._characters(start, stop)
            case "LatexGroupNode":
                self.through(node.nodelist)
            case "LatexEnvironmentNode":
                self._environment(node)
            case "LatexMacroNode":
                self._macro(node, start, stop)
            case "LatexMathNode" if node.displaytype == "inline":
                self._keep(start, stop)
            case "LatexSpecialsNode":
                self._keep(start, stop)
            case "LatexCommentNode":
                pass
            case _:
                self.end()

    def _characters(self, start: int, stop: int) -> None:
        """Add text; a blank line ends a paragraph."""
        if start < self._begin:
            return
        at = start
        for gap in re.finditer(r"\r?\n[ \t]*\r?\n\s*", self._source[start:stop]):
            self._pieces.append((at, start + gap.start()))
            self.end()
            at = start + gap.end()
        if at < stop:
            self._pieces.append((at, stop))

    def _environment(self, node: Any) -> None:
        self.end()
        is_list = node.environmentname in _LISTS
        self._lists += is_list
        if node.environmentname not in _SKIPPED:
            self.through(node.nodelist)
        self.end()
        self._lists -= is_list

    def _macro(self, node: Any, start: int, stop: int) -> None:
        arguments = [a for a in (node.nodeargd.argnlist if node.nodeargd else ()) or () if a]
        if node.macroname in _TEXT:
            self.through(arguments)
        elif node.macroname in _BLOCKS:
            self._block(arguments[-1:], note=node.macroname in _NOTES)
        elif node.macroname in ("item", "par", "\\", "newpage", "maketitle"):
            self.end()
        else:
            self._keep(start, stop)

    def _block(self, nodes: Sequence[Any], note: bool) -> None:
        """Make a passage of its own; the sentence in which a footnote stands goes on after it."""
        outer: tuple[list[Span], list[Span]] = ([], [])
        if note:
            outer = self._pieces, self._kept
            self._pieces, self._kept = [], []
        self.end()
        self.through(nodes)
        self.end(fragment=True)
        self._pieces, self._kept = outer

    def _keep(self, start: int, stop: int) -> None:
        """Add what the model sees as one word and may not change."""
        if start >= self._begin:
            self._pieces.append((start, stop))
            self._kept.append((start, stop))
