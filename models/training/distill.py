"""Sequence-level knowledge distillation: a teacher's outputs instead of the references.

Kim and Rush 2016, *Sequence-Level Knowledge Distillation*, section 3.2. ``gec distill`` decodes a
training set; the output file is what has been done so far, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from gec.decoding.parts import Parts
from gec.decoding.strategies import make_decoder
from gec.errors import ConfigError, DataError, InputError
from gec.models.engines.inference import prepare
from gec.models.load import generation, light
from gec.models.load.device import device_of
from gec.models.training.parallel_corpora import packed_pairs

_CHUNK = 2048  # sources sorted by length together, written together


def distill(
    bundle: generation.GenerationBundle,
    sources: Sequence[str],
    out: Path,
    *,
    beam_size: int = 5,
    batch_size: int = 64,
    precision: str = "fp32",
    resume: bool = False,
) -> int:
    """Write ``source TAB output`` for every source, in order; return how many were left to do.

    On a CPU the engine without torch decodes, in ``precision``, where it runs the network; else the
    network decodes in float32 and is for inference only from then on
    (:mod:`gec.models.engines.inference`). A source of no
    tokens, or of more than the bundle was trained on, has the empty output.

    Raises:
        ConfigError: ``out`` exists and ``resume`` is not set, or there is no such precision.
        DataError: what is in ``out`` was made of other sources.
    """
    if precision not in light.PRECISIONS:
        known = " or ".join(light.PRECISIONS)
        raise ConfigError(f"outputs are distilled in {known}, not in {precision!r}")
    if out.exists() and not resume:
        raise ConfigError(f"{out} exists: go on with --resume or choose another file")
    done = _done(out, sources)
    parts = _parts(bundle, precision)
    if beam_size == 1:
        decoder = make_decoder(parts, "greedy")
    else:
        decoder = make_decoder(parts, "beam", {"beam_size": beam_size})
    longest = min(bundle.config.get("longest", sys.maxsize), decoder.model.max_positions - 1)
    out.parent.mkdir(parents=True, exist_ok=True)
    began, before = time.monotonic(), done
    with out.open("a", encoding="utf-8", newline="\n") as file:
        while done < len(sources):
            chunk = sources[done : done + _CHUNK]
            ids = [bundle.vocabulary.encode(source) for source in chunk]
            usable = [number for number, found in enumerate(ids) if 0 < len(found) <= longest]
            texts = [""] * len(chunk)
            found = decoder.decode([ids[number] for number in usable], batch_size=batch_size)
            for number, hypotheses in zip(usable, found, strict=True):
                texts[number] = bundle.vocabulary.decode(hypotheses[0].tokens)
            file.writelines(f"{s}\t{t}\n" for s, t in zip(chunk, texts, strict=True))
            file.flush()
            done += len(chunk)
            _show(done, len(sources), (done - before) / (time.monotonic() - began))
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return done - before


def _parts(bundle: generation.GenerationBundle, precision: str) -> Parts:
    """Return the verifier alone, in the fastest engine that runs it."""
    network = bundle.network
    if light.refusal(network.config, network.device.type, precision) is None:
        model = light.verifier_of(light.from_torch(network, precision))
        return Parts(bundle.name, model, limit=bundle.limit)
    prepare(network)
    return bundle.parts()


def _done(out: Path, sources: Sequence[str]) -> int:
    """Return how many sources are done; a last line that was cut off is taken away."""
    if not out.exists():
        return 0
    text = out.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if whole != text:
        out.write_bytes(whole)
    lines = whole.decode("utf-8").split("\n")[:-1]
    for number, line in enumerate(lines):
        if number >= len(sources) or line.split("\t")[0] != sources[number]:
            raise DataError(f"{out}:{number + 1} was made of other sources: choose another file")
    return len(lines)


def _show(done: int, total: int, rate: float) -> None:
    """Show a bar on a terminal, else a line."""
    left = (total - done) / max(rate, 1e-9)
    text = f"{done}/{total} sources, {rate:.0f} a second, {left / 60:.0f} min left"
    if sys.stderr.isatty():
        filled = 30 * done // total
        print(f"\r[{'#' * filled}{'.' * (30 - filled)}] {text} ", end="", file=sys.stderr)
    else:
        print(text, file=sys.stderr, flush=True)


def main(args: argparse.Namespace) -> int:
    """``gec distill SOURCES OUT --model BUNDLE``; SOURCES is a packed *.tsv, or a text a line."""
    bundle = generation.load(args.model, device=device_of(args.device))
    path = Path(args.sources)
    if path.suffix == ".tsv":
        sources = [source for source, _ in packed_pairs(path)]
    else:
        from gec.files import read_document
        from gec.text.lines import split_lines

        lines = [" ".join(line.split()) for line, _ in split_lines(read_document(str(path)).text)]
        sources = [line for line in lines if line]
    if not sources:
        raise InputError(f"{path} holds no source")
    count = distill(
        bundle,
        sources,
        Path(args.out),
        beam_size=args.beam_size,
        batch_size=args.batch_size,
        resume=args.resume,
    )
    print(f"{count} sources distilled into {args.out}")
    return 0
