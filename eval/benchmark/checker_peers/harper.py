"""Harper, a grammar checker in Rust, by its Python package harper-py."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from typing import Any

from gec.eval.benchmark.checker_peers import Fix


class Harper:
    """American English, plain text, the rules that are on by default."""

    def __init__(self) -> None:
        import harper

        self._kinds = harper.SuggestionKind
        self._linter = harper.Linter(harper.Dialect.AMERICAN)
        version = metadata.version("harper-py")
        self.about = f"harper-py {version}; American English, plain text, default rules"

    def check(self, texts: Sequence[str], setting: str) -> list[list[Fix]]:
        return [
            [self._fix(lint) for lint in self._lints(text) if lint.suggestions] for text in texts
        ]

    def _lints(self, text: str) -> list[Any]:
        lints: list[Any] = self._linter.lint(text, language="plaintext")
        return lints

    def _fix(self, lint: Any) -> Fix:
        suggestion, span = lint.suggestions[0], lint.span
        if suggestion.kind == self._kinds.REMOVE:
            return Fix(span.start, span.end, "")
        if suggestion.kind == self._kinds.INSERT_AFTER:
            return Fix(span.end, span.end, suggestion.replacement_text)
        return Fix(span.start, span.end, suggestion.replacement_text)


def load() -> Harper:
    return Harper()
