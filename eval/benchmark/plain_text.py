"""Tokenized sentences as people write them, and edits of that text as tokens again.

Grammar checkers take plain text; scorers take tokens. A sentence keeps where each token stands in
its plain text, so that tokens which no edit touches come back exactly as they were, whatever
tokenized them. Only what an edit writes is tokenized anew, by :mod:`gec.text.words`.

>>> sentence = plain("He do n't has a car .")
>>> sentence.text
"He don't has a car."
>>> sentence.edited([Fix(9, 12, "have"), Fix(13, 14, "the big")])
"He do n't have the big car ."
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gec.eval.benchmark.checker_peers import Fix
from gec.models.load.foreign import detokenize
from gec.text.words import tokenize_line

_PENN = {"``": '"', "''": '"', "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]"}


@dataclass(frozen=True, slots=True)
class Plain:
    """A sentence's tokens, its plain text, and where each token stands in it (code points)."""

    tokens: tuple[str, ...]
    text: str
    spans: tuple[tuple[int, int], ...]

    def edited(self, fixes: Iterable[Fix]) -> str:
        """Return the tokens after edits, set off by blanks.

        Of edits that overlap, the one that begins first is made.
        """
        found: list[str] = []
        done = 0
        for first, last, text in self._regions(list(chosen(fixes))):
            found += self.tokens[done:first]
            words = self._tokenized(first, text)
            old = self.tokens[first:last]
            found += old if words == [_PENN.get(token, token) for token in old] else words
            done = last
        return " ".join([*found, *self.tokens[done:]])

    def _tokenized(self, first: int, text: str) -> list[str]:
        """Tokenize what stands from the token ``first`` on; "'ve" is one token behind "I" only."""
        if 0 < first < len(self.spans) and self.spans[first - 1][1] == self.spans[first][0]:
            before = self.text[slice(*self.spans[first - 1])]
            words = tokenize_line(before + text)
            if words[:1] == [before]:
                return words[1:]
        return tokenize_line(text)

    def _regions(self, fixes: Sequence[Fix]) -> Iterable[tuple[int, int, str]]:
        """Yield which tokens each run of edits touches, and their text after the edits."""
        at = 0
        while at < len(fixes):
            first, last = self._touched(fixes[at])
            run = [fixes[at]]
            at += 1
            while at < len(fixes) and (more := self._touched(fixes[at]))[0] < last:
                run.append(fixes[at])
                last = max(last, more[1])
                at += 1
            begin = min(self.spans[first][0] if first < last else run[0].start, run[0].start)
            end = max(self.spans[last - 1][1] if first < last else run[-1].end, run[-1].end)
            yield first, last, _apply(self.text, run, begin, end)

    def _touched(self, fix: Fix) -> tuple[int, int]:
        """Return which tokens an edit changes; between two tokens, those that it meets."""
        inside = [i for i, (a, b) in enumerate(self.spans) if a < fix.end and b > fix.start]
        if not inside:
            inside = [i for i, (a, b) in enumerate(self.spans) if a == fix.end or b == fix.start]
        if inside:
            return inside[0], inside[-1] + 1
        place = sum(end <= fix.start for _, end in self.spans)
        return place, place


def plain(line: str) -> Plain:
    """Return a tokenized sentence with its plain text."""
    tokens = tuple(line.split())
    words = [_PENN.get(token, token) for token in tokens]
    text = _joined(words)
    spans, at = [], 0
    for word in words:
        at = text.index(word, at)
        spans.append((at, at + len(word)))
        at += len(word)
    return Plain(tokens, text, tuple(spans))


def chosen(fixes: Iterable[Fix]) -> Iterable[Fix]:
    """Yield edits in the order of their places, without those that overlap one before them."""
    end = -1
    last: Fix | None = None
    for fix in sorted(fixes, key=lambda fix: fix[:2]):
        if fix.start >= end and not (last and fix[:2] == last[:2]):
            yield fix
            end, last = fix.end, fix


def _apply(text: str, fixes: Sequence[Fix], begin: int, end: int) -> str:
    parts, at = [], begin
    for fix in fixes:
        parts += [text[at : fix.start], fix.replacement]
        at = fix.end
    return "".join([*parts, text[at:end]])


def _joined(words: Sequence[str]) -> str:
    """Join words, with what needs a look at the whole sentence.

    A single apostrophe belongs to the word before it, and a quotation that began in an earlier
    sentence ends at the last word.
    """
    text = detokenize(words)
    if words.count("'") == 1:
        text = text.replace("s '", "s'", 1)
    if words.count('"') % 2 and text.endswith(' "') and not text.startswith('"'):
        text = text[:-2] + '"'
    return text
