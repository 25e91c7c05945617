"""What a hostile client can do to ``gec serve``, tried on a server of its own; prints the counts.

    python tests/web/attack.py

Starts servers on free ports of the loopback interface, whose addresses 127.0.0.2, 127.0.0.3, ...
stand for different clients (on Linux every one of them can be used). Exits with 1 where a defence
does not hold.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

CORRECT, FEEDBACK = "/api/v1/correct", "/api/v1/feedback"
TOKEN = "0123456789abcdef0123456789abcdef"
SENTENCE = "She go to school every day. "
failed = False


class Server:
    """One ``gec serve`` with these options."""

    def __init__(self, address: str) -> None:
        self._host, _, port = address.partition(":")
        self._port = int(port)

    def ask(
        self, path: str, body: Any = None, *, client: int = 2, **headers: str
    ) -> tuple[int, Any]:
        """Return the status and the body of an answer to one client, ``127.0.0.{client}``."""
        wire = http.client.HTTPConnection(
            self._host, self._port, timeout=120, source_address=(f"127.0.0.{client}", 0)
        )
        with closing(wire):
            data = None if body is None else json.dumps(body)
            kind = {"Content-Type": "application/json"} if data else {}
            method = "POST" if data else "GET"
            wire.request(method, path, data, kind | headers)
            answer = wire.getresponse()
            text = answer.read().decode()
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, json.loads(text) if is_json else text


@contextmanager
def serving(*options: str) -> Iterator[Server]:
    command = [sys.executable, "-m", "gec", "serve", "--port", "0", "--log-level", "warning"]
    environment = {name: v for name, v in os.environ.items() if not name.startswith("GEC_")}
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        started = re.search(r"http://([\d.:]+)/", process.stdout.readline())
        if started is None:
            raise SystemExit("the server did not start")
        try:
            yield Server(started[1])
        finally:
            process.terminate()


def report(what: str, found: object, good: bool) -> None:
    global failed
    failed |= not good
    print(f"{'held' if good else 'FAILED'}: {what}: {found}", flush=True)


def counts(statuses: list[int]) -> str:
    return ", ".join(f"{n} x {status}" for status, n in sorted(Counter(statuses).items()))


def names(server: Server) -> None:
    foreign = ["evil.example", "evil.example:8081", "localhost.evil.example", "192.0.2.1"]
    paths = ["/", "/metrics", "/api/v1/settings", "/v2/languages", "/healthz"]
    statuses = [server.ask(path, Host=host)[0] for host in foreign for path in paths]
    page = {"Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"}
    statuses += [server.ask(CORRECT, {"text": "a"}, Host=host, **page)[0] for host in foreign]
    report("requests under other names", counts(statuses), {*statuses} == {421})
    own = [server.ask("/healthz", Host=host)[0] for host in ("localhost:1", "127.0.0.1", "[::1]")]
    report("requests under the server's own names", counts(own), {*own} == {200})
    page = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    statuses = [server.ask(CORRECT, {"text": "a"}, **page)[0] for _ in range(10)]
    report("requests of another site's page", counts(statuses), {*statuses} == {403})


def tokens(server: Server) -> None:
    for path in ("/metrics", "/api/v1/settings"):
        client = 10 if path == "/metrics" else 11
        guess = {"Authorization": "Bearer guess"}
        statuses = [server.ask(path, client=client, **guess)[0] for _ in range(200)]
        good = statuses.count(401) <= 35 and statuses.count(429) == 200 - statuses.count(401)
        report(f"200 wrong tokens for {path}", counts(statuses), good)
    right, _ = server.ask("/metrics", client=12, Authorization=f"Bearer {TOKEN}")
    report("the right token of another client", right, right == 200)


def crowd(server: Server) -> None:
    """One client sends 30 long texts at once; another must have its short one meanwhile."""
    long = {"text": "".join(f"Client {n} go to school. " for n in range(4000))[:100_000]}
    with ThreadPoolExecutor(30) as pool:
        many = [pool.submit(server.ask, CORRECT, long) for _ in range(30)]
        time.sleep(2)
        answers = []
        for number in range(5):
            began = time.monotonic()
            status, _ = server.ask(CORRECT, {"text": f"{SENTENCE}{number}"}, client=3)
            answers.append((status, time.monotonic() - began))
        meanwhile = sum(not one.done() for one in many)
        statuses = [one.result()[0] for one in many]
    slowest = max(seconds for _, seconds in answers)
    report("30 texts of 100,000 characters from one client at once", counts(statuses),
           statuses.count(429) >= 20)  # fmt: skip
    text = counts([status for status, _ in answers])
    shown = f"{text}, slowest {slowest:.1f} s; {meanwhile} long ones still in progress"
    report("short texts of another client meanwhile", shown, text == "5 x 200")


def words(server: Server) -> None:
    """A text and words that took 3 s before; then more than can be done in time."""
    small = {
        "text": "the word " * 4000,
        "options": {"ignore_words": [f"the {n}" for n in range(2000)]},
    }
    began = time.monotonic()
    status, _ = server.ask(CORRECT, small)
    size, seconds = len(json.dumps(small)), time.monotonic() - began
    report(f"{size:,} bytes with 2,000 words to ignore", f"{status} after {seconds:.1f} s",
           seconds < 10)  # fmt: skip
    large = {
        "text": "".join(f"Xqz{n} wnet hmoe. " for n in range(6000))[:100_000],
        "options": {"ignore_words": [f"word {n}" for n in range(20_000)]},
    }
    began = time.monotonic()
    status, _ = server.ask(CORRECT, large)
    size, seconds = len(json.dumps(large)), time.monotonic() - began
    report(f"{size:,} bytes with a limit of 2 s", f"{status} after {seconds:.1f} s", seconds < 10)


def feedback(server: Server) -> None:
    def shown(number: int) -> str:
        body = {"text": f"{SENTENCE}{number}", "options": {"feedback": True}}
        _, found = server.ask(CORRECT, body, client=4)
        token: str = found["results"][0]["sentences"][0]["shown"]["token"]
        return token

    def send(token: str, client: int = 4) -> int:
        body = {"shown": token, "edit": 0, "decision": "accepted", "consent": True}
        return server.ask(FEEDBACK, body, client=client)[0]

    token = shown(0)
    swap = {"A": "B"}
    forged = [
        token[:n] + swap.get(token[n], "A") + token[n + 1 :] for n in range(0, len(token) - 1)
    ]
    statuses = [send(one, 5 + at % 20) for at, one in enumerate(forged)]
    report("tokens with one character changed", counts(statuses), {*statuses} == {409})
    statuses = [send(shown(number)) for number in range(40)]
    report("sentences of one client with a quota of 5,000 bytes", counts(statuses),
           {*statuses} == {200, 429})  # fmt: skip
    other = send(shown(41), 30)
    report("a sentence of another client", other, other == 200)


def main() -> int:
    with serving("--rate", "0") as server:
        names(server)
        crowd(server)
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder, "token")
        secret.write_text(TOKEN)
        with serving("--rate", "0", "--token-file", str(secret)) as server:
            tokens(server)
        with serving("--rate", "0", "--timeout", "2") as server:
            words(server)
        store = str(Path(folder, "feedback.sqlite"))
        with serving("--rate", "0", "--feedback", store, "--feedback-quota", "5000") as server:
            feedback(server)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
