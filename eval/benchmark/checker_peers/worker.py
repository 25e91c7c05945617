"""A checker that runs in a process of its own, seen from ours."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from tempfile import TemporaryFile
from types import TracebackType
from typing import Any, Self

from gec.errors import ModelError
from gec.eval.benchmark.checker_peers import Fix

PROGRAM = "gec.eval.benchmark.checker_peers.program"


class Worker:
    """A checker's process, from ``with`` to its end.

    Attributes:
        about: its version and settings, in its own words.

    Raises:
        ModelError: the checker cannot be loaded or has failed; says why.
    """

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self.name = name
        self._said = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", PROGRAM, name, json.dumps(dict(options))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            encoding="utf-8",
        )
        try:
            self.about: str = self._answer()["about"]
        except BaseException:
            self.close()
            raise

    def check(self, texts: Sequence[str], setting: str = "") -> tuple[list[list[Fix]], float]:
        """Return the fixes of every text, and the seconds that the checker took for all."""
        answer = self._ask({"texts": list(texts), "setting": setting})
        fixes = [[Fix(*fix) for fix in found] for found in answer["fixes"]]
        return fixes, float(answer["seconds"])

    def peak(self) -> int:
        """Return the most memory that the process had resident, in bytes."""
        return int(self._ask({"peak": True})["peak"])

    def close(self) -> None:
        """End the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()
        self._process.terminate()
        self._process.wait()
        self._said.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure() from None
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise self._failure()
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ModelError(f"{self.name}: {answer['error']}")
        return answer

    def _failure(self) -> ModelError:
        self._process.wait()
        self._said.seek(0)
        last = self._said.read().strip().splitlines()[-1:] or ["without a word"]
        return ModelError(f"{self.name} ended: {last[0]}")
