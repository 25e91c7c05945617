"""``gec generate``"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from gec.cli.arguments import Parser, add_batch_size
from gec.cli.console import colour, say, write
from gec.cli.model_options import add_model_options, use_threads
from gec.cli.strategy_options import add_strategies, given

if TYPE_CHECKING:
    from gec.files import Document
    from gec.generate.generator import Generator

SUMMARY = "Translate, summarize or simplify text."


def add_options(parser: Parser) -> None:
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="UTF-8 text (default: standard input, as is -)")
    add("--no-split", action="store_true", help="do not cut lines into sentences")
    add("--trace", action="store_true", help="show on standard error what each pass decided")
    add(
        "-v",
        "--verbose",
        action="store_true",
        help="say on standard error at the end how much each strategy was used by auto, and why",
    )
    add = parser.add_argument_group("decoding").add_argument
    add_strategies(add)
    add_batch_size(add)
    add_model_options(parser, default=None)


def run(args: argparse.Namespace) -> None:
    from gec.decoding.strategies import complete
    from gec.files import read_document

    options = given(args)
    if args.strategy is not None:
        complete(args.strategy, options)
    use_threads(args)
    documents = [read_document(name) for name in args.files or ["-"]]
    generator = _load(args, options)
    for document in documents:
        _generate(generator, document, args)
    if args.verbose and (line := generator.chosen()):
        say(f"gec: auto: {line}")


def _load(args: argparse.Namespace, options: dict[str, Any]) -> Generator:
    import warnings

    from gec.loading import load_generator

    with warnings.catch_warnings(record=True, action="always") as raised:
        generator = load_generator(
            args.model,
            device=args.device,
            precision=args.precision,
            strategy=args.strategy,
            options=options,
            split=False if args.no_split else None,
        )
    for warning in raised:
        say(f"gec: warning: {warning.message}")
    return generator


def _generate(generator: Generator, document: Document, args: argparse.Namespace) -> None:
    from gec.text.lines import split_lines

    lines = split_lines(document.text)
    texts = (line for line, _ in lines)
    found = generator.generate_many(texts, batch_size=args.batch_size)
    for number, ((_, end), generation) in enumerate(zip(lines, found, strict=True), 1):
        write(generation.text + end)
        if generation.truncated:
            where = "standard input" if document.name == "-" else document.name
            say(f"gec: warning: {where}:{number}: the output reached the length limit")
        if args.trace:
            for piece in generation.pieces:
                say(piece.trace.render(colour(sys.stderr)))
