"""gec.web.server: real sockets. Many clients, slow ones, rude ones, and an orderly end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import urlsplit

import pytest
import requests
from fake_web import WebCorrector

from gec.errors import InputError
from gec.web.app import create_app
from gec.web.config import Config
from gec.web.decoding import DecodingService
from gec.web.server import Server

Listen = Callable[..., Server]
CORRECT = "/api/v1/correct"


def correct(server: Server, text: str) -> str:
    answer = requests.post(server.address + CORRECT, json={"text": text}, timeout=30)
    assert answer.status_code == 200, answer.text
    found: str = answer.json()["results"][0]["corrected"]
    return found


def raw(server: Server, data: bytes) -> tuple[int, dict[str, str], bytes]:
    parts = urlsplit(server.address)
    with closing(socket.create_connection((parts.hostname, parts.port), timeout=10)) as wire:
        wire.sendall(data)
        answer = http.client.HTTPResponse(wire)
        answer.begin()
        return answer.status, dict(answer.getheaders()), answer.read()


def test_concurrent_clients_get_their_own_answers(listening: Listen) -> None:
    server = listening()

    def run(client: int) -> list[tuple[str, str]]:
        with requests.Session() as session:
            pairs = []
            for number in range(15):
                text = f"Client {client} go {number}.\nAll have dog.\nclient {client % 3} go"
                answer = session.post(server.address + CORRECT, json={"text": text}, timeout=30)
                pairs.append((text, answer.json()["results"][0]["corrected"]))
            return pairs

    with ThreadPoolExecutor(16) as pool:
        pairs = [pair for found in pool.map(run, range(16)) for pair in found]
    assert len(pairs) == 240
    for text, corrected in pairs:
        assert corrected == text.replace(" go", " goes").replace("have dog", "have a dog")


def test_one_bad_request_among_good_ones(listening: Listen) -> None:
    server = listening()

    def run(number: int) -> int:
        text = "RAISE" if number == 7 else f"We go {number}"
        return requests.post(server.address + CORRECT, json={"text": text}, timeout=30).status_code

    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(run, range(16)))
    assert statuses == [200] * 7 + [500] + [200] * 8


def test_sentences_of_a_stream_come_as_they_finish(
    listening: Listen, corrector: WebCorrector
) -> None:
    server = listening()
    answer = requests.post(
        server.address + "/api/v1/stream", json={"text": "We go\nWAIT"}, stream=True, timeout=30
    )
    lines = answer.iter_lines(chunk_size=1, decode_unicode=True)
    assert next(lines) == "event: sentence"
    assert json.loads(next(lines).removeprefix("data: "))["edits"][0]["replacement"] == "goes"
    assert corrector.model.waiting.wait(10)  # the second sentence is not done, the first is here
    corrector.model.go.set()
    assert [line for line in lines if line.startswith("event")] == [
        "event: sentence",
        "event: done",
    ]


def test_a_client_that_leaves_a_stream_frees_its_place(
    listening: Listen, corrector: WebCorrector
) -> None:
    server = listening(threads=4)  # one place for corrections
    answer = requests.post(
        server.address + "/api/v1/stream",
        json={"text": "We go\nWAIT\nmore"},
        stream=True,
        timeout=30,
    )
    next(answer.iter_lines(chunk_size=1))
    assert corrector.model.waiting.wait(10)
    busy = requests.post(server.address + CORRECT, json={"text": "a"}, timeout=10)
    assert busy.json()["error"]["code"] == "busy"
    answer.close()
    corrector.model.go.set()
    end = time.monotonic() + 10
    while (
        requests.post(server.address + CORRECT, json={"text": "a"}, timeout=10).status_code == 503
    ):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_what_waitress_refuses_looks_like_other_errors(listening: Listen) -> None:
    server = listening(max_body=2000)
    bodies = {
        b"nonsense\r\n\r\n": 400,
        b"GET / HTTP/1.1\r\nX: " + b"a" * 2**19 + b"\r\n\r\n": 431,
        b"POST /api/v1/correct HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n": 413,
        b"POST /api/v1/correct HTTP/1.1\r\nContent-Length: x\r\n\r\n": 400,
    }
    for data, expected in bodies.items():
        status, headers, body = raw(server, data)
        assert status == expected
        assert headers["Content-Type"] == "application/json"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert json.loads(body)["error"]["status"] == expected
        assert "Server" not in headers
    status, headers, body = raw(
        server, b"POST /v2/check HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n"
    )
    assert (status, body[:26]) == (413, b"Error: Request size limit ")
    assert headers["Content-Type"].startswith("text/plain")


def test_a_body_in_chunks_has_limits_too(listening: Listen) -> None:
    server = listening(max_body=2000)

    def chunks(size: int) -> Iterator[bytes]:
        yield b'{"text": "'
        yield b"a" * size
        yield b'"}'

    for size, expected in ((100, 200), (3000, 413), (500_000, 413)):
        answer = requests.post(
            server.address + CORRECT,
            data=chunks(size),
            headers={"Content-Type": "application/json"},
            timeout=10,
        )
        assert answer.status_code == expected


def test_forwarded_addresses_only_of_the_trusted_proxy(listening: Listen) -> None:
    def statuses(server: Server) -> list[int]:
        return [
            requests.post(
                server.address + CORRECT,
                json={"text": "a"},
                headers={"X-Forwarded-For": f"9.9.9.9, {address}"},
                timeout=10,
            ).status_code
            for address in ("1.1.1.1", "1.1.1.1", "2.2.2.2")
        ]

    assert statuses(listening(rate=1)) == [200, 429, 429]
    assert statuses(listening(rate=1, trusted_proxy=("127.0.0.1",))) == [200, 429, 200]
    networks = ("192.0.2.0/24", "127.0.0.0/8")
    assert statuses(listening(rate=1, trusted_proxy=networks)) == [200, 429, 200]
    assert statuses(listening(rate=1, trusted_proxy=("192.0.2.1",))) == [200, 429, 429]


def test_an_address_that_is_taken(listening: Listen, corrector: WebCorrector) -> None:
    server = listening()
    port = urlsplit(server.address).port
    assert port is not None
    app = create_app(Config(), corrector=corrector)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1 port {port}"):
        Server(app, Config(port=port))
    app.extensions["gec"].close()


def takes_connections(address: str) -> bool:
    """Whether there are still answers after ten seconds."""
    end = time.monotonic() + 10
    try:
        while time.monotonic() < end:
            requests.get(address + "/healthz", timeout=10)
            time.sleep(0.01)
    except requests.ConnectionError:
        return False
    return True


def test_stopping_finishes_what_has_begun(listening: Listen, corrector: WebCorrector) -> None:
    server = listening()
    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(correct, server, "WAIT and go")
        assert corrector.model.waiting.wait(10)
        server.stop()
        assert not takes_connections(server.address)
        assert not held.done()
        corrector.model.go.set()
        assert held.result(10) == "WAIT and goes"


def test_stopping_does_not_wait_for_ever(listening: Listen, corrector: WebCorrector) -> None:
    server = listening(drain=0.3)
    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(correct, server, "WAIT")
        assert corrector.model.waiting.wait(10)
        server.stop()
        with pytest.raises(requests.ConnectionError):
            held.result(20)


# ------------------------------------------------------------------------------ servers that fork


def in_a_child(work: Callable[[], bool]) -> int:
    """Return how a forked process ends: 0 if the work is well done there, -14 if it hangs."""
    child = os.fork()
    if not child:
        status = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(30)
            status = 0 if work() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12 and later
def test_a_forked_process_decodes(corrector: WebCorrector) -> None:
    """As a pre-forking server does it: the application first, then the processes."""
    app = create_app(Config(), corrector=corrector)  # type: ignore[arg-type]
    parent = app.test_client()

    def asked() -> bool:
        answer = app.test_client().post(CORRECT, json={"text": "We go.\nI have dog."})
        found = answer.json["results"][0]
        cached = [sentence["cached"] for sentence in found["sentences"]]
        ready = app.test_client().get("/readyz").status_code
        return (found["corrected"], cached, ready) == ("We goes.\nI have a dog.", [False] * 2, 200)

    assert "gec-decoding" in corrector.model.threads  # it has warmed up, and been idle since
    assert [in_a_child(asked) for _ in range(2)] == [0, 0]
    assert asked()  # the parent has gone on
    with ThreadPoolExecutor(1) as pool:  # and in the middle of a batch
        held = pool.submit(parent.post, CORRECT, json={"text": "WAIT"})
        assert corrector.model.waiting.wait(10)
        assert in_a_child(asked) == 0
        corrector.model.go.set()
        assert held.result(10).status_code == 200
    app.extensions["gec"].close()


def test_no_thread_before_the_first_sentence(corrector: WebCorrector) -> None:
    service = DecodingService(corrector.model.decode)
    before = threading.active_count()
    assert not service.stuck(0)
    assert service.decode([], 0.0, time.monotonic() + 10) == []
    assert threading.active_count() == before
    service.decode([(97,)], 0.0, time.monotonic() + 10)
    assert threading.active_count() == before + 1
    service.close(10)
    assert service.stuck(60)


# ------------------------------------------------------------------------------- the command itself


SCRIPT = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import gec.web.app
from fake_web import WebCorrector
fake = WebCorrector()
gec.web.app._load = lambda config: fake
decode = fake.model.decode
def slow(sources, tolerance):
    if tuple(map(ord, "We go")) in sources:  # not what warms the server up
        print("decoding", flush=True)
        sys.stdin.readline()
    return decode(sources, tolerance)
fake.model.decode = slow
from gec.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_sigterm_drains() -> None:
    environment = {name: v for name, v in os.environ.items() if not name.startswith("GEC_")}
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, os.path.dirname(os.path.dirname(__file__)),  # noqa: PTH120
         "serve", "--port", "0"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with process, ThreadPoolExecutor(1) as pool:
        try:
            line = process.stdout.readline()
            assert line.startswith("gec serves http://127.0.0.1:")
            address = line.split()[2].rstrip("/")
            held = pool.submit(requests.post, address + CORRECT, json={"text": "We go"}, timeout=60)
            assert process.stdout.readline() == "decoding\n"
            process.send_signal(signal.SIGTERM)
            assert not takes_connections(address)
            assert not held.done()
            process.stdin.write("go on\n")
            process.stdin.flush()
            answer = held.result(60)
            assert answer.status_code == 200
            assert answer.json()["results"][0]["corrected"] == "We goes"
            assert process.wait(60) == 0
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()  # or a failure would wait for a server that waits
