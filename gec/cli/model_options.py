"""The options of a model and of what decides its edits, and from them to a corrector."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gec.cli.arguments import Add, Parser, fraction, not_negative, positive
from gec.errors import ConfigError

if TYPE_CHECKING:
    from gec.correct.corrector import Corrector


def add_model_options(parser: Parser, default: str | None = "en", *, required: bool = True) -> None:
    """Add the options of a bundle; without a ``default`` one must be named, if ``required``."""
    add = parser.add_argument_group("model").add_argument
    add(
        "--model",
        default=default,
        required=default is None and required,
        metavar="NAME",
        help="a bundle's name or folder" + (f" (default: {default})" if default else ""),
    )
    add_device(add)
    add(
        "--precision",
        metavar="TYPE",
        help="int8, fp32, bf16 or fp16 (default: the bundle's, on CUDA bf16)",
    )
    add_threads(add)


def add_device(add: Add) -> None:
    """Add --device."""
    add("--device", metavar="DEVICE", help="cpu, cuda, cuda:1, ... (default: CUDA if available)")


def add_threads(add: Add) -> None:
    """Add --threads."""
    add("--threads", type=positive, metavar="N", help="CPU threads (default: one a core)")


def add_strategy_options(add: Add) -> None:
    """Add --strategy and --tolerance of everything that corrects."""
    add(
        "--strategy",
        type=strategy,
        default="iad",
        metavar="STRATEGY",
        help="how to decode: iad, greedy, beam, or any of gec generate --strategy that the bundle "
        "has the parts for, with options as in speculative-beam:gamma=3 (default: iad)",
    )
    add(
        "--tolerance",
        type=not_negative,
        metavar="NATS",
        help="keep a copied token if the best one is better by at most NATS (iad and iad-paper "
        "only; default: the setting's; 0 gives exactly greedy's output)",
    )
    add(
        "--rounds",
        type=positive,
        metavar="N",
        help="let the model read a sentence that it changed again, N times in all (default: the "
        "setting's)",
    )


def add_decoding_options(add: Add) -> None:
    """Add what decides which edits are made."""
    add(
        "--setting",
        choices=("precise", "balanced", "thorough"),
        help="precise makes few and sure edits, thorough more: each has a tolerance and a least "
        "confidence (default: balanced)",
    )
    add_strategy_options(add)
    add(
        "--beam-size",
        type=positive,
        metavar="N",
        help="hypotheses kept (beam and speculative-beam only; default: 5)",
    )
    add(
        "--min-confidence",
        type=fraction,
        metavar="P",
        help="leave out edits less certain than P, 0 to 1 (default: the setting's)",
    )
    add(
        "--max-needless",
        type=budget,
        metavar="SHARE",
        help="instead: leave out edits so that at most this share of the sentences without errors "
        "is changed, 1/1000 in any text or 1/1000:KIND in a kind that the bundle was calibrated on",
    )
    add("--dictionary", metavar="FILE", help="words never to change, one a line")
    add("--no-spelling", action="store_true", help="leave misspelt words to the model")


# ------------------------------------------------------------------------------------- what they do


def strategy(text: str) -> str:
    """Read a strategy by which one can correct, ``NAME`` or ``NAME:OPTION=VALUE,...``."""
    from gec.decoding.strategies import STRATEGIES, parse

    known = [name for name, found in STRATEGIES.items() if found.verified]
    if (name := text.partition(":")[0]) not in known:
        raise argparse.ArgumentTypeError(
            f"invalid choice: {name!r} (choose from {', '.join(known)})"
        )
    try:
        parse(text)
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def budget(text: str) -> str:
    """Refuse what is neither ``SHARE`` nor ``SHARE:KIND``."""
    from gec.correct.needless import Budget

    try:
        Budget.read(text)
        return text
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def check_strategy(args: argparse.Namespace) -> None:
    """Refuse options of another strategy, or given twice, rather than ignore them."""
    from gec.decoding.strategies import options, parse

    name, values = parse(args.strategy)
    for key in ("tolerance", "beam_size"):
        if getattr(args, key, None) is None:
            continue
        option, owners = options()[key]
        if name not in owners:
            raise ConfigError(f"--{option.name} belongs to --strategy {' or '.join(owners)}")
        if key in values:
            raise ConfigError(f"--{option.name} is given twice: --strategy {args.strategy}")


def use_threads(args: argparse.Namespace) -> None:
    """Let networks use as many threads as asked for."""
    if args.threads is not None:
        from gec.loading import use_threads

        use_threads(args.threads)


def load_corrector(args: argparse.Namespace) -> Corrector:
    """Load the bundle; a command without some of the options gets their defaults."""
    with _uncollected():
        return _load(args)


def _load(args: argparse.Namespace) -> Corrector:
    from gec.correct.needless import Budget
    from gec.loading import load

    use_threads(args)
    options = vars(args)
    dictionary, needless = options.get("dictionary"), options.get("max_needless")
    return load(
        args.model,
        device=args.device,
        precision=args.precision,
        strategy=options.get("strategy") or "iad",
        setting=options.get("setting"),
        tolerance=options.get("tolerance"),
        beam_size=options.get("beam_size") or 5,
        min_confidence=options.get("min_confidence"),
        rounds=options.get("rounds"),
        max_needless=Budget.read(needless) if needless else None,
        dictionary=read_dictionary(dictionary) if dictionary else (),
        spelling=not options.get("no_spelling"),
    )


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no garbage among modules and tables that stay: a fifth of a cold start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def read_dictionary(name: str) -> list[str]:
    """Read the words never to change: one a line, no empty lines and none that begin with #."""
    from gec.files import read_document
    from gec.text.lines import split_lines

    words = (line.strip() for line, _ in split_lines(read_document(name).text))
    return [word for word in words if word and not word.startswith("#")]
