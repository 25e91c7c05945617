"""gec.web.api: texts in, edits out; every refusal in one shape."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, NoReturn

import pytest
from fake_web import WebCorrector
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from gec import __version__
from gec.text.lines import Positions
from gec.web.app import create_app, engine_of
from gec.web.calls import Engine
from gec.web.config import Config
from gec.web.decoding import QueueFull
from gec.web.results import Offsets
from gec.web.schemas import Validators, schemas

Make = Callable[..., FlaskClient]
CORRECT, STREAM = "/api/v1/correct", "/api/v1/stream"
VALIDATORS = Validators(schemas(Config(), ("precise", "balanced", "thorough")))


def post(client: FlaskClient, body: Any, path: str = CORRECT) -> dict[str, Any]:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    VALIDATORS.check("CorrectResponse", answer.json)
    found: dict[str, Any] = answer.get_json()
    return found


def one(client: FlaskClient, text: str, **options: Any) -> dict[str, Any]:
    (result,) = post(client, {"text": text, "options": options})["results"]
    found: dict[str, Any] = result
    return found


def refusal(answer: Any) -> tuple[int, str]:
    error = answer.json["error"]
    VALIDATORS.check("Error", answer.json)
    assert answer.mimetype == "application/json"
    assert error["status"] == answer.status_code
    assert "\n" not in error["message"]
    assert error["message"]
    return error["status"], error["code"]


def test_a_text(client: Make) -> None:
    body = post(client(), {"text": "We go.\nFine."})
    assert body["version"] == 1
    assert body["model"] == {"name": "fake", "gec": __version__}
    (result,) = body["results"]
    assert (result["text"], result["corrected"]) == ("We go.\nFine.", "We goes.\nFine.")
    assert result["edits"] == [
        {
            "start": 3, "end": 5, "original": "go", "replacement": "goes", "type": "R:VERB:SVA",
            "category": "grammar", "confidence": 0.75, "message": "Use 'goes'",
        }
    ]  # fmt: skip
    first, second = result["sentences"]
    assert first.items() >= {"start": 0, "end": 6, "passes": 2, "drafted": 2}.items()
    assert first.items() >= {"accepted": 1, "tokens": 3, "cached": False}.items()
    assert first["milliseconds"] >= 0
    assert "blocks" not in first
    assert (second["start"], second["end"]) == (7, 12)
    assert result["warnings"] == []


def test_texts_keep_their_order(client: Make) -> None:
    texts = [f"go {number}" for number in range(20)] + ["", "a"]
    results = post(client(), {"text": texts})["results"]
    assert [result["text"] for result in results] == texts
    assert [result["corrected"] for result in results] == [t.replace("go", "goes") for t in texts]
    assert post(client(), {"text": []})["results"] == []


def test_checking_again_costs_only_what_changed(client: Make, corrector: WebCorrector) -> None:
    ours = client()
    one(ours, "We go.\nFine.")
    found = one(ours, "We go.\nFine, too.")
    assert [sentence["cached"] for sentence in found["sentences"]] == [True, False]
    assert found["sentences"][0]["milliseconds"] == 0
    assert corrector.model.batches == [["We go.", "Fine."], ["Fine, too."]]


def test_options_reach_the_corrector(client: Make, corrector: WebCorrector) -> None:
    options = {
        "setting": "precise", "tolerance": 2, "min_confidence": 0.5, "ignore_words": ["a", "b"],
        "protect": [[1, 3]], "spelling": False,
    }  # fmt: skip
    one(client(), "no words", **options)
    asked = corrector.asked[-1]
    assert asked.setting == "precise"
    assert (asked.tolerance, asked.min_confidence) == (2, 0.5)
    assert asked.dictionary == {"a", "b"}
    assert asked.protected == ((1, 3),)
    assert asked.spelling is False
    assert corrector.model.tolerances[-1] == 2


def test_words_and_spans_stay(client: Make) -> None:
    ours = client()
    assert one(ours, "go go")["corrected"] == "goes goes"
    assert one(ours, "go go", ignore_words=["go"])["corrected"] == "go go"
    assert one(ours, "go go", protect=[[0, 2]])["corrected"] == "go goes"
    assert one(ours, "go go", protect=[[0, 0], [2, 1], [3, 900], [700, 900]])["corrected"] == (
        "goes go"
    )
    assert one(ours, "go go", min_confidence=0.8)["corrected"] == "go go"


def test_offsets_in_utf16(client: Make) -> None:
    text = "😀 go 😀\n😀 go"
    found = one(client(), text, offsets="utf16", protect=[[3, 4]])
    units = text.encode("utf-16-le")
    (edit,) = found["edits"]
    assert units[2 * edit["start"] : 2 * edit["end"]].decode("utf-16-le") == "go"
    assert edit["start"] == 12
    assert [(s["start"], s["end"]) for s in found["sentences"]] == [(0, 8), (9, 14)]


def test_a_trace_shows_the_blocks(client: Make) -> None:
    (sentence,) = one(client(), "go", trace=True)["sentences"]
    assert sentence["blocks"] == [
        {"kind": "drafted", "text": "a "},
        {"kind": "decided", "text": "b"},
        {"kind": "decided", "text": "c"},
    ]


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script> go", "a\ud800 go", "\0 go", "go\u2028\u202e go", "\r\n go"]
)
def test_strange_characters_come_back_as_they_were(client: Make, text: str) -> None:
    answer = client().post(
        CORRECT, data=json.dumps({"text": text}), content_type="application/json"
    )
    assert json.loads(answer.data)["results"][0]["text"] == text
    assert "script" not in answer.headers["Content-Type"]


# ---------------------------------------------------------------------------------------- stream


def events(answer: Any) -> list[tuple[str, Any]]:
    found = []
    for block in answer.text.split("\n\n")[:-1]:
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_a_stream_has_each_sentence_with_its_edits(client: Make) -> None:
    text = "We go.\n\n😀 go. WARN\nbook"
    answer = client().post(STREAM, json={"text": text, "options": {"offsets": "utf16"}})
    assert answer.mimetype == "text/event-stream"
    found = events(answer)
    assert [name for name, _ in found] == ["sentence"] * 3 + ["done"]
    for name, data in found:
        VALIDATORS.check({"sentence": "SentenceEvent", "done": "DoneEvent"}[name], data)
    units = text.encode("utf-16-le")
    edits = [edit for _, data in found[:3] for edit in data["edits"]]
    assert len(edits) == 3
    for edit in edits:
        written = units[2 * edit["start"] : 2 * edit["end"]].decode("utf-16-le")
        assert written == edit["original"]
    said = "characters 14-18: no end within the length limit, left as it was"
    assert found[-1][1] == {"warnings": [said], "sentences": 3}


def test_an_empty_stream_is_done(client: Make) -> None:
    assert events(client().post(STREAM, json={"text": ""})) == [
        ("done", {"warnings": [], "sentences": 0})
    ]


def test_a_stream_that_fails_later_says_so_as_an_event(client: Make) -> None:
    ours = client()
    *_, (name, data) = events(ours.post(STREAM, json={"text": "We go.\nRAISE\nnever"}))
    assert name == "error"
    VALIDATORS.check("Error", data)
    assert data["error"]["code"] == "internal"
    assert refusal(ours.post(STREAM, json={"text": "RAISE"})) == (500, "internal")
    # neither keeps its place
    assert all(ours.post(STREAM, json={"text": "RAISE"}).status_code == 500 for _ in range(40))
    assert one(ours, "go")["corrected"] == "goes"


def test_streams_are_for_one_text(client: Make) -> None:
    assert refusal(client().post(STREAM, json={"text": ["a"]})) == (400, "invalid_request")


# -------------------------------------------------------------------------------------- settings


def test_settings(client: Make) -> None:
    answer = client(setting="precise", max_text=50).get("/api/v1/settings").json
    VALIDATORS.check("Settings", answer)
    assert answer["settings"]["precise"] == {"tolerance": 1.0, "min_confidence": 0.5}
    assert list(answer["settings"]) == ["precise", "balanced", "thorough"]
    assert answer["default"] == "precise"
    assert answer["limits"] == {"text": 50, "texts": 64, "body": 2**21}
    assert answer["feedback"] is False
    assert client().get("/api/v1/settings").json["default"] == "balanced"


def test_the_servers_setting_is_the_default(client: Make, corrector: WebCorrector) -> None:
    one(client(setting="precise"), "go")
    assert corrector.asked[-1].setting == "precise"


# --------------------------------------------------------------------------------------- refusals


BAD = {
    "": "invalid_json",
    "{": "invalid_json",
    "[": "invalid_json",
    "[" * 100_000: "invalid_json",
    '{"text": "a", "options": {"tolerance": NaN}}': "invalid_json",
    '{"text": "a", "options": {"tolerance": ' + "9" * 5000 + "}}": "invalid_json",
    '{"text": "a", "options": {"tolerance": 1e999}}': "invalid_request",
    '{"text": "a", "options": {"tolerance": -0.1}}': "invalid_request",
    '{"text": "a", "options": {"tolerance": true}}': "invalid_request",
    '{"text": "a", "options": {"min_confidence": 1.1}}': "invalid_request",
    '{"text": "a", "options": {"setting": "fast"}}': "invalid_request",
    '{"text": "a", "options": {"offsets": "bytes"}}': "invalid_request",
    '{"text": "a", "options": {"protect": [[0]]}}': "invalid_request",
    '{"text": "a", "options": {"protect": [[-1, 0]]}}': "invalid_request",
    '{"text": ["a"], "options": {"protect": [[0, 1]]}}': "invalid_request",
    '{"text": "a", "options": {"ignore_words": "a"}}': "invalid_request",
    '{"text": "a", "options": {"colour": 1}}': "invalid_request",
    '{"text": "a", "option": {}}': "invalid_request",
    '{"text": null}': "invalid_request",
    '{"text": ["a", 1]}': "invalid_request",
    "{}": "invalid_request",
    "[]": "invalid_request",
    "null": "invalid_request",
}


@pytest.mark.parametrize("body", BAD, ids=lambda body: body[:50])
def test_bad_bodies_are_refused(client: Make, body: str) -> None:
    answer = client().post(CORRECT, data=body, content_type="application/json")
    assert refusal(answer) == (400, BAD[body])


def test_refusals_say_where_and_what(client: Make) -> None:
    ours = client()
    options = {"tolerance": -1}
    answer = ours.post(CORRECT, json={"text": "a", "options": options})
    assert answer.json["error"]["message"] == "options.tolerance must be at least 0"
    answer = ours.post(CORRECT, json={"text": "a", "txt": "b"})
    assert "unknown member 'txt'" in answer.json["error"]["message"]
    answer = ours.post(CORRECT, json={"options": {}})
    assert answer.json["error"]["message"] == "the body lacks text"
    answer = ours.post(CORRECT, json={"text": 1})
    assert answer.json["error"]["message"] == "text must be of the type string or array"


def test_other_kinds_of_bodies(client: Make) -> None:
    ours = client()
    assert refusal(ours.post(CORRECT, data="text=a")) == (415, "unsupported_media_type")
    latin = ours.post(CORRECT, data=b'{"text": "\xe9"}', content_type="application/json")
    assert refusal(latin) == (400, "invalid_json")
    packed = ours.post(CORRECT, json={"text": "a"}, headers={"Content-Encoding": "gzip"})
    assert refusal(packed) == (415, "unsupported_media_type")


def test_addresses_and_methods(client: Make) -> None:
    ours = client()
    assert refusal(ours.get("/nothing")) == (404, "not_found")
    assert refusal(ours.get("/api/v2/correct")) == (404, "not_found")
    assert refusal(ours.get("/static/nothing.js")) == (404, "not_found")
    answer = ours.get(CORRECT)
    assert refusal(answer) == (405, "method_not_allowed")
    assert "POST" in answer.headers["Allow"]
    assert refusal(ours.post("/")) == (405, "method_not_allowed")


def test_limits(client: Make) -> None:
    ours = client(max_text=10, max_texts=2, max_body=1024, max_sentences=3)
    assert one(ours, "a" * 10)["text"]
    for text in ("a" * 11, "😀" * 11, ["a" * 11]):
        assert refusal(ours.post(CORRECT, json={"text": text})) == (413, "text_too_long")
    assert refusal(ours.post(CORRECT, json={"text": ["a" * 6, "b" * 5]})) == (413, "text_too_long")
    assert refusal(ours.post(STREAM, json={"text": "a" * 11})) == (413, "text_too_long")
    assert refusal(ours.post(CORRECT, json={"text": list("abc")})) == (400, "invalid_request")
    assert refusal(ours.post(CORRECT, json={"text": "a" * 1024})) == (413, "body_too_large")
    assert one(ours, "a\nb\nc")["sentences"]
    assert refusal(ours.post(CORRECT, json={"text": "a\nb\nc\nd"})) == (413, "too_many_sentences")
    *_, (name, data) = events(ours.post(STREAM, json={"text": "a\nb\nc\nd"}))
    assert (name, data["error"]["code"]) == ("error", "too_many_sentences")


def test_a_decode_that_raises_costs_one_request_and_tells_nothing(
    client: Make, caplog: pytest.LogCaptureFixture
) -> None:
    ours = client()
    with caplog.at_level(logging.DEBUG):
        answer = ours.post(CORRECT, json={"text": "my secret RAISE"})
    assert refusal(answer) == (500, "internal")
    assert "secret" not in answer.text
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text
    assert one(ours, "go")["corrected"] == "goes"


def test_time_is_up(client: Make) -> None:
    ours = client(timeout=0.05)
    assert refusal(ours.post(CORRECT, json={"text": "WAIT"})) == (504, "timeout")


def test_a_full_queue(client: Make, corrector: WebCorrector) -> None:
    ours = client(queue=2, max_sentences=2)
    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(one, ours, "WAIT")
        assert corrector.model.waiting.wait(10)
        waiting = pool.submit(one, ours, "a\nb")
        service = ours.application.extensions["gec"].service
        while not service.full:
            threading.Event().wait(0.001)
        answer = ours.post(CORRECT, json={"text": "c"})
        assert refusal(answer) == (503, "queue_full")
        assert int(answer.headers["Retry-After"]) >= 1
        assert refusal(ours.get("/readyz")) == (503, "not_ready")
        assert ours.get("/v2/healthcheck").status_code == 503
        assert ours.get("/healthz").status_code == 200
        corrector.model.go.set()
        assert held.result(10)["corrected"] == "WAIT"
        assert waiting.result(10)["corrected"] == "a\nb"
    assert ours.get("/readyz").json == {"status": "ready"}


def test_too_many_at_once_leave_room_for_health_checks(
    client: Make, corrector: WebCorrector
) -> None:
    ours = client(threads=4)  # one place for corrections
    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(one, ours, "WAIT")
        assert corrector.model.waiting.wait(10)
        answer = ours.post(CORRECT, json={"text": "c"})
        assert refusal(answer) == (503, "busy")
        assert int(answer.headers["Retry-After"]) >= 1
        corrector.model.go.set()
        held.result(10)
    assert one(ours, "go")["corrected"] == "goes"


def test_a_client_may_have_some_of_the_places(client: Make, corrector: WebCorrector) -> None:
    ours = client(threads=9, client_requests=2, rate=0)

    def post_from(address: str, text: str, path: str = CORRECT) -> Any:
        return ours.post(path, json={"text": text}, environ_base={"REMOTE_ADDR": address})

    with ThreadPoolExecutor(6) as pool:
        held = [pool.submit(post_from, "2001:db8::1", f"WAIT {n}") for n in range(2)]
        places = ours.application.extensions["gec"]._places
        wait_until(lambda: places._free == 4)
        for path in (CORRECT, STREAM):
            answer = post_from("2001:db8::2", "go", path)  # the same network
            assert refusal(answer) == (429, "too_many_at_once")
            assert int(answer.headers["Retry-After"]) >= 1
        check = {"text": "We go", "language": "en"}
        refused = ours.post("/v2/check", data=check, environ_base={"REMOTE_ADDR": "2001:db8::3"})
        assert (refused.status_code, refused.text[:7]) == (429, "Error: ")
        held += [pool.submit(post_from, f"10.0.0.{n}", f"WAIT {n}") for n in range(4)]
        wait_until(lambda: places._free == 0)
        assert refusal(post_from("10.0.0.9", "go")) == (503, "busy")
        corrector.model.go.set()
        assert [one.result(10).status_code for one in held] == [200] * 6
    assert places._free == 6
    assert not places._taken
    assert post_from("2001:db8::1", "go").status_code == 200


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


# ------------------------------------------------------------------------------------ the deadline


class Clock:
    """A time that goes on by a millisecond whenever it is asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> float:
        self.asked += 1
        return self.asked / 1000


