"""Engines without a network or torch, quick to import, for runs in processes of their own."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gec.batch.blocks import Outcome
from gec.edits.edits import Edit, apply

Spans = Sequence[tuple[tuple[int, int], ...]]


@dataclass(frozen=True)
class Corrected:
    """As much of a gec.correct.corrector.Correction as formats look at."""

    original: str
    text: str
    edits: tuple[Edit, ...]


def corrected(text: str, protected: Sequence[tuple[int, int]] = ()) -> Any:
    """``go`` becomes ``goes``, but not in protected spans."""
    edits = [
        Edit(m.start(), m.end(), "go", "goes", "R:VERB:SVA", 0.75, "Use 'goes'")
        for m in re.finditer(r"\bgo\b", text)
        if not any(start < m.end() and m.start() < end for start, end in protected)
    ]
    return Corrected(text, apply(text, edits), tuple(edits))


@dataclass
class Engine:
    """A gec.batch.blocks.Correct; texts with FAIL in them fail. ``delay`` seconds a block."""

    delay: float = 0.0

    def __call__(self, texts: Sequence[str], protected: Spans | None = None) -> list[Outcome]:
        time.sleep(self.delay)
        spans = protected or [()] * len(texts)
        return [
            Outcome(None, "the fake model failed") if "FAIL" in text else
            Outcome(corrected(text, own)) for text, own in zip(texts, spans, strict=True)
        ]  # fmt: skip


def environment() -> dict[str, str]:
    """Variables for a process that imports these fakes, and gec from where we have it."""
    paths = [str(Path(__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def load(delay: float, number: int, jobs: int) -> Engine:
    return Engine(delay)


@dataclass
class Waiting(Engine):
    """Leaves a file with its process's id as name in ``folder``, then waits for ``folder.go``."""

    folder: str = ""

    def __call__(self, texts: Sequence[str], protected: Spans | None = None) -> list[Outcome]:
        Path(self.folder, str(os.getpid())).touch()
        for _ in range(6000):  # five minutes: a test that failed leaves no process behind
            if Path(f"{self.folder}.go").exists():
                return super().__call__(texts, protected)
            time.sleep(0.05)
        raise TimeoutError(f"there is no file {self.folder}.go")


def load_waiting(folder: str, number: int, jobs: int) -> Engine:
    return Waiting(folder=folder)


def unchanging(texts: Sequence[str], protected: Spans | None = None) -> list[Outcome]:
    """A model that changes nothing."""
    return [Outcome(Corrected(text, text, ())) for text in texts]  # type: ignore[arg-type]
