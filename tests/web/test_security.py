"""gec.web.security: each rule with a case that it lets through and one that it does not."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from gec.web.proxies import Forwarded
from gec.web.rates import RateLimit
from gec.web.security import FAILURES

Make = Callable[..., FlaskClient]
CORRECT = "/api/v1/correct"
BODY = {"text": "We go"}
TOKEN = "correct horse battery"
ROUTES = ["/", "/docs", "/docs/style.css", "/api/v1/settings", "/v2/languages", "/healthz", "/no"]


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json["error"]["code"]


# --------------------------------------------------------------------------------------- headers


@pytest.mark.parametrize("route", ROUTES)
def test_every_answer_has_the_headers(client: Make, route: str) -> None:
    headers = client().get(route).headers
    policy = dict(
        part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";")
    )
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert not {"script-src", "style-src"} & policy.keys()
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Set-Cookie" not in headers
    assert not any(name.startswith("Access-Control") for name, _ in headers)
    assert headers["Cache-Control"] == "no-store"


def test_pages_have_nothing_inline(client: Make) -> None:
    for route in ("/", "/docs"):
        page = client().get(route).text
        assert "<style" not in page
        assert " style=" not in page
        assert " onclick=" not in page
        assert "javascript:" not in page
        for script in page.split("<script")[1:]:
            assert "src=" in script.partition(">")[0]


# ----------------------------------------------------------------------------------------- token


def test_without_the_token_there_is_nothing(client: Make) -> None:
    ours = client(token=TOKEN)
    for headers in (
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": "Bearer é"},
    ):
        answer = ours.post(CORRECT, json=BODY, headers=headers)
        assert code(answer) == (401, "unauthorized")
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert ours.get("/metrics").status_code == 401
    assert ours.get("/api/v1/settings").status_code == 401
    assert ours.get("/v2/check?text=a&language=en").status_code == 403


def test_with_the_token_there_is_all(client: Make) -> None:
    ours = client(token=TOKEN)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert ours.post(CORRECT, json=BODY, headers=headers).status_code == 200
    assert ours.get("/metrics", headers=headers).status_code == 200
    query = {"text": "a", "language": "en"}
    assert ours.get("/v2/check", query_string=query, headers=headers).status_code == 200
    assert ours.post("/v2/check", data={**query, "apiKey": TOKEN}).status_code == 200
    for open_to_all in ("/", "/docs", "/healthz", "/readyz", "/openapi.json", "/v2/languages"):
        assert ours.get(open_to_all).status_code == 200


def test_an_answer_says_nothing_about_how_near_a_guess_is(client: Make) -> None:
    ours = client(token=TOKEN)
    near = [TOKEN[:n] + "x" * (len(TOKEN) - n) for n in range(len(TOKEN))]
    for guess in ("x", "x" * 1000, TOKEN[:-1], TOKEN[1:], f"{TOKEN}x", TOKEN.upper(), *near[::4]):
        id = {"X-Request-Id": "same"}
        answer = ours.post(CORRECT, json=BODY, headers={"Authorization": f"Bearer {guess}", **id})
        none = ours.post(CORRECT, json=BODY, headers=id)
        assert (answer.status_code, answer.data) == (none.status_code, none.data)
        assert list(answer.headers) == list(none.headers)


def guesses(client: FlaskClient, path: str, count: int, **more: Any) -> list[int]:
    headers = {"Authorization": "Bearer wrong"}
    return [client.get(path, headers=headers, **more).status_code for _ in range(count)]


def test_metrics_count_as_requests(client: Make) -> None:
    ours = client(token=TOKEN, rate=3)
    assert guesses(ours, "/metrics", 12) == [401] * 3 + [429] * 9
    headers = {"Authorization": f"Bearer {TOKEN}"}
    other = {"REMOTE_ADDR": "9.9.9.9"}
    statuses = [
        ours.get("/metrics", headers=headers, environ_base=other).status_code for _ in range(5)
    ]
    assert statuses == [200] * 3 + [429] * 2


@pytest.mark.parametrize(
    ("path", "refused"),
    [("/metrics", 401), ("/api/v1/settings", 401), ("/v2/check?text=a&language=en", 403)],
)
def test_wrong_tokens_count_whatever_the_rate(client: Make, path: str, refused: int) -> None:
    ours = client(token=TOKEN, rate=0)
    assert guesses(ours, path, 40) == [refused] * FAILURES + [429] * (40 - FAILURES)
    right = {"Authorization": f"Bearer {TOKEN}"}
    answer = ours.get(path, headers=right)  # or a right guess would still show
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["Retry-After"]) <= 3
    assert ours.get(path, headers=right, environ_base={"REMOTE_ADDR": "9.9.9.9"}).status_code == 200
    assert ours.get("/").status_code == 200


def test_right_tokens_do_not_count(client: Make) -> None:
    ours = client(token=TOKEN, rate=0)
    right = {"Authorization": f"Bearer {TOKEN}"}
    for _ in range(3 * FAILURES):
        assert ours.get("/api/v1/settings", headers=right).status_code == 200


# ----------------------------------------------------------------------------------------- hosts


def ask(client: FlaskClient, host: str, path: str = "/healthz", **more: str) -> Any:
    headers = {name.replace("_", "-"): value for name, value in more.items()}
    return client.get(path, headers={"Host": host, **headers})


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "localhost:8081", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:8081", "127.9.9.9",
        "[::1]", "[::1]:8081",
    ],
)  # fmt: skip
def test_names_of_the_loopback_interface(client: Make, host: str) -> None:
    for bound in ("127.0.0.1", "0.0.0.0", "::", "192.0.2.1"):
        assert ask(client(host=bound), host).status_code == 200


FOREIGN = [
    "evil.example", "evil.example:8081", "localhost.evil.example", "127.0.0.1.evil.example",
    "localhost:8081@evil.example", "evil.example:localhost", "[::1].evil.example", "localhostx",
]  # fmt: skip


@pytest.mark.parametrize("host", [*FOREIGN, "192.0.2.7", "[2001:db8::1]:8081", "0.0.0.0", ":80"])
def test_other_names_are_refused(client: Make, host: str) -> None:
    ours = client()
    for path in ("/", "/docs", "/healthz", "/metrics", "/api/v1/settings", "/static/editor.css"):
        assert code(ask(ours, host, path)) == (421, "unknown_host")
    headers = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    assert code(ours.post(CORRECT, json=BODY, headers=headers)) == (421, "unknown_host")
    refused = ask(ours, host, "/v2/languages")
    assert (refused.status_code, refused.text[:7]) == (421, "Error: ")


def test_the_bound_address_and_allowed_names(client: Make) -> None:
    ours = client(host="192.0.2.1", allowed_host=("gec.example.org", "[2001:db8::1]"))
    for host in ("192.0.2.1:8081", "gec.example.org", "GEC.example.org:443", "[2001:db8::1]:80"):
        assert ask(ours, host).status_code == 200
    for host in ("192.0.2.2", "example.org", "x.gec.example.org", *FOREIGN):
        assert ask(ours, host).status_code == 421
    assert ask(client(host="2001:DB8::2"), "[2001:db8::2]:80").status_code == 200
    assert ask(client(host="gec.internal"), "gec.internal:8081").status_code == 200
    for bound in ("0.0.0.0", "::"):
        every = client(host=bound)
        assert ask(every, "192.0.2.1:8081").status_code == 200
        assert ask(every, "[2001:db8::1]").status_code == 200
        for host in FOREIGN:
            assert ask(every, host).status_code == 421
    for host in FOREIGN[:2]:
        assert ask(client(allowed_host=("*",)), host).status_code == 200


def test_hosts_behind_a_proxy(client: Make) -> None:
    ours = client(trusted_proxy=("127.0.0.1",), allowed_host=("gec.example.org",))
    assert ask(ours, "localhost", X_Forwarded_Host="gec.example.org").status_code == 200
    assert ask(ours, "gec.example.org").status_code == 200
    for host in ("evil.example", "gec.example.org, evil.example"):
        assert ask(ours, "localhost", X_Forwarded_Host=host).status_code == 421
    assert ask(ours, "evil.example", X_Forwarded_For="127.0.0.1").status_code == 421
    untrusting = client(allowed_host=("gec.example.org",))
    assert ask(untrusting, "evil.example", X_Forwarded_Host="localhost").status_code == 421
    assert ask(untrusting, "localhost", X_Forwarded_Host="evil.example").status_code == 200


# --------------------------------------------------------------------------------------- proxies


def seen(trusted: tuple[str, ...], remote: str, **headers: str) -> dict[str, str]:
    """Return what an application behind Forwarded is told."""
    told: dict[str, Any] = {}
    environ = {"REMOTE_ADDR": remote, "HTTP_HOST": "h", "wsgi.url_scheme": "http"}
    environ |= {"SCRIPT_NAME": "", "PATH_INFO": headers.pop("path", "/docs")}
    environ |= {f"HTTP_X_FORWARDED_{name.upper()}": value for name, value in headers.items()}

    def application(environ: dict[str, Any], start: Any) -> list[bytes]:
        told.update(environ)
        return []

    Forwarded(application, trusted)(environ, lambda *_: lambda data: None)
    return told


@pytest.mark.parametrize(
    ("remote", "forwarded", "client"),
    [
        ("10.0.0.1", "1.1.1.1", "1.1.1.1"),
        ("10.0.0.1", "9.9.9.9, 1.1.1.1", "1.1.1.1"),
        ("10.0.0.1", "9.9.9.9, 1.1.1.1, 192.168.7.7", "1.1.1.1"),
        ("10.0.0.1", "1.1.1.1,2001:db8::1", "1.1.1.1"),
        ("10.0.0.1", "1.1.1.1:4711", "1.1.1.1"),
        ("10.0.0.1", '"[2001:db9::5]:4711"', "2001:db9::5"),
        ("2001:db8::1", "2001:db9::5", "2001:db9::5"),
        ("::ffff:10.0.0.1", "::ffff:1.1.1.1", "1.1.1.1"),
        ("10.0.0.1", "192.168.1.1, 192.168.1.2", "192.168.1.1"),
        ("10.0.0.1", "1.1.1.1, nonsense", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("11.0.0.1", "1.1.1.1", "11.0.0.1"),
        ("", "1.1.1.1", ""),
    ],
)
def test_the_client_is_the_last_address_that_is_no_proxy(
    remote: str, forwarded: str, client: str
) -> None:
    trusted = ("10.0.0.0/8", "192.168.0.0/16", "2001:db8::/32")
    assert seen(trusted, remote, **{"for": forwarded})["REMOTE_ADDR"] == client
    assert seen((), remote, **{"for": forwarded})["REMOTE_ADDR"] == remote


def test_what_else_a_proxy_says() -> None:
    headers = {"host": "a, b", "proto": "https", "prefix": "/gec/", "for": "1.1.1.1"}
    told = seen(("10.0.0.1",), "10.0.0.1", **headers)
    assert (told["HTTP_HOST"], told["wsgi.url_scheme"], told["SCRIPT_NAME"]) == (
        "b",
        "https",
        "/gec",
    )
    assert told["PATH_INFO"] == "/docs"
    assert not any(name.startswith("HTTP_X_FORWARDED") for name in told)
    untold = seen(("10.0.0.1",), "10.0.0.2", **headers)
    assert (untold["HTTP_HOST"], untold["wsgi.url_scheme"]) == ("h", "http")
    assert untold["SCRIPT_NAME"] == ""
    assert not any(name.startswith("HTTP_X_FORWARDED") for name in untold)
    whole = seen(("10.0.0.1",), "10.0.0.1", prefix="/gec", path="/gec/docs")
    assert (whole["SCRIPT_NAME"], whole["PATH_INFO"]) == ("/gec", "/docs")
    for odd in ("gec", "//evil.example", "https://evil.example"):
        assert seen(("10.0.0.1",), "10.0.0.1", prefix=odd)["SCRIPT_NAME"] == ""
    assert seen(("10.0.0.1",), "10.0.0.1", proto="ftp")["wsgi.url_scheme"] == "http"


# --------------------------------------------------------------------------------------- origins


@pytest.mark.parametrize(
    "headers",
    [
        {},  # a program
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://localhost"},
    ],
)
def test_own_pages_and_programs_may(client: Make, headers: dict[str, str]) -> None:
    assert client().post(CORRECT, json=BODY, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:99"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost.evil.example"},
    ],
)
def test_pages_of_other_sites_may_not(
    client: Make, headers: dict[str, str], tmp_path: Path
) -> None:
    ours = client(feedback=str(tmp_path / "f.sqlite"))
    assert code(ours.post(CORRECT, json=BODY, headers=headers)) == (403, "cross_site")
    assert code(ours.post("/api/v1/feedback", json={}, headers=headers)) == (403, "cross_site")


def test_allowed_sites_may(client: Make) -> None:
    friend = {"Sec-Fetch-Site": "cross-site", "Origin": "https://friend.example"}
    other = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
    ours = client(cors=("https://friend.example",))
    answer = ours.post(CORRECT, json=BODY, headers=friend)
    assert answer.status_code == 200
    assert answer.headers["Access-Control-Allow-Origin"] == "https://friend.example"
    assert "Origin" in answer.headers["Vary"]
    refused = ours.post(CORRECT, json=BODY, headers=other)
    assert code(refused) == (403, "cross_site")
    assert "Access-Control-Allow-Origin" not in refused.headers
    assert "Origin" in refused.headers["Vary"]
    assert "Access-Control-Allow-Origin" not in ours.get("/", headers=friend).headers
    answer = client(cors=("*",)).post(CORRECT, json=BODY, headers=other)
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in answer.headers


def test_preflights(client: Make) -> None:
    headers = {
        "Origin": "https://friend.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    for path in (CORRECT, "/v2/check"):
        ours = client(cors=("https://friend.example",), token=TOKEN)
        answer = ours.options(path, headers=headers)
        assert answer.status_code == 204
        assert answer.headers["Access-Control-Allow-Origin"] == "https://friend.example"
        assert "POST" in answer.headers["Access-Control-Allow-Methods"]
        assert "Content-Type" in answer.headers["Access-Control-Allow-Headers"]
        assert "Access-Control-Allow-Origin" not in client().options(path, headers=headers).headers


# ----------------------------------------------------------------------------------------- rates


def test_requests_a_minute(client: Make) -> None:
    ours = client(rate=3)
    for _ in range(3):
        assert ours.post(CORRECT, json=BODY).status_code == 200
    answer = ours.post(CORRECT, json=BODY)
    assert code(answer) == (429, "too_many_requests")
    assert 1 <= int(answer.headers["Retry-After"]) <= 20
    refused = ours.get("/v2/check?text=a&language=en")
    assert (refused.status_code, refused.text[:7]) == (429, "Error: ")
    assert ours.get("/v2/healthcheck").text == "OK"
    assert ours.get("/healthz").status_code == 200
    assert ours.post(CORRECT, json=BODY, environ_base={"REMOTE_ADDR": "9.9.9.9"}).status_code == 200


def test_forwarded_addresses_are_not_believed(client: Make) -> None:
    ours = client(rate=1)
    assert ours.post(CORRECT, json=BODY, headers={"X-Forwarded-For": "1.1.1.1"}).status_code == 200
    assert ours.post(CORRECT, json=BODY, headers={"X-Forwarded-For": "2.2.2.2"}).status_code == 429


def test_buckets_fill_again() -> None:
    now = [0.0]
    limit = RateLimit(60, clock=lambda: now[0])
    assert [limit.take("a") for _ in range(60)] == [0.0] * 60
    assert limit.take("a") == pytest.approx(1.0)
    assert limit.take("b") == 0
    now[0] = 0.5
    assert limit.take("a") == pytest.approx(0.5)
    now[0] = 1.0
    assert limit.take("a") == 0
    assert limit.take("a") > 0
    now[0] = 1e6
    assert [limit.take("a") for _ in range(61)][-2:] == [0.0, pytest.approx(1.0)]


def test_slow_rates_let_one_through() -> None:
    now = [0.0]
    limit = RateLimit(0.5, clock=lambda: now[0])
    assert limit.take("a") == 0
    assert limit.take("a") == pytest.approx(120)
    now[0] = 120.0
    assert limit.take("a") == 0


def test_no_rate_is_no_limit() -> None:
    limit = RateLimit(0)
    assert not any(limit.take("a") for _ in range(10_000))
    assert len(limit) == 0


def test_what_costs_more() -> None:
    now = [0.0]
    limit = RateLimit(100, 1000, clock=lambda: now[0])
    assert limit.take("a", 60) == 0
    assert limit.take("a", 60) == pytest.approx(200)
    assert limit.take("a", 40) == 0
    now[0] = 200.0
    assert limit.take("a", 20) == 0
    assert limit.take("b", 500) == 0  # all that a client may have
    assert limit.take("b") == pytest.approx(10)


def test_what_is_given_back() -> None:
    limit = RateLimit(2, clock=lambda: 0.0)
    for _ in range(10):
        assert limit.take("a") == 0
        limit.give_back("a")
    limit.give_back("a")
    limit.give_back("never seen")
    assert [limit.take("a") > 0 for _ in range(3)] == [False, False, True]
    assert len(limit) == 1


def test_the_memory_for_clients_is_bounded() -> None:
    limit = RateLimit(1, most=100)
    for number in range(10_000):
        limit.take(f"10.0.{number // 256}.{number % 256}")
    assert len(limit) == 100


def test_an_ipv6_client_is_its_network() -> None:
    limit = RateLimit(1)
    assert limit.take("2001:db8::1") == 0
    assert limit.take("2001:db8::2") > 0
    assert limit.take("2001:db8:0:1::1") == 0
    assert limit.take("fe80::1%eth0") == 0
    assert limit.take("::ffff:1.2.3.4") == 0
    assert limit.take("::ffff:1.2.3.5") == 0
    assert limit.take("") == 0


# ------------------------------------------------------------------------------------------ logs


def test_no_text_is_ever_logged(
    client: Make, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    ours = client(max_text=100)
    with caplog.at_level(logging.DEBUG):
        for text in ("secret go", "secret RAISE", "secret" * 100):
            ours.post(CORRECT, json={"text": text, "options": {"ignore_words": ["secret"]}})
            ours.post("/api/v1/stream", json={"text": text})
            ours.post("/v2/check", data={"text": text, "language": "en-US"})
            ours.get("/v2/check", query_string={"text": text, "language": "en-US"})
        ours.post(CORRECT, data="secret", content_type="application/json")
        ours.post(CORRECT, json={"text": 1, "secret": 2})
    written = caplog.text + "".join(capfd.readouterr())
    assert "RuntimeError" in written  # something was logged
    assert "secret" not in written
    assert "secret" not in ours.get("/metrics").text
