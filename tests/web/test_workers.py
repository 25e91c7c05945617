"""gec.web.workers: processes that serve together, come back when they die, and end in order."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
from fake_web import WebCorrector

from gec.edits.edits import Edit
from gec.errors import ConfigError
from gec.web.config import Config
from gec.web.feedback import Store
from gec.web.rates import RateLimit, limits_of
from gec.web.server import Server
from gec.web.shared import Shared, SharedBuckets
from gec.web.workers import look_after, threads_of

CORRECT = "/api/v1/correct"
TESTS = Path(__file__).resolve().parents[1]
SCRIPT = """
import os, sys
sys.path.insert(0, sys.argv.pop(1))
import gec.web.app
from fake_web import WebCorrector
fake = WebCorrector()
gec.web.app._load = lambda config: fake
decode = fake.model.decode
def slow(sources, tolerance):
    text = "".join(map(chr, sources[0]))
    if "HOLD" in text:
        print("decoding", flush=True)
        while not os.path.exists(os.environ["GO"]):
            __import__("time").sleep(0.02)
    if "DIE" in text:
        os.kill(os.getpid(), 9)
    return decode(sources, tolerance)
fake.model.decode = slow
from gec.cli import main
sys.exit(main(sys.argv[1:]))
"""


@dataclass
class Running:
    """A ``gec serve --workers 2`` in a process of its own, and what it has logged."""

    process: subprocess.Popen[str]
    go: Path
    address: str = ""
    records: list[dict[str, Any]] = field(default_factory=list)
    other: list[str] = field(default_factory=list)

    def read_log(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if line.startswith("{"):
                self.records.append(json.loads(line))
            else:
                self.other.append(line)

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def until(self, true: Callable[[], Any]) -> Any:
        """Wait, for a minute at most, until something is true, and return it."""
        end = time.monotonic() + 60
        while not (found := true()):
            assert time.monotonic() < end, (self.records, self.other)
            time.sleep(0.02)
        return found

    def pids(self) -> list[int]:
        """Return the processes of the workers that have begun to serve, the last ones last."""
        found = (re.match(r"worker \d serves, process (\d+)", r["message"]) for r in self.records)
        return [int(match[1]) for match in found if match]

    def post(self, text: str, **more: Any) -> requests.Response:
        return requests.post(
            self.address + CORRECT, json={"text": text, **more}, timeout=60
        )  # a connection of its own, which any worker may take

    def asked(self) -> Counter[int]:
        """Return how many requests each worker has logged."""
        return Counter(r["worker"] for r in self.records if r["message"] == "request")

    def metric(self, name: str) -> float:
        text = requests.get(self.address + "/metrics", timeout=60).text
        values = re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE)
        return sum(map(float, values))


Start = Callable[..., Running]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as stack:

        def start(*options: str) -> Running:
            environment = {n: v for n, v in os.environ.items() if not n.startswith("GEC_")}
            go = tmp_path / "go"
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", SCRIPT, str(TESTS), "serve", "--port", "0",
                     "--workers", "2", "--log-format", "json", *options],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                    env=environment | {"GO": str(go), "TMPDIR": str(tmp_path)},
                )
            )  # fmt: skip
            running = Running(process, go)
            reader = threading.Thread(target=running.read_log)
            reader.start()
            stack.callback(reader.join, 60)
            stack.callback(_end, process)
            stack.callback(go.touch)
            line = running.line()
            assert line.startswith("gec serves http://127.0.0.1:"), running.other
            running.address = line.split()[2].rstrip("/")
            return running

        yield start


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()


def ends(process: subprocess.Popen[str]) -> int:
    return process.wait(60)


def test_both_answer_and_their_metrics_add_up(serve: Start) -> None:
    server = serve()
    sent = 0
    while len(server.asked()) < 2:  # whoever is quicker takes a connection
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(server.post, [f"We go {n}" for n in range(sent, sent + 8)]))
        sent += 8
        assert [a.json()["results"][0]["corrected"] for a in answers] == [
            f"We goes {n}" for n in range(sent - 8, sent)
        ]
        assert sent < 2000
    server.until(lambda: server.asked().total() == sent)
    assert server.metric("gec_requests_total") == sent
    server.until(lambda: server.metric("gec_cache_misses_total") == sent + 2)  # and two to warm up
    assert server.metric("gec_queue_sentences") == 0
    assert server.metric("gec_worker_restarts_total") == 0


def test_a_client_has_one_rate_with_all_workers(serve: Start) -> None:
    server = serve("--rate", "6")
    assert Counter(server.post("a").status_code for _ in range(12)) == {200: 6, 429: 6}


def test_a_worker_that_dies_is_started_again(serve: Start) -> None:
    server = serve()
    server.until(lambda: len(server.pids()) == 2)
    first = server.pids()
    os.kill(first[0], signal.SIGKILL)
    server.until(lambda: len(server.pids()) == 3)
    assert server.pids()[2] not in first
    ended = [r["message"] for r in server.records if "ended" in r["message"]]
    assert re.fullmatch(
        rf"worker \d, process {first[0]}, ended by signal 9; another starts in 0.5 seconds",
        ended[0],
    )
    assert server.post("We go").status_code == 200
    server.until(lambda: server.metric("gec_worker_restarts_total") == 1)
    with pytest.raises(requests.ConnectionError):  # only the request at fault is lost
        server.post("DIE")
    server.until(lambda: len(server.pids()) == 4)
    assert server.post("We go").status_code == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_drains_all(serve: Start, number: signal.Signals, tmp_path: Path) -> None:
    server = serve()
    server.until(lambda: len(server.pids()) == 2)
    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(server.post, "HOLD and go")
        assert server.line() == "decoding\n"
        server.process.send_signal(number)
        server.until(lambda: _refuses(server.address))
        assert not held.done()
        server.go.touch()
        assert held.result(60).json()["results"][0]["corrected"] == "HOLD and goes"
    assert ends(server.process) == 0
    assert not any(_runs(pid) for pid in server.pids())
    assert [path.name for path in tmp_path.iterdir()] == ["go"]  # the shared files are gone
    assert not server.other  # no traceback


def test_workers_end_when_the_first_process_has_died(serve: Start) -> None:
    server = serve()
    server.until(lambda: len(server.pids()) == 2)
    server.process.kill()
    server.until(lambda: not any(_runs(pid) for pid in server.pids()))


def test_an_end_at_the_start_ends_all(tmp_path: Path) -> None:
    taken = tmp_path / "feedback.sqlite"
    taken.write_text("no data base")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(TESTS), "serve", "--port", "0", "--workers", "2",
         "--feedback", str(taken)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "feedback cannot be stored there" in done.stderr
    assert "serves" not in done.stdout


def test_feedback_of_two_workers_is_in_one_file(serve: Start, tmp_path: Path) -> None:
    path = tmp_path / "feedback.sqlite"
    server = serve("--feedback", str(path))

    def decide(number: int) -> str:
        answer = server.post(f"We go {number}", options={"feedback": True})
        token = answer.json()["results"][0]["sentences"][0]["shown"]["token"]
        body = {"shown": token, "edit": 0, "decision": "accepted", "consent": True}
        decided = requests.post(server.address + "/api/v1/feedback", json=body, timeout=60)
        assert decided.status_code == 200, decided.text
        return str(decided.json()["id"])

    ids: list[str] = []
    while len(server.asked()) < 2:  # a token of one worker counts with the other
        with ThreadPoolExecutor(4) as pool:
            ids += pool.map(decide, range(len(ids), len(ids) + 8))
        assert len(ids) < 2000
    with closing(sqlite3.connect(path)) as base:
        stored = {row[0] for row in base.execute("SELECT id FROM shown")}
    assert stored == set(ids)
    assert len(stored) == len(ids)


def _runs(pid: int) -> bool:
    """Whether a process runs; one that has ended and not been waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _refuses(address: str) -> bool:
    try:
        requests.get(address + "/healthz", timeout=10)
    except requests.ConnectionError:
        return True
    return False


