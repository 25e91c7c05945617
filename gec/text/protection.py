"""Spans of the user's text that no correction may touch: addresses, code, markup, placeholders.

Every rule is linear in the length of the text: repetitions are bounded, or run over characters
that cannot start another match, or are plain searches that remember having found nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from functools import cache, lru_cache
from itertools import accumulate

Span = tuple[int, int]

_EXTENSIONS = (
    "py|pyi|ipynb|js|mjs|ts|jsx|tsx|json|jsonl|ya?ml|toml|ini|cfg|conf|md|rst|txt|csv|tsv|html?|css"
    "|xml|svg|png|jpe?g|gif|pdf|docx?|xlsx?|pptx?|zip|tar|gz|exe|dll|sh|bat|ps1|c|cc|cpp|h|hpp"
    "|cs|java|kt|rs|rb|php|sql|log|db|tex|bib|mp3|mp4|wav|parquet|safetensors"
)

# In order of preference. Matches of named groups lose the punctuation at their end.
_INLINE = r"""
    (?P<url> (?<![A-Za-z0-9+.-]) [A-Za-z][A-Za-z0-9+.-]{1,20}:// [^\s<>"“”`]+
      | (?<![\w.@-]) (?:www\.|mailto:) [^\s<>"“”`]+
      | (?<![\w.@-]) (?:[A-Za-z0-9][A-Za-z0-9-]{0,62}\.){1,8}
        (?: [A-Za-z]{2,24} (?::\d{1,5})? / [^\s<>"“”`]*                           # x.org/y
          | (?:com|org|net|edu|gov|io|dev) (?:\.[a-z]{2})? (?![\w-]) )
    )
  | (?<![\w.+%-]) [\w.+%-]{1,64} @ [\w-]{1,63} (?:\.[\w-]{1,63}){1,8}             # e-mail
  | (?P<file> (?<![\w/\\.~]) (?: (?:~|\.{1,2})/ [\w.@+~-]* | /[\w.@+~-]+ (?=/\w)  # /usr/x
      | /(?:bin|dev|etc|home|lib|mnt|opt|proc|root|srv|sys|tmp|usr|var)\b )
    (?:/[\w@+~-]+(?:\.[\w@+~-]+)*)* /? )
  | (?<![\w/\\.-]) (?:[\w.-]{1,100}/){0,30} [\w.-]{0,100}? \.(?:EXTENSIONS) (?![\w/])
  | (?P<path> (?<!\w) [A-Za-z]:\\ [^\s<>"|?*`]*  |  \\\\\w[\w.$-]*\\[^\s<>"|?*`]* )  # C:\x
  | </?[A-Za-z][\w:.-]{0,50} (?:\s[^<>=]{0,200}=[^<>]{0,1000})? \s{0,5}/?>        # <a href="x">
  | <![A-Za-z][^<>]{0,200}>  |  <[A-Z][A-Z0-9 _-]{0,60}>                          # <YOUR NAME>
  | &(?:\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});              # &nbsp;
  | \{\{[^{}\n]{0,200}\}\}  |  \{%[^{}\n]{0,200}%\}  |  \$?\{[^{}\s]{0,100}\}
  | \$[A-Za-z_]\w{0,60}  |  %[A-Z][A-Z_]{1,40}%                                   # $HOME
  | %\([\w.]{1,60}\)[-#0+]?[\d.]{0,10}[A-Za-z]                                    # %(name)s
  | (?<![\w%]) %[-+#0]?\d{0,4}(?:\.\d{1,3})?[sdifgxXcr] (?!\w)                    # %s
  | (?<![\w:]) :[a-z][a-z0-9_+-]{1,40}: (?![\w:])                                 # :smile:
  | (?<![\w@]) @\w+(?:[-./]\w+)*  |  (?<![\w\#&]) \#\w+                           # @user #topic
  | (?<=\]) \([^()\s]{1,500}\)                                                    # [text](target)
  | (?<![\w.]) [vV]?\d+(?:\.\d+){2,8}(?:[-+.]\w+){0,4}  |  \b[vV]\d+(?:\.\d+)*    # 1.2.3-rc1
  | (?<!\w) [^\W\d]\w{0,60}(?:\.\w{1,60}){0,5}\(\)                                # os.getcwd()
  | (?<!\w) [^\W_]+_\w*                                                           # snake_case
  | (?<!\w) (?:[a-z]{2,60}[A-Z]|[ie][A-Z][a-z])\w*                                # camelCase
  | (?<![\w-]) (?!\d+(?:st|nd|rd|th|s)\b) (?:[^\W_]{1,40}-){0,3}                  # 3D, non-MP3
    (?:\d\w{0,30}?[^\W\d_]|[^\W\d_]\w{0,30}?\d)\w* (?:-\w+)*
    """.replace("EXTENSIONS", _EXTENSIONS)

# Every match of _INLINE holds a match of this pattern, which is found faster, and most sentences
# hold none. Only what begins with "<" or "{" holds whitespace.
_HINT = re.compile(r"[:@/\\<&{$%\#(_\d] | \.\S | [a-z][A-Z]", re.VERBOSE)

_MARKER = re.compile(
    r"(?:<!--|//|/\*|#|%|--|;)[ \t]{0,20}gec:[ \t]{0,20}(off|on)\b(?:[ \t]{0,20}(?:-->|\*/))?"
)
_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\n(?=[\w-]+:).*?\n---[ \t]*(?=\n|\Z)", re.DOTALL)
_RAW_ELEMENT = re.compile(r"<(code|pre|script|style|kbd|samp|tt|math|svg)(?=[\s>])[^<>]{0,1000}>")
# One code point for one, so that offsets stay (str.lower makes two of "İ").
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_NEWLINES = str.maketrans(dict.fromkeys("\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", "\n"))
_OTHER_NEWLINE = re.compile("[\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def protected_spans(
    text: str, *, dictionary: Collection[str] = (), spans: Collection[Span] = ()
) -> list[Span]:
    """Return the spans (start, end), in code points, that must stay as they are.

    The spans are sorted; none is empty, touches another or has whitespace at its ends. They are
    URLs, domains, e-mail addresses, file paths and names; Markdown code (inline and fenced), link
    targets and front matter; tags, raw elements and entities; placeholders, @mentions,
    #hashtags and :emoji:; versions and words that mix digits and letters (10km, but 2nd and
    1990s are plain English); identifiers; text between comments "gec: off" and "gec: on" (unless
    code quotes the comments); the words or phrases of ``dictionary``, as whole words and in the
    same case; and ``spans``, which lie within the text, widened to whole words.
    """
    flat = unify_newlines(text)
    found: list[Span] = []
    if not (dictionary or spans or "`" in flat or "~~~" in flat or _HINT.search(flat)):
        return found  # as in most sentences: every rule needs one of these
    for rule in (_regions, _front_matter, _fences, _comments, _raw_elements, _inline):
        found += rule(flat)
    if "`" in flat:
        found += _code_spans(flat, found)
    if dictionary:
        found += _phrases(frozenset(dictionary)).find(flat)
    found += (_whole_words(text, *span) for span in spans)
    return merged(text, found)


def unify_newlines(text: str) -> str:
    """Return ``text`` with a line feed for every line ending; offsets stay the same."""
    if not _OTHER_NEWLINE.search(text):  # as most
        return text
    return text.replace("\r\n", " \n").translate(_NEWLINES)


def mask(text: str, spans: Iterable[Span], character: str) -> str:
    """Return ``text`` with every code point of the sorted ``spans`` replaced by ``character``."""
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces += text[at:start], character * (end - start)
        at = end
    return "".join(pieces) + text[at:]


def merged(text: str, spans: Iterable[Span]) -> list[Span]:
    """Return sorted spans that neither overlap nor touch and cover what ``spans`` cover.

    Whitespace at the ends of a span is dropped first.
    """
    found: list[Span] = []
    for start, end in sorted(spans):
        inside = text[start:end]
        start += len(inside) - len(inside.lstrip())
        end -= len(inside) - len(inside.rstrip())
        if start >= end:
            continue
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _whole_words(text: str, start: int, end: int) -> Span:
    while start < end and start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while start < end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return start, end


@cache
def _inline_pattern() -> re.Pattern[str]:
    return re.compile(_INLINE, re.VERBOSE)  # slow, and few sentences need it


def _inline(text: str) -> Iterator[Span]:
    for match in _inline_matches(text):
        url = _without_punctuation(match[0]) if match.lastgroup else match[0]
        yield match.start(), match.start() + len(url)


def _inline_matches(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of _INLINE; only what stands between blanks around a hint is searched."""
    at = 0
    while hint := _HINT.search(text, at):
        start = max(at, text.rfind(" ", at, hint.start()) + 1)
        end = text.find(" ", hint.end())
        end = len(text) if end < 0 else end
        if text.find("<", start, end) < 0 and text.find("{", start, end) < 0:
            yield from _inline_pattern().finditer(text, start, end)
            at = end
        elif match := _inline_pattern().search(text, start):
            yield match
            at = match.end()
        else:
            return


def _without_punctuation(url: str) -> str:
    """Drop the end that belongs to the sentence: periods, and brackets not opened in the URL."""
    extra = {close: url.count(close) - url.count(open_) for open_, close in ("()", "[]", "{}")}
    end = len(url)
    while end and (url[end - 1] in ".,;:!?'’…*_" or extra.get(url[end - 1], 0) > 0):
        if url[end - 1] in extra:
            extra[url[end - 1]] -= 1
        end -= 1
    return url[:end]


def _regions(text: str) -> Iterator[Span]:
    """Yield the spans from "gec: off" to "gec: on" or the end, markers included.

    Markers in code do not count.
    """
    if "gec:" not in text:
        return
    quoted = merged(text, [*_fences(text), *_code_beside_markers(text)])
    start: int | None = None
    for match in _MARKER.finditer(text):
        place = bisect_right(quoted, (match.start(), len(text))) - 1
        if place >= 0 and match.start() < quoted[place][1]:
            continue
        if match[1] == "on":
            yield match.start() if start is None else start, match.end()
            start = None
        elif start is None:
            start = match.start()
    if start is not None:
        yield start, len(text)


def _code_beside_markers(text: str) -> Iterator[Span]:
    """Yield the code spans of each line with a marker.

    Lines are searched one by one: LaTeX's ``quotes'' would pair up across lines.
    """
    marker = text.find("gec:")
    while marker >= 0:
        begin = text.rfind("\n", 0, marker) + 1
        end = text.find("\n", marker) % (len(text) + 1)  # -1 becomes the end of the text
        for first, last in _code_spans(text[begin:end], ()):
            yield begin + first, begin + last
        marker = text.find("gec:", end)


def _front_matter(text: str) -> Iterator[Span]:
    if match := _FRONT_MATTER.match(text):
        yield match.span()


def _fences(text: str) -> Iterator[Span]:
    if "```" not in text and "~~~" not in text:
        return
    opening: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        fence, rest = line[1], line[2].strip()
        if opening is None:
            if "`" not in rest:
                opening = line
        elif not rest and fence.startswith(opening[1]):
            yield opening.start(), line.end()
            opening = None
    if opening is not None:
        yield opening.start(), len(text)


def _comments(text: str) -> Iterator[Span]:
    start = text.find("<!--")
    while start >= 0 and (end := text.find("-->", start + 4)) >= 0:
        yield start, end + 3
        start = text.find("<!--", end + 3)


def _raw_elements(text: str) -> Iterator[Span]:
    """Yield the elements whose content is not prose, from the opening to the closing tag."""
    if "<" not in text:
        return
    lowered = text.translate(_LOWER)
    never: set[str] = set()
    at = 0
    for tag in _RAW_ELEMENT.finditer(lowered):
        if tag.start() < at or tag[1] in never:
            continue
        closing = f"</{tag[1]}>"
        end = lowered.find(closing, tag.end())
        if end < 0:
            never.add(tag[1])
        else:
            at = end + len(closing)
            yield tag.start(), at


def _code_spans(text: str, taken: Iterable[Span]) -> Iterator[Span]:
    """Yield Markdown's code: from a run of backticks to the paragraph's next run of that length."""
    masked = mask(text, merged(text, taken), "x")
    for paragraph in re.finditer(r"(?:[^\n]|\n(?![ \t]*\n))+", masked):
        runs = [run.span() for run in re.finditer(r"`+", paragraph[0])]
        closing: dict[int, int] = {}  # a run: the next run of its length
        latest: dict[int, int] = {}
        for i, (start, end) in reversed([*enumerate(runs)]):
            if end - start in latest:
                closing[i] = latest[end - start]
            latest[end - start] = i
        i = 0
        while i < len(runs):
            if i in closing:
                start, i = runs[i][0], closing[i]
                yield paragraph.start() + start, paragraph.start() + runs[i][1]
            i += 1


_PIECE = re.compile(r"\w+|[^\w\s]|\s+")


class _Phrases:
    """The entries of a dictionary; one pass over a text finds all of them.

    Aho and Corasick's automaton (1975) over words, punctuation marks and blanks, not over
    letters: so it finds entries only as whole words. A search takes time linear in the text
    whatever the dictionary; building takes time linear in the dictionary.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        self._next: list[dict[str, int]] = [{}]  # for each node: the next node by the next piece
        self._length = [0]  # for each node: length of the longest entry that ends in it
        for entry in entries:
            node = 0
            for piece in _PIECE.findall(entry.strip()):
                node = self._next[node].setdefault(piece, len(self._next))
                if node == len(self._next):
                    self._next.append({})
                    self._length.append(0)
            self._length[node] = len(entry.strip())
        # For each node: the node of the longest shorter prefix of an entry that is its suffix.
        self._shorter = [0] * len(self._next)
        nodes = [*self._next[0].values()]
        for node in nodes:  # shallow nodes first; the list grows meanwhile
            shorter = self._shorter[node]
            self._length[node] = self._length[node] or self._length[shorter]
            for piece, child in self._next[node].items():
                self._shorter[child] = self._follow(shorter, piece)
                nodes.append(child)

    def _follow(self, node: int, piece: str) -> int:
        while node and piece not in self._next[node]:
            node = self._shorter[node]
        return self._next[node].get(piece, 0)

    def find(self, text: str) -> Iterator[Span]:
        """Yield, for each place at which entries end, the span of the longest of them."""
        node = 0
        for piece in _PIECE.finditer(text):
            node = self._follow(node, piece[0])
            if length := self._length[node]:
                yield piece.end() - length, piece.end()


@lru_cache(maxsize=8)
def _phrases(dictionary: frozenset[str]) -> _Phrases:
    return _Phrases(dictionary)


class Overlaps:
    """Tells whether any of many spans overlaps another one, in logarithmic time.

    An empty span overlaps a span if it lies inside that span.

    >>> overlaps = Overlaps([(4, 6), (1, 9)])
    >>> overlaps(8, 12), overlaps(9, 12)
    (True, False)
    """

    def __init__(self, spans: Iterable[Span]) -> None:
        ordered = sorted(spans)
        self._starts = [start for start, _ in ordered]
        # For each span: the furthest end of the span and all spans before it.
        self._reach = [*accumulate((end for _, end in ordered), max)]

    def __call__(self, start: int, end: int) -> bool:
        before = bisect_left(self._starts, end)  # so many spans begin before the end
        return before > 0 and self._reach[before - 1] > start
