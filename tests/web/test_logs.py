"""gec.web.logs: one record a request, with the request's id, and never a text."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from flask.testing import FlaskClient

from gec.errors import ConfigError
from gec.web.config import Config
from gec.web.logs import JsonFormatter, request_id, set_up
from gec.web.server import Server

Make = Callable[..., FlaskClient]
CORRECT = "/api/v1/correct"


@pytest.fixture
def records() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Return a function that returns what has been logged as JSON, line by line."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("gec.web")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logger.removeHandler(handler)
    logger.setLevel(level)


Records = Callable[[], list[dict[str, Any]]]


def test_a_record_of_a_request(client: Make, records: Records) -> None:
    ours = client()
    answer = ours.post(f"{CORRECT}?text=secret", json={"text": ["We go.\nI have dog.", "a"]})
    (record,) = records()
    assert record.pop("time").endswith("Z")
    assert record.pop("ms") >= 0
    assert record == {
        "level": "info", "message": "request", "id": answer.headers["X-Request-Id"],
        "method": "POST", "path": CORRECT, "status": 200, "sentences": 3,
    }  # fmt: skip


def test_sentences_of_every_interface(client: Make, records: Records) -> None:
    ours = client()
    text = "We go.\nI have dog."
    with ours.post("/api/v1/stream", json={"text": text}) as answer:
        assert b"event: done" in answer.data
        assert not records()  # it is logged when it has ended
    form = {"text": text, "language": "en-US"}
    ours.post("/v2/check", data=form)
    ours.post("/v2/check", data=form | {"allowIncompleteResults": "true"})
    ours.get("/healthz")
    ours.post(CORRECT, json={"text": 1})
    assert [(r["path"], r["sentences"]) for r in records()] == [
        ("/api/v1/stream", 2), ("/v2/check", 2), ("/v2/check", 2), ("/healthz", 0), (CORRECT, 0),
    ]  # fmt: skip


def test_ids_of_requests(client: Make, records: Records) -> None:
    ours = client()

    def answered(**headers: str) -> str:
        return str(ours.get("/healthz", headers=headers).headers["X-Request-Id"])

    assert answered(**{"X-Request-Id": "abc-123.X:/+=_"}) == "abc-123.X:/+=_"
    assert answered(**{"X-Request-Id": "a b"}) != "a b"
    assert answered() != answered()
    assert [record["id"] for record in records()][:1] == ["abc-123.X:/+=_"]
    for given in (None, "", "a\nb", "é", "a" * 129, '{"a":1}', "a\n"):
        made = request_id(given)
        assert made != given
        assert len(made) == 16
    assert request_id("a" * 128) == "a" * 128


def test_a_fault_has_the_id_of_its_request(client: Make, records: Records) -> None:
    answer = client().post(CORRECT, json={"text": "secret RAISE"})
    fault, request = records()
    assert fault["level"] == "error"
    assert fault["message"].startswith("RuntimeError at ")
    assert fault["id"] == request["id"] == answer.headers["X-Request-Id"]
    assert request["status"] == 500


def test_no_text_in_json_either(client: Make, records: Records) -> None:
    ours = client(max_text=100)
    for text in ("secret go", "secret RAISE", "secret" * 100):
        ours.post(CORRECT, json={"text": text})
        ours.post("/api/v1/stream", json={"text": text}).close()
        ours.get("/v2/check", query_string={"text": text, "language": "en-US"})
        ours.get(f"/{text}")
        ours.open(f"/api/{text}", method="SECRET")
    written = json.dumps(records())
    assert len(records()) >= 15
    assert "secret" not in written.lower()
    assert '"path": "none"' in written


def test_what_waitress_refuses_is_logged_too(
    listening: Callable[..., Server], records: Records
) -> None:
    server = listening(max_body=2000)
    answer = requests.post(server.address + CORRECT, data=b"secret" * 20_000, timeout=30)
    (record,) = records()
    assert record["id"] == answer.headers["X-Request-Id"]
    assert (record["method"], record["path"], record["status"]) == ("POST", "none", 413)


def test_exceptions_of_libraries_are_written_without_their_message() -> None:
    try:
        raise ValueError("secret")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "f", 1, "at %s", ("/",), sys.exc_info())
    found = json.loads(JsonFormatter(3).format(record))
    assert found["worker"] == 3
    assert found["message"] == "at /"
    assert found["error"].startswith("ValueError at ")
    assert "secret" not in json.dumps(found)


def test_the_two_formats(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        root.handlers[:] = []
        set_up("warning", "json")
        logging.getLogger("gec.web").warning("a\nb")
        assert json.loads(capsys.readouterr().err)["message"] == "a\nb"
        set_up("info", "text", 1)
        logging.getLogger("gec.web").info("c")
        assert capsys.readouterr().err.endswith(" INFO worker 1 c\n")
    finally:
        root.handlers[:] = before
        root.setLevel(level)


def test_there_is_no_third_format() -> None:
    with pytest.raises(ConfigError, match="log_format must be text or json, not 'xml'"):
        Config(log_format="xml")