# ------------------------------------------------------------------------------------- the parts


def test_the_same_decision_in_two_processes_at_once(tmp_path: Path) -> None:
    """Two stores of one file, as two workers have: both find the sentence missing and insert it."""
    path = str(tmp_path / "feedback.sqlite")
    edit = Edit(3, 5, "go", "goes", "R:VERB:SVA", 0.9, "")
    barrier = threading.Barrier(2)
    with closing(Store(path)) as one, closing(Store(path)) as two:

        def meet(store: Store) -> None:
            known = store._is_stored

            def wait(base: sqlite3.Connection, id: str) -> bool:
                found = known(base, id)
                with _suppress_broken(barrier):
                    barrier.wait(0.5)  # both have looked, unless one had to wait for the other
                return found

            store._is_stored = wait  # type: ignore[method-assign]

        meet(one)
        meet(two)
        token = one.sign("We go", [edit], "fake")
        assert token is not None
        with ThreadPoolExecutor(2) as pool:
            found = [pool.submit(store.decide, token, 0, "accepted", "a") for store in (one, two)]
            assert found[0].result(30) == found[1].result(30)


class _suppress_broken:
    """Suppresses the error of a barrier at which nobody else came."""

    def __init__(self, barrier: threading.Barrier) -> None:
        self._barrier = barrier

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is threading.BrokenBarrierError


