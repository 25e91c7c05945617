"""A run over a folder of small files with 64 file handles: many.py FOLDER OUTPUT SECONDS [all].

It goes on where an earlier one was interrupted. Every block takes SECONDS; with ``all`` the whole
input is read before the first block is written.
"""

from __future__ import annotations

import os
import resource
import sys
from functools import partial

from batch.batch_fakes import load

from gec.batch import journal
from gec.batch.blocks import Size
from gec.batch.inputs import find
from gec.batch.pipeline import Done, Items, Plan, run
from gec.batch.pool import Pool
from gec.batch.text import Lines

HANDLES = 64


def main(folder: str, target: str, delay: float, ahead: bool) -> None:
    journal.SECONDS_A_COMMIT = 0.0
    os.fsync = lambda file: None  # a kill loses nothing that was written, and thousands are slow
    plan = Plan(about={}, size=Size(records=2), resume=True, quiet=True)
    tasks = find([folder], target, lambda kind, name: Lines())
    resource.setrlimit(resource.RLIMIT_NOFILE, (HANDLES, HANDLES))
    pool = Pool(partial(load, delay))

    def perform(items: Items) -> Done:
        return pool.run(list(items) if ahead else items)

    totals = run(tasks, perform, plan, lambda message: None)
    pool.close()
    print(totals)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), "all" in sys.argv[4:])
