"""The same pipeline on a Ray cluster (``--engine ray``).

The driver reads, journals and writes as in a local run. Ray Data corrects: blocks go to the
object store, a pool of actors with a model each maps them, and results come back in order. A
block's result depends on the block alone, so Ray may repeat a block if an actor or a node dies.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import ray
import ray.data

from gec.batch.blocks import Correct, Result
from gec.batch.journal import Totals
from gec.batch.pipeline import Plan, Task, run
from gec.errors import ModelError

BLOCKS_AT_A_TIME = 1024
"""So many blocks (at most 1 MiB each) go to Ray at once; Ray starts its actors anew each time."""

Load = Callable[[int, int], Correct]


def run_on_ray(
    tasks: Sequence[Task], load: Load, plan: Plan, say: Callable[[str], None], *, jobs: int
) -> Totals:
    """Run with ``jobs`` actors on the cluster of RAY_ADDRESS, or on a local one; return counts.

    Raises:
        ModelError: Ray fails. Otherwise as :func:`gec.batch.pipeline.run`.
    """
    started = not ray.is_initialized()
    if started:
        ray.init(log_to_driver=False, logging_level=logging.ERROR)
    try:
        return run(tasks, RayPool(load, jobs).run, plan, say)
    except ray.exceptions.RayError as error:
        raise ModelError(f"Ray: {str(error).strip().splitlines()[-1]}") from error
    finally:
        if started:
            ray.shutdown()


class RayPool:
    """The counterpart of :class:`gec.batch.pool.Pool` on a cluster."""

    def __init__(self, load: Load, jobs: int) -> None:
        self._arguments = (pickle.dumps(load), jobs)
        self._jobs = jobs
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        self._gpus = 1 if resources.get("GPU") else None

    def run(self, items: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any, Any]]:
        """Yield the items in order with their results."""
        rest = iter(items)
        while window := list(islice(rest, BLOCKS_AT_A_TIME)):
            results = self._map([pickle.dumps(work) for _, work in window if work])
            for tag, work in window:
                yield tag, work, next(results) if work else None

    def _map(self, works: Sequence[bytes]) -> Iterator[tuple[Result, bytes]]:
        if not works:
            return
        context = ray.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        tables = [pa.table({"work": pa.array([work], pa.large_binary())}) for work in works]
        done = ray.data.from_arrow(tables).map_batches(
            Worker,
            batch_size=1,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(size=self._jobs),
            fn_constructor_args=self._arguments,
            num_gpus=self._gpus,
        )
        batches: Iterable[Any] = done.iter_batches(batch_size=1, batch_format="pyarrow")
        for batch in batches:
            yield pickle.loads(batch.column("done")[0].as_py())


class Worker:
    """An actor with a model. Ray shows each actor only its own GPU, so every actor is number 0."""

    def __init__(self, load: bytes, jobs: int) -> None:
        make: Load = pickle.loads(load)
        self._correct = make(0, jobs)

    def __call__(self, batch: pa.Table) -> pa.Table:
        works = [pickle.loads(work.as_py()) for work in batch.column("work")]
        done = [pickle.dumps(work.do(self._correct)) for work in works]
        return pa.table({"done": pa.array(done, pa.large_binary())})
