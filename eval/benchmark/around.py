"""What correction costs around the network: segmentation, spelling, edits, start-up.

    python -m gec.eval.benchmark.around --sentences 1000

A first process decodes the sentences with the network and writes down what it said. A second one,
which never sees the network, corrects the same sentences with those answers: it says how much
processor time it took until the first sentence was done (imports and tables included), how much
memory it had at most, and what all sentences took, every word seen for the first time, and once
more. Processor time depends less than a clock on what else the machine does. ``--profile`` shows
where it goes.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

RUNS = 5
SENTENCE = "She go to school evry day , and recieve a letter."


def sentences(count: int) -> list[str]:
    """Return the first sentences of each part of the learner corpus, as they were written."""
    import lzma
    import re

    from gec.models.training.recipe import files_of, folder_of

    parts = files_of(folder_of(packaged=True, data_dir=Path()), "learner/*.txt.xz")
    found: list[str] = []
    for number, part in enumerate(parts, 1):
        lines = lzma.decompress(part.read_bytes()).decode("utf-8").split("\n")
        written = [re.sub(r"\[([^|\]]*)\|[^\]]*\]", r"\1", line) for line in lines if line]
        texts = [line.strip() for line in written if not line.startswith("#")]
        found += texts[: count * number // len(parts) - len(found)]
    return found


class _Silent:
    """In the place of a network that nobody asks."""

    bos_id, eos_id, max_positions, threads = 1, 2, 256, 1


def record(model: str, texts: Sequence[str], path: Path) -> None:
    """Write down what the network says of the windows of some texts."""
    import gec

    corrector = gec.load(model, device="cpu")
    said: list[list[Any]] = []

    def decode(sources: Sequence[tuple[int, ...]], tolerance: float) -> list[Any]:
        found = corrector.decode(sources, tolerance)
        for source, one in zip(sources, found, strict=True):
            steps = [(step.drafted, step.accepted, step.emitted) for step in one.steps]
            said.append([source, one.tokens, one.truncated, one.logprobs, one.score, steps])
        return found

    list(corrector.with_decoder(decode).correct_many(texts))
    path.write_text(json.dumps({"model": model, "texts": texts, "said": said}), encoding="utf-8")


def replay(path: Path, *, profile: bool = False) -> dict[str, float]:
    """Correct the recorded texts without the network; return milliseconds and MiB."""
    gc.disable()  # as the command line does until the model is loaded
    times = [time.process_time()]
    from gec.cli import parse

    parse(["correct"])
    times.append(time.process_time())
    recorded = json.loads(path.read_text(encoding="utf-8"))
    times.append(time.process_time())
    corrector = _corrector(recorded["model"])
    gc.freeze()
    gc.enable()
    times.append(time.process_time())
    answers = _answers(recorded["said"])
    corrector = corrector.with_decoder(lambda sources, _: [next(answers[s]) for s in sources])
    times.append(time.process_time())
    if profile:
        _profile(corrector, recorded["texts"])
    corrector.correct(recorded["texts"][0])
    times.append(time.process_time())
    peak = _peak()
    for _ in range(2):
        list(corrector.correct_many(recorded["texts"]))
        times.append(time.process_time())
    python, parsing, _, loading, _, first, rest, again = (
        1e3 * (end - begin) for begin, end in pairwise([0.0, *times])
    )
    start = parsing + loading + first
    return {"python": python, "start": start, "memory": peak, "all": rest, "again": again}


def _profile(corrector: Any, texts: Sequence[str]) -> None:
    import cProfile
    import pstats

    with cProfile.Profile() as seen:
        list(corrector.correct_many(texts))
    pstats.Stats(seen).sort_stats("tottime").print_stats(40)


def _answers(said: Sequence[Sequence[Any]]) -> dict[tuple[int, ...], Iterator[Any]]:
    """Return the answers to each source, the last again and again."""
    from itertools import chain, repeat

    from gec.decoding.decoder import Hypothesis
    from gec.decoding.trace import Pass

    answers: dict[tuple[int, ...], list[Any]] = {}
    for source, tokens, truncated, logprobs, score, steps in said:
        passes = tuple(Pass(*step) for step in steps)
        made = Hypothesis(tuple(tokens), truncated, tuple(logprobs), score, passes)
        answers.setdefault(tuple(source), []).append(made)
    return {source: chain(found, repeat(found[-1])) for source, found in answers.items()}


def _corrector(model: str) -> Any:
    """Return a corrector of a bundle's tables and tokens, without its network."""
    from gec.correct.confidence import Calibration
    from gec.correct.corrector import Corrector
    from gec.correct.options import Setting
    from gec.models.load.places import find
    from gec.text.ngrams import NGrams
    from gec.text.spelling import Speller
    from gec.text.subwords import Subwords
    from gec.untrusted import read_json

    folder = find(model)
    config = read_json(folder / "config.json")
    network: Any = _Silent()
    return Corrector(
        network,
        Subwords.load(folder),
        settings={name: Setting(**numbers) for name, numbers in config["settings"].items()},
        speller=Speller.load(folder),
        ngrams=NGrams.load(folder),
        calibration=Calibration(**config["confidence"]),
    )


def _peak() -> float:
    from gec.eval.benchmark.memory import peak_memory

    return peak_memory() / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--model", default="en")
    parser.add_argument("--profile", action="store_true", help="where the time goes")
    parser.add_argument("--record", type=Path, help="keep what the network said in this file")
    parser.add_argument("--replay", type=Path, help="what the network said earlier")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.once:
        print(json.dumps(replay(args.replay, profile=args.profile)))
        return
    import subprocess
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path, one = (
            args.replay or args.record or Path(folder, "said.json"),
            Path(folder, "one.json"),
        )
        if not args.replay:
            record(args.model, sentences(args.sentences), path)
        record(args.model, [SENTENCE], one)
        command = [sys.executable, "-m", __spec__.name, "--once", "--replay"]
        if args.profile:
            subprocess.run([*command, str(path), "--profile"], check=True)
            return
        runs = [
            [
                json.loads(
                    subprocess.run([*command, str(p)], check=True, capture_output=True).stdout
                )
                for _ in range(RUNS)
            ]
            for p in (one, path)
        ]
        start, full = ({name: min(run[name] for run in some) for name in some[0]} for some in runs)
        count = len(json.loads(path.read_text(encoding="utf-8"))["texts"])
    print(
        f"everything but the network, processor time, the least of {RUNS} processes:\n"
        f"one sentence {start['python'] + start['start']:.0f} ms from the start of the process "
        f"({start['python']:.0f} ms before gec), {start['memory']:.0f} MiB; "
        f"{count} sentences {full['all']:.0f} ms, the same again {full['again']:.0f} ms"
    )


if __name__ == "__main__":
    main()
