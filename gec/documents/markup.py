"""Where the prose of a document is: passages found by the parsers of its markup.

A passage is what a reader sees as one run of text, such as a paragraph. It consists of pieces of
the source, between which markup is left out (emphasis marks, tags, the ``#`` of comment lines), and
has protected spans, which the model sees but may not change (code, formulas, URLs). Whatever is in
no piece is never looked at again, so it survives.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html.parser import HTMLParser
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Any

from gec.edits.edits import Edit
from gec.errors import DataError
from gec.text.protection import Overlaps, Span, mask, merged
from gec.text.protection import protected_spans as protected_in_text


@dataclass(frozen=True)
class Passage:
    """Pieces of a source, in order, and spans of ``source`` within them that must not change.

    Those that are ``protected`` the model sees as single words; what is ``ignored`` (places in the
    source) it sees as it is, and edits there are left out. A ``fragment``, such as a heading, a
    cell or a comment, need not end in a period.
    """

    pieces: tuple[Span, ...]
    protected: tuple[Span, ...] = ()
    ignored: tuple[Span, ...] = ()
    fragment: bool = False
    end: int = 0  # of the text without the blanks behind it

    def text(self, source: str) -> str:
        return "".join(source[start:end] for start, end in self.pieces)

    def seen(self, source: str) -> str:
        """The text for the model: without comments of ours that are only quoted there."""
        text = self.text(source)
        pieces: list[str] = []
        at = 0
        for start, end in merged(text, self.protected):
            pieces += text[at:start], text[start:end].replace("gec:", "gec ")
            at = end
        return "".join(pieces) + text[at:]

    def inside(self, spans: Sequence[Span]) -> tuple[Span, ...]:
        """Spans of the source, sorted and apart, as spans of the passage's text."""
        found: list[Span] = []
        for at, (start, end) in zip(self._offsets, self.pieces, strict=False):
            for place in range(bisect_right(spans, start, key=itemgetter(1)), len(spans)):
                first, last = max(spans[place][0], start), min(spans[place][1], end)
                if first >= last:
                    break
                found.append((at + first - start, at + last - start))
        return tuple(found)

    def outside(self, edits: Iterable[Edit]) -> Iterator[Edit]:
        """Edits of the passage's text as edits of the source.

        Without those that cross markup, those in what is ignored, and a period after a fragment.
        """
        offsets = self._offsets
        for edit in edits:
            if self.fragment and edit.start >= self.end and edit.replacement.strip() in _FINAL:
                continue
            # an insertion between two pieces belongs to the first, all else to where it begins
            place = bisect_right(offsets, edit.start - (edit.start == edit.end > 0)) - 1
            if edit.end <= offsets[place + 1]:
                move = self.pieces[place][0] - offsets[place]
                start, end = edit.start + move, edit.end + move
                if not self._ignores(start - 1, end + 1):  # what touches it is in it, too
                    yield replace(edit, start=start, end=end)

    def place(self, start: int, end: int) -> Span:
        """Where a span of the passage's text stands in the source, with the markup inside it."""
        offsets = self._offsets
        first = min(bisect_right(offsets, start), len(self.pieces)) - 1
        last = max(first, min(bisect_left(offsets, end), len(self.pieces)) - 1)
        moved = (self.pieces[i][0] - offsets[i] for i in (first, last))
        return start + next(moved), end + next(moved)

    @cached_property
    def _ignores(self) -> Overlaps:
        return Overlaps(self.ignored)

    @cached_property
    def _offsets(self) -> list[int]:
        """Where the pieces begin in the passage's text, and where it ends."""
        return list(accumulate((end - start for start, end in self.pieces), initial=0))


