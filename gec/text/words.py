"""Words with offsets: the user's text cut the way the field's tokenized test sets (CoNLL, JFLEG) are.

spaCy's English tokenizer does the cutting (https://spacy.io/usage/linguistic-features#tokenization), with other rules than its
default: hyphenated words and "his/her" stay whole, as do "cannot", "gonna" and the slips "dont", "im"; "dosen't" becomes "dose n't".

    >>> split_words("He don’t know.")
    [Word(text='He', start=0, end=2, protected=False), Word(text='do', start=3, end=5, protected=False),
     Word(text="n't", start=5, end=8, protected=False), Word(text='know', start=9, end=13, protected=False),
     Word(text='.', start=13, end=14, protected=False)]
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Word:
    """One word. `text` is the normalised form the model sees; `start`, `end` are code points of the user's text."""

    text: str
    start: int
    end: int
    protected: bool = False


_QUOTES = {**dict.fromkeys("‘’‛ʼ′", "'"), **dict.fromkeys("“”„‟″", '"')}
_HYPHENS = dict.fromkeys("‐‑‒−", "-")
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
# Control characters but the whitespace ones, and lone surrogates: subword encoders refuse them.
_UNPRINTABLE = [c for i in (*range(32), *range(127, 160), *range(0xD800, 0xE000)) if not (c := chr(i)).isspace()]

_NORMAL = str.maketrans(
    {**_QUOTES, **_HYPHENS, **dict.fromkeys("–—―", "-"), "…": "...", **dict.fromkeys(_INVISIBLE, ""), **dict.fromkeys(_UNPRINTABLE, "\ufffd")}
)
# What the tokenizer sees: one character for one, so that its offsets are the user's. Marks and invisible characters count as letters.
_SEEN = str.maketrans(
    {**_QUOTES, **_HYPHENS, **dict.fromkeys(_INVISIBLE, "x"), **dict.fromkeys(map(chr, range(0x300, 0x370)), "x"), **dict.fromkeys(_UNPRINTABLE, "\ufffd")}
)

# spaCy's smileys that are more often something else: "(see item 8)", "at 10:3", "Note (:".
_NOT_SMILEYS = {"8)", "8D", ":1", ":3", ":0", "0.0", "=3", "):", "(:", "(;", "(=", "[:", "[=", "]=", ":x", ":X", ":o", ":O", ":p", ":P"}
_MAX_LEXEMES = 1_000_000  # spaCy keeps every form it has seen, for ever; a long-lived process starts afresh here


def normalise(word: str) -> str:
    """The form of one word that the model sees; idempotent, and without whitespace.

    Quotes and primes become ' and " (also the Penn Treebank's `` and ''), dashes -, "…" three periods; NFC; invisible characters
    go, control characters and lone surrogates become U+FFFD; blanks inside (only protected spans have them) become "_".
    Its length may differ from the word's. A word of nothing but invisible characters stays as it is.
    """
    if not (word.isascii() and word.isprintable() and " " not in word):
        word = "_".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", word).translate(_NORMAL)).split()) or word
    return '"' if word in ("``", "''") else word


def split_words(text: str, start: int = 0) -> list[Word]:
    """Cut one sentence (or any text) into words, in order, covering every character that is not whitespace.

    `start` is the offset of `text` in the user's text and is added to the words' own. The end of `text` counts as the end of
    a sentence, where the period of "etc." or "I." is a word of its own.
    """
    return [Word(normalise(text[i:j]), start + i, start + j) for i, j in _spans(text)]


def split_tokenized(line: str, start: int = 0) -> list[Word]:
    """Cut text that is tokenized already: at whitespace, and nowhere else."""
    return [Word(normalise(m[0]), start + m.start(), start + m.end()) for m in re.finditer(r"\S+", line)]


def tokenize_line(text: str) -> list[str]:
    """The normalised words of a line: what corpora for training are made of."""
    return [normalise(text[i:j]) for i, j in _spans(text)]


def _spans(text: str) -> list[tuple[int, int]]:
    tokenizer = _tokenizer()
    if len(tokenizer.vocab) > _MAX_LEXEMES:
        _tokenizer.cache_clear()
        tokenizer = _tokenizer()
    seen = text if text.isascii() and text.isprintable() else text.translate(_SEEN)
    spans = [(token.idx, token.idx + len(token)) for token in tokenizer(seen) if not token.is_space]
    last = len(spans) - 1
    while last > 0 and seen[spans[last][0] : spans[last][1]] in "\"'')]}":
        last -= 1
    if last >= 0:
        i, j = spans[last]
        if _ENDS_SENTENCE.fullmatch(seen[i:j]) and seen[i:j] not in _tokenizer().rules:
            spans[last : last + 1] = [(i, j - 1), (j - 1, j)]
    return spans


# A period the tokenizer left on the last word ("I.", "PhD."), unless more periods ("U.S.") or spaCy's list say abbreviation.
_ENDS_SENTENCE = re.compile(r"etc\.|[^\W\d_]\.|[^.]*[^\W\d_]{2}\.", re.IGNORECASE)


@cache
def _tokenizer() -> Tokenizer:
    import spacy  # seconds; only who cuts text pays them
    from spacy.lang import char_classes as cc
    from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex

    nlp = spacy.blank("en")
    tokenizer = nlp.tokenizer
    defaults = nlp.Defaults
    suffixes = [rule for rule in defaults.suffixes or () if "|km|" not in rule]  # "10km" stays whole
    suffixes += [r"(?<=[A-Za-z])(?:n't|N'T)", r"(?<=[A-Za-z])'(?:ll|LL|re|RE|ve|VE|[dDmM])"]
    infixes = [
        *cc.LIST_ELLIPSES,
        *cc.LIST_ICONS,
        r"--+|—|``|''",
        rf"(?<=[{cc.ALPHA_LOWER}])\.(?=[{cc.ALPHA_UPPER}])",  # home.He
        rf"(?<=[{cc.ALPHA}]),(?=[{cc.ALPHA}])",
        rf"(?<=[{cc.ALPHA}0-9])[:<>=](?=[{cc.ALPHA}])",  # not "/": his/her
        rf"(?<=[{cc.ALPHA}])[?!;](?=[{cc.ALPHA}])",
        r"(?<=[^\W_])[,.;:!?](?=[\"(])",  # said,"No
        r"[\"()\[\]]",
    ]
    tokenizer.prefix_search = compile_prefix_regex(["``", *(defaults.prefixes or ())]).search
    tokenizer.suffix_search = compile_suffix_regex(suffixes).search
    tokenizer.infix_finditer = compile_infix_regex(infixes).finditer
    tokenizer.rules = {
        form: pieces
        for form, pieces in tokenizer.rules.items()
        if form not in _NOT_SMILEYS
        and not (len(pieces) > 1 and "'" not in form)  # cannot, gonna, dont, 5pm
        and not re.fullmatch(r"[a-zäöü]\.", form)  # "vitamin c."
        and form != "Ill."
    }
    tokenizer.add_special_case("etc.", [{"ORTH": "etc."}])
    return tokenizer
