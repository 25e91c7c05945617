"""Drafting by whichever drafter is fastest at the moment, none of them among the choices.

Every pass has one drafter for all its rows; :class:`gec.decoding.bandit.Bandit` chooses it. All of
them draft for one verifier under one exact rule, so the output is greedy decoding's whatever is
chosen. A drafter learns of a sentence when it is first asked for a draft of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

from gec.decoding.bandit import Bandit
from gec.decoding.drafters import Drafter, NoDraft
from gec.decoding.model import Model

if TYPE_CHECKING:
    from gec.decoding.acceptance import Kept
    from gec.decoding.scores import Scores
    from gec.decoding.state import State


class GuestModel(Model, Protocol):
    """A model that works in the memory of a plain verifier of the same network."""

    def fits(self, model: Model) -> bool:
        """Whether it can work in the memory of a model."""

    def over(self, memory: Any) -> Any:
        """Return a memory of its own around a plain verifier's, which the two then share."""


@dataclass(frozen=True, slots=True)
class Way:
    """A drafter, and the model that verifies with it; None: the plain verifier."""

    drafter: Drafter
    model: GuestModel | None = None


@dataclass(slots=True)
class Memory:
    """Per row its source, and the drafters' memories, made when they are first needed.

    Attributes:
        held: by the name of a way its drafter's memory and the rows that the memory has, in the
            memory's order.
        way: of the pass that is being made, begun at ``began`` seconds.
    """

    sources: list[Sequence[int]]
    held: dict[str, tuple[Any, list[int]]] = field(default_factory=dict)
    way: str = ""
    began: float = 0.0


@dataclass(frozen=True, slots=True)
class Lent:
    """A plain verifier's memory, lent to a guest for a pass."""

    plain: Any
    model: GuestModel
    memory: Any


class HostVerifier:
    """Meets :class:`gec.decoding.model.Model` with a plain verifier, or a guest in its memory."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.bos_id, self.eos_id = model.bos_id, model.eos_id
        self.max_positions = model.max_positions

    def start(self, sources: Sequence[Sequence[int]]) -> Any:
        return self.model.start(sources)

    def verify(self, memory: Any, tokens: Sequence[Sequence[int]], starts: Sequence[int]) -> Scores:
        if isinstance(memory, Lent):
            return memory.model.verify(memory.memory, tokens, starts)
        return self.model.verify(memory, tokens, starts)

    def select(self, memory: Any, rows: Sequence[int]) -> Any:
        return self.model.select(memory, rows)

    def join(self, memory: Any, other: Any) -> Any:
        return self.model.join(memory, other)


class AutoDrafter(Drafter):
    """Drafts as the bandit says, and tells it what became of that.

    Args:
        ways: by name; the first one drafts nothing.
        first: the way to begin with.
        budget: the share of the time that may be lost against drafting nothing.
        clock: seconds.
    """

    def __init__(
        self,
        ways: dict[str, Way],
        *,
        first: str = "",
        budget: float = 0.05,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.ways, self.clock = ways, clock
        self.bandit = Bandit(list(ways), first=first, budget=budget)
        self._greedy = next(iter(ways))
        self._unseen = self._made = 0  # passes that are made unseen: still, and so far

    def start(self, sources: Sequence[Sequence[int]]) -> Memory:
        memory = Memory(list(sources))
        self._begin(memory, self.bandit.current.name)  # next to the verifier, as others do
        return memory

    def propose(self, state: State) -> Sequence[Sequence[int]]:
        memory: Memory = state.draft_memory
        if self._unseen > 0:
            self._unseen, self._made, memory.way = self._unseen - 1, self._made + 1, ""
            return [[] for _ in state.rows]
        if (name := self.bandit.unknown(len(state.rows))) is not None:
            self._measure(memory, name)
        memory.way = self.bandit.choose(len(state.rows))
        way = self.ways[memory.way]
        if isinstance(way.drafter, NoDraft):
            memory.began = self.clock()
            return way.drafter.propose(state)
        self._begin(memory, memory.way)
        memory.began = self.clock()
        if way.model is not None:
            state.memory = way.model.over(plain := state.memory)
        state.draft_memory, rows = memory.held[memory.way]
        drafts = way.drafter.propose(state)
        memory.held[memory.way] = state.draft_memory, rows
        state.draft_memory = memory
        if way.model is not None:
            state.memory = Lent(plain, way.model, state.memory)
        return drafts

    def observe(self, state: State, kept: Sequence[Kept]) -> None:
        memory: Memory = state.draft_memory
        if not memory.way:
            return
        way = self.ways[memory.way]
        if not isinstance(way.drafter, NoDraft):
            lent = state.memory
            if isinstance(lent, Lent):
                state.memory = lent.memory
            state.draft_memory, rows = memory.held[memory.way]
            way.drafter.observe(state, kept)
            memory.held[memory.way] = state.draft_memory, rows
            state.draft_memory = memory
            if isinstance(lent, Lent):
                state.memory = lent.plain
        seconds = self.clock() - memory.began
        tokens = sum(len(choice.tokens) for choice in kept)
        unseen, self._made = self._made if memory.way == self._greedy else 0, 0
        self.bandit.learn(memory.way, len(state.rows), seconds, tokens, unseen)
        self._unseen = self.bandit.unseen(len(state.rows))
        for choice in kept:
            if choice.tokens[-1] == state.eos_id:
                self.bandit.ended(len(state.rows[choice.parent].tokens) + len(choice.tokens))

    def select(self, memory: Memory, rows: Sequence[int]) -> Memory:
        chosen = Memory([memory.sources[row] for row in rows])
        for name, (inner, held) in memory.held.items():
            places = {row: place for place, row in enumerate(held)}
            pairs = [(new, places[old]) for new, old in enumerate(rows) if old in places]
            if pairs:
                inner = self.ways[name].drafter.select(inner, [place for _, place in pairs])
                chosen.held[name] = inner, [new for new, _ in pairs]
        return chosen

    def join(self, memory: Memory, other: Memory) -> Memory:
        first = len(memory.sources)
        joined = Memory(memory.sources + other.sources, dict(memory.held))
        for name, (inner, held) in other.held.items():
            rows = [first + row for row in held]
            if name in joined.held:
                ours, before = joined.held[name]
                inner, rows = self.ways[name].drafter.join(ours, inner), before + rows
            joined.held[name] = inner, rows
        return joined

    def _measure(self, memory: Memory, name: str) -> None:
        """Let a drafter know one row, to measure how long it takes for a sentence."""
        began = self.clock()
        inner = self.ways[name].drafter.start(memory.sources[:1])
        memory.held[name] = inner, [0]
        self.bandit.started(name, 1, self.clock() - began)

    def _begin(self, memory: Memory, name: str) -> None:
        """Let a drafter know every row, in the rows' order."""
        drafter = self.ways[name].drafter
        if isinstance(drafter, NoDraft):
            return
        inner, held = memory.held.get(name, (None, cast("list[int]", [])))
        every = list(range(len(memory.sources)))
        if held == every:
            return
        began = self.clock()
        known = set(held)
        missing = [row for row in every if row not in known]
        if missing:
            new = drafter.start([memory.sources[row] for row in missing])
            inner, held = (drafter.join(inner, new) if held else new), held + missing
        if held != every:
            places = {row: place for place, row in enumerate(held)}
            inner = drafter.select(inner, [places[row] for row in every])
        memory.held[name] = inner, every
        if missing:
            self.bandit.started(name, len(missing), self.clock() - began)
