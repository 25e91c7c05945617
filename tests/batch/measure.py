"""Measure ``gec batch``: memory over a run, and its rate beside the engine's own.

    python tests/batch/measure.py memory --lines 1000000
    python tests/batch/measure.py memory --lines 1000000 --model
    python tests/batch/measure.py rate test.src --limit 2000

``memory`` generates lines and corrects them with a model that changes one word (no network), in a
process whose resident memory is read all the while: what it shows is the pipeline's. With
``--model`` it is ``gec batch`` itself, with the shipped model, as a user starts it. ``rate``
corrects the sentences of a file, tokenized and one a line, with the shipped model: once with the
decoder alone, as ``gec bench`` does, and once through the pipeline, each in the same batches.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

RUN = """
import sys
from functools import partial
from batch.batch_fakes import load
from gec.batch.pipeline import Plan, Task, run
from gec.batch.pool import Pool
from gec.batch.text import Lines
pool = Pool(partial(load, 0.0), int(sys.argv[3]))
print(run([Task(sys.argv[1], sys.argv[2], Lines())], pool.run, Plan(about={}, quiet=True), print))
pool.close()
"""


def sentence(number: int) -> str:
    """A line like no other, with a mistake."""
    return f"They go to the office number {number} and comes home in the evening.\n"


def memory(args: argparse.Namespace) -> None:
    """Print the resident memory of the main process in ten parts of a run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "in.txt").open("w") as file:
            for number in range(args.lines):
                file.write(sentence(number))
        files = [folder / "in.txt", folder / "out.txt"]
        command = [sys.executable, "-c", RUN, *files, str(args.jobs)]
        if args.model:
            options = ["--threads", "1", "--jobs", str(args.jobs), "--quiet"]
            command = [sys.executable, "-m", "gec", "batch", *options, *files]
        began = time.perf_counter()
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(HERE.parent)})
        seen: list[float] = []
        while process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text()
            seen += [int(line.split()[1]) / 1024 for line in status.splitlines() if "VmRSS" in line]
            time.sleep(0.05)
        seconds = time.perf_counter() - began
    if process.returncode:
        raise SystemExit(process.returncode)
    print(f"{args.lines:,} lines in {seconds:.1f} s: {args.lines / seconds:,.0f} lines a second")
    parts = [seen[i * len(seen) // 10 : (i + 1) * len(seen) // 10] for i in range(10)]
    print("MB, the most in each tenth:", *(f"{max(part, default=0):.0f}" for part in parts))


def rate(args: argparse.Namespace) -> None:
    """Print sentences a second of the decoder alone and of the pipeline."""
    import torch

    from gec.batch.blocks import Size
    from gec.batch.engine import Engine
    from gec.batch.pipeline import Plan, Task, run
    from gec.batch.pool import Pool
    from gec.batch.text import Lines
    from gec.loading import load

    torch.set_num_threads(args.threads)
    lines = Path(args.file).read_text().splitlines()[: args.limit]
    corrector = load("en", device=args.device)
    sources: list[tuple[int, ...]] = []

    def keep(found: list[tuple[int, ...]], tolerance: float) -> list[object]:
        sources.extend(found)
        return list(corrector.decode(found, tolerance, batch_size=args.batch_size))

    spy = corrector.with_decoder(partial(keep))  # type: ignore[arg-type]
    list(spy.correct_tokenized(lines, batch_size=len(lines)))  # warms up, too
    tolerance = corrector.settings["balanced"].tolerance
    began = time.perf_counter()
    corrector.decode(sources, tolerance, batch_size=args.batch_size)
    alone = len(lines) / (time.perf_counter() - began)
    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name, "in.txt"), Path(name, "out.txt")
        source.write_text("".join(line + "\n" for line in lines))
        engine = Engine(corrector, args.batch_size, tokenized=True)
        pool = Pool(lambda number, jobs: engine)
        began = time.perf_counter()
        plan = Plan(about={}, size=Size(records=args.block_size), quiet=True)
        run([Task(str(source), str(target), Lines())], pool.run, plan, print)
        through = len(lines) / (time.perf_counter() - began)
        pool.close()
    print(f"decoder alone {alone:.1f} sentences a second, gec batch {through:.1f}: "
          f"{through / alone:.0%}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("memory")
    one.add_argument("--lines", type=int, default=1_000_000)
    one.add_argument("--jobs", type=int, default=1)
    one.add_argument("--model", action="store_true", help="with the shipped model")
    one.set_defaults(run=memory)
    two = commands.add_parser("rate")
    two.add_argument("file")
    two.add_argument("--limit", type=int, default=2000)
    two.add_argument("--threads", type=int, default=1)
    two.add_argument("--device")
    two.add_argument("--batch-size", type=int, default=32)
    two.add_argument("--block-size", type=int, default=512)
    two.set_defaults(run=rate)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
