"""Load: many clients at once against ``gec serve``, every answer compared with the right one.

    python tests/web/load.py                              # 16 clients, 60 seconds
    python tests/web/load.py --cache 20000                # most sentences are known
    python tests/web/load.py --requests 20000 --sentences 1 --cache 500    # memory

Starts a server of its own on a free port of the loopback interface. First one client asks for each
of the sentences alone; then all clients send texts made of them at random, and what comes back must
be what the sentences gave alone. Prints a row of a Markdown table; exits with 1 on an error, a
wrong answer, or memory that grew by more than a tenth in the second half.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

NAMES = """Anna Ben Carla David Emma Frank Greta Henry Irene Jack Karen Leo Maria Nick Olivia Paul
    Rachel Simon Tina Victor""".split()
TEMPLATES = """{} go to school every day.
{} have three cat and a dog.
I told {} about the informations.
Yesterday {} buy a new car.
{} is interested on music.
We was waiting for {} since two hours.
{} said that he will came tomorrow.
There is many reason to believe {}.
{} have never be in London.
She gave {} a advice.
I am agree with {} about this.
{} and me went to the cinema.
The childrens of {} plays in the garden.
{} enjoys to read books at night.
If {} would have time, we could meet.
{} is more taller than his brother.
I look forward to see {} again.
{} works as teacher in a small village.
Everybody know that {} is right.
{} did not went home after the party.""".splitlines()
SENTENCES = [template.format(name) for template in TEMPLATES for name in NAMES]


class Client:
    """One connection that is kept open."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._wire = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)

    def correct(self, text: str | list[str]) -> tuple[int, Any]:
        body = json.dumps({"text": text})
        self._wire.request("POST", "/api/v1/correct", body, {"Content-Type": "application/json"})
        answer = self._wire.getresponse()
        return answer.status, json.loads(answer.read())

    def close(self) -> None:
        self._wire.close()


class Load:
    """What all clients share: what is right, when to stop, and what they saw."""

    def __init__(self, address: str, process: int, args: argparse.Namespace) -> None:
        self._address = address
        self._process = process
        self._args = args
        self._lock = threading.Lock()
        self._right = self._ask_alone()
        self.latencies: list[float] = []
        self.errors = 0
        self.wrong = 0
        self.memory = [resident(process)]
        self.seconds = 0.0

    def _ask_alone(self) -> dict[str, str]:
        with closing(Client(self._address)) as client:
            right = {}
            for sentence in SENTENCES:
                status, answer = client.correct(sentence)
                if status != 200:
                    raise SystemExit(f"the server answered {status}: {answer}")
                right[sentence] = answer["results"][0]["corrected"]
        return right

    def run(self) -> None:
        threads = [
            threading.Thread(target=self._client, args=(number,))
            for number in range(self._args.clients)
        ]
        began = time.monotonic()
        self._end = began + self._args.seconds
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.seconds = time.monotonic() - began
        self.memory.append(resident(self._process))

    def _client(self, number: int) -> None:
        choose = random.Random(number)
        with closing(Client(self._address)) as client:
            while self._goes_on():
                chosen = choose.sample(SENTENCES, self._args.sentences)
                text = " ".join(chosen)
                began = time.monotonic()
                status, answer = client.correct(text)
                seconds = time.monotonic() - began
                expected = " ".join(self._right[sentence] for sentence in chosen)
                self._note(status, answer, text, expected, seconds)

    def _goes_on(self) -> bool:
        wanted = self._args.requests
        if wanted is not None:
            return len(self.latencies) + self.errors < wanted
        return time.monotonic() < self._end

    def _note(self, status: int, answer: Any, text: str, expected: str, seconds: float) -> None:
        with self._lock:
            if status != 200:
                self.errors += 1
                return
            self.latencies.append(seconds)
            (result,) = answer["results"]
            if (result["text"], result["corrected"]) != (text, expected):
                self.wrong += 1
                print(f"wrong:\n  {text}\n  {result['corrected']}\n  {expected}", file=sys.stderr)
            if len(self.latencies) % 500 == 0:
                self.memory.append(resident(self._process))

    def row(self) -> str:
        times = sorted(self.latencies) or [0.0]
        shown = [
            f"{1000 * times[int(share * (len(times) - 1))]:.0f}" for share in (0.5, 0.95, 0.99)
        ]
        per_second = len(self.latencies) / self.seconds
        memory = " / ".join(f"{value:.0f}" for value in self._memory_points())
        cells = [
            self._args.clients, self._args.sentences, self._args.cache, len(self.latencies),
            self.errors, self.wrong, f"{per_second:.1f}",
            f"{per_second * self._args.sentences:.1f}", *shown, memory,
        ]  # fmt: skip
        return f"| {' | '.join(map(str, cells))} |"

    def _memory_points(self) -> tuple[float, float, float]:
        """Resident megabytes before the load, half way through, and after it."""
        return self.memory[0], self.memory[len(self.memory) // 2], self.memory[-1]

    def is_good(self) -> bool:
        _, middle, last = self._memory_points()
        return not self.errors and not self.wrong and last < 1.1 * middle


HEAD = """\
| clients | sentences a request | cache | requests | errors | wrong | requests/s | sentences/s \
| p50 ms | p95 ms | p99 ms | MB before / half way / after |
|---|---|---|---|---|---|---|---|---|---|---|---|"""


def resident(process: int) -> float:
    """Return a process's resident memory in megabytes."""
    status = Path(f"/proc/{process}/status").read_text("ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


@contextmanager
def server(cache: int, options: list[str]) -> Iterator[tuple[str, int]]:
    """Start ``gec serve`` and yield its address and process; SIGTERM must end it with 0."""
    command = [
        sys.executable, "-m", "gec", "serve", "--port", "0", "--rate", "0",
        "--client-requests", "0",
        "--cache", str(cache), *options,
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise SystemExit("the server did not start")
            yield line.split()[2].rstrip("/"), process.pid
        finally:
            process.terminate()
            if process.wait(60):
                raise SystemExit(f"the server ended with status {process.returncode}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Load test of gec serve.")
    add = parser.add_argument
    add("--clients", type=int, default=16, metavar="N", help="at once (default: 16)")
    add("--seconds", type=float, default=60.0, metavar="S", help="how long (default: 60)")
    add("--requests", type=int, metavar="N", help="so many, however long it takes")
    add("--sentences", type=int, default=3, metavar="N", help="in a request (default: 3)")
    add("--cache", type=int, default=0, metavar="N", help="the server's --cache (default: 0)")
    add("options", nargs="*", metavar="OPTION", help="more options of gec serve, after --")
    args = parser.parse_args()
    with server(args.cache, args.options) as (address, process):
        load = Load(address, process, args)
        load.run()
    print(f"{HEAD}\n{load.row()}")
    return 0 if load.is_good() else 1


if __name__ == "__main__":
    sys.exit(main())
