"""A worker of ``gec batch``; several workers are processes, which may have a GPU each."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gec.batch.blocks import Correct
    from gec.correct.corrector import Corrector


def make_engine(
    load: Callable[..., Corrector],
    device: str | None,
    threads: int | None,
    batch_size: int,
    tokenized: bool,
    max_chars: int,
    number: int = 0,
    jobs: int = 1,
) -> Correct:
    """Return worker ``number`` of ``jobs``, with its share of the cores and of the GPUs."""
    from gec.batch.engine import Engine
    from gec.loading import count_gpus, use_threads
    from gec.memory import reuse_memory

    reuse_memory()
    if threads is None and jobs > 1:
        threads = max(1, (os.cpu_count() or 1) // jobs)
    if threads is not None:
        use_threads(threads)
    gpus = count_gpus()
    if jobs > 1 and gpus and device in (None, "cuda"):
        device = f"cuda:{number % gpus}"
    return Engine(load(device=device), batch_size, tokenized, max_chars)
