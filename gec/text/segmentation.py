"""Text to sentences of words: blocks (paragraphs, headings, list items) first, then sentences.

The rules look at the text with its protected spans masked, so that no boundary falls into a span.
If a rule is in doubt, it does not split: the model corrects two sentences in one well enough, but
not half a sentence.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from gec.text.protection import Span, mask, protected_spans, unify_newlines
from gec.text.words import Word, normalise, split_words


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence: code points ``start`` to ``end`` of the user's text, and its words."""

    start: int
    end: int
    words: tuple[Word, ...]


def segment(
    text: str,
    *,
    dictionary: Collection[str] = (),
    spans: Collection[Span] = (),
    interrupt: Callable[[], None] = lambda: None,
) -> list[Sentence]:
    """Cut a text into sentences whose words cover, in order, every character but whitespace.

    A single line break does not end a sentence; blank lines, list items, headings, table rows
    and fenced code do. A sentence may end without a blank after it (see :func:`_is_glued`). A
    protected span (see :func:`protected_spans`, which gets ``dictionary`` and ``spans``) is one
    protected word; so is each list bullet, heading mark and rule, which is also a sentence of its
    own.

    ``interrupt`` is called once a sentence; an exception that it raises ends the work.
    """
    interrupt()
    found = cut(text, dictionary=dictionary, spans=spans, interrupt=interrupt)
    sentences: list[Sentence] = []
    for place in range(len(found.spans)):
        interrupt()
        sentences.append(found.sentence(place))
    return sentences


@dataclass(frozen=True, slots=True)
class Cuts:
    """Where the sentences of a text stand; their words are looked at when they are asked for.

    Attributes:
        spans: the sentences, in order.
        protected: what must stay, bullets and heading marks too: sorted and apart.
    """

    text: str
    spans: Sequence[Span]
    protected: Sequence[Span]

    def sentence(self, place: int) -> Sentence:
        """Return one sentence with its words."""
        start, end = self.spans[place]
        return Sentence(start, end, tuple(_words(self.text, start, end, self.kept(place))))

    def kept(self, place: int) -> Sequence[Span]:
        """Return what is protected in one sentence."""
        if not self.protected:
            return ()
        start, end = self.spans[place]
        first = bisect_left(self.protected, (start, start))
        return self.protected[first : bisect_left(self.protected, (end, end))]


def cut(
    text: str,
    *,
    dictionary: Collection[str] = (),
    spans: Collection[Span] = (),
    interrupt: Callable[[], None] = lambda: None,
) -> Cuts:
    """Find the sentences that :func:`segment` returns, but not their words, which takes longer."""
    protected = protected_spans(text, dictionary=dictionary, spans=spans)
    masked = unify_newlines(mask(text, protected, _MASK))
    blocks, markers = _blocks(text, masked)
    masked = mask(masked, markers, _MASK)
    found: list[Span] = []
    for block in blocks:
        interrupt()
        found += _sentences(masked, *block)
    return Cuts(text, found, sorted(protected + markers))


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _words(text: str, start: int, end: int, protected: Sequence[Span]) -> list[Word]:
    """Return the words of a sentence and what is protected in it."""
    words: list[Word] = []
    for span in protected:
        words += split_words(text[start : span[0]], start)
        words.append(Word(normalise(text[slice(*span)]), *span, protected=True))
        start = span[1]
    return words + split_words(text[start:end], start)


# ------------------------------------------------------------------------------------- blocks

_MASK = "\ue000"
_BULLET = re.compile(
    r"[\s\ufeff]*(?:(?:>|[-*+•‣◦▪–]|\(?\d{1,3}[.)]|\(?[a-z]\)|\#{1,6}|\[[ xX]\])(?:\s+|$))+"
)
_RULE = re.compile(rf"(?:[^\w{_MASK}]|_)+")  # ---, ***, |---|
# A line that ends in one of these words continues in the next line.
_LINKS = _set(
    """
    a an and are as at be because but by can could do does for from had has have her his i if in
    into is its mr mrs ms dr my nor not of on or our over should so than that the their this to
    under was we were when which who will with would your
    """
)


def _blocks(text: str, masked: str) -> tuple[list[Span], list[Span]]:
    """Return the spans of all blocks in order, and those of bullets, heading marks and rules."""
    blocks: list[Span] = []
    markers: list[Span] = []
    before = ""  # the line before; empty if none of its sentences can continue in this line
    quoted = False
    end = -1
    for line in masked.split("\n"):
        start, end = end + 1, end + 1 + len(line)
        mark = (_BULLET.match(line) or _RULE.fullmatch(line)) if line.strip() else None
        content = line[mark.end() :].strip() if mark else line.strip()
        quote = mark is not None and mark[0].strip() == ">"
        code = not content.strip(_MASK) and _is_code(text[start:end].strip())
        joins = (
            before and content and not code and quote == quoted and (quote or not mark)
        ) and not _starts_anew(before, content)
        if mark:
            markers.append(_trimmed(masked, start, start + mark.end()))
            if not joins:
                blocks.append(markers[-1])
        if joins:
            blocks[-1] = (blocks[-1][0], end)
        elif content:
            blocks.append((start + (mark.end() if mark else 0), end))
        heading = mark is not None and "#" in mark[0]
        before = "" if code or heading or content.startswith("|") else content
        quoted = quote
    return blocks, markers


