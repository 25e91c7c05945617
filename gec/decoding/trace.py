"""What happened while a sentence was decoded: the blocks of Ge et al. 2022, Table 2."""

from __future__ import annotations

from dataclasses import dataclass

_COLOURS = {"drafted": "\033[32m", "decided": "\033[1;33m"}


@dataclass(frozen=True, slots=True)
class Pass:
    """One verification: ``drafted`` tokens proposed, ``accepted`` stood, ``emitted`` in all."""

    drafted: int
    accepted: int
    emitted: int


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive output tokens of one kind: ``drafted`` and accepted, or ``decided`` alone."""

    tokens: tuple[str, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class Trace:
    """The passes of one sentence and the readable tokens they emitted."""

    steps: tuple[Pass, ...]
    tokens: tuple[str, ...] = ()

    @property
    def passes(self) -> int:
        return len(self.steps)

    @property
    def drafted(self) -> int:
        return sum(step.drafted for step in self.steps)

    @property
    def accepted(self) -> int:
        return sum(step.accepted for step in self.steps)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The output cut where a draft ended: accepted tokens, then the verifier's own."""
        blocks, at = [], 0
        for step in self.steps:
            cut, end = at + step.accepted, at + step.emitted
            for kind, tokens in (
                ("drafted", self.tokens[at:cut]),
                ("decided", self.tokens[cut:end]),
            ):
                if tokens:
                    blocks.append(Block(tokens, kind))
            at = end
        return tuple(blocks)

    def render(self, colour: bool = False) -> str:
        """Return one line: ``[She] +goes [to school .]`` with brackets around accepted drafts."""
        parts = []
        for block in self.blocks:
            text = "".join(block.tokens).strip()
            if colour:
                parts.append(f"{_COLOURS[block.kind]}{text}\033[0m")
            else:
                parts.append(f"[{text}]" if block.kind == "drafted" else f"+{text}")
        return (
            f"{' '.join(parts)}  ({self.passes} passes, {self.accepted} of {self.drafted} accepted)"
        )
