"""A run to be killed: killable.py INPUT OUTPUT JOBS, slow, committing after every block."""

from __future__ import annotations

import sys
from functools import partial

from batch.batch_fakes import load

from gec.batch import journal
from gec.batch.blocks import Size
from gec.batch.pipeline import Plan, Task, run
from gec.batch.pool import Pool
from gec.batch.tables import Table
from gec.batch.text import Columns, Lines


def main(source: str, target: str, jobs: int) -> None:
    journal.SECONDS_A_COMMIT = 0.0
    columns = Columns("text", "corrected", "edits")
    format = Table(columns) if source.endswith(".csv") else Lines()
    plan = Plan(about={}, size=Size(records=20), resume=True, quiet=True)
    pool = Pool(partial(load, 0.02), jobs)
    run([Task(source, target, format)], pool.run, plan, print)
    pool.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
