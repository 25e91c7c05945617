"""Decoder: batches of sources in, hypotheses out, by the loop of :mod:`gec.decoding.loop`."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

from gec.decoding.acceptance import Acceptance, Exact
from gec.decoding.drafters import Drafter, NoDraft
from gec.decoding.loop import step
from gec.decoding.model import Model
from gec.decoding.state import Hypothesis, Row, State, Stream
from gec.errors import ConfigError, InputError

__all__ = ["Decoder", "Hypothesis", "LengthLimit", "Row", "State"]


@dataclass(frozen=True, slots=True)
class LengthLimit:
    """At most ``ratio`` x source length + ``extra`` output tokens (EOS included)."""

    ratio: float = 1.5
    extra: int = 20

    def __post_init__(self) -> None:
        if not (self.ratio >= 0 and self.extra >= 1):
            raise ConfigError(
                f"a length limit needs a ratio of at least 0 and an extra of at least 1, "
                f"not {self.ratio} and {self.extra}"
            )

    def __call__(self, source: Sequence[int]) -> int:
        return int(self.ratio * len(source)) + self.extra


class Decoder:
    """Decodes batches of sources with one model, drafter and acceptance rule."""

    def __init__(
        self,
        model: Model,
        drafter: Drafter | None = None,
        acceptance: Acceptance | None = None,
        *,
        limit: LengthLimit | None = None,
        seed: int = 0,
    ) -> None:
        self.model = model
        self.drafter = drafter or NoDraft()
        self.acceptance = acceptance or Exact()
        self.limit = limit or LengthLimit()
        self.seed = seed

    def decode(
        self, sources: Sequence[Sequence[int]], *, batch_size: int = 32
    ) -> list[list[Hypothesis]]:
        """Decode token id sequences (no BOS, no EOS); the results are in the order of the sources.

        Sources of like length are decoded together, shortest first; which ones share a pass changes
        no token but for floating-point ties.

        Returns:
            Per source its hypotheses, best first: one, or up to the beam size in beam search.

        Raises:
            InputError: a source has more tokens than the model has positions.
            ConfigError: batch_size < 1.
        """
        if batch_size < 1:
            raise ConfigError(f"batch_size must be at least 1, not {batch_size}")
        longest = self.model.max_positions - 1
        for number, source in enumerate(sources):
            if len(source) > longest:
                raise InputError(
                    f"source {number} has {len(source)} tokens, the model takes {longest}: split it"
                )
        streams = _streams(self.seed, sources)
        waiting = [
            Row(
                number,
                sources[number],
                min(self.limit(sources[number]), self.model.max_positions),
                stream=streams[number],
            )
            for number in sorted(range(len(sources)), key=lambda i: len(sources[i]))
        ]
        finished = self._decode(waiting, batch_size)
        return [sorted(found, key=lambda h: (h.truncated, -h.score)) for found in finished]

    def _decode(self, rows: Sequence[Row], batch_size: int) -> list[list[Hypothesis]]:
        """Decode the rows in their order, at most ``batch_size`` sentences at a time."""
        state = State(self.model, self.drafter, len(rows))
        waiting = deque(rows)
        while waiting or state.rows:
            live = len({row.sentence for row in state.rows})
            # few at a time would make encoder passes over few sentences
            if waiting and 2 * live <= batch_size:
                count = min(batch_size - live, len(waiting))
                state.admit([waiting.popleft() for _ in range(count)])
            step(state, self.acceptance)
        return state.finished


def _streams(seed: int, sources: Sequence[Sequence[int]]) -> list[Stream]:
    """Return one stream of random numbers a source, seeded by itself and by nothing around it.

    Where a source stands among how many others makes no difference; equal ones are told apart.
    """
    seen: Counter[tuple[int, ...]] = Counter()
    streams = []
    for source in map(tuple, sources):
        seen[source] += 1
        streams.append(Stream(f"{seed} {seen[source]} {source}"))
    return streams
