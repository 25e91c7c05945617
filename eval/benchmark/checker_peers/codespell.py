"""codespell: a list of misspellings of English words with their corrections."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from gec.errors import ModelError
from gec.eval.benchmark.checker_peers import Fix

DICTIONARIES = ("dictionary.txt", "dictionary_rare.txt")
"""Those of its defaults, "clear" and "rare"."""


class Codespell:
    """The package's own dictionaries, words and letter case, without starting its program anew.

    Where it offers several corrections, its program asks; the first is taken here.
    """

    def __init__(self) -> None:
        import codespell_lib

        version = metadata.version("codespell")
        try:
            from codespell_lib._codespell import word_regex_def
            from codespell_lib._spellchecker import build_dict
            from codespell_lib._text_util import fix_case
        except ImportError as error:
            raise ModelError(
                f"codespell {version} is arranged otherwise ({error}); 2.4.3 is known to work"
            ) from error
        self._words = re.compile(word_regex_def)
        self._fix_case = fix_case
        self._known: dict[str, Any] = {}
        for name in DICTIONARIES:
            path = Path(codespell_lib.__file__).parent / "data" / name
            build_dict(str(path), self._known, set())
        self.about = f"codespell {version}; dictionaries clear and rare, as by default"

    def check(self, texts: Sequence[str], setting: str) -> list[list[Fix]]:
        return [
            [
                Fix(*match.span(), self._correction(match[0]))
                for match in self._words.finditer(text)
                if match[0].lower() in self._known
            ]
            for text in texts
        ]

    def _correction(self, word: str) -> str:
        fixed: str = self._fix_case(word, self._known[word.lower()].data)
        return fixed.partition(",")[0].strip()


def load() -> Codespell:
    return Codespell()
