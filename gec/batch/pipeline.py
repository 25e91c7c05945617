"""The pipeline: the main process reads ahead and writes; workers parse, decode and render.

Memory holds the blocks that are read ahead, a few for each worker, and nothing that grows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gec.batch.blocks import Block, Digest, Format, Result, Size
from gec.batch.journal import Journalled, Output, Stream, Totals
from gec.batch.pool import Work
from gec.batch.progress import Progress, standard_error
from gec.batch.streams import STANDARD, is_url, open_input
from gec.documents.kinds import compression
from gec.errors import DataError, InputError


@dataclass(frozen=True, slots=True)
class Task:
    """One input to be corrected into one output."""

    input: str
    output: str
    format: Format


_SIZE = Size()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The settings of a run.

    Attributes:
        about: what the results depend on besides input, format and size: the model, its options.
        size: limits of a block.
        resume: whether to continue an interrupted run.
        overwrite: whether to replace existing output.
        strict: whether to stop at the first failure.
        quiet: whether to show no progress.
    """

    about: Mapping[str, Any]
    size: Size = _SIZE
    resume: bool = False
    overwrite: bool = False
    strict: bool = False
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Tag:
    """The task of a block, its output, and the bytes of all inputs read up to the block."""

    task: Task
    output: Output
    position: int


Say = Callable[[str], None]
Items = Iterable[tuple[Tag, Work | None]]
Done = Iterator[tuple[Tag, Work | None, tuple[Result, bytes] | None]]
Perform = Callable[[Items], Done]
"""Does the work of items and yields the items in order, as :meth:`gec.batch.pool.Pool.run` does."""


def run(tasks: Sequence[Task], perform: Perform, plan: Plan, say: Say) -> Totals:
    """Correct every task's input into its output, in order; return the counts.

    Raises:
        InputError: an input or output cannot be read or written, or an input has changed since
            the run that is resumed.
        ConfigError: there is output already; see :class:`gec.batch.journal.Journalled`.
        DataError: a record failed, and the run is strict.
    """
    totals, here = Totals(), 0
    outputs: list[Output] = []
    progress = Progress(_total(tasks), standard_error(), quiet=plan.quiet)
    try:
        with closing(_items(tasks, plan, outputs, progress, say)) as items:
            for tag, work, done in perform(items):
                if work is None or done is None:
                    tag.output.finish(tag.task.format.finish)
                    tag.output.close()  # now, because there may be more outputs than file handles
                    totals += tag.output.start.totals
                    continue
                result, data = done
                if result.failures and plan.strict:
                    first = result.failures[0]
                    raise DataError(
                        f"{_shown(tag.task)}, line {first.line}: {first.error} (--strict)"
                    )
                tag.output.write(work.block, result, data)
                totals = totals.plus(result)
                here += result.records
                progress.show(here, tag.position)
    finally:
        progress.end()
        for output in outputs:
            output.close()
    for output in outputs:
        output.forget()
    return totals


def _items(
    tasks: Sequence[Task], plan: Plan, outputs: list[Output], progress: Progress, say: Say
) -> Generator[tuple[Tag, Work | None], None, None]:
    """Yield the blocks to do, and after the blocks of each task an item without work.

    The part of the input that an earlier run has done is read again: only its digest shows that
    this part is the same.
    """
    before = 0
    for task in tasks:
        output = _output(task, plan, say)
        outputs.append(output)
        done = output.start.blocks
        count, digest = 0, ""
        if output.complete:
            say(f"gec: {task.output}: is complete already")
        else:
            with open_input(task.input) as (stream, tell):
                for block in _digested(task.format.blocks(stream, plan.size)):
                    position = before + tell()
                    if block.index >= done:
                        _check(task, done, output.start.digest, count, digest)
                        work = Work(task.format, block, compression(task.output))
                        yield Tag(task, output, position), work
                    else:
                        progress.skipped(position)
                        count, digest = block.index + 1, block.digest
            _check(task, done, output.start.digest, count, digest)
        before += _size(task.input) or 0
        yield Tag(task, output, before), None


def _check(task: Task, blocks: int, digest: str, seen: int, found: str) -> None:
    if (blocks, digest) != (seen, found):
        raise InputError(
            f"{_shown(task)}: is not what the interrupted run read; begin anew with --overwrite"
        )


def _digested(blocks: Iterable[Block]) -> Iterator[Block]:
    digest = Digest()
    for block in blocks:
        yield replace(block, digest=digest.add(block.payload))


def _output(task: Task, plan: Plan, say: Say) -> Output:
    path = Path(task.output)
    if task.output == STANDARD or (path.exists() and not path.is_file()):
        return Stream(task.output, say)
    about = {
        "input": _identity(task.input),
        "options": {"format": repr(task.format), "size": repr(plan.size), **plan.about},
    }
    return Journalled(task.output, about, resume=plan.resume, overwrite=plan.overwrite)


def _identity(name: str) -> dict[str, Any]:
    """Return the properties of an input that must be the same when a run is resumed."""
    if name == STANDARD or is_url(name) or not Path(name).is_file():
        return {"name": name}
    status = Path(name).stat()
    return {"name": name, "size": status.st_size, "time": status.st_mtime_ns}


def _size(name: str) -> int | None:
    if name == STANDARD or is_url(name) or not Path(name).is_file():
        return None
    return Path(name).stat().st_size


def _total(tasks: Sequence[Task]) -> int | None:
    sizes = [_size(task.input) for task in tasks]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _shown(task: Task) -> str:
    return "standard input" if task.input == STANDARD else task.input