@pytest.fixture
def planning(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., FlaskClient]]:
    """Return a client of an app with a real corrector, whose time only goes on as it is read."""
    from gec.loading import load

    corrector = load("en", device="cpu")
    monkeypatch.setattr(corrector, "decode", lambda *_, **__: pytest.fail("nothing is decoded"))
    with ExitStack() as stack:

        def make(**settings: Any) -> FlaskClient:
            monkeypatch.setattr(Engine, "warm_up", lambda engine: None)
            app = create_app(Config(threads=4, **settings), corrector=corrector)
            stack.callback(engine_of(app).close)
            for module in ("calls", "security"):
                monkeypatch.setattr(f"gec.web.{module}.now", Clock())
            return app.test_client()

        yield make


WORDS = [f"the word {number}" for number in range(2000)]
BUSY = "The cat has seen the word and the dog. " * 1000


@pytest.mark.parametrize("path", [CORRECT, STREAM])
def test_the_deadline_holds_while_a_text_is_planned(
    planning: Callable[..., FlaskClient], path: str
) -> None:
    ours = planning(timeout=0.2)  # two hundred looks at the clock
    body = {"text": BUSY, "options": {"ignore_words": WORDS}}
    assert len(json.dumps(body)) > 56_000
    assert refusal(ours.post(path, json=body)) == (504, "timeout")
    places = ours.application.extensions["gec"]._places
    assert (places._free, dict(places._taken)) == (1, {})


