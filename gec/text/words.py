"""Words with offsets: text tokenized like the field's test sets (CoNLL, JFLEG).

The text is cut as spaCy's English tokenizer cuts it, with changed rules (gec/text/tokenizer.py):
hyphenated words and "his/her" stay whole, as do "cannot", "gonna" and slips like "dont"; "dosen't"
becomes "dose n't".

>>> [(word.text, word.start, word.end) for word in split_words("He don’t know.")]
[('He', 0, 2), ('do', 3, 5), ("n't", 5, 8), ('know', 9, 13), ('.', 13, 14)]
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from gec.text.remembered import Remembered
from gec.text.tokenizer import SPECIAL_CASES, chunks, cut, pieces


@dataclass(unsafe_hash=True, slots=True)
class Word:
    """A word: the normalised ``text`` that the model sees, and its span in the user's text.

    ``start`` and ``end`` are code points; ``protected`` words are never changed. It is a value like
    others, which nobody changes; but every word of a text is one, and to make one that Python
    guards takes seven times as long.
    """

    text: str
    start: int
    end: int
    protected: bool = False


_QUOTES = dict.fromkeys("‘’‛ʼ′", "'") | dict.fromkeys("“”„‟″", '"')
_HYPHENS = dict.fromkeys("‐‑‒−", "-")
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
_MARKS = map(chr, range(0x300, 0x370))
# Subword encoders refuse lone surrogates, and control characters that are not whitespace.
_CODES = map(chr, [*range(32), *range(127, 160), *range(0xD800, 0xE000)])
_UNPRINTABLE = dict.fromkeys((c for c in _CODES if not c.isspace()), "\ufffd")

_NORMAL = str.maketrans(
    _QUOTES
    | _HYPHENS
    | dict.fromkeys("–—―", "-")
    | {"…": "..."}
    | dict.fromkeys(_INVISIBLE, "")
    | _UNPRINTABLE
)
# The tokenizer sees one character for each of the user's, so that its offsets are the user's.
# Combining marks and invisible characters count as letters: otherwise the tokenizer would not cut
# the period off "cafe\u0301.".
_SEEN = str.maketrans(
    _QUOTES | _HYPHENS | dict.fromkeys(_INVISIBLE, "x") | dict.fromkeys(_MARKS, "x") | _UNPRINTABLE
)

# Longer runs without a blank are one word: the rules take quadratic time.
_LONGEST_RUN = 500
_RUN = re.compile(rf"(?<!\S)\S{{{_LONGEST_RUN + 1},}}")


@lru_cache(maxsize=2**16)  # called for every word of every text, and most words recur
def normalise(word: str) -> str:
    """Return the form of one word that the model sees; idempotent, the length may change.

    Quotes and primes become ``'`` and ``"`` (so do the Penn Treebank's two-character quotes),
    dashes become ``-``, an ellipsis three periods; combining sequences are composed (NFC).
    Invisible characters are dropped, unless the word has no others; control characters and lone
    surrogates become U+FFFD; whitespace, which only protected spans hold, becomes one blank.
    """
    if not (word.isascii() and word.isprintable() and " " not in word):
        composed = unicodedata.normalize("NFC", word).translate(_NORMAL)
        word = " ".join(unicodedata.normalize("NFC", composed).split()) or word
    return '"' if word in ("``", "''") else word


def split_words(text: str, start: int = 0) -> list[Word]:
    """Cut a sentence into words, in order, that cover every character but whitespace.

    ``start`` is the offset of ``text`` in the user's text. The end of ``text`` counts as the end
    of a sentence, so the period of a final "etc." or "I." is a word of its own.
    """
    words: list[Word] = []
    for at, chunk in chunks(text):
        if len(chunk) <= _REMEMBERED:
            own = _words_of[chunk]
        else:
            own = _pieces(chunk) if len(chunk) <= _LONGEST_RUN else _as_one(chunk)
        if own is None:
            words = [Word(normalise(text[i:j]), start + i, start + j) for i, j in _spans(text)]
            break
        at += start
        for form, i, j in own:
            words.append(Word(form, at + i, at + j))
    if words:
        _end(words, text, start)
    return words


def split_tokenized(line: str, start: int = 0) -> list[Word]:
    """Cut text that is tokenized already, at whitespace only."""
    return [
        Word(normalise(match[0]), start + match.start(), start + match.end())
        for match in re.finditer(r"\S+", line)
    ]


def tokenize_line(text: str) -> list[str]:
    """Return the normalised words of a line, as training corpora hold them."""
    return [word.text for word in split_words(text)]


_Pieces = tuple[tuple[str, int, int], ...]


def _pieces(chunk: str) -> _Pieces | None:
    """Return the words of text without blanks: their forms, where they begin and end.

    None if that depends on what stands beside it (see :func:`gec.text.tokenizer.pieces`).
    """
    plain = chunk.isascii() and chunk.isprintable()
    ends, uncertain = pieces(chunk if plain else chunk.translate(_SEEN))
    if uncertain:
        return None
    spans = zip((0, *ends), ends, strict=False)
    return tuple((normalise(chunk[i:j]), i, j) for i, j in spans)


def _as_one(chunk: str) -> _Pieces:
    return ((normalise(chunk), 0, len(chunk)),)


_REMEMBERED = 40  # characters: longer ones hardly recur, and many pieces take memory
_words_of = Remembered(_pieces)  # most recur


# The period is cut off such last words ("I.", "PhD."); "U.S." and abbreviations keep it.
_LAST_WORD = re.compile(r"etc\.|[^\W\d_]\.|[^.]*[^\W\d_]{2}\.", re.IGNORECASE)


def _end(words: list[Word], text: str, start: int) -> None:
    """Cut the period off the last word if it ends the sentence; closing marks may follow it."""
    last = len(words) - 1
    while True:
        i, j = words[last].start - start, words[last].end - start
        seen = text[i:j].translate(_SEEN)
        if last == 0 or seen not in _CLOSING:
            break
        last -= 1
    if seen == "." or not _LAST_WORD.fullmatch(seen):
        return
    if seen == "etc." or seen not in SPECIAL_CASES:
        words[last : last + 1] = [
            Word(normalise(text[a:b]), start + a, start + b) for a, b in ((i, j - 1), (j - 1, j))
        ]


_CLOSING = {'"', "'", "''", ")", "]", "}"}


def _spans(text: str) -> list[tuple[int, int]]:
    seen = text if text.isascii() and text.isprintable() else text.translate(_SEEN)
    return cut(seen) if len(seen) <= _LONGEST_RUN else _long(seen)


def _long(seen: str) -> list[tuple[int, int]]:
    """Return the spans of a text that may hold very long runs, each of which is one word."""
    spans: list[tuple[int, int]] = []
    at = 0
    for run in [run.span() for run in _RUN.finditer(seen)] + [(len(seen), len(seen))]:
        spans += [(at + i, at + j) for i, j in cut(seen[at : run[0]])]
        if run[0] < run[1]:
            spans.append(run)
        at = run[1]
    return spans
