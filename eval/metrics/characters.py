"""Scores over characters, for scripts without blanks between words, and Unicode forms.

Chinese systems are scored over characters or over the words of one segmenter. The files have
words if a segmenter put blanks between them; with ``--tokens characters`` every Chinese or
Japanese character is a token by itself, in sources, outputs and references alike, so that files
need no segmentation or may have different ones. Runs of other letters and digits stay whole.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from gec.eval.metrics.score import warn

_ALONE = (
    "\u2e80-\u2fdf\u3001-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
)  # radicals, CJK punctuation, kana, bopomofo, ideographs, full width
_WITH = "\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef"  # marks on the character before
_PIECE = re.compile(f"[{_ALONE}][{_WITH}]*|[^{_ALONE}\\s]+")


def by_characters(text: str) -> str:
    """Return a sentence with blanks around every Chinese or Japanese character.

    >>> by_characters("我有3本book。")
    '我 有 3 本 book 。'
    """
    return " ".join(_PIECE.findall(text))


def add_setting(signature: str, name: str, value: str) -> str:
    """Return a signature with one more setting.

    >>> add_setting("gleu|n:4|gec:0.1.0", "tokens", "characters")
    'gleu|n:4|tokens:characters|gec:0.1.0'
    """
    settings, bar, version = signature.rpartition("|gec:")
    return f"{settings}|{name}:{value}{bar}{version}"


def warn_of_forms(name: str, lines: Sequence[str], other: str, others: Sequence[str]) -> None:
    """Warn if two files that are compared word by word are in different Unicode forms.

    ``é`` may be one code point or two (NFC, NFD), so words that look equal may differ.
    """
    composed = [all(unicodedata.is_normalized("NFC", line) for line in x) for x in (lines, others)]
    if composed[0] != composed[1]:
        names = (other, name) if composed[0] else (name, other)
        warn(
            f"{names[0]} is not in Unicode form NFC, {names[1]} is: words that look equal may "
            "count as different; convert both to NFC"
        )