def _is_code(line: str) -> bool:
    """Whether a line, which is one protected span, stands alone: fenced code, a comment."""
    return "\n" in line or "\r" in line or line.startswith(("<", "`", "~", "/", "#"))


def _starts_anew(before: str, line: str) -> bool:
    """Whether two lines look like a title and a text, or two items, not like a wrapped sentence.

    That is, the first line has no punctuation at its end, the second starts with a capital letter,
    and the first word of the second line would have fitted on the first.
    """
    return (
        before[-1].isalnum()
        and line[0].isupper()
        and before.split()[-1].lower() not in _LINKS
        and len(before) + 1 + len(line.split()[0]) <= len(line)
    ) or line.startswith("|")


def _trimmed(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


# ---------------------------------------------------------------------------------- sentences

_STOP = re.compile(
    r"(?<![.!?…])(?:(?P<stop>[.!?…]+(?:[ \t]+[.!?…]+(?=\s|\Z))*)"
    rf"(?P<close>[\"'”’»)\]}}*_{_MASK}]*)(?=\s|\Z)"
    # without a blank after it: cases.However
    r"|[.!?]+(?=(?P<next>[A-Z][a-z]*)(?P<behind>(?:['’][a-z]{1,2}\b)?(?:,|\s+[^\W\d_]*))))"
)
_CLOSER_APART = re.compile(r"[ \t]+(''|[\"”’)\]])(?=\s|\Z)")  # tokenized text: hello . "
_AFTER = re.compile(r"\s*(\S{0,40})")
_OPENERS = "\"'“‘«([{*_`¡¿"

_TITLES = _set(
    """
    mr mrs ms mx dr prof st gen sen rep gov capt lt col sgt maj rev hon pres messrs mme mlle vs v
    cf viz e.g i.e eg ie approx ca incl excl resp mt ft esp max min avg est
    """
)
_NUMBERED = _set(
    """
    fig figs eq eqs sec ch chap vol no nos nr p pp art par app ex ref refs tab op ed eds dept
    univ tel ext
    """
)
_SHORT = _set(
    """
    inc co corp ltd llc bros jr sr jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues
    wed thu thurs fri sat sun ave blvd rd hwy ph.d
    """
)
_ABBREVIATIONS = _TITLES | _NUMBERED | _SHORT | {"al", "etc"}
_STARTERS = _set(
    """
    the an this that these those it he she we they you i my his our their its there then but and
    so if when while although because however in on at for from after before what why who how
    where which is are do does did can one some many most all also another finally first moreover
    i'm it's he's she's we're they're don't
    """
)


# Words that begin a sentence even if the blank before them is missing, and that are hardly ever a
# name in a program (errors.Is, time.Since, slices.All). A preposition counts only if a word of
# _AFTER_PREPOSITION follows.
_OPENINGS = _set(
    """
    the this that these those it he she we they you my his our their there but and so because
    although however therefore moreover furthermore nevertheless besides finally unfortunately
    sometimes nowadays firstly secondly thirdly if when while
    """
)
_PREPOSITIONS = _set("in on at for from as with by")
_AFTER_PREPOSITION = _set(
    """
    the a an this that these those my your his her our their its it me us them which addition
    conclusion contrast fact general order example instance summary other
    """
)
# Words that join clauses, and all words that begin a clause: a blank is missing between a comma and
# one of these.
_JOINING = _set("and but so because although however therefore if when while since who which")
_CLAUSE = _OPENINGS | _JOINING | _set("a an her its i")
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")


def _sentences(masked: str, start: int, end: int) -> Iterator[Span]:
    begin = counted = start
    quotes = 0
    for found in _STOP.finditer(masked, start, end):
        if found["next"]:
            words = masked[max(begin, found.start() - 40) : found.start()].split()
            if words and _is_glued(words[-1], found["next"], found["behind"], len(words) == 1):
                yield _trimmed(masked, begin, found.end())
                begin = counted = found.end()
                quotes = 0
            continue
        at = found.end()
        quotes += masked.count('"', counted, at)
        counted = at
        apart = _CLOSER_APART.match(masked, at, end)
        if apart and (apart[1] != '"' or quotes % 2):
            at = apart.end()
        after = _AFTER.match(masked, at, end)
        left = masked[max(begin, found.start() - 40) : found.start()]
        word = left.split()[-1] if left.strip() and not left[-1].isspace() else ""
        first = found.start() - len(word) - begin < 3
        if (
            after
            and after[1]
            and _is_boundary(word, found["stop"], found["close"], after[1], first)
        ):
            yield _trimmed(masked, begin, at)
            begin = counted = at
            quotes = 0
    rest = _trimmed(masked, begin, end)
    if rest[0] < rest[1]:
        yield rest


def _is_boundary(before: str, stop: str, close: str, after: str, first: bool) -> bool:
    """Whether a sentence ends between ``before + stop + close`` and ``after``.

    ``first`` is true if ``before`` is the first word of the sentence ("1. Open the door").
    """
    word = before.lstrip(_OPENERS)
    lower = word.lower()
    following = after.lstrip(_OPENERS + _MASK)
    starter = following.rstrip(",;:").replace("’", "'").lower() in _STARTERS
    abbreviation = lower in _ABBREVIATIONS or "." in word
    if following[:1].islower():
        return starter and not close and len(word) > 1 and word.islower() and not abbreviation
    if after[0] in ",;:)]}":
        return False
    if stop != ".":
        return True
    if lower in _TITLES:
        return False
    if lower in _NUMBERED:
        return starter or not (following[:1].isdigit() or len(following.rstrip(".,:)")) == 1)
    if (
        lower == "al"
        or (lower in _SHORT and not word.islower())
        or re.fullmatch(r"[^\W\d_](?:\.[^\W\d_])*", word)
    ):
        return starter
    return not (first and word.isdecimal() and len(word) < 4)


def _is_glued(before: str, following: str, behind: str, first: bool) -> bool:
    """Whether a sentence ends between two words that have a full stop but no blank between them.

    A name of a file, a host or a program (main.py, example.com, os.Path, ASP.NET), an abbreviation
    and a number look the same, so both words must be plain. ``before`` must be a word of at least
    two letters that ends in a small letter and is not an abbreviation, or a number of two digits
    or more that does not begin the sentence. ``following``, with a capital, must be a word that
    often begins a sentence and is seldom anything else. ``behind`` is the blank or comma after
    ``following`` and the next word. If ``following`` is a preposition, the next word must be an
    article or the like. If ``before`` has a capital or is a number, or ``following`` is "I" or
    "A", the next word must begin with a small letter.
    """
    word = before.strip(_OPENERS + "”’»)]}*_")
    small = behind.strip()[:1].islower() and not behind.startswith(",")
    lower = following.lower()
    if lower in _PREPOSITIONS:
        opens = behind.strip().lower() in _AFTER_PREPOSITION
    elif lower in ("i", "a"):
        opens = small or (lower == "i" and behind[0] in "'’")
    else:
        opens = lower in _OPENINGS
    if not opens or word.lower() in _ABBREVIATIONS:
        return False
    if word.isdecimal():
        return small and len(word) > 1 and not first
    return (
        _WORD.fullmatch(word) is not None
        and len(word) > 1
        and word[-1].islower()
        and (word[0].islower() or small)
    )


def missing_blanks(words: Sequence[Word], following: int | None) -> Iterator[Word]:
    """Yield the punctuation marks of a sentence behind which a blank is missing.

    They are the full stop at its end, if the next sentence begins there (at ``following``; None
    after the last one), and commas between a word and one that begins a clause: "risk,the",
    but not "key,value" and "1,2".
    """
    texts = [word.text for word in words]
    for place in range(1, len(words) - 1) if "," in texts else ():
        if texts[place] == "," and _lacks_blank(words, place):
            yield words[place]
    last = words[-1]
    if last.end == following and last.text in (".", "!", "?") and not last.protected:
        yield last


def _lacks_blank(words: Sequence[Word], place: int) -> bool:
    """Whether the comma at a place, between two words, lacks the blank behind it."""
    before, comma, after = words[place - 1 : place + 2]
    behind = words[place + 2] if place + 2 < len(words) else None
    return (
        before.end == comma.start
        and comma.end == after.start
        and not (before.protected or comma.protected or after.protected)
        and len(before.text) > 1
        and _WORD.fullmatch(before.text) is not None
        and after.text.lower() in _CLAUSE
        and (  # the words "he,she" and "and,but"
            before.text.lower() not in _CLAUSE
            or (after.text in _JOINING and before.text.lower() not in _JOINING)
        )
        and (after.text.islower() or after.text == "I")
        and behind is not None
        and (after.end < behind.start or behind.text.startswith("'"))
    )


# ------------------------------------------------------------------------------------ windows


def windows(words: Sequence[Word], *, size: int, overlap: int) -> list[tuple[int, int]]:
    """Return ranges (start, end) of word indices that cover ``words``, each at most ``size`` long.

    There is one range if that suffices; otherwise as few as possible, of nearly equal length, each
    sharing exactly ``overlap`` words with the next. Raises ValueError unless
    0 <= overlap < size.

    >>> windows([Word("a", i, i + 1) for i in range(10)], size=6, overlap=2)
    [(0, 6), (4, 10)]
    """
    if not 0 <= overlap < size:
        raise ValueError(f"expected 0 <= overlap < size, got overlap {overlap} and size {size}")
    if len(words) <= size:  # as most
        return [(0, len(words))] if words else []
    count = max(1, -(-(len(words) - overlap) // (size - overlap)))
    length, longer = divmod(len(words) + (count - 1) * overlap, count)
    ranges: list[tuple[int, int]] = []
    start = 0
    for i in range(count):
        end = start + length + (i < longer)
        ranges.append((start, end))
        start = end - overlap
    return ranges