def passages(kind: str, source: str, name: str = "") -> list[Passage]:
    """Return a document's passages; ``kind`` is a key of :data:`PARSERS`.

    Raises DataError where a parser cannot read it.
    """
    said = source
    if kind in ("markdown", "rst"):  # documents about gec quote its comments
        said = _QUOTED.sub(lambda quoted: quoted[0].replace("gec:", "gec "), source)
    protected = protected_in_text(said)  # code, URLs, and between "gec: off" and "gec: on"
    if kind == "latex":  # where {name} is an argument, not a placeholder
        protected = [span for span in protected if "gec:" in source[slice(*span)]]
    if kind == "rst":
        protected += _switched_off(said)
    protected = merged(source, protected)
    ignored = [*_ignored(said)]
    try:
        parsed = [*PARSERS[kind](source, name)]
    except RecursionError:
        raise DataError("is nested too deeply") from None
    found = []
    for passage in parsed:
        if not passage.pieces:
            continue
        text = passage.text(source)
        own = merged(source, passage.protected)
        kept = merged(text, [*passage.inside(protected), *passage.inside(own)])
        passage = replace(
            passage,
            protected=tuple(kept),
            ignored=tuple(_near(ignored, passage.pieces[0][0], passage.pieces[-1][1])),
            end=len(text.rstrip()),
        )
        if re.search(r"[^\W\d_]{2}", mask(text, kept, " ")):
            found.append(passage)
    return found


def _near(spans: Sequence[Span], start: int, end: int) -> Sequence[Span]:
    """Those of the spans, sorted by both ends, that overlap or touch a part of the source."""
    first = bisect_left(spans, start, key=itemgetter(1))
    return spans[first : bisect_right(spans, end, key=itemgetter(0))]


_FINAL = frozenset(".!?:;…")
_QUOTED = re.compile(r"(`+)(?!`)[^`\n]{0,40}gec:[^`\n]{0,40}\1(?!`)")
_RST_SWITCH = re.compile(r"^[ \t]*\.\.[ \t]+gec:[ \t]*(off|on)\b", re.MULTILINE)
_IGNORE = re.compile(
    r"(?:<!--|//|/\*|\#|%|--|;|\.\.)[ \t]*gec:[ \t]*ignore\b(?:[ \t]*(?:-->|\*/))?"
)


def _switched_off(source: str) -> Iterator[Span]:
    """What stands between the comments ``.. gec: off`` and ``.. gec: on`` of reStructuredText."""
    start: int | None = None
    for found in _RST_SWITCH.finditer(source):
        if found[1] == "off":
            start = found.start() if start is None else start
        elif start is not None:
            yield start, found.end()
            start = None
    if start is not None:
        yield start, len(source)


def _ignored(source: str) -> Iterator[Span]:
    """Lines with a comment ``gec: ignore``; where it stands alone, the next that is not empty."""
    for found in _IGNORE.finditer(source):
        start = max(source.rfind(end, 0, found.start()) for end in "\r\n") + 1
        line = _LINE.match(source, start)
        end = line.end() if line else found.end()
        if not (source[start : found.start()] + source[found.end() : end]).strip():
            if not (line := _LINE.search(source, end)):
                continue
            start, end = line.span()
        yield start, end


_LINE = re.compile(r"[^\r\n]*[^\s][^\r\n]*")


def _plain(source: str, name: str) -> Iterator[Passage]:
    yield Passage(((0, len(source)),))


def _without(start: int, end: int, spans: Iterable[Span]) -> tuple[Span, ...]:
    """What of a span is left without others (sorted)."""
    pieces = []
    for first, last in spans:
        if first >= end:
            break
        if start < first:
            pieces.append((start, first))
        start = max(start, last)
    return (*pieces, (start, end)) if start < end else tuple(pieces)


# ---------------------------------------------------------------------------------------- Markdown

_LINE_END = re.compile(r"\r\n|\n|\r")
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:(?!---).*\r?\n)*---[ \t]*(?=\r?\n|\Z)")
_MARKS = re.compile(r"(?<![*_~\\\w])[*_~]{1,3}(?=\w)|(?<=[\w.,;:!?)])[*_~]{1,3}(?![*_~\w])")
_QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_REFERENCE = re.compile(r"(?<=\])\[[^\]\n]*\]|\[\^[^\]\n]+\]")
_HARD_BREAK = re.compile(r"\\$", re.MULTILINE)


