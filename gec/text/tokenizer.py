"""spaCy's English tokenizer with changed rules, without spaCy: from a text to the spans of tokens.

It cuts at blanks, then prefixes and suffixes off each piece, then what is left at infixes; special
cases ("don't", "Mr.", ":-)") come first at every step, and once more at the end, where they put
together what was cut apart. The results are those of spaCy 3.8 with the same rules, which a test
compares; loading takes milliseconds instead of seconds.

The rules and special cases are part of spaCy, whose licence is in gec/text/stop_words.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from gec.text.letters import letter_class, small_letters

Span = tuple[int, int]

# --------------------------------------------------------------------------------- special cases

_CONTRACTIONS = {
    "'d": """he how i it she that there these they this those we what when where who why you""",
    "'d 've": "he how i it she that there these they this those we what when where who why you",
    "'d 'y": "how",
    "'ll": "he how i it she that there these they this those we what when where who why you",
    "'ll 've": "he how i it she that there these they this those we what when where who why you",
    "'m": "i",
    "'m a": "i",
    "'re": "how there these they those we what when where who why you",
    "'s": "he how it let she that there this what when where who why",
    "'ve": """could how i might must not should there these they those we what when where who why
        would you""",
    "n't": """ai are ca could dare did do does had has have is may might must need ought sha should
        was were wo would""",
    "n't 've": "ca could did do does had may might must need ought sha should wo would",
    "on": "c'm",
}
# Of these the rules would cut something off.
_WHOLE = r"""
    ' '' 'S 's 'd 'll 're 'em 'bout 'cause 'cos 'coz 'cuz 'nuff 'Cause 'Cos 'Coz 'Cuz
    (*_*) (-8 (-: (-; (-_-) (._.) (>_<) (^_^) (o: (¬_¬) (ಠ_ಠ) (╯°□°）╯︵┻━┻ )-: -_- -__- ._. 0.o
    0_0 0_o 8-) 8-D :'( :') :'-( :'-) :( :(( :((( :() :) :)) :))) :* :-( :-(( :-((( :-) :-)) :-)))
    :-* :-/ :-0 :-3 :-> :-D :-O :-P :-X :-] :-o :-p :-x :-| :-} :/ :> :D :] :o) :| :} ;) ;-) ;-D ;D
    ;_; <.< </3 <3 <33 <333 <space> =( =) =/ =D =[ =] =| >.< >.> >:( >:o ><(((*> @_@ C++ O.O O.o O_O
    O_o V.V V_V XD XDD [-: \") \n \t ^_^ ^__^ ^___^ o.0 o.O o.o o_0 o_O o_o v.v v_v xD xDD ¯\(ツ)/¯
    ಠ_ಠ ಠ︵ಠ —
    Adm. Ak. Ala. Apr. Ariz. Ark. Aug. Bros. Calif. Co. Colo. Conn. Corp. D.C. Dec. Del. Dr. E.G.
    E.g. Feb. Fla. Ga. Gen. Gov. I.E. I.e. Ia. Id. Inc. Ind. Jan. Jr. Jul. Jun. Kan. Kans. Ky. La.
    Ltd. Mar. Mass. Md. Messrs. Mich. Minn. Miss. Mo. Mont. Mr. Mrs. Ms. Mt. N.C. N.D. N.H. N.J.
    N.M. N.Y. Neb. Nebr. Nev. Nov. Oct. Okla. Ore. Pa. Ph.D. Prof. Rep. Rev. S.C. Sen. Sep. Sept.
    St. Tenn. Va. Wash. Wis. a.m. and/or co. e.g. etc. i.e. p.m. v.s. vs. w/o em ll nuff
    Doin Doin' Goin Goin' Havin Havin' Lovin Lovin' Ma'am Nothin Nothin' Nuthin Nuthin' O'clock Ol
    Ol' Somethin Somethin' doin doin' goin goin' havin havin' lovin lovin' ma'am nothin nothin'
    nuthin nuthin' o'clock ol ol' somethin somethin'
"""


def _special_cases() -> dict[str, tuple[int, ...]]:
    """Return where the pieces of each special case end."""
    cases: dict[str, tuple[int, ...]] = {word: (len(word),) for word in _WHOLE.split()}
    cases["y'all"] = (2, 5)
    for ends, words in _CONTRACTIONS.items():
        for word in words.split():
            places = [len(word)]
            for piece in ends.split():
                places.append(places[-1] + len(piece))
            whole = word + ends.replace(" ", "")
            cases[whole] = cases[whole[0].upper() + whole[1:]] = tuple(places)
    return cases


SPECIAL_CASES = _special_cases()
"""Strings that are cut as the table says whatever the rules say: the ends of their tokens."""

# ---------------------------------------------------------------------------------------- rules

# The rules are written for ASCII, for the signs that they name, and for one code point in place of
# every class of others (see _Classes).
_KINDS = "-lnutij"
_FIRST_CLASS = 0xE000


def _class(kinds: str, words: str = "01") -> str:
    """Return the code points of some classes; ``words``: of letters and digits (1), others (0)."""
    return "".join(chr(_FIRST_CLASS + 2 * _KINDS.index(k) + int(w)) for k in kinds for w in words)


_CURRENCY = "£¥฿₠-₿﷼"
_BOTH = "\u06d4\u0964\u3001\u3002\u3008-\u3011\u3014\u3015"  # punctuation that is also a letter
_MARKS = (
    "¡«´·»¿\u060c\u061b\u061f\u066a‚…\u2329\u232a\u27e6\u27e7\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
    "\uff5e" + _BOTH
)
_SIGNS = "°" + _class("ij")
_LOWER = "a-z" + _class("lnj") + _BOTH
_UPPER = "A-Z" + _class("unj") + _BOTH
_ALPHA = "A-Za-z" + _class("lnutj") + _BOTH
_WORD = "0-9A-Za-z²" + _class(_KINDS, "1")
_PUNCTUATION = r",:;!?()\[\]{}<>_#*&'\"`" + _MARKS
_PREFIX = re.compile(
    rf"``|[{_PUNCTUATION}§%=—–${_CURRENCY}{_SIGNS}]|\+(?![0-9])|\.\.+|(?:US|C|A)\$"
)
_SUFFIX = re.compile(
    rf"(?:[{_PUNCTUATION}—–{_SIGNS}]|……|\.\.+|'[sS]|(?<=[0-9])[+%]|(?<=°[FfCcKk])\."
    rf"|(?<=[0-9])(?:[${_CURRENCY}]|US\$|C\$|A\$)|(?<=[0-9{_LOWER}%²\-+|{_PUNCTUATION}])\."
    rf"|(?<=[{_UPPER}][{_UPPER}])\.|(?<=[A-Za-z])(?:n't|N'T)"
    r"|(?<=[A-Za-z])'(?:ll|LL|re|RE|ve|VE|[dDmM]))\Z"
)
_INFIX = re.compile(
    rf"\.\.+|…|[{_SIGNS}]|--+|—|``|''|[\"()\[\]]"
    rf"|(?<=[{_LOWER}])\.(?=[{_UPPER}])"  # home.He
    rf"|(?<=[{_ALPHA}])[,?!;](?=[{_ALPHA}])"
    rf"|(?<=[{_ALPHA}0-9])[:<>=](?=[{_ALPHA}])"  # not "/": his/her
    rf"|(?<=[{_WORD}])[,.;:!?](?=[\"(])"  # said,"No
)
_KEPT = re.compile(f"[{_MARKS}{_CURRENCY}²§°—–]")


class _Classes(dict[int, int]):
    """For str.translate: the code point that stands for another one in the rules."""

    def __missing__(self, code: int) -> int:
        char = chr(code)
        found = code
        if code > 127 and not _KEPT.match(char):
            found = ord(_class(letter_class(code), "1" if char.isalnum() else "0"))
        self[code] = found
        return found


_CLASSES = _Classes()


@cache
def _address(small: str) -> re.Pattern[str]:
    """Return what an address looks like; after Diego Perini (MIT), as spaCy has it."""
    return re.compile(
        r"(?:(?:[\w\+\-\.]{2,})://)?(?:\S+(?::\S*)?@)?(?:"
        r"(?!(?:10|127)(?:\.\d{1,3}){3})(?!(?:169\.254|192\.168)(?:\.\d{1,3}){2})"
        r"(?!172\.(?:1[6-9]|2\d|3[0-1])(?:\.\d{1,3}){2})"
        r"(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])(?:\.(?:1?\d{1,2}|2[0-4]\d|25[0-5])){2}"
        r"(?:\.(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4]))"
        r"|(?:(?:[A-Za-z0-9\u00a1-\uffff][A-Za-z0-9\u00a1-\uffff_-]{0,62})?"
        rf"[A-Za-z0-9\u00a1-\uffff]\.)+(?:[{small}]{{2,63}}))(?::\d{{2,5}})?(?:[/?#]\S*)?$"
    )


_MAYBE_ADDRESS = re.compile(r"\.(?:[^\W\d_]{2}|\d)")


def _is_address(text: str) -> bool:
    if not _MAYBE_ADDRESS.search(text):
        return False
    small = "a-z" if text.isascii() else f"a-z{small_letters()}"
    return _address(small).match(text) is not None


# -------------------------------------------------------------------------------------- cutting


def cut(text: str) -> list[Span]:
    """Return the spans of a text's tokens, in order; they cover everything but whitespace."""
    spans: list[Span] = []
    uncertain = False
    for start, chunk in chunks(text):
        ends, cut_apart = pieces(chunk)
        if len(ends) == 1:
            spans.append((start, start + ends[0]))
            continue
        uncertain = uncertain or cut_apart
        at = start
        for end in ends:
            spans.append((at, start + end))
            at = start + end
    return _put_together(text, spans) if uncertain else spans


def chunks(text: str) -> Iterator[tuple[int, str]]:
    """Yield the pieces between whitespace and where they begin."""
    if not text.isprintable():
        for match in _CHUNK.finditer(text):
            yield match.start(), match[0]
        return
    at = 0
    for chunk in text.split(" "):  # no other whitespace is printable
        if chunk:
            yield at, chunk
        at += len(chunk) + 1


_CHUNK = re.compile(r"\S+")


def pieces(chunk: str) -> tuple[tuple[int, ...], bool]:
    """Return where the tokens of text without blanks end, and whether a special case is cut in it.

    If no special case is cut anywhere, there is nothing to put together.
    """
    if chunk.isascii() and chunk.isalpha() and chunk not in SPECIAL_CASES:  # as most are
        return (len(chunk),), False
    ends = tuple(_cut(chunk, SPECIAL_CASES))
    if len(ends) == 1:
        return ends, False
    spans = [*zip((0, *ends), ends, strict=False)]
    for first, last in _matches(chunk, spans):
        start, end = spans[first][0], spans[last - 1][1]
        own = SPECIAL_CASES[chunk[start:end]]
        if own != tuple(end - start for _, end in spans[first:last]):
            return ends, True
    return ends, False


def _cut(chunk: str, cases: dict[str, tuple[int, ...]]) -> Iterator[int]:
    """Yield where the tokens of text without blanks end."""
    if chunk in cases:
        yield from cases[chunk]
        return
    seen = chunk if chunk.isascii() else chunk.translate(_CLASSES)
    prefixes, start, end, suffixes = _affixes(chunk, seen, cases)
    yield from prefixes
    if start < end:
        inside = chunk[start:end]
        if inside in cases:
            yield from (start + place for place in cases[inside])
        elif _is_address(inside):
            yield end
        else:
            yield from (start + place for place in _infixes(seen[start:end]))
    yield from reversed(suffixes)


def _affixes(
    chunk: str, seen: str, cases: dict[str, tuple[int, ...]]
) -> tuple[list[int], int, int, list[int]]:
    """Cut prefixes and suffixes off; return the prefixes' ends, what is left, the suffixes' ends.

    The suffixes' come from right to left.
    """
    prefixes: list[int] = []
    suffixes: list[int] = []
    start, end, before = 0, len(chunk), -1
    while start < end and end - start != before and chunk[start:end] not in cases:
        before = end - start
        found = _PREFIX.match(seen[start:end])
        head = found.end() if found else 0
        if head and chunk[start + head : end] in cases:
            return [*prefixes, start + head], start + head, end, suffixes
        found = _SUFFIX.search(seen[start + head : end])
        tail = found.end() - found.start() if found else 0
        if tail and chunk[start : end - tail] in cases:
            return prefixes, start, end - tail, [*suffixes, end]
        if head:
            start += head
            prefixes.append(start)
        if tail:
            suffixes.append(end)
            end -= tail
    return prefixes, start, end, suffixes


def _infixes(seen: str) -> Iterator[int]:
    """Yield where the tokens of what has no prefix and suffix end."""
    at = 0
    for found in _INFIX.finditer(seen):
        if found.start():
            if found.start() != at:
                yield found.start()
            at = found.end()
            yield at
    if at < len(seen):
        yield len(seen)


# ------------------------------------------------------------------------------- putting together

_Patterns = dict[str, "_Patterns"]
_END = ""


@cache
def _patterns() -> _Patterns:
    """Return the special cases that the rules alone would cut, as a tree of their tokens."""
    tree: _Patterns = {}
    for case, own in SPECIAL_CASES.items():
        seen = case if case.isascii() else case.translate(_CLASSES)
        if not (_PREFIX.match(seen) or _SUFFIX.search(seen) or _INFIX.search(seen)):
            continue
        at, node = 0, tree
        for end in own if own[1:] else _cut(case, {}):  # the rules cut contractions as they should
            node = node.setdefault(case[at:end], {})
            at = end
        node[_END] = {}
    return {token: node for token, node in tree.items() if node.keys() != {_END}}


def _put_together(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the tokens after all special cases that the rules have cut are cut as they should.

    Of matches that share tokens the longest counts, then the first; one with a blank in it is no
    special case, but hides those in it, as with spaCy.
    """
    matches = sorted(_matches(text, spans), key=lambda match: (match[0] - match[1], match[0]))
    if not matches:
        return [*spans]
    taken: set[int] = set()
    chosen: dict[int, int] = {}
    for first, last in matches:
        if first not in taken and last - 1 not in taken:
            chosen[first] = last
        taken.update(range(first, last))
    found: list[Span] = []
    place = 0
    while place < len(spans):
        start = spans[place][0]
        last = chosen.get(place, place)
        ends = SPECIAL_CASES.get(text[start : spans[last - 1][1]]) if last > place else None
        if ends is None:
            found += spans[place : max(last, place + 1)]
        else:
            at = start
            for end in ends:
                found.append((at, start + end))
                at = start + end
        place = max(last, place + 1)
    return found


def _matches(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """Yield (first token, one past the last) wherever the tokens of a special case stand."""
    patterns = _patterns()
    for first, (start, end) in enumerate(spans):
        node = patterns.get(text[start:end])
        last = first + 1
        while node is not None:
            if _END in node:
                yield first, last
            if last == len(spans) or text[spans[last - 1][1] : spans[last][0]] not in ("", " "):
                break
            node = node.get(text[slice(*spans[last])])
            last += 1
