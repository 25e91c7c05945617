"""Hunspell, the spelling checker of browsers and office programs, by its package chunspell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import metadata

from gec.eval.benchmark.checker_peers import Fix

WORD = re.compile(r"(?<![\w'’])[^\W\d_]+(?:['’][^\W\d_]+)*(?!\w)")
"""Letters with apostrophes between them; words with figures are left alone."""


class Hunspell:
    """The American dictionary that the package brings; every unknown word gets its first guess."""

    def __init__(self) -> None:
        from hunspell import Hunspell as Dictionary

        self._dictionary = Dictionary("en_US")
        version = metadata.version("chunspell")
        self.about = f"Hunspell in chunspell {version}; its dictionary en_US"

    def check(self, texts: Sequence[str], setting: str) -> list[list[Fix]]:
        return [
            [
                Fix(*match.span(), guess)
                for match in WORD.finditer(text)
                if (guess := self._guess(match[0])) is not None
            ]
            for text in texts
        ]

    def _guess(self, word: str) -> str | None:
        plain = word.replace("’", "'")
        try:
            if self._dictionary.spell(plain):
                return None
            guesses = self._dictionary.suggest(plain)
        except UnicodeEncodeError:  # letters that the dictionary's encoding lacks
            return None
        return str(guesses[0]) if guesses else None


def load() -> Hunspell:
    return Hunspell()
