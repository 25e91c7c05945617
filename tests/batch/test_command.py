"""``gec batch`` from end to end with a fake model: options, streams, compression, exit status."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from batch.batch_fakes import Engine

from gec.batch import progress
from gec.batch.progress import Progress
from gec.batch.streams import compress, open_input
from gec.cli import main
from gec.errors import InputError

File = Callable[..., str]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Make the command's engine a fake; the list has the arguments of each."""
    found: list[Any] = []

    def make(*arguments: Any) -> Engine:
        found.append(arguments)
        return Engine()

    monkeypatch.setattr("gec.batch.worker.make_engine", make)
    return found


def test_lines(file: File, capsys: Capture) -> None:
    name = file("I go\nYou go\n")
    assert main(["batch", name, "out.txt"]) == 0
    assert Path("out.txt").read_text() == "I goes\nYou goes\n"
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "gec: records 2, changed 2, edits 2, failed 0\n"
    assert sorted(p.name for p in Path().iterdir()) == ["out.txt", name]


def test_streams(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"go\r\nFAIL\n")))
    assert main(["batch", "-", "-"]) == 1
    out, err = capfdbinary.readouterr()
    assert out == b"goes\r\nFAIL\n"
    assert b"gec: warning: line 2: the fake model failed\n" in err


@pytest.mark.parametrize(
    ("suffix", "decompress"),
    [
        (".gz", gzip.decompress),
        (".xz", lzma.decompress),
        (".bz2", bz2.decompress),
        (".zst", lambda data: zstandard.ZstdDecompressor()
            .stream_reader(data, read_across_frames=True).read()),
    ],
)  # fmt: skip
def test_compression(file: File, suffix: str, decompress: Any) -> None:
    data = b"".join(b"I go %d\n" % n for n in range(100))
    # two members, as cat makes them
    how = {".gz": "gzip", ".xz": "xz", ".bz2": "bzip2", ".zst": "zstd"}[suffix]
    name = file(compress(data[:100], how) + compress(data[100:], how), f"in.txt{suffix}")
    assert main(["batch", "--block-size", "7", name, f"out.txt{suffix}"]) == 0
    assert decompress(Path(f"out.txt{suffix}").read_bytes()) == data.replace(b"go", b"goes")
    assert main(["batch", f"out.txt{suffix}", "plain.txt"]) == 0
    assert Path("plain.txt").read_bytes() == data.replace(b"go", b"goes")


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ".zst"])
def test_broken_compression(file: File, capsys: Capture, suffix: str) -> None:
    how = {".gz": "gzip", ".xz": "xz", ".bz2": "bzip2", ".zst": "zstd"}[suffix]
    name = file(b"nonsense" + compress(b"go\n", how), f"in.txt{suffix}")
    assert main(["batch", name, "out.txt"]) == 2
    assert f"gec: error: {name}: " in capsys.readouterr().err
    with pytest.raises(InputError), open_input(name) as (stream, _):
        stream.read()


def test_columns(file: File) -> None:
    name = file("id;body\n1;I go\n", "in.csv")
    arguments = ["--separator", ";", "--column", "body", "--output-column", "new"]
    assert main(["batch", *arguments, name, "out.csv"]) == 0
    assert Path("out.csv").read_text() == "id;body;new\n1;I go;I goes\n"
    name = file('{"body": "I go"}\n', "in.jsonl")
    assert main(["batch", "--column", "body", "--edits-column", "e", name, "out.jsonl"]) == 0
    assert json.loads(Path("out.jsonl").read_text())["e"][0]["replacement"] == "goes"


