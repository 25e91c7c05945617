"""A local Ray of two workers, one of which is killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from batch.batch_fakes import environment

# In a process of its own: Ray starts threads and warns of things that are errors in our tests.
SCRIPT = """
import os, sys
from functools import partial
import ray
from batch.batch_fakes import load_waiting
from gec.batch.blocks import Size
from gec.batch.cluster import run_on_ray
from gec.batch.pipeline import Plan, Task
from gec.batch.text import Lines

if __name__ == "__main__":
    source, target, pids = sys.argv[1:]
    ray.init(num_cpus=2, object_store_memory=80 << 20, include_dashboard=False,
             runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"]}})
    load = partial(load_waiting, pids)
    plan = Plan(about={}, size=Size(records=20), quiet=True)
    totals = run_on_ray([Task(source, target, Lines())], load, plan, print, jobs=2)
    print(totals)
"""


def test_a_worker_is_killed(tmp_path: Path) -> None:
    source, target, pids = tmp_path / "in.txt", tmp_path / "out.txt", tmp_path / "pids"
    pids.mkdir()
    texts = [f"I go {n}" if n % 50 else "FAIL" for n in range(3000)]
    source.write_text("".join(text + "\n" for text in texts))
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    variables = environment() | {"RAY_DATA_DISABLE_PROGRESS_BARS": "1"}
    process = subprocess.Popen(
        [sys.executable, script, source, target, pids],
        env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        while len(list(pids.iterdir())) < 2 and process.poll() is None:
            time.sleep(0.05)
        assert process.poll() is None, process.communicate()[0]
        os.kill(int(sorted(pids.iterdir())[0].name), signal.SIGKILL)  # it has a block in hand
        (tmp_path / "pids.go").touch()
        said, _ = process.communicate()
    finally:
        process.kill()
    assert process.returncode == 0, said
    assert "Totals(records=3000, changed=2940, edits=2940, failed=60)" in said
    assert target.read_text() == source.read_text().replace("go", "goes")
    assert len(list(pids.iterdir())) > 2  # the killed one was replaced
