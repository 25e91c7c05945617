"""A run that is interrupted, however and wherever, and resumed is a run that was not."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from batch.batch_fakes import Engine, environment

from gec.batch import journal
from gec.batch.blocks import Block, Result, Size
from gec.batch.journal import Journalled
from gec.batch.pipeline import Plan, Task, run
from gec.batch.pool import Pool
from gec.batch.text import Lines
from gec.errors import ConfigError, DataError, GecError, InputError

KILLS = 10
HERE = Path(__file__).parent


def start(source: Path, target: Path, jobs: int) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, HERE / "killable.py", source, target, str(jobs)]
    return subprocess.Popen(arguments, env=environment(), start_new_session=True)


def lines(count: int) -> Iterator[str]:
    for number in range(count):
        yield "FAIL go" if number % 37 == 5 else f'sentence {number}, I go "home", ü'


def csv(count: int) -> Iterator[str]:
    yield "id,text"
    for number, line in enumerate(lines(count)):
        quoted = line.replace('"', '""')
        yield f'{number},"{quoted}\n{number}"'


@pytest.mark.parametrize(
    ("name", "out", "jobs", "make"),
    [("in.txt", "out.txt", 1, lines), ("in.csv", "out.csv.gz", 2, csv)],
    ids=["lines", "compressed table, two processes"],
)
def test_killed_ten_times(tmp_path: Path, name: str, out: str, jobs: int, make: Any) -> None:
    source = tmp_path / name
    source.write_text("\n".join(make(1200)) + "\n")
    undisturbed, target = tmp_path / f"undisturbed.{out}", tmp_path / out
    assert start(source, undisturbed, jobs).wait() == 0

    rng = random.Random(4)
    kills, commits = 0, set()
    journal = Path(f"{target}.journal")
    while kills < KILLS:
        before = journal.read_bytes().count(b"\n") if journal.exists() else 0
        process = start(source, target, jobs)
        # wait until it has gone on by a few blocks, then kill it in the middle of anything
        aim = before + rng.randint(0, 4)
        while process.poll() is None:
            if journal.exists() and journal.read_bytes().count(b"\n") >= aim:
                break
            time.sleep(0.002)
        time.sleep(rng.random() * 0.02)
        assert process.poll() is None, "it was not killed but finished"
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
        commits.add(journal.read_bytes().count(b"\n") if journal.exists() else 0)
        assert not target.exists()
    assert len(commits) > KILLS // 2  # it was killed at different places
    assert start(source, target, jobs).wait() == 0

    assert target.read_bytes() == undisturbed.read_bytes()
    errors = Path(f"{target}.errors.jsonl").read_bytes()
    assert errors == Path(f"{undisturbed}.errors.jsonl").read_bytes()
    assert len(errors.splitlines()) == 33
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [name, out, f"{out}.errors.jsonl", undisturbed.name, f"{undisturbed.name}.errors.jsonl"]
    )
    data = target.read_bytes()
    text = (gzip.decompress(data) if out.endswith(".gz") else data).decode()
    assert text.count("goes") >= 1200 - 33


# ------------------------------------------------------------------------- within this process

PLAN = Plan(about={"model": "a"}, size=Size(records=3), quiet=True)
RESUME = replace(PLAN, resume=True)


class Stop(Exception):
    """What interrupts a run."""


def correct(source: Path, target: Path, plan: Plan = PLAN, *, stop_after: int | None = None) -> Any:
    """Run in this thread, in order; stop after so many blocks."""

    def perform(items: Iterable[Any]) -> Iterator[Any]:
        done = 0
        for tag, work in items:
            if work is not None:
                if done == stop_after:
                    raise Stop
                done += 1
            yield tag, work, work.do(Engine()) if work else None

    return run([Task(str(source), str(target), Lines())], perform, plan, print)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("".join(f"I go {n}\n" for n in range(10)))
    return path


@pytest.fixture
def stopped(source: Path, tmp_path: Path) -> Path:
    """The output of a run that was stopped after two blocks of four."""
    target = tmp_path / "out.txt"
    with pytest.raises(Stop):
        correct(source, target, stop_after=2)
    assert not target.exists()
    return target


EXPECTED = "".join(f"I goes {n}\n" for n in range(10))


def test_resume(source: Path, stopped: Path) -> None:
    totals = correct(source, stopped, RESUME)
    assert stopped.read_text() == EXPECTED
    assert totals.records == 10  # of both runs
    assert totals.changed == 10
    assert correct(source, stopped, RESUME).records == 0  # complete already
    assert stopped.read_text() == EXPECTED


@pytest.mark.parametrize("blocks", range(5))
def test_resume_after_any_block(source: Path, tmp_path: Path, blocks: int) -> None:
    target = tmp_path / "out.txt"
    if blocks < 4:
        with pytest.raises(Stop):
            correct(source, target, stop_after=blocks)
    correct(source, target, RESUME)
    assert target.read_text() == EXPECTED


@pytest.mark.parametrize("where", ["make", "done", "replaced"])
def test_killed_while_finishing(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    target = tmp_path / "out.txt"

    def stop(*arguments: Any) -> None:
        raise Stop

    with monkeypatch.context() as patch:
        if where == "make":
            patch.setattr(Lines, "finish", stop)
        elif where == "done":
            patch.setattr(journal.os, "replace", stop)
        else:
            patch.setattr(Journalled, "forget", stop)
        with pytest.raises(Stop):
            correct(source, target)
    assert correct(source, target, RESUME).records == 10
    assert target.read_text() == EXPECTED
    assert {path.name for path in tmp_path.iterdir()} == {"in.txt", "out.txt"}


@pytest.mark.parametrize("torn", [b'{"commit": {"bl', b"\0\0\0"])
def test_torn_journal_and_output(source: Path, stopped: Path, torn: bytes) -> None:
    for name in (".journal", ".part", ".errors.jsonl"):
        with Path(f"{stopped}{name}").open("ab") as file:
            file.write(torn)
    correct(source, stopped, RESUME)
    assert stopped.read_text() == EXPECTED


def test_an_interrupted_run_is_not_replaced_by_accident(source: Path, stopped: Path) -> None:
    with pytest.raises(ConfigError, match="go on with --resume, or begin anew with --overwrite"):
        correct(source, stopped)
    correct(source, stopped, replace(PLAN, overwrite=True))
    assert stopped.read_text() == EXPECTED
    with pytest.raises(ConfigError, match="exists already"):
        correct(source, stopped)


def test_changed_size_or_time(source: Path, stopped: Path) -> None:
    source.write_text(source.read_text() + "more\n")
    with pytest.raises(InputError, match=r"has changed since the run began \(size, time\)"):
        correct(source, stopped, RESUME)


@pytest.mark.parametrize("old", ["I go 1\n", "I go 5\n"])
def test_changed_content_with_the_same_size_and_time(source: Path, stopped: Path, old: str) -> None:
    status = source.stat()
    source.write_text(source.read_text().replace(old, "X go 1\n"))
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(InputError, match="is not what the interrupted run read"):
        correct(source, stopped, RESUME)


def test_other_options(source: Path, stopped: Path) -> None:
    with pytest.raises(ConfigError, match=r"other options.*model 'a', now 'b'.*begin anew"):
        correct(source, stopped, replace(RESUME, about={"model": "b"}))
    with pytest.raises(ConfigError, match=r"other options.*size"):
        correct(source, stopped, replace(RESUME, size=Size(records=4)))


def test_results_that_got_lost(source: Path, stopped: Path) -> None:
    Path(f"{stopped}.part").write_text("")
    with pytest.raises(InputError, match="shorter than its journal says"):
        correct(source, stopped, RESUME)


def test_strict_stops_and_can_be_resumed(source: Path, tmp_path: Path) -> None:
    text = source.read_text().replace("I go 4\n", "FAIL\n")
    source.write_text(text)
    target = tmp_path / "out.txt"
    with pytest.raises(DataError, match=r"in\.txt, line 5: the fake model failed \(--strict\)"):
        correct(source, target, replace(PLAN, strict=True))
    assert not target.exists()
    totals = correct(source, target, RESUME)
    assert target.read_text() == EXPECTED.replace("I goes 4", "FAIL")
    assert totals.failed == 1
    listed = json.loads(Path(f"{target}.errors.jsonl").read_text())
    assert listed == {"line": 5, "error": "the fake model failed"}


def test_two_runs_at_once(source: Path, stopped: Path) -> None:
    with Path(f"{stopped}.journal").open("rb") as held:
        journal._lock(held, "held")
        with pytest.raises(ConfigError, match="another run is writing it"):
            correct(source, stopped, RESUME)


def test_an_output_that_another_run_took(source: Path, stopped: Path) -> None:
    """What was read ahead is not locked; who comes to write it finds that it is another's."""
    size = source.stat()
    about = {
        "input": {"name": str(source), "size": size.st_size, "time": size.st_mtime_ns},
        "options": {"format": repr(Lines()), "size": repr(PLAN.size), **PLAN.about},
    }
    ahead = Journalled(str(stopped), about, resume=True)
    with pytest.raises(Stop):
        correct(source, stopped, RESUME, stop_after=1)
    kept = Path(f"{stopped}.part").read_bytes()
    with pytest.raises(ConfigError, match="another run has written it"):
        ahead.write(Block(2, 7, 1, b""), Result(b"lost"), b"lost")
    assert Path(f"{stopped}.part").read_bytes() == kept
    assert correct(source, stopped, RESUME).records == 10


FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
from batch.killable import main
from gec.errors import InputError
try:
    main(sys.argv[1], sys.argv[2], 1)
except InputError as error:
    sys.exit(str(error))
"""


def test_disk_full(tmp_path: Path) -> None:
    """A limit on the size of files refuses a write as a full disk does."""
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("\n".join(lines(300)))
    ended = subprocess.run(
        [sys.executable, "-c", FULL, source, target],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 1
    assert "out.txt: cannot be written (File too large)" in ended.stderr
    assert "--resume" in ended.stderr
    assert not target.exists()
    assert start(source, target, 1).wait() == 0  # there is room again
    assert start(source, tmp_path / "undisturbed", 1).wait() == 0
    assert target.read_bytes() == (tmp_path / "undisturbed").read_bytes()


def test_unwritable(source: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        correct(source, tmp_path / "missing" / "out.txt")


def test_an_error_in_a_worker_keeps_what_is_done(source: Path, tmp_path: Path) -> None:
    """Blocks before the one that broke the run are committed."""
    target = tmp_path / "out.txt"

    class Broken(Engine):
        def __call__(self, texts: Any, protected: Any = None) -> Any:
            if any("6" in text for text in texts):
                raise GecError("broken")
            return super().__call__(texts, protected)

    pool = Pool(lambda number, jobs: Broken())
    with pytest.raises(GecError, match="broken"):
        run([Task(str(source), str(target), Lines())], pool.run, PLAN, print)
    pool.close()
    assert Path(f"{target}.part").read_text() == "".join(f"I goes {n}\n" for n in range(6))
    correct(source, target, RESUME)
    assert target.read_text() == EXPECTED
