"""What the parsers of all commands share: one-line usage errors, kinds of numbers, model options.

Imports nothing heavy, so that --help is quick.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any, NoReturn

from gec.errors import ConfigError

Commands = argparse._SubParsersAction  # there is no public name


class Parser(argparse.ArgumentParser):
    """Usage errors are one line like every other error.

    Attributes:
        usual: the command that is meant if the first argument names none; None if it must name one.
    """

    usual: str | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.usual is not None and args is not None:
            (commands,) = (a for a in self._actions if isinstance(a, argparse._SubParsersAction))
            if not args or args[0] not in {*commands.choices, "-h", "--help"}:
                args = [self.usual, *args]
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message} (see '{self.prog} --help')")


def command(
    commands: Commands[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], int | None],
    summary: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("--debug", action="store_true", help="print the traceback of an error")
    return parser


def add_model_options(
    parser: argparse.ArgumentParser, default: str | None = "en", *, required: bool = True
) -> None:
    """Add the options of a bundle; without a ``default`` one must be named, if ``required``."""
    group = parser.add_argument_group("model")
    add = group.add_argument
    add(
        "--model",
        default=default,
        required=default is None and required,
        metavar="NAME",
        help="a bundle's name or folder" + (f" (default: {default})" if default else ""),
    )
    add("--device", metavar="DEVICE", help="cpu, cuda, cuda:1, ... (default: CUDA if available)")
    add(
        "--precision",
        metavar="TYPE",
        help="int8, fp32, bf16 or fp16 (default: the bundle's, on CUDA bf16)",
    )
    add("--threads", type=positive, metavar="N", help="CPU threads (default: torch's choice)")


def add_strategy_options(parser: argparse._ActionsContainer) -> None:
    add = parser.add_argument
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


def add_decoding_options(parser: argparse._ActionsContainer) -> None:
    """Add what decides which edits are made: the options of everything that corrects."""
    add = parser.add_argument
    add(
        "--setting",
        choices=("precise", "balanced", "thorough"),
        help="precise makes few and sure edits, thorough more: each has a tolerance and a least "
        "confidence (default: balanced)",
    )
    add_strategy_options(parser)
    add("--beam-size", type=positive, metavar="N", help=_BEAM_SIZE)
    add(
        "--min-confidence",
        type=fraction,
        metavar="P",
        help="leave out edits less certain than P, 0 to 1 (default: the setting's)",
    )
    add("--dictionary", metavar="FILE", help="words never to change, one a line")
    add("--no-spelling", action="store_true", help="leave misspelt words to the model")


_BEAM_SIZE = "hypotheses kept (beam and speculative-beam only; default: 5)"


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


def number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"not a number: {text!r}") from None
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"not a finite number: {text!r}")
    return value


def not_negative(text: str) -> float:
    if (value := number(text)) < 0:
        raise argparse.ArgumentTypeError(f"must be 0 or more, not {text}")
    return value


def fraction(text: str) -> float:
    if not 0 <= (value := number(text)) <= 1:
        raise argparse.ArgumentTypeError(f"must be from 0 to 1, not {text}")
    return value


def natural(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"not a whole number: {text!r}") from None
    if value < 0:
        raise argparse.ArgumentTypeError(f"must be 0 or more, not {text}")
    return value


def positive(text: str) -> int:
    if (value := natural(text)) == 0:
        raise argparse.ArgumentTypeError("must be 1 or more, not 0")
    return value


def names(text: str) -> list[str]:
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"names separated by commas, not {text!r}")
    return found


def setting(text: str) -> tuple[str, dict[str, float]]:
    """Read ``NAME=P,NATS``."""
    name, _, numbers = text.partition("=")
    confidence, comma, tolerance = numbers.partition(",")
    if not (name and comma):
        raise argparse.ArgumentTypeError(f"expected NAME=P,NATS, not {text!r}")
    return name, {"min_confidence": fraction(confidence), "tolerance": not_negative(tolerance)}


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
    if args.threads is not None:
        import torch

        torch.set_num_threads(args.threads)
