"""web/deploy/Dockerfile, built: what is in the image, and a container that serves, drains and ends.

``make image-check`` builds the image and runs these tests; elsewhere they are skipped, for they
need podman or docker, and a base image. GEC_IMAGE names the image, GEC_CONTAINERS the program,
GEC_RUN options to run it with.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
import requests

IMAGE = os.environ.get("GEC_IMAGE", "")
CONTAINERS = shlex.split(os.environ.get("GEC_CONTAINERS", "podman"))
LIMITS = shlex.split(os.environ.get("GEC_RUN", ""))
LARGEST = 250_000_000  # bytes, unpacked
RIGHTS = ["--read-only", "--tmpfs=/tmp", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
USER = "10001"
SENTENCES = 1500  # which take longer than a stop takes to begin
PATIENCE = ["--env=GEC_WORKERS=2", "--env=GEC_DRAIN=300", "--env=GEC_TIMEOUT=300"]

pytestmark = pytest.mark.skipif(not IMAGE, reason="make image-check builds what this needs")


def engine(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CONTAINERS, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def printed(*arguments: str) -> str:
    done = engine(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def until(true: Callable[[], Any], what: Callable[[], str]) -> Any:
    """Wait, for a minute at most, until something is true, and return it."""
    end = time.monotonic() + 60
    while not (found := true()):
        assert time.monotonic() < end, what()
        time.sleep(0.1)
    return found


def refuses(address: str) -> bool:
    """Whether a server takes no more connections, or a proxy of the engine closes them."""
    try:
        requests.get(address + "/healthz", timeout=60)
    except requests.ConnectionError:
        return True
    return False


@dataclass(frozen=True)
class Container:
    """A container of the image with two workers, as the Dockerfile's first lines run it."""

    name: str
    address: str

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return engine("exec", self.name, *command)

    def output(self) -> str:
        done = engine("logs", self.name)
        return done.stdout + done.stderr

    def records(self) -> list[dict[str, Any]]:
        lines = self.output().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def post(self, path: str, text: str, **more: Any) -> requests.Response:
        return requests.post(self.address + path, json={"text": text}, timeout=60, **more)


def image() -> dict[str, Any]:
    (found,) = json.loads(printed("image", "inspect", IMAGE))
    return dict(found)


def health() -> list[str]:
    """Return the command of the health check, which podman and docker show at different places."""
    found = image()
    kind, *command = (found.get("Healthcheck") or found["Config"]["Healthcheck"])["Test"]
    assert kind == "CMD"
    return command


@pytest.fixture
def container() -> Iterator[Container]:
    with ExitStack() as stack:
        name = printed(
            "run", "--detach", *RIGHTS, "--publish=127.0.0.1::8081", *PATIENCE, *LIMITS,
            IMAGE,
        ).strip()  # fmt: skip
        stack.callback(engine, "rm", "--force", name)
        where = printed("port", name, "8081").split()[0]
        found = Container(name, f"http://{where}")
        command = health()
        until(lambda: found.run(*command).returncode == 0, found.output)
        yield found


def test_the_image_is_small_and_cannot_build() -> None:
    assert image()["Size"] <= LARGEST
    script = (
        "for program in gcc cc pip f2py; do command -v $program; done; "
        "find / -xdev -name tests -path '*-packages*'; test ! -e /src && echo end"
    )
    done = engine("run", "--rm", *RIGHTS, *LIMITS, "--entrypoint=sh", IMAGE, "-c", script)
    assert done.stdout == "end\n", done.stderr


def test_it_runs_without_rights(container: Container) -> None:
    status = dict(
        line.split(":\t", 1) for line in container.run("cat", "/proc/1/status").stdout.splitlines()
    )
    assert set(status["Uid"].split()) == set(status["Gid"].split()) == {USER}
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
    assert status["NoNewPrivs"] == "1"
    assert container.run("id", "-nu").stdout == container.run("id", "-ng").stdout == "gec\n"
    assert "Read-only" in container.run("touch", "/opt/gec/x").stderr
    assert container.run("touch", "/tmp/x").returncode == 0


def test_both_workers_correct(container: Container) -> None:
    def workers() -> set[int]:
        found = container.records()
        return {r["worker"] for r in found if r.get("path") == "/api/v1/correct"}

    for _ in range(500):
        answer = container.post("/api/v1/correct", "She go to school.")
        assert answer.json()["results"][0]["corrected"] == "She goes to school."
        if workers() == {0, 1}:
            break
    assert workers() == {0, 1}
    assert not [r for r in container.records() if r["level"] != "info"]


def test_a_stop_waits_for_a_request_in_progress(container: Container) -> None:
    text = " ".join(f"She go to school {n} times a day." for n in range(SENTENCES))
    answer = container.post("/api/v1/stream", text, stream=True)
    lines = answer.iter_lines(chunk_size=1, decode_unicode=True)
    assert next(lines) == "event: sentence"
    with subprocess.Popen([*CONTAINERS, "stop", "--time=600", container.name]) as stop:
        until(lambda: refuses(container.address), container.output)
        assert not [r for r in container.records() if r.get("path") == "/api/v1/stream"]
        events = [line for line in lines if line.startswith("event")]
    assert stop.returncode == 0
    assert events == ["event: sentence"] * (SENTENCES - 1) + ["event: done"]
    state = json.loads(printed("container", "inspect", container.name))[0]["State"]
    assert state["ExitCode"] == 0


def test_a_volume_for_feedback_belongs_to_the_user() -> None:
    script = "stat -c %u:%g /var/lib/gec && touch /var/lib/gec/feedback.sqlite"
    done = engine(
        "run", "--rm", *RIGHTS, *LIMITS, "--volume=/var/lib/gec", "--entrypoint=sh",
        IMAGE, "-c", script,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, f"{USER}:{USER}\n"), done.stderr
