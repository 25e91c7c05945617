"""web/deploy: recipes name what exists, their tools accept them, nginx passes requests on."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import fields
from importlib.metadata import requires
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
import yaml
from fake_web import WebCorrector
from flask.testing import FlaskClient
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from requests.adapters import HTTPAdapter

from gec.cli import build_parser
from gec.web.config import Config, configure
from gec.web.server import Server

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "web" / "deploy"
SETTINGS = {f"GEC_{setting.name.upper()}" for setting in fields(Config)} | {"GEC_CONFIG"}
OURS = {"GEC_DOMAIN", "GEC_UPSTREAM"}  # names of the recipes themselves


def tool(name: str) -> str:
    """Return the path of a program that not every machine has."""
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def checked(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd=cwd
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("path", sorted(DEPLOY.iterdir()), ids=lambda path: path.name)
def test_recipes_use_settings_that_exist(path: Path) -> None:
    assert set(re.findall(r"\bGEC_[A-Z_]+", path.read_text("utf-8"))) <= SETTINGS | OURS


def test_the_page_names_every_recipe() -> None:
    page = (ROOT / "docs" / "server.md").read_text("utf-8")
    names = {path.name for path in DEPLOY.iterdir()} - {"Dockerfile.dockerignore"}
    assert {name for name in names if f"web/deploy/{name}" not in page} == set()


def test_values_of_compose_are_accepted() -> None:
    document = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    given = document["services"]["gec"]["environment"]
    values = {name: re.sub(r"\$\{\w+:-(.*?)\}", r"\1", str(text)) for name, text in given.items()}
    config = configure({}, values)
    (network,) = document["networks"]["inside"]["ipam"]["config"]
    assert config.trusted_proxy == (network["subnet"],)
    assert config.workers > 1
    assert config.token is None  # an empty one is none
    patience = int(document["services"]["gec"]["stop_grace_period"].removesuffix("s"))
    assert patience > 2 * config.drain
    for service in document["services"].values():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]


def test_the_image_has_what_it_copies_and_says_what_it_runs() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    copied = " ".join(re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE)).split()
    assert all((ROOT / name).exists() for name in copied)
    ignore = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    assert {f"!{name}" for name in copied} <= set(ignore)
    needed = re.findall(r'HERE / "([^"]+)"', (ROOT / "setup.py").read_text("utf-8"))
    assert {name for name in needed if name != "gec"} <= set(copied) | {"gec", "models"}
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)
    name, *options = json.loads(entry)
    assert name == "gec"
    build_parser().parse_args(options)
    assert re.findall(r"^USER (\S+)$", text, re.MULTILINE) == ["10001:10001"]
    values = dict(re.findall(r"\b(GEC_\w+)=(\S+)", text.split("ENV ")[1].split("\nUSER")[0]))
    configure({}, values)


def _needed(names: Iterable[str], without: frozenset[str] = frozenset()) -> set[str]:
    """Return the packages that some packages need, themselves included; not what ``without`` do."""
    found: set[str] = set()
    left = [Requirement(name) for name in names]
    while left:
        package = left.pop()
        name = canonicalize_name(package.name)
        if name in found or (package.marker and not package.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        if name not in without:
            left += map(Requirement, requires(name) or [])
    return found


def test_the_image_loses_what_only_downloads_of_tokenizers_need() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = project["dependencies"] + project["optional-dependencies"]["serve"]
    text = (DEPLOY / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    (removed,) = re.findall(r"pip uninstall [^;&]*-version-check ([a-z0-9 -]+);", text)
    needless = _needed(names) - _needed(names, without=frozenset({"tokenizers"}))
    assert removed.split() == sorted(needless)


def test_hadolint_accepts_the_dockerfile() -> None:
    checked(tool("hadolint"), str(DEPLOY / "Dockerfile"))


def test_the_unit_has_options_that_exist() -> None:
    text = (DEPLOY / "gec.service").read_text("utf-8")
    (command,) = re.findall(r"^ExecStart=\S+/gec (.*)$", text, re.MULTILINE)
    build_parser().parse_args(command.split())
    (patience,) = re.findall(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)
    assert int(patience) > 2 * Config().drain


def test_alerts_use_metrics_that_exist(client: Callable[..., FlaskClient]) -> None:
    ours = client()
    ours.post("/api/v1/correct", json={"text": "We go."})
    found = set(re.findall(r"^(\w+)", ours.get("/metrics").text, re.MULTILINE))
    routes = {rule.rule for rule in ours.application.url_map.iter_rules()}
    document = yaml.safe_load((DEPLOY / "alerts.yml").read_text("utf-8"))
    for rule in document["groups"][0]["rules"]:
        expression = rule["expr"]
        assert set(re.findall(r"gec_\w+", expression)) <= found, rule["alert"]
        for pattern in re.findall(r'route=~"([^"]+)"', expression):
            matched = {route for route in routes if re.fullmatch(pattern, route)}
            assert len(matched) == pattern.count("|") + 1, rule["alert"]


def test_prometheus_accepts_the_alerts() -> None:
    assert "SUCCESS" in checked(tool("promtool"), "check", "rules", str(DEPLOY / "alerts.yml"))


def test_caddy_accepts_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = str(DEPLOY / "Caddyfile")
    assert "Valid configuration" in checked(
        tool("caddy"), "validate", "--adapter", "caddyfile", "--config", path
    )


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    analyze = tool("systemd-analyze")
    text = (DEPLOY / "gec.service").read_text("utf-8")
    unit = tmp_path / "gec.service"
    unit.write_text(text.replace("/opt/gec/bin/gec", shutil.which("true") or "/bin/true"))
    printed = checked(analyze, "verify", str(unit))
    assert "gec.service" not in printed, printed  # unknown keys are only warned about


# ------------------------------------------------------------------------------------------ nginx


class From(HTTPAdapter):
    """Connects from one address of this machine."""

    def __init__(self, address: str) -> None:
        self._address = address
        super().__init__()

    def init_poolmanager(self, *args: Any, **options: Any) -> Any:
        return super().init_poolmanager(*args, **options, source_address=(self._address, 0))


class Front:
    """nginx with web/deploy/nginx.conf, its names, ports and paths exchanged."""

    def __init__(self, folder: Path, upstream: str) -> None:
        self._folder = folder
        self.plain, self.port = _free(), _free()
        where = urlsplit(upstream).netloc
        text = (DEPLOY / "nginx.conf").read_text("utf-8")
        for before, after in (
            ("127.0.0.1:8081", where),
            ("listen 80;", f"listen 127.0.0.1:{self.plain};"),
            ("listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl"),
            ("/etc/ssl/gec/", f"{folder}/"),
            ("/var/log/nginx/", f"{folder}/"),
        ):
            assert before in text
            text = text.replace(before, after)
        (folder / "site.conf").write_text(text)
        temporary = "".join(
            f"{kind}_temp_path {folder}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (folder / "nginx.conf").write_text(
            f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;\n"
            f"events {{}}\nhttp {{ {temporary} access_log {folder}/access;\n"
            f"include {folder}/site.conf; }}\n"
        )
        self._command = [tool("nginx"), "-p", str(folder), "-c", str(folder / "nginx.conf")]

    def run(self, stack: ExitStack) -> None:
        checked(
            tool("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
            "-subj", "/CN=gec.example.org", "-addext", "subjectAltName=IP:127.0.0.1",
            "-keyout", "privkey.pem", "-out", "fullchain.pem",
            cwd=self._folder,
        )  # fmt: skip
        checked(*self._command, "-t")
        process = stack.enter_context(subprocess.Popen(self._command))
        stack.callback(process.terminate)
        _listens(self.port, process)

    def session(self, address: str = "127.0.0.1") -> requests.Session:
        """Return a session of a client with an address, which trusts the certificate."""
        session = requests.Session()
        session.mount("https://", From(address))
        session.headers["Host"] = "gec.example.org"
        session.trust_env = False
        session.verify = str(self._folder / "fullchain.pem")
        return session

    @property
    def address(self) -> str:
        return f"https://127.0.0.1:{self.port}"


SECRET = "/v2/check?language=en-US&text=A%20secret%20sentence."


def _listens(port: int, process: subprocess.Popen[Any]) -> None:
    """Wait until a process listens at a port."""
    end = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except OSError:
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.02)


def _free() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def front(tmp_path: Path, listening: Callable[..., Server]) -> Iterator[Front]:
    tool("nginx")
    server = listening(
        rate=5, trusted_proxy=("127.0.0.1",), allowed_host=("gec.example.org",), max_body=4000
    )
    with ExitStack() as stack:
        found = Front(tmp_path, server.address)
        found.run(stack)
        yield found


def test_behind_nginx(front: Front, corrector: WebCorrector, tmp_path: Path) -> None:
    with front.session() as session:
        answer = session.post(front.address + "/api/v1/correct", json={"text": "We go"}, timeout=30)
        assert answer.json()["results"][0]["corrected"] == "We goes"
        assert "max-age" in answer.headers["Strict-Transport-Security"]
        assert session.get(front.address + "/metrics", timeout=30).status_code == 404
        too_much = {"text": "a" * 2_300_000}
        refused = session.post(front.address + "/api/v1/correct", json=too_much, timeout=30)
        assert refused.status_code == 413  # by nginx
    log = [json.loads(line) for line in (tmp_path / "gec.log").read_text().splitlines()]
    assert log[0]["id"] == answer.headers["X-Request-Id"]
    plain = f"http://127.0.0.1:{front.plain}/docs"
    moved = requests.get(
        plain, headers={"Host": "gec.example.org"}, timeout=30, allow_redirects=False
    )
    assert (moved.status_code, moved.headers["Location"]) == (301, "https://gec.example.org/docs")


def test_clients_behind_nginx_have_a_rate_each(front: Front) -> None:
    forged = {"X-Forwarded-For": "9.9.9.9"}
    statuses = []
    for address in ("127.0.0.2", "127.0.0.3"):
        with front.session(address) as session:
            for _ in range(6):
                page = session.get(front.address + "/docs", headers=forged, timeout=30)
                statuses.append(page.status_code)
    assert statuses == ([200] * 5 + [429]) * 2


def test_nginx_passes_events_on_as_they_come(front: Front, corrector: WebCorrector) -> None:
    with front.session() as session:
        answer = session.post(
            front.address + "/api/v1/stream", json={"text": "We go\nWAIT"}, stream=True, timeout=30
        )
        lines = answer.iter_lines(chunk_size=1, decode_unicode=True)
        assert next(lines) == "event: sentence"  # the second sentence waits for what follows
        corrector.model.go.set()
        assert [line for line in lines if line.startswith("event")] == [
            "event: sentence", "event: done",
        ]  # fmt: skip


def test_nginx_logs_no_query(tmp_path: Path) -> None:
    """Neither of what it redirects nor of what the server does not answer."""
    with ExitStack() as stack:
        front = Front(tmp_path, f"http://127.0.0.1:{_free()}")
        front.run(stack)
        with front.session() as session:
            assert session.get(front.address + SECRET, timeout=30).status_code == 502
        plain = f"http://127.0.0.1:{front.plain}{SECRET}"
        moved = requests.get(plain, timeout=30, allow_redirects=False)
        assert moved.status_code == 301
    assert json.loads((tmp_path / "gec.log").read_text())["status"] == 502
    for name in ("errors", "access", "gec.log", "gec.errors"):
        assert "secret" not in (tmp_path / name).read_text(), name


# ------------------------------------------------------------------------------------------ Caddy


@pytest.mark.parametrize("status", [200, 502])
def test_caddy_logs_no_query(tmp_path: Path, listening: Callable[..., Server], status: int) -> None:
    caddy, port = tool("caddy"), _free()
    server = urlsplit(listening(trusted_proxy=("127.0.0.1",)).address)
    upstream = server.netloc if status == 200 else f"127.0.0.1:{_free()}"
    text = (DEPLOY / "Caddyfile").read_text("utf-8")
    assert "\n{\n\tlog {" in text
    path = tmp_path / "Caddyfile"
    path.write_text(text.replace("\n{\n", "\n{\n\tadmin off\n", 1))
    names = {"GEC_DOMAIN": f"http://127.0.0.1:{port}", "GEC_UPSTREAM": upstream}
    command = [caddy, "run", "--adapter", "caddyfile", "--config", str(path)]
    log = tmp_path / "log"
    with log.open("w") as errors, ExitStack() as stack:
        environment = {**os.environ, **names, "HOME": str(tmp_path)}
        process = stack.enter_context(subprocess.Popen(command, stderr=errors, env=environment))
        stack.callback(process.terminate)
        _listens(port, process)
        address = f"http://127.0.0.1:{port}"
        answer = requests.get(address + SECRET, headers={"Referer": SECRET}, timeout=30)
        assert answer.status_code == status
        assert requests.get(address + "/metrics", timeout=30).status_code == 404
    records = [json.loads(line) for line in log.read_text().splitlines()]
    found = [r for r in records if r.get("logger", "").startswith("http.log.access")]
    # Caddy logs a request after it is answered: the second may be logged first
    assert sorted(r["status"] for r in found) == sorted([status, 404])
    assert "secret" not in log.read_text()
