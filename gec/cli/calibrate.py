"""``gec calibrate``"""

from __future__ import annotations

import argparse

from gec.cli.arguments import Parser, fraction, not_negative, positive
from gec.cli.console import write
from gec.cli.model_options import add_model_options, add_strategy_options, load_corrector
from gec.errors import ConfigError

SUMMARY = "Fit confidences to development sets, and show what each threshold gives."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "files",
        nargs="+",
        metavar="FILE",
        help="annotated sentences (*.m2), or correct tokenized sentences, one a line",
    )
    add("--limit", type=positive, metavar="N", help="draw at most N sentences of each file")
    add("--plot", metavar="FILE", help="draw a reliability diagram (SVG)")
    add("--write", action="store_true", help="write the calibration into the bundle")
    add(
        "--setting",
        type=setting,
        action="append",
        dest="settings",
        metavar="NAME=P,NATS",
        help="with --write: a setting's least confidence and tolerance; may be given several times",
    )
    add_strategy_options(add)
    add_model_options(parser)


def setting(text: str) -> tuple[str, dict[str, float]]:
    """Read ``NAME=P,NATS``."""
    name, _, numbers = text.partition("=")
    confidence, comma, tolerance = numbers.partition(",")
    if not (name and comma):
        raise argparse.ArgumentTypeError(f"expected NAME=P,NATS, not {text!r}")
    return name, {"min_confidence": fraction(confidence), "tolerance": not_negative(tolerance)}


def run(args: argparse.Namespace) -> None:
    from gec.eval.calibration import fit, judge, needless, plot, report
    from gec.models.load.bundle import find, update

    if args.settings and not args.write:
        raise ConfigError("--setting belongs to --write")
    settings = dict(args.settings or [])
    corrector = load_corrector(args)
    samples = [
        judge(corrector, name, clean=not name.endswith(".m2"), limit=args.limit)
        for name in args.files
    ]
    write(report(samples) + "\n")
    if args.plot:
        from pathlib import Path

        Path(args.plot).write_text(plot(samples), encoding="utf-8")
    if args.write:
        calibration = fit([edit for sample in samples for edit in sample.edits])
        update(find(args.model), calibration, settings, needless(samples))
