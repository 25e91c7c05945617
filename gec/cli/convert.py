"""``gec convert``: another library's model in, or a bundle out."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import cast

import torch

from gec.errors import ConfigError
from gec.models.convert.output import new_folder
from gec.models.load import bundle
from gec.models.load.foreign import ForeignSubwords
from gec.models.load.generation import TASKS, save_drafter
from gec.models.network.nat import NatTransformer

READS = ("huggingface", "fairseq")
WRITES = ("huggingface", "ctranslate2", "onnx", "fairseq")
_OPTIONS = {
    "huggingface": {"name", "spacing", "prefix", "language", "task", "float16"},
    "fairseq": {
        "name",
        "spacing",
        "language",
        "task",
        "float16",
        "data",
        "bpe",
        "codes",
        "plain_task",
        "drafter",
    },
    "to huggingface": {"float16"},
    "to ctranslate2": {"quantization"},
    "to onnx": set[str](),
    "to fairseq": set[str](),
}
"""Which options each direction takes; the others are refused rather than ignored."""


def main(args: argparse.Namespace) -> int:
    """Convert; what was made goes to standard output, one line."""
    if args.to:
        if len(args.paths) != 2:
            raise ConfigError(f"--to {args.to} needs BUNDLE and OUT (see 'gec convert --help')")
        given = _given(args, f"to {args.to}")
        name, out = args.paths
        return _out(args.to, name, out, given)
    if len(args.paths) < 3 or args.paths[0] not in READS:
        raise ConfigError(
            f"name a library ({', '.join(READS)}), its model and OUT, or --to, BUNDLE and OUT "
            "(see 'gec convert --help')"
        )
    library, *inputs, out = args.paths
    return _in(library, inputs, out, _given(args, library))


def _given(args: argparse.Namespace, direction: str) -> dict[str, object]:
    every = set().union(*_OPTIONS.values())
    given = {name: value for name in every if (value := getattr(args, name)) not in (None, False)}
    if strange := sorted(set(given) - _OPTIONS[direction]):
        raise ConfigError(f"--{strange[0]} does not belong to 'gec convert {direction}'")
    return given


def _in(library: str, inputs: list[str], out: str, given: dict[str, object]) -> int:
    dtype = torch.float16 if given.pop("float16", False) else torch.float32
    folder = new_folder(out)  # before minutes of work
    drafter = given.pop("drafter", None)
    options: dict[str, object] = {"name": folder.resolve().name} | given
    nat = None
    if library == "fairseq":
        if "data" not in options:
            raise ConfigError("gec convert fairseq needs --data, the folder of its dictionaries")
        made, nat = _fairseq(inputs, None if drafter is None else str(drafter), options)
    else:
        from gec.models.convert.huggingface import from_huggingface

        if len(inputs) > 1:
            raise ConfigError("gec convert huggingface takes one folder and OUT")
        made = from_huggingface(inputs[0], **options)  # type: ignore[arg-type]
    if nat is not None:
        # first: a bundle is complete with its config.json
        save_drafter(nat, folder, cast(ForeignSubwords, made.subwords).tokenizer, dtype=dtype)
    bundle.save(made, folder, dtype=dtype)
    origin = made.config["origin"]
    kind = origin.get("family") or origin.get("architecture")
    beside = "" if nat is None else f"; its drafter of {_size(nat)} proposes {nat.nat.block} tokens"
    print(f"{out}: a bundle of {_size(made.network)} parameters, from {library}'s {kind}{beside}")
    return 0


def _fairseq(
    checkpoints: list[str], drafter: str | None, options: dict[str, object]
) -> tuple[bundle.Bundle, NatTransformer | None]:
    from gec.models.convert.fairseq import from_fairseq
    from gec.models.convert.fairseq_drafter import with_drafter

    if drafter is not None and options.setdefault("task", TASKS[0]) not in TASKS:
        raise ConfigError(f"--drafter is for {', '.join(TASKS)}, not for --task {options['task']}")
    made = from_fairseq(checkpoints, **options)  # type: ignore[arg-type]
    if drafter is None:
        return made, None
    paired, nat = with_drafter(made, drafter, str(options["data"]))
    if paired is not made:
        most = paired.network.config.max_positions
        print(
            f"gec: warning: sources have at most {most} tokens: the drafter has no more positions",
            file=sys.stderr,
        )
    return paired, nat


def _size(network: torch.nn.Module) -> str:
    return f"{sum(p.numel() for p in network.parameters()):,}"


def _out(library: str, name: str, out: str, given: dict[str, object]) -> int:
    loaded = bundle.load(name)
    if library == "huggingface":
        from gec.models.convert.huggingface import to_huggingface

        dtype = torch.float16 if given.get("float16") else torch.float32
        family = to_huggingface(loaded, out, dtype=dtype)
        print(f"{out}: a Hugging Face model of the family {family}")
    elif library == "ctranslate2":
        from gec.models.convert.ctranslate2 import to_ctranslate2

        quantization = str(given.get("quantization") or "float32")
        to_ctranslate2(loaded, out, quantization=quantization)
        print(f"{out}: a CTranslate2 model, {quantization}")
    elif library == "onnx":
        from gec.models.convert.onnx import to_onnx

        to_onnx(loaded, out)
        names = ", ".join(sorted(path.name for path in Path(out).glob("*.onnx")))
        print(f"{out}: {names}")
    else:
        from gec.models.convert.fairseq import to_fairseq

        to_fairseq(loaded, out)
        print(f"{out}: a fairseq checkpoint with its dictionaries")
    return 0
