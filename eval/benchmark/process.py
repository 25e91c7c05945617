"""What a whole ``gec correct`` costs: memory above the bundle's size, and seconds from cold.

Run as a program it is that process: it corrects, and then says how much memory it had at most.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gec.eval.benchmark.memory import peak_memory

MIB = 2**20
STARTS = 3


@dataclass(frozen=True, slots=True)
class Process:
    """Sizes in MiB, times in seconds.

    Attributes:
        bundle: all files of the bundle's folder.
        peak: the most memory resident at once while a text was corrected.
        start: median time of a command that corrects one sentence, imports included.
    """

    bundle: float
    peak: float
    start: float
    sentences: int
    threads: int

    @property
    def above(self) -> float:
        return self.peak - self.bundle

    def text(self) -> str:
        return (
            f"`gec correct` on {self.sentences} sentences, {self.threads} threads: at most "
            f"{self.peak:.0f} MiB resident, {self.above:.0f} MiB above the bundle's "
            f"{self.bundle:.0f} MiB on disk. One sentence from a cold start: {self.start:.2f} s."
        )


def measure_process(model: str, sentences: Sequence[Sequence[str]], threads: int) -> Process:
    """Run the command in processes of its own.

    Raises:
        ModelError: no such bundle.
        RuntimeError: the command failed.
    """
    import numpy as np

    from gec.eval.benchmark.harness import Times, take_turns  # not in what is measured
    from gec.models.load.bundle import find

    folder = find(model)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    with TemporaryDirectory(prefix="gec-bench-") as place:
        text, line = Path(place, "text.txt"), Path(place, "line.txt")
        text.write_text("".join(" ".join(words) + "\n" for words in sentences), encoding="utf-8")
        line.write_text(" ".join(sentences[0]) + "\n", encoding="utf-8")
        options = ["--model", model, "--threads", str(threads)]
        peak, _ = _run([str(text), *options])
        seconds, _ = take_turns([_run], [[str(line), *options]], rounds=STARTS, warm_up=0)
        start = Times(seconds[0], np.ones(1)).total
    return Process(size / MIB, peak / MIB, start, len(sentences), threads)


def _run(arguments: Sequence[str]) -> tuple[int, float]:
    """Return the peak in bytes, and the seconds from start to end."""
    command = [sys.executable, "-m", "gec.eval.benchmark.process", *arguments]
    began = time.perf_counter()
    done = subprocess.run(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=False,
    )
    seconds = time.perf_counter() - began
    if done.returncode:
        raise RuntimeError(f"gec correct failed: {done.stderr.strip().splitlines()[-1:]}")
    return int(json.loads(done.stderr.splitlines()[-1])["peak"]), seconds


def main() -> int:
    from gec.cli import main as command

    status = command(["correct", *sys.argv[1:]])
    print(json.dumps({"peak": peak_memory()}), file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
