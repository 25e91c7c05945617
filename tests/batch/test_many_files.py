"""Folders of more files than a process may have open, and runs over them that are killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from batch.batch_fakes import environment

HERE = Path(__file__).parent


def start(source: Path, target: Path, delay: float = 0.0, *more: str) -> subprocess.Popen[str]:
    arguments = [sys.executable, HERE / "many.py", source, target, str(delay), *more]
    return subprocess.Popen(
        arguments, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def files(folder: Path, count: int) -> Path:
    """Small files, some in folders below, some with a line that fails, some empty."""
    for number in range(count):
        path = folder / f"{number % 7}" / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"I go {number}.{line}\n" for line in range(number % 5)]
        path.write_text("".join(lines) + ("FAIL\n" if number % 50 == 9 else ""))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_more_files_than_handles(tmp_path: Path) -> None:
    source, target = files(tmp_path / "in", 5000), tmp_path / "out"
    process = start(source, target)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert "records=10100, changed=10000, edits=10000, failed=100" in said
    found = contents(target)
    errors = {name for name in found if name.endswith(".errors.jsonl")}
    assert len(errors) == 100
    expected = contents(source)
    assert found.keys() - errors == expected.keys()
    for name, data in expected.items():
        assert found[name] == data.replace(b"go", b"goes")


def test_more_files_read_ahead_than_handles(tmp_path: Path) -> None:
    """As on a cluster, where a thousand blocks are handed over at once."""
    source, target = files(tmp_path / "in", 200), tmp_path / "out"
    process = start(source, target, 0.0, "all")
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert contents(source).keys() <= contents(target).keys()


def test_killed_among_many_files(tmp_path: Path) -> None:
    source, undisturbed, target = files(tmp_path / "in", 300), tmp_path / "one", tmp_path / "two"
    said, _ = start(source, undisturbed).communicate()
    done = 0
    for aim in (30, 150):
        process = start(source, target, 0.002)
        while process.poll() is None and done < aim:
            time.sleep(0.005)
            done = sum(path.suffix == ".txt" for path in target.rglob("*"))
        assert process.poll() is None, "it was not killed but finished"
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert done < 300
    process = start(source, target)
    assert process.communicate()[0] == said  # the counts, of all three runs
    assert process.returncode == 0
    assert contents(target) == contents(undisturbed)
