"""Forms in which published corpora of text pairs come: Penn Treebank tokens, JSON Lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from gec.errors import DataError
from gec.models.training.sources import open_text

_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_LEFT = re.compile(
    r" (?=(?:[,.;:!?%)\]}]|'s|'re|'ve|'ll|'d|'m|n't|'|\.\.\.)(?: |$))", re.IGNORECASE
)
_RIGHT = re.compile(r"(?<=[(\[{$£€]) ")


def detokenized(text: str) -> str:
    """Write Penn Treebank tokens as people write text.

    >>> detokenized("He did n't see Alfred 's `` dog '' -LRB- 1997 -RRB- .")
    'He didn\\'t see Alfred\\'s "dog" (1997).'
    """
    words = [_BRACKETS.get(word, word) for word in text.split()]
    parts: list[str] = []
    opened = glued = False
    for word in words:
        quote = word in ("``", "''", '"')
        if quote:  # '' closes, but some corpora open with it, too
            opened = word == "``" or not opened
        blank = "" if glued or (quote and not opened) else " "
        parts.append(blank + ('"' if quote else word))
        glued = quote and opened
    joined = "".join(parts).strip()
    return _RIGHT.sub("", _LEFT.sub("", joined))


def json_pairs(path: Path, fields: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Yield source and target of every object; one whose target is a list gives a pair for each.

    Raises:
        DataError: a line is no JSON object with both fields as text.
    """
    for number, line in enumerate(open_text(path), 1):
        try:
            found = json.loads(line)
            source, target = found[fields[0]], found[fields[1]]
        except (ValueError, KeyError, TypeError):
            raise DataError(
                f"{path}:{number}: expected an object with {' and '.join(fields)}: {line[:60]!r}"
            ) from None
        for text in target if isinstance(target, list) else [target]:
            if not (isinstance(source, str) and isinstance(text, str)):
                raise DataError(f"{path}:{number}: {' and '.join(fields)} must be text")
            yield source, text