def _markdown(source: str, name: str) -> Iterator[Passage]:
    from markdown_it import MarkdownIt

    head = _FRONT_MATTER.match(source)
    begin = head.end() if head else 0
    starts = [0, *(found.end() for found in _LINE_END.finditer(source)), len(source)]
    # as many lines as before, but for the parser empty
    blank = re.sub(r"[^\r\n]", " ", source[:begin]) + source[begin:]
    seen = set()
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(blank)
    for before, token in pairwise(tokens):
        if token.type != "inline" or token.map is None or tuple(token.map) in seen:
            continue
        seen.add(tuple(token.map))
        first, last = starts[token.map[0]], starts[min(token.map[1], len(starts) - 1)]
        fragment = before.hidden or before.type != "paragraph_open"  # hidden: of a tight list
        yield from _marked(source, first, last, fragment)


def _marked(source: str, first: int, last: int, fragment: bool) -> Iterator[Passage]:
    """A paragraph without its quote marks and emphasis; rows of a table by their cells."""
    text = source[first:last]
    marks = sorted(
        (first + found.start(), first + found.end())
        for pattern in (_MARKS, _QUOTE, _HARD_BREAK)
        for found in pattern.finditer(text)
    )
    kept = [(first + f.start(), first + f.end()) for f in _REFERENCE.finditer(text)]
    bars = re.finditer(r"(?<!\\)\|", text) if text.lstrip().startswith("|") else ()
    cuts = [first + bar.start() for bar in bars]
    for start, end in zip([first, *(cut + 1 for cut in cuts)], [*cuts, last], strict=True):
        if pieces := _without(start, end, marks):
            yield Passage(pieces, tuple(kept), fragment=fragment)


# -------------------------------------------------------------------------------- reStructuredText

_RST_KEPT = re.compile(
    r"``.+?``|:[\w:.+-]+:`[^`]+`|`[^`]+`(?::[\w:.+-]+:|__?)?|\|[^|\s][^|\n]*\|_{0,2}"
    r"|\[[^\]\n]+\]_|\b\w+__?\b(?!\w)",
    re.DOTALL,
)


def _rst(source: str, name: str) -> Iterator[Passage]:
    """docutils knows a paragraph's source but not its place: lines are looked for, in order."""
    from docutils import nodes  # type: ignore[import-untyped]
    from docutils.core import publish_doctree  # type: ignore[import-untyped]

    settings = {
        "report_level": 5, "halt_level": 5, "warning_stream": False,
        "file_insertion_enabled": False, "raw_enabled": False, "_disable_config": True,
    }  # fmt: skip
    starts = [0, *(found.end() for found in _LINE_END.finditer(source)), len(source)]
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
        clean = [piece for start, end in pieces for piece in _without(start, end, marks)]
        fragment = not isinstance(node, nodes.paragraph) or isinstance(
            node.parent, (nodes.list_item, nodes.entry, nodes.field_body)
        )
        yield Passage(tuple(clean), tuple(kept), fragment=fragment)


def _find_lines(lines: Sequence[str], wanted: Sequence[str], at: int) -> int | None:
    """The first place from ``at`` where lines end in those wanted (a bullet may stand before)."""
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


# -------------------------------------------------------------------------------------------- HTML

_SKIPPED = frozenset(
    "script style pre code kbd samp var textarea svg math template object noscript".split()
)
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite data del dfn em font i ins label mark q s small span strike "
    "strong sub sup time tt u wbr code kbd samp var".split()
)