def test_the_work_of_a_request_grows_with_its_bytes(
    planning: Callable[..., FlaskClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted are the calls of functions, Python's and C's, until the model is asked."""
    ours = planning(timeout=3600.0)

    def full(*_: Any) -> NoReturn:
        raise QueueFull(1.0)

    monkeypatch.setattr(ours.application.extensions["gec"].service, "decode", full)

    def calls(size: int) -> int:
        options = {
            "ignore_words": [f"the word {number}" for number in range(size // 4)],
            "protect": [[9 * at, 9 * at + 4] for at in range(size // 4)],
            "offsets": "utf16",
        }
        text = "The cat hasnt seen the word 😀 and the dog. " * (size // 10)
        body = json.dumps({"text": text, "options": options})
        count = 0

        def profile(frame: Any, event: str, argument: Any) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(profile)
        try:
            answer = ours.post(CORRECT, data=body, content_type="application/json")
        finally:
            sys.setprofile(None)
        assert refusal(answer) == (503, "queue_full")
        return count

    calls(100)  # what is cached is cached
    small, large = calls(200), calls(1600)
    assert large < 1.25 * 8 * small


def test_the_deadline_holds_for_languagetools_clients(
    planning: Callable[..., FlaskClient],
) -> None:
    ours = planning(timeout=0.2)
    for mode in ("all", "textLevelOnly"):
        query = {"text": BUSY, "language": "en", "mode": mode}
        answer = ours.post("/v2/check", data=query)
        assert answer.status_code == 500
        assert "took longer than 0.2 seconds" in answer.text
    places = ours.application.extensions["gec"]._places
    assert (places._free, dict(places._taken)) == (1, {})


# --------------------------------------------------------------------------------------- offsets


@given(st.text(st.sampled_from("ab😀é𝔊\n"), max_size=30))
def test_offsets_there_and_back(text: str) -> None:
    offsets = Offsets(text, "utf16")
    for start in range(len(text) + 1):
        for end in range(start, len(text) + 1):
            assert offsets.span(offsets.out(start), offsets.out(end)) == (start, end)


@given(st.text(st.sampled_from("a😀"), max_size=10), st.integers(0, 25), st.integers(0, 25))
def test_a_span_covers_the_characters_that_it_touches(text: str, start: int, end: int) -> None:
    first, last = Offsets(text, "utf16").span(start, end)
    positions = Positions(text)
    assert 0 <= first <= len(text)
    assert 0 <= last <= len(text)
    total = positions.utf16(len(text))
    assert positions.utf16(first) <= min(start, total)
    assert positions.utf16(last) >= min(end, total)
    assert positions.utf16(first) > min(start, total) - 2