Buckets = Callable[[str], SharedBuckets]


@pytest.fixture
def buckets(tmp_path: Path) -> Iterator[Buckets]:
    """Return a function that opens the buckets of a name as another worker does."""
    with ExitStack() as stack:

        def open(name: str) -> SharedBuckets:
            shared = Shared(tmp_path, 0, 0, b"0123456789abcdef")
            return stack.enter_context(closing(shared.buckets(name)))

        yield open


def test_shared_buckets_are_one_for_every_worker(buckets: Buckets) -> None:
    config = Config(rate=3, feedback_quota=100)
    one, two = limits_of(config, buckets), limits_of(config, buckets)
    takes = [limit.requests.take("1.1.1.1") for limit in (one, two, one, two, one)]
    assert [wait == 0 for wait in takes] == [True] * 3 + [False] * 2
    two.requests.give_back("1.1.1.1")
    assert one.requests.take("1.1.1.1") == 0
    assert one.requests.take("2.2.2.2") == 0
    assert one.feedback.take("1.1.1.1", 60) == 0
    assert two.feedback.take("1.1.1.1", 60) > 0
    assert two.failures.take("1.1.1.1") == 0


def test_shared_buckets_take_turns(tmp_path: Path) -> None:
    """Four processes, in each of which two threads take tokens of one client."""
    script = (
        "import sys; from pathlib import Path; from concurrent.futures import ThreadPoolExecutor\n"
        "from gec.web.rates import RateLimit; from gec.web.shared import SharedBuckets\n"
        "limit = RateLimit(3000, 10**9, buckets=SharedBuckets(Path(sys.argv[1]), b'key'))\n"
        "take = lambda n: sum(limit.take('1.1.1.1') == 0 for _ in range(500))\n"
        "print(sum(ThreadPoolExecutor(2).map(take, range(2))))\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "x")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert sum(int(process.communicate(timeout=60)[0]) for process in processes) == 3000


def test_shared_buckets_forget_whom_they_have_not_seen_for_longest(buckets: Buckets) -> None:
    now = [0.0]
    few = buckets("x")
    few._number = lambda client: int(client.rpartition(".")[2])  # type: ignore[method-assign]
    limit = RateLimit(1, 10**9, buckets=few, clock=lambda: now[0])
    same_set = [f"0.0.0.{1 + 2048 * n}" for n in range(9)]  # of eight places
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gec.web.rates.client_of", lambda address: address)
        for client in same_set[:8]:
            now[0] += 1
            assert limit.take(client) == 0
        now[0] += 1
        assert limit.take(same_set[0]) > 0  # seen again, so the second one goes
        assert limit.take(same_set[8]) == 0
        assert limit.take(same_set[0]) > 0
        assert limit.take(same_set[2]) > 0
        assert limit.take(same_set[1]) == 0
    assert len(limit) == 8


def test_a_worker_whose_model_does_not_answer_ends(
    listening: Callable[..., Server], corrector: WebCorrector, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = listening(timeout=40.0)
    engine = server._app.extensions["gec"]
    ends: list[int] = []
    monkeypatch.setattr("gec.web.workers.os._exit", ends.append)
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(
            requests.post, server.address + CORRECT, json={"text": "WAIT"}, timeout=60
        )
        assert corrector.model.waiting.wait(10)
        began = engine.service._busy_since
        for seconds, status in ((79, []), (81, [1])):
            engine.service._busy_since = began - seconds
            look_after(server, engine, os.getppid())
            assert ends == status
        corrector.model.go.set()
        assert held.result(60).status_code == 200


def test_workers_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    assert threads_of(Config(workers=2)) == 4
    assert threads_of(Config(workers=16)) == 1
    assert threads_of(Config(workers=2, torch_threads=3)) == 3


def test_workers_are_for_cpus() -> None:
    assert Config(workers=2, device="cpu").workers == 2
    with pytest.raises(ConfigError, match="take 1 worker with device 'cuda:1'"):
        Config(workers=2, device="cuda:1")
