"""Measure ``gec batch``: memory over a run, and its rate beside that of ``gec bench``.

    python tests/batch/measure.py memory --lines 1000000
    python tests/batch/measure.py memory --lines 1000000 --model en
    python tests/batch/measure.py rate --limit 2000
    python tests/batch/measure.py rate sentences.txt --model en --rounds 5

``memory`` corrects generated sentences (generated.py) with a model that knows one word (no
network), in a process whose resident memory is read all the while: what it shows is the
pipeline's. With ``--model`` it is ``gec batch`` itself, as a user starts it. A line a minute says
how far it is.

``rate`` corrects the lines of a file, or generated ones, three ways in turn, ``--rounds`` times:
as ``gec bench`` does (its contender ``gec iad``: tokens in, tokens out), with the corrector's
decoder (the same, with probabilities, from which confidences come), and through the whole pipeline
from file to file. All in the same batches, with one model in one process. The time is wall time, or
where the machine does other things, too, the CPU time of the process (``--cpu``).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gec.correct.corrector import Corrector

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from generated import sentences  # noqa: E402

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


# ----------------------------------------------------------------------------------------- memory


def memory(args: argparse.Namespace) -> None:
    """Print the resident memory of the main process in ten parts of a run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "in.txt").open("w") as file:
            # without a network there is one mistake: "go"
            start = "" if args.model else "We go home, and "
            file.writelines(f"{start}{line}\n" for line in sentences(args.lines))
        files = [folder / "in.txt", folder / "out.txt"]
        command = [sys.executable, "-c", RUN, *files, str(args.jobs)]
        if args.model:
            options = ["--threads", "1", "--jobs", str(args.jobs), "--quiet"]
            options += ["--model", args.model]
            command = [sys.executable, "-m", "gec", "batch", *options, *files]
        began = time.monotonic()
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(HERE.parent)})
        seen: list[float] = []
        for megabytes in _watch(process):
            seen.append(megabytes)
            if len(seen) % 600 == 0:
                now = time.monotonic() - began
                print(f"{now:.0f} s: {_done(folder):,} lines, {megabytes:.0f} MB", flush=True)
        seconds = time.monotonic() - began
    if process.returncode:
        raise SystemExit(process.returncode)
    print(f"{args.lines:,} lines in {seconds:.1f} s: {args.lines / seconds:,.0f} lines a second")
    parts = [seen[i * len(seen) // 10 : (i + 1) * len(seen) // 10] for i in range(10)]
    print("MB, the most in each tenth:", *(f"{max(part, default=0):.0f}" for part in parts))


def _watch(process: subprocess.Popen[bytes]) -> Iterator[float]:
    """Yield the process's resident memory, in MB, ten times a second."""
    status = Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        for line in status.read_text().splitlines():
            if line.startswith("VmRSS"):
                yield int(line.split()[1]) / 1024
        time.sleep(0.1)


def _done(folder: Path) -> int:
    """Return how many lines are safe on the disk, by the run's journal."""
    with suppress(OSError, IndexError, KeyError, ValueError):
        last = (folder / "out.txt.journal").read_bytes().split(b"\n")[-2]
        return int(json.loads(last)["commit"]["totals"]["records"])
    return 0


# ------------------------------------------------------------------------------------------- rate


def rate(args: argparse.Namespace) -> None:
    """Print sentences a second of ``gec bench``, of the decoder alone and of the pipeline."""
    import torch

    from gec.eval.benchmark.harness import now, take_turns, timed
    from gec.loading import load

    torch.set_num_threads(args.threads)
    lines = [*sentences(args.limit)]
    if args.file:
        lines = Path(args.file).read_text(encoding="utf-8").splitlines()[: args.limit]
    corrector = load(args.model, device=args.device, precision=args.precision)
    ways = _ways(corrector, lines, args)
    clock = time.process_time if args.cpu else now
    taken, _ = take_turns(
        [timed(way, clock) for way in ways.values()], [lines], rounds=args.rounds, warm_up=1
    )
    seconds = {name: own[0].tolist() for name, own in zip(ways, taken, strict=True)}
    facts = corrector.info()
    print(f"{len(lines):,} lines, {facts['bundle']}, {facts['precision']} on {facts['device']}, "
          f"{args.threads} thread(s), batches of {args.batch_size}, {args.rounds} rounds, "
          f"{'CPU' if args.cpu else 'wall'} time")  # fmt: skip
    bench = seconds["gec bench"]
    print(f"{'':12}{'sentences/s':>12}{'of gec bench':>14}{'from - to':>15}")
    for name, own in seconds.items():
        shares = [a / b for a, b in zip(bench, own, strict=True)]
        span = f"{min(shares):.0%} - {max(shares):.0%}"
        print(f"{name:12}{len(lines) / median(own):12.1f}{median(shares):14.0%}{span:>15}")


def _ways(
    corrector: Corrector, lines: list[str], args: argparse.Namespace
) -> dict[str, Callable[[list[str]], object]]:
    """Return what is timed; all of them decode the same token ids."""
    import torch

    from gec.batch.engine import Engine
    from gec.eval.benchmark.contenders import Ours, batches, model_of
    from gec.eval.benchmark.speed import BATCHES
    from gec.models.load.bundle import load

    size = args.batch_size
    sources: list[tuple[int, ...]] = []

    def keep(found: Any, tolerance: float) -> Any:
        sources.extend(found)
        return corrector.decode(found, tolerance, batch_size=size)

    spy = corrector.with_decoder(keep)
    correct = spy.correct_tokenized if args.tokenized else spy.correct_many
    list(correct(lines, batch_size=len(lines)))
    sources.sort(key=len)
    facts = corrector.info()
    device = torch.device(str(facts["device"]))
    network = load(args.model).network
    bench = Ours(model_of(network, str(facts["precision"]), device), "iad", str(facts["precision"]))
    tolerance = corrector.settings["balanced"].tolerance
    engine = Engine(corrector, size, tokenized=args.tokenized)
    return {
        "gec bench": lambda _: [bench.decode(t, size) for t in batches(sources, BATCHES * size)],
        "decoder": lambda _: corrector.decode(sources, tolerance, batch_size=size),
        "gec batch": lambda turn: _through(engine, turn, args.block_size),
    }


def _through(engine: Any, lines: list[str], block_size: int) -> None:
    """Run the pipeline from a file to a file."""
    from gec.batch.blocks import Size
    from gec.batch.pipeline import Plan, Task, run
    from gec.batch.pool import Pool
    from gec.batch.text import Lines

    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name, "in.txt"), Path(name, "out.txt")
        source.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        pool = Pool(lambda number, jobs: engine)
        plan = Plan(about={}, size=Size(records=block_size), quiet=True)
        run([Task(str(source), str(target), Lines())], pool.run, plan, print)
        pool._executor.shutdown()  # Pool.close would stop the engine, which is used again


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("memory")
    one.add_argument("--lines", type=int, default=1_000_000)
    one.add_argument("--jobs", type=int, default=1)
    one.add_argument("--model", metavar="NAME", help="with a model: en, or a bundle's folder")
    one.set_defaults(run=memory)
    two = commands.add_parser("rate")
    two.add_argument("file", nargs="?", help="a sentence a line (default: generated ones)")
    two.add_argument("--tokenized", action="store_true", help="they are tokenized")
    two.add_argument("--limit", type=int, default=2000, help="so many lines (default: 2000)")
    two.add_argument("--model", default="en", metavar="NAME")
    two.add_argument("--precision")
    two.add_argument("--threads", type=int, default=1)
    two.add_argument("--device")
    two.add_argument("--batch-size", type=int, default=32)
    two.add_argument("--block-size", type=int, default=2048)
    two.add_argument("--rounds", type=int, default=3)
    two.add_argument("--cpu", action="store_true", help="CPU time, not wall time")
    two.set_defaults(run=rate)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
