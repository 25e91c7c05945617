"""``gec info``"""

from __future__ import annotations

import argparse

from gec import __version__
from gec.cli.arguments import Parser
from gec.cli.console import write
from gec.cli.model_options import add_model_options, load_corrector

SUMMARY = "Show version, bundle, device, precision, threads, engine, kernels."


def add_options(parser: Parser) -> None:
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="format of the output (default: text)",
    )
    add_model_options(parser)


def run(args: argparse.Namespace) -> None:
    from gec.models.load.light import runs
    from gec.models.native.library import describe

    facts: dict[str, str | int | float] = {"version": __version__}
    corrector = load_corrector(args)
    facts |= corrector.info()
    facts["engine"] = "light" if runs(getattr(corrector, "model", None)) else "torch"
    facts["kernels"] = describe()
    if args.format == "json":
        import json

        write(json.dumps(facts, ensure_ascii=False, indent=2) + "\n")
    else:
        width = max(len(name) for name in facts)
        write("".join(f"{name:<{width}}  {value}\n" for name, value in facts.items()))
