"""fairseq, the papers' baseline: a process in an environment of its own, asked line by line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from gec.errors import ModelError
from gec.eval.benchmark.contenders import Answer, Contender, Ids, batches
from gec.eval.benchmark.peers import Setup

VARIABLE = "GEC_FAIRSEQ_PYTHON"
DEFAULT = ".venv-fairseq/bin/python"
PROGRAM = "gec.eval.benchmark.peers.fairseq_program"


def interpreter(given: str | None) -> str:
    """Return fairseq's Python: as given, else by ``$GEC_FAIRSEQ_PYTHON``, else the Makefile's."""
    return given or os.environ.get(VARIABLE) or DEFAULT


class Process:
    """The program in fairseq's environment; raises ModelError where it does not start.

    Args:
        python: an interpreter that has fairseq and gec.
        folder: the exported model.
        forced: every output gets exactly the tokens that a job allows at most.
    """

    def __init__(self, python: str, folder: Path, threads: int, *, forced: bool) -> None:
        if shutil.which(python) is None:
            raise ModelError(
                f"no Python with fairseq at {python}: make .venv-fairseq, or name one with "
                f"--fairseq-python or ${VARIABLE}"
            )
        self._messages: IO[bytes] = TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [python, "-m", PROGRAM, str(folder), f"--threads={threads}", *["--forced"] * forced],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            text=True,
            encoding="utf-8",
        )
        try:
            self.about = self._read()
        except ModelError:
            self.close()
            raise

    def ask(self, job: dict[str, Any]) -> dict[str, Any]:
        """Send a job, return its answer; raises ModelError where it failed."""
        assert self._process.stdin
        try:
            print(json.dumps(job), file=self._process.stdin, flush=True)
        except OSError:
            raise ModelError(f"fairseq has ended: {self._last_words()}") from None
        return self._read()

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        try:
            self._process.stdin.close()
            self._process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._messages.close()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise ModelError(f"fairseq has ended: {self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ModelError(f"fairseq: {answer['error']}")
        return answer

    def _last_words(self) -> str:
        self._process.wait()
        self._messages.seek(0)
        lines = self._messages.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"exit status {self._process.returncode}"


class Fairseq:
    """``SequenceGenerator`` as ``fairseq-generate`` sets it up; the process takes the time."""

    engine, precision = "fairseq", "fp32"

    def __init__(self, process: Process, setup: Setup, strategy: str, size: int) -> None:
        self.process, self.setup = process, setup
        self.strategy, self.size = strategy, size

    def decode(self, sources: Sequence[Ids], batch_size: int) -> Answer:
        outputs: list[Ids] = []
        seconds = 0.0
        for batch in batches(sources, batch_size):
            job = {"sources": batch, "beam": self.size, "batch_size": batch_size}
            answer = self.process.ask(job | {"max_length": self.setup.length(batch)[1]})
            outputs += map(tuple, answer["outputs"])
            seconds += sum(answer["seconds"])
        return Answer(outputs, seconds)


def contenders(setup: Setup) -> list[Contender]:
    """Export, and start the process; fp32 on a CPU only.

    Raises:
        ModelError: no such environment, it does not start, or fairseq cannot express the network.
    """
    from gec.models.convert.fairseq import network_to_fairseq, to_fairseq

    if "fp32" not in setup.precisions or setup.device.type != "cpu":
        raise ModelError("fairseq is timed in fp32 on a CPU only")
    folder = setup.folder / "fairseq"
    if setup.lengths is None:
        to_fairseq(setup.bundle, folder)
    else:  # a vocabulary larger than the tokenizer's, made up
        network_to_fairseq(setup.bundle.transformer, folder)
    process = Process(setup.fairseq_python, folder, setup.threads, forced=setup.lengths is not None)
    setup.stack.callback(process.close)
    return [Fairseq(process, setup, *search) for search in setup.searches().items()]
