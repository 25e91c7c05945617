"""The console examples of a page: run as a reader would run them, in a folder of their own.

An example is a fenced block with lines that begin with ``$ ``. ``cat FILE`` makes the file that it
shows if there is none, ``gec serve`` runs until the page ends, on a free port instead of 8081.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^( *)```\w*\n((?:(?! *```).*\n)*) *```\n", re.MULTILINE)
NOT_RUN = re.compile(r"(?:\s|<!-- .*? -->)*\*Not run by the tests: \S.+\.\*$", re.MULTILINE)
NONE_RUN = re.compile(r"^\*No command of this page is run by the tests: \S.+\.\*$", re.MULTILINE)
PORT = "8081"
SECONDS = 500
PROGRAMS = {"cat", "curl", "echo", "gec", "ls", "openssl"}  # no other is ever run
BUSY = re.compile(r"^gec: warning: the machine is busy .*\n", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A command as it is written, its lines joined, and the output that the page shows."""

    written: str
    shown: str

    @property
    def command(self) -> str:
        return self.written.removeprefix("$ ").replace("\\\n", "").rstrip("\n")


def steps(block: str) -> Iterator[Step]:
    """The commands of a block; a line that ends with a backslash goes on in the next.

    >>> [*steps("$ a b \\\\\\n  c\\nd\\n$ e\\n")]
    [Step(written='$ a b \\\\\\n  c\\n', shown='d\\n'), Step(written='$ e\\n', shown='')]
    """
    for part in re.split(r"^(?=\$ )", block, flags=re.MULTILINE):
        written = re.match(r"(?:.*\\\n)*.*\n", part)
        if written and part.startswith("$ "):
            yield Step(written[0], part[written.end() :])


def examples(page: str) -> Iterator[tuple[re.Match[str], list[Step], bool]]:
    """The blocks of a page with commands, those commands, and whether they are to be run."""
    none = NONE_RUN.search(page)
    for block in BLOCK.finditer(page):
        found = [*steps(re.sub(f"^{block[1]}", "", block[2], flags=re.MULTILINE))]
        if found:
            yield block, found, not (none or NOT_RUN.match(page, block.end()))


def rendered(page: str, folder: Path, *, leave: Callable[[str], object], full: bool) -> str:
    """The page with the outputs of its commands as they are.

    Args:
        page: The page's Markdown.
        folder: Where the commands run.
        leave: Says of a command whether it is left out.
        full: Whether every command shows its output; otherwise those that show none only run.
    """
    with ExitStack() as running:
        console = Console(folder, running)
        parts, end = [], 0
        for block, found, run in examples(page):
            lines = []
            for step in found:
                ran = run and not leave(step.command)
                output = console.output(step.command, step.shown) if ran else step.shown
                lines += [step.written, output if step.shown or full or not ran else ""]
            text = re.sub(r"^(?=.)", block[1], "".join(lines), flags=re.MULTILINE)
            parts += [page[end : block.start(2)], text]
            end = block.end(2)
        return "".join([*parts, page[end:]])


class Console:
    """A folder in which commands run, with the servers that were started there."""

    def __init__(self, folder: Path, running: ExitStack) -> None:
        self.folder = folder
        self.running = running
        self.named: set[str] = set()  # words of the commands so far
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "GEC_PORT": self.port, "COLUMNS": "80"}

    def output(self, command: str, shown: str) -> str:
        """Run a command; return its standard output and what it says on standard error."""
        words = shlex.split(command, comments=True)
        if words[0] not in PROGRAMS:
            raise AssertionError(f"the tests do not run {words[0]}; write why below the example")
        if words[0] == "cat" and words[1] not in self.named:
            self._make(words[1], shown)
        self.named.update(re.split(r"[\s=<>]+", command))
        command = command.replace(f":{PORT}", f":{self.port}")
        if words[:2] == ["gec", "serve"]:
            return self._serve(command).replace(f":{self.port}", f":{PORT}")
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command], cwd=self.folder, env=self.environment,
            capture_output=True, encoding="utf-8", timeout=SECONDS, check=False,
        )  # fmt: skip
        found = (done.stdout + BUSY.sub("", done.stderr)).replace(f":{self.port}", f":{PORT}")
        # 1 says that something was found, which a page shows or which --check is for
        if done.returncode > (bool(shown) or "--check" in words):
            raise AssertionError(f"{command} ended with {done.returncode}:\n{found}")
        return found

    def _make(self, file: str, text: str) -> None:
        if not (self.folder / file).exists():
            (self.folder / file).write_text(text, encoding="utf-8")

    def _serve(self, command: str) -> str:
        server = subprocess.Popen(
            ["bash", "-c", f"exec {command}"], cwd=self.folder, env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
        )  # fmt: skip
        self.running.enter_context(server)
        self.running.callback(server.terminate)
        if server.stdout is None:
            raise AssertionError("a pipe was asked for")
        return server.stdout.readline()  # its log stays in the pipe: a line a request
