"""``gec bench``: how fast each strategy decodes, and that the fast one loses nothing."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import torch

import gec
from gec.errors import InputError
from gec.eval.benchmark.lossless import check_lossless
from gec.eval.benchmark.speed import Measurement, measure, table
from gec.files import read_document

__all__ = ["Measurement", "check_lossless", "main", "measure", "read_sentences", "table"]


def read_sentences(path: str) -> list[list[str]]:
    """Return the words of every non-empty line; of an M2 file (``*.m2``) those of its S lines."""
    lines = read_document(path).text.splitlines()
    if path.endswith(".m2"):
        lines = [line[2:] for line in lines if line.startswith("S ")]
    sentences = [line.split() for line in lines if line.strip()]
    if not sentences:
        raise InputError(f"{path} holds no sentence to decode")
    return sentences


def machine() -> str:
    """Return processor, threads and torch version in one line."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    if torch.cuda.is_available():
        name += f", {torch.cuda.get_device_name()}"
    return f"{name}, {torch.get_num_threads()} threads, torch {torch.__version__}"


def main(args: argparse.Namespace) -> int:
    """Run ``gec bench``; exit status 1 when a difference is found that is no tie."""
    corrector = gec.load(
        args.model, device=args.device, precision=args.precision, strategy="iad", tolerance=0.0
    )
    sentences = read_sentences(args.file)[: args.limit]
    sources = [corrector.subwords.encode(words) for words in sentences]
    most = corrector.model.max_positions - 1
    left_out = sum(len(source) > most for source in sources)
    sources = [source for source in sources if len(source) <= most]
    if left_out:
        print(f"{left_out} sentences of more than {most} tokens left out", file=sys.stderr)
    about = corrector.info()
    heading = {
        "machine": machine(),
        "date": datetime.now(UTC).date().isoformat(),
        "file": Path(args.file).name,
        "sentences": len(sources),
        "tokens": sum(map(len, sources)),
        "model": about["bundle"],
        "parameters": about["parameters"],
        "precision": about["precision"],
    }
    print(", ".join(f"{name} {value}" for name, value in heading.items()))
    if args.check_lossless:
        report = check_lossless(corrector.model, sources, batch_sizes=(1, 32))
        print(report.describe(corrector.subwords))
        result: dict[str, object] = {"lossless": asdict(report)}
        status = 0 if report.lossless else 1
    else:
        measurements = measure(
            corrector.model, sources, strategies=args.strategies, batch_sizes=args.batch_size
        )
        print(table(measurements))
        result, status = {"speed": [asdict(m) for m in measurements]}, 0
    if args.json:
        Path(args.json).write_text(json.dumps(heading | result, indent=1) + "\n", encoding="utf-8")
    return status