class _Events(HTMLParser):
    """Where data, tags and references begin; what one has not ended, the next one does."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=False)
        self._starts = [0, *(i + 1 for i, c in enumerate(source) if c == "\n")]
        self.events: list[tuple[int, str, str]] = []
        self.feed(source)
        self.close()

    def _add(self, kind: str, value: str = "") -> None:
        line, column = self.getpos()
        self.events.append((self._starts[line - 1] + column, kind, value))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add("start", tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add("empty", tag)

    def handle_endtag(self, tag: str) -> None:
        self._add("end", tag)

    def handle_data(self, data: str) -> None:
        self._add("data")

    def handle_entityref(self, name: str) -> None:
        self._add("reference")

    def handle_charref(self, name: str) -> None:
        self._add("reference")

    def handle_comment(self, data: str) -> None:
        self._add("other")

    def handle_decl(self, decl: str) -> None:
        self._add("other")

    def handle_pi(self, data: str) -> None:
        self._add("other")

    def unknown_decl(self, data: str) -> None:
        self._add("other")


def _html(source: str, name: str) -> Iterator[Passage]:
    try:
        events = _Events(source).events
    except (AssertionError, ValueError) as error:
        raise DataError(f"not HTML: {error}") from None
    ends = [start for start, _, _ in events[1:]] + [len(source)]
    pieces: list[Span] = []
    kept: list[Span] = []
    skipping: list[str] = []
    fragment = True  # all but paragraphs
    for (start, kind, tag), end in zip(events, ends, strict=True):
        if kind == "start" and tag in _SKIPPED:
            skipping.append(tag)
        if skipping:
            if skipping[0] in _INLINE and pieces:  # code in a sentence is a word of it
                pieces.append((start, end))
                kept.append((start, end))
            if kind == "end" and tag in skipping:
                del skipping[skipping.index(tag) :]
        elif kind == "data":
            pieces.append((start, end))
        elif kind == "reference":
            pieces.append((start, end))
            kept.append((start, end))
        elif not (tag in _INLINE or kind == "other"):
            if pieces:
                yield Passage(tuple(pieces), tuple(kept), fragment=fragment)
            pieces, kept = [], []
            fragment = (kind, tag) != ("start", "p")
    if pieces:
        yield Passage(tuple(pieces), tuple(kept), fragment=fragment)


# ------------------------------------------------------------------------------------------- LaTeX

_LATEX_TEXT = frozenset(
    "textbf textit emph text underline textsc textsf textrm textmd textup uline".split()
)
_LATEX_BLOCKS = frozenset(
    "title section subsection subsubsection paragraph subparagraph chapter part caption footnote "
    "thanks section* subsection* subsubsection* chapter*".split()
)
_LATEX_NOTES = frozenset({"footnote", "thanks"})
_LATEX_LISTS = frozenset({"itemize", "enumerate", "description"})
_LATEX_SKIPPED = frozenset(
    "verbatim lstlisting minted equation equation* align align* gather gather* multline eqnarray "
    "tikzpicture thebibliography tabular array displaymath math alltt".split()
)


def _latex(source: str, name: str) -> Iterator[Passage]:
    from pylatexenc import latexwalker as latex  # type: ignore[import-untyped]

    begin = source.find(r"\begin{document}")
    try:
        nodes, _, _ = latex.LatexWalker(source, tolerant_parsing=True).get_latex_nodes()
    except Exception as error:
        raise DataError(f"not LaTeX: {' '.join(str(error).split())}") from None
    pieces: list[Span] = []
    kept: list[Span] = []
    found: list[Passage] = []
    lists: list[str] = []  # that we are in

    def end(fragment: bool = False) -> None:
        if pieces:
            fragment = fragment or bool(lists)
            found.append(Passage(tuple(pieces), tuple(kept), fragment=fragment))
        pieces.clear()
        kept.clear()

    def walk(children: Iterable[Any]) -> None:
        for node in children:
            if node is not None:
                visit(node)

    def visit(node: Any) -> None:
        start, stop = node.pos, node.pos + node.len
        if isinstance(node, latex.LatexCharsNode):
            if start < begin:
                return
            at = start
            for gap in re.finditer(r"\r?\n[ \t]*\r?\n\s*", source[start:stop]):
                pieces.append((at, start + gap.start()))
                end()
                at = start + gap.end()
            if at < stop:
                pieces.append((at, stop))
        elif isinstance(node, latex.LatexGroupNode):
            walk(node.nodelist)
        elif isinstance(node, latex.LatexEnvironmentNode):
            end()
            if node.environmentname in _LATEX_LISTS:
                lists.append(node.environmentname)
            if node.environmentname not in _LATEX_SKIPPED:
                walk(node.nodelist)
            end()
            if node.environmentname in _LATEX_LISTS:
                lists.pop()
        elif isinstance(node, latex.LatexMacroNode):
            macro(node, start, stop)
        elif (isinstance(node, latex.LatexMathNode) and node.displaytype == "inline") or isinstance(
            node, latex.LatexSpecialsNode
        ):
            if start >= begin:
                pieces.append((start, stop))
                kept.append((start, stop))
        elif not isinstance(node, latex.LatexCommentNode):
            end()

    def macro(node: Any, start: int, stop: int) -> None:
        arguments = [a for a in (node.nodeargd.argnlist if node.nodeargd else ()) or () if a]
        if node.macroname in _LATEX_TEXT:
            walk(arguments)
        elif node.macroname in _LATEX_BLOCKS:
            # a footnote stands in the middle of a sentence, which goes on after it
            outer: tuple[list[Span], list[Span]] = ([], [])
            if node.macroname in _LATEX_NOTES:
                outer = pieces[:], kept[:]
                pieces.clear()
            end()
            walk(arguments[-1:])
            end(fragment=True)
            pieces[:], kept[:] = outer
        elif node.macroname in ("item", "par", "\\", "newpage", "maketitle"):
            end()
        elif start >= begin:
            pieces.append((start, stop))
            kept.append((start, stop))

    walk(nodes)
    end()
    yield from found


# ------------------------------------------------------------------------------------- source code

_COMMENT_MARK = re.compile(
    r"^[ \t]*(?:///?!?|//|\#+!?|--+\[*|;+|%+|/\*+!?|\*+(?!/)|\"\"\"|'''|<!--|\{-|\(\*)?[ \t]?"
    r"|[ \t]*(?:\*+/|\"\"\"|'''|-->|-\}|\*\)|\]\])\s*\Z",
    re.MULTILINE,
)
_LOOKS_LIKE_CODE = re.compile(r"[;{}]\s*$|^\s*@|^\s*\w+\(.*\)\s*$|\w\(\)|[=!<>]=|->|=>|\bdef |>>>")


def _code(source: str, name: str) -> Iterator[Passage]:
    """Comments and docstrings; comment lines one after the other are one passage."""
    from pygments.lexers import get_lexer_for_filename  # type: ignore[import-untyped]
    from pygments.token import Comment, String  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        lexer = get_lexer_for_filename(name)
    except ClassNotFound:
        raise DataError(f"the language of {name} is not known by its name") from None
    pieces: list[Span] = []
    last = 0
    for start, kind, value in lexer.get_tokens_unprocessed(source):
        prose = (kind in Comment and kind not in Comment.Preproc
                 and kind not in Comment.PreprocFile and kind not in Comment.Hashbang)  # fmt: skip
        if kind in String.Doc or prose:
            between = source[last:start]
            if pieces and (between.strip() or between.count("\n") > 1):
                yield Passage(tuple(pieces), fragment=True)
                pieces = []
            last = start + len(value)
            pieces += _comment_pieces(source, start, last)
    if pieces:
        yield Passage(tuple(pieces), fragment=True)


def _comment_pieces(source: str, start: int, end: int) -> list[Span]:
    """A comment without its marks, each line with its line end, the blanks before it left out."""
    pieces = []
    text = source[start:end]
    marks = [(start + m.start(), start + m.end()) for m in _COMMENT_MARK.finditer(text) if m[0]]
    for piece in _without(start, end, marks):
        if not _LOOKS_LIKE_CODE.search(source[slice(*piece)]):
            pieces.append(piece)
    # the line end after a comment belongs to it: the next one may go on with its sentence
    if pieces and source[end : end + 1] == "\n" and pieces[-1][1] == end:
        pieces[-1] = (pieces[-1][0], end + 1)
    return pieces


PARSERS: dict[str, Callable[[str, str], Iterator[Passage]]] = {
    "plain": _plain,
    "markdown": _markdown,
    "rst": _rst,
    "html": _html,
    "latex": _latex,
    "code": _code,
}
