"""``gec convert``: another library's model in, or a bundle out."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gec.cli.arguments import Parser
from gec.cli.terminal import say
from gec.errors import ConfigError

if TYPE_CHECKING:
    import torch

    from gec.models.load.bundle import Bundle
    from gec.models.load.foreign import ForeignSubwords
    from gec.models.network.nat import NatTransformer

SUMMARY = (
    "Make a bundle of a fairseq or Hugging Face model, or another library's model of a bundle."
)
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


def add_options(parser: Parser) -> None:
    parser.usage = (
        "gec convert {huggingface,fairseq} MODEL [MODEL ...] OUT [options]\n"
        "       gec convert --to {huggingface,ctranslate2,onnx,fairseq} BUNDLE OUT [options]"
    )
    parser.set_defaults(take_rest=_take_rest)
    add = parser.add_argument
    add(
        "paths",
        nargs="+",
        metavar="PATH",
        help="to import: huggingface and a local folder, or fairseq and a checkpoint (or several, "
        "whose mean is taken), then OUT, a new folder; to export: a bundle's name or folder, then "
        "OUT",
    )
    add("--to", choices=WRITES, help="export a bundle as a model of that library")
    _add_import(parser)
    _add_both(parser)


def _add_import(parser: Parser) -> None:
    add = parser.add_argument_group("import").add_argument
    add("--name", metavar="NAME", help="the bundle's name (default: OUT's)")
    add("--task", metavar="TASK", help="the model's task (default: gec)")
    add("--language", metavar="CODE", help="language of its text (default: en)")
    add(
        "--spacing",
        choices=("plain", "tokenized"),
        help="its training text: plain, as people write, or tokenized, with blanks around words "
        "and punctuation (default: plain; fairseq: tokenized, but plain with SentencePiece)",
    )
    add(
        "--prefix",
        metavar="TEXT",
        help="text that the model expects before every source, such as 'grammar: '",
    )
    add("--data", metavar="DIR", help="fairseq: the folder of the dictionaries")
    add(
        "--bpe",
        metavar="KIND",
        help="fairseq: the kind of subwords (default: the one whose files are in --data)",
    )
    add(
        "--codes",
        metavar="FILE",
        help="fairseq: the BPE codes or the SentencePiece model (default: in --data)",
    )
    add(
        "--plain-task",
        action="store_true",
        help="fairseq: treat an unknown task as 'translation'",
    )
    add(
        "--drafter",
        metavar="FILE",
        help="fairseq: the checkpoint of a NAT drafter (--arch block or gec_block) with the same "
        "dictionaries, for gec generate --strategy gad; --task is then translation",
    )


def _add_both(parser: Parser) -> None:
    add = parser.add_argument_group("import and export").add_argument
    add(
        "--float16",
        action="store_true",
        help="store weights in 16 bits: half the size, but outputs may change",
    )
    add("--quantization", metavar="TYPE", help="ctranslate2: int8, float16, ... (default: float32)")


def _take_rest(args: argparse.Namespace, rest: list[str]) -> bool:
    """Take paths that come after options, too."""
    if any(word.startswith("-") for word in rest):
        return False
    args.paths += rest
    return True


# ------------------------------------------------------------------------------------ what it does


def run(args: argparse.Namespace) -> None:
    """Convert; what was made goes to standard output, one line."""
    if args.to:
        if len(args.paths) != 2:
            raise ConfigError(f"--to {args.to} needs BUNDLE and OUT (see 'gec convert --help')")
        given = _given(args, f"to {args.to}")
        name, out = args.paths
        _export(args.to, name, out, given)
        return
    if len(args.paths) < 3 or args.paths[0] not in READS:
        raise ConfigError(
            f"name a library ({', '.join(READS)}), its model and OUT, or --to, BUNDLE and OUT "
            "(see 'gec convert --help')"
        )
    library, *inputs, out = args.paths
    _import(library, inputs, out, _given(args, library))


def _given(args: argparse.Namespace, direction: str) -> dict[str, object]:
    every = set().union(*_OPTIONS.values())
    given = {name: value for name in every if (value := getattr(args, name)) not in (None, False)}
    if strange := sorted(set(given) - _OPTIONS[direction]):
        raise ConfigError(f"--{strange[0]} does not belong to 'gec convert {direction}'")
    return given


def _import(library: str, inputs: list[str], out: str, given: dict[str, object]) -> None:
    from gec.models.convert.output import new_folder
    from gec.models.load.bundle import save
    from gec.models.load.generation import save_drafter

    dtype = _dtype(given.pop("float16", False))
    folder = new_folder(out)  # before minutes of work
    options: dict[str, object] = {"name": folder.resolve().name} | given
    made, nat = _fairseq(inputs, options) if library == "fairseq" else _huggingface(inputs, options)
    beside = ""
    if nat is not None:
        # first: a bundle is complete with its config.json
        save_drafter(nat, folder, cast("ForeignSubwords", made.subwords).tokenizer, dtype=dtype)
        beside = f"; its drafter of {_size(nat)} proposes {nat.nat.block} tokens"
    save(made, folder, dtype=dtype)
    origin = made.config["origin"]
    kind = origin.get("family") or origin.get("architecture")
    print(f"{out}: a bundle of {_size(made.network)} parameters, from {library}'s {kind}{beside}")


def _huggingface(inputs: list[str], options: dict[str, object]) -> tuple[Bundle, None]:
    from gec.models.convert.huggingface import from_huggingface

    if len(inputs) > 1:
        raise ConfigError("gec convert huggingface takes one folder and OUT")
    return from_huggingface(inputs[0], **options), None  # type: ignore[arg-type]


def _fairseq(
    checkpoints: list[str], options: dict[str, object]
) -> tuple[Bundle, NatTransformer | None]:
    from gec.models.convert.fairseq import from_fairseq
    from gec.models.convert.fairseq_drafter import with_drafter
    from gec.models.load.generation import TASKS

    if "data" not in options:
        raise ConfigError("gec convert fairseq needs --data, the folder of its dictionaries")
    drafter = options.pop("drafter", None)
    if drafter is not None and options.setdefault("task", TASKS[0]) not in TASKS:
        raise ConfigError(f"--drafter is for {', '.join(TASKS)}, not for --task {options['task']}")
    made = from_fairseq(checkpoints, **options)  # type: ignore[arg-type]
    if drafter is None:
        return made, None
    paired, nat = with_drafter(made, str(drafter), str(options["data"]))
    if paired is not made:
        most = paired.network.config.max_positions
        say(f"gec: warning: sources have at most {most} tokens: the drafter has no more positions")
    return paired, nat


def _dtype(float16: object) -> torch.dtype:
    import torch

    return torch.float16 if float16 else torch.float32


def _size(network: torch.nn.Module) -> str:
    return f"{sum(p.numel() for p in network.parameters()):,}"


def _export(library: str, name: str, out: str, given: dict[str, object]) -> None:
    from gec.models.load.bundle import load

    loaded = load(name)
    if library == "huggingface":
        from gec.models.convert.huggingface import to_huggingface

        family = to_huggingface(loaded, out, dtype=_dtype(given.get("float16")))
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
