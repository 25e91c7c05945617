"""Text in, text out, for what is not a correction: translation, summarization, simplification.

A line is a text of its own: it is cut into sentences where the bundle was trained on sentences,
and further where a piece is longer than the model reads; the outputs are joined by blanks. There
are always as many outputs as lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from gec.decoding.decoder import Decoder, Hypothesis
from gec.decoding.drafters.auto import AutoDrafter
from gec.decoding.trace import Trace
from gec.errors import ConfigError
from gec.text.segmentation import segment
from gec.text.vocabulary import TextCodec

_AHEAD = 16  # batches that are cut and sorted by length together
_END_OF_CLAUSE = re.compile(r"(?<=[,;:.!?])\s+")
_BLANK = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Piece:
    """One decoded piece of a line, a sentence in most cases.

    Attributes:
        truncated: the output reached the length limit before the model ended it.
        trace: the passes that made it.
    """

    source: str
    text: str
    truncated: bool
    trace: Trace


@dataclass(frozen=True, slots=True)
class Generation:
    """The output of one line and the pieces it is made of; none where the line is blank."""

    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return " ".join(piece.text for piece in self.pieces if piece.text)

    @property
    def truncated(self) -> bool:
        return any(piece.truncated for piece in self.pieces)


class Generator:
    """A decoder behind text.

    Args:
        longest: the most tokens a source piece may have (without EOS); None takes the model's
            positions.
        split: cut lines into sentences.
        about: facts for ``info``.

    Raises:
        ConfigError: ``longest`` is below 1 or beyond the model's positions.
    """

    def __init__(
        self,
        decoder: Decoder,
        codec: TextCodec,
        *,
        longest: int | None = None,
        split: bool = True,
        about: Mapping[str, str | int] | None = None,
    ) -> None:
        most = decoder.model.max_positions - 1
        self.longest = most if longest is None else longest
        if not 1 <= self.longest <= most:
            raise ConfigError(f"longest source must be from 1 to {most} tokens, not {longest}")
        self.decoder, self.codec, self.split = decoder, codec, split
        self.about = dict(about or {})

    def generate(self, line: str) -> Generation:
        """Return the output of one text."""
        (generation,) = self.generate_many([line])
        return generation

    def generate_many(self, lines: Iterable[str], *, batch_size: int = 32) -> Iterator[Generation]:
        """Yield the outputs of many lines, in order, reading some batches ahead."""
        if batch_size < 1:
            raise ConfigError(f"batch size must be at least 1, not {batch_size}")
        lines = iter(lines)
        while block := list(islice(lines, _AHEAD * batch_size)):
            pieces = [self.cut(line) for line in block]
            sources = [self.codec.encode(piece) for found in pieces for piece in found]
            outputs = iter(self.decoder.decode(sources, batch_size=batch_size))
            for found in pieces:
                yield Generation(tuple(self._piece(piece, next(outputs)[0]) for piece in found))

    def chosen(self) -> str | None:
        """Return how much each strategy was used, and why; None where one is given."""
        drafter = self.decoder.drafter
        return drafter.bandit.report() if isinstance(drafter, AutoDrafter) else None

    def cut(self, line: str) -> list[str]:
        """Return the pieces of a line that are decoded one by one; together they are the line."""
        sentences = _sentences(line) if self.split else [line.strip()]
        return [piece for sentence in sentences for piece in self._fitting(sentence)]

    def _fitting(self, text: str) -> list[str]:
        """Halve a text near its middle until its pieces are short enough for the model."""
        if not text:
            return []
        if len(text) == 1 or len(self.codec.encode(text)) <= self.longest:
            return [text]
        left, right = _halves(text)
        return self._fitting(left) + self._fitting(right)

    def _piece(self, source: str, best: Hypothesis) -> Piece:
        text = self.codec.decode(best.tokens)
        tokens = tuple(self.codec.pieces(best.tokens))
        return Piece(source, text, best.truncated, Trace(best.steps, tokens))


def _sentences(line: str) -> list[str]:
    """Cut a line into sentences; what holds no word ("3.", "-") goes with the next or the last."""
    line = line.strip()
    if not re.search(r"[.!?…:;。！？]\W*\s", line):
        return [line]
    sentences: list[str] = []
    start = 0
    for found in segment(line):
        if re.search(r"[^\W\d_]{2}", line[start : found.end]):
            sentences.append(line[start : found.end].strip())
            start = found.end
    if rest := line[start:].strip():
        sentences[-1:] = [" ".join([*sentences[-1:], rest])]
    return sentences


def _halves(text: str) -> tuple[str, str]:
    """Cut a text in two: after a clause in its middle half, else at a blank, else in the middle."""
    middle = len(text) / 2
    for pattern, reach in ((_END_OF_CLAUSE, 0.25), (_BLANK, 0.5)):
        cuts = [m for m in pattern.finditer(text) if abs(m.start() - middle) < reach * len(text)]
        if cuts:
            cut = min(cuts, key=lambda match: abs(match.start() - middle))
            return text[: cut.start()], text[cut.end() :]
    half = len(text) // 2
    return text[:half], text[half:]
