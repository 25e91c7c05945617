"""gec.web.security: each rule with a case that it lets through and one that it does not."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from gec.web.rates import RateLimit

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


def test_the_token_is_compared_in_constant_time(
    client: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(a: bytes, b: bytes) -> bool:
        compared.append((a, b))
        return a == b

    monkeypatch.setattr("gec.web.security.hmac.compare_digest", compare)
    client(token=TOKEN).post(CORRECT, json=BODY, headers={"Authorization": "Bearer guess"})
    assert compared == [(b"guess", TOKEN.encode())]


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