def test_a_folder(file: File, capsys: Capture) -> None:
    Path("docs").mkdir()
    for name in ("a.md", "b.html", "c.txt"):
        Path("docs", name).write_text("`go` <p>go</p>\n")
    Path("docs", "c.txt").write_text("FAIL\n")
    assert main(["batch", "docs", "fixed"]) == 1
    assert Path("fixed/a.md").read_text() == "`go` <p>goes</p>\n"
    assert "records 3, changed 2, edits 2, failed 1" in capsys.readouterr().err
    assert Path("fixed/c.txt.errors.jsonl").exists()
    assert main(["batch", "--resume", "docs", "fixed"]) == 0
    assert capsys.readouterr().err.count("is complete already") == 3
    assert sorted(p.name for p in Path("fixed").iterdir()) == [
        "a.md", "b.html", "c.txt", "c.txt.errors.jsonl"
    ]  # fmt: skip


def test_two_processes(file: File) -> None:
    """Also that what workers need can be pickled; they load the fake of the test below."""
    from functools import partial

    from batch.batch_fakes import load

    from gec.batch.blocks import Size
    from gec.batch.pipeline import Plan, Task, run
    from gec.batch.pool import Pool
    from gec.batch.text import Lines

    name = file("".join(f"I go {n}\n" for n in range(100)))
    pool = Pool(partial(load, 0.0), 2)
    plan = Plan(about={}, size=Size(records=9), quiet=True)
    totals = run([Task(name, "out.txt", Lines())], pool.run, plan, print)
    pool.close()
    assert totals.records == 100
    assert Path("out.txt").read_text() == "".join(f"I goes {n}\n" for n in range(100))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--resume", "--overwrite", "in.txt", "o"], "exclude each other"),
        (["--resume", "in.txt", "-"], "--resume needs an output file"),
        (["--separator", "ab", "in.txt", "o"], "one ASCII character"),
        (["--output-column", "x", "--edits-column", "x", "in.txt", "o"], "must differ"),
        (["--edits-column", "text", "in.txt", "o"], "must not be the column with the text"),
        (["--beam-size", "3", "in.txt", "o"], "belongs to --strategy beam"),
        (["missing.txt", "o"], "missing.txt: no such file"),
        (["in.txt", "in.txt"], "is an input"),
        (["in.txt", "missing/o"], "missing/o: cannot be written"),
        (["--format", "parquet", "in.txt", "o"], "not Parquet"),
    ],
)
def test_wrong(file: File, capsys: Capture, arguments: list[str], error: str) -> None:
    file("go\n", "in.txt")
    assert main(["batch", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith("gec: error: ")
    assert err.count("\n") == 1
    assert error in err


def test_full_device(file: File, capsys: Capture) -> None:
    assert main(["batch", file("go\n" * 100_000), "/dev/full"]) == 2
    assert "/dev/full: cannot be written (No space left on device)" in capsys.readouterr().err


def test_workers_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process of its own, since the number of threads is the process's."""
    code = (
        "import torch\nfrom gec.batch.worker import make_engine\n"
        "made = []\n"
        "e = make_engine(lambda device: made.append(device), None, None, 8, True, 9, 1, 2)\n"
        "import os\nassert torch.get_num_threads() == max(1, os.cpu_count() // 2)\n"
        "assert made == ['cuda:1' if torch.cuda.device_count() > 1 else made[0]]\n"
        "assert (e.batch_size, e.tokenized, e.max_chars) == (8, True, 9)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ})


# --------------------------------------------------------------------------------------- progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    terminal, log = Terminal(), io.StringIO()
    shown = [Progress(1000, terminal), Progress(1000, log), Progress(None, log)]
    shown.append(Progress(1000, Terminal(), quiet=True))
    now = 110.0
    for each in shown:
        each.skipped(200)
        each.show(50, 400)
        each.end()
    assert terminal.getvalue() == (
        "\r\x1b[2K████████░░░░░░░░░░░░  40%  50 records, 5 a second, 0:00:30 left\r\x1b[2K"
    )
    assert log.getvalue() == (
        "gec: 40%: 50 records, 5 a second, 0:00:30 left\ngec: 50 records, 5 a second\n"
    )
