"""gec.web.feedback: what was shown and decided, with consent only, and exported for training."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from gec import __version__
from gec.cli import main
from gec.edits.edits import Edit
from gec.errors import InputError
from gec.web.feedback import Store
from gec.web.feedback_records import export, listed
from gec.web.problems import Problem

Make = Callable[..., FlaskClient]
PATH = "/api/v1/feedback"
CORRECT, STREAM = "/api/v1/correct", "/api/v1/stream"
HOME = "127.0.0.1"


def edit(start: int, original: str, replacement: str, kind: str = "R:VERB:SVA") -> Edit:
    return Edit(start, start + len(original), original, replacement, kind, 0.5, "why")


def rows(path: Path, table: str = "shown") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as base:
        return base.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall()


def stored(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in listed(str(path))]


def decisions(path: Path) -> list[list[str | None]]:
    return [[edit["decision"] for edit in record["edits"]] for record in stored(path)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "feedback.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Callable[..., Store]]:
    with ExitStack() as stack:

        def make(**options: Any) -> Store:
            found = Store(str(path), **options)
            stack.callback(found.close)
            return found

        yield make


def token(store: Store, sentence: str, *edits: Edit) -> str:
    found = store.sign(sentence, edits, "m")
    assert found is not None
    return found


def correct(client: FlaskClient, text: str, **options: Any) -> dict[str, Any]:
    answer = client.post(CORRECT, json={"text": text, "options": options})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json["results"][0]
    return found


def shown(client: FlaskClient, text: str = "He go home.", **options: Any) -> str:
    (sentence,) = correct(client, text, feedback=True, **options)["sentences"]
    found: str = sentence["shown"]["token"]
    return found


def body(token: str, **more: Any) -> dict[str, Any]:
    return {"shown": token, "edit": 0, "decision": "accepted", "consent": True} | more


def refusal(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json["error"]["code"]


# ---------------------------------------------------------------------------------------- the API


def test_a_decision_is_stored(client: Make, path: Path) -> None:
    ours = client(feedback=str(path))
    assert ours.get("/api/v1/settings").json["feedback"] is True
    answer = ours.post(PATH, json=body(shown(ours)))
    assert answer.status_code == 200
    (record,) = stored(path)
    assert answer.json == {"id": record.pop("id")}
    assert len(record.pop("day")) == 10
    assert record == {
        "sentence": "He go home.", "model": "fake", "gec": __version__,
        "edits": [
            {
                "start": 3, "end": 5, "original": "go", "replacement": "goes",
                "type": "R:VERB:SVA", "confidence": 0.75, "decision": "accepted",
            }
        ],
    }  # fmt: skip
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_sentence_says_which_edits_are_its_own(client: Make, path: Path) -> None:
    ours = client(feedback=str(path))
    found = correct(ours, "😀 We go, book.\nFine.\nI go.", feedback=True, offsets="utf16")
    first, second, third = found["sentences"]
    assert (first["shown"]["edits"], third["shown"]["edits"]) == ([0, 1], [2])
    assert "shown" not in second
    for sentence in (first, third):
        for place in range(len(sentence["shown"]["edits"])):
            ours.post(PATH, json=body(sentence["shown"]["token"], edit=place))
    assert [(r["sentence"], [e["start"] for e in r["edits"]]) for r in stored(path)] == [
        ("😀 We go, book.", [5, 9]),
        ("I go.", [2]),
    ]
    assert not any("shown" in s for s in correct(ours, "We go.")["sentences"])


def test_a_stream_has_tokens_too(client: Make, path: Path) -> None:
    ours = client(feedback=str(path))
    answer = ours.post(STREAM, json={"text": "Fine.\nWe go.", "options": {"feedback": True}})
    data = [json.loads(line[6:]) for line in answer.text.splitlines() if line[:5] == "data:"]
    assert "shown" not in data[0]["sentence"]
    assert data[1]["sentence"]["shown"]["edits"] == [0]
    assert ours.post(PATH, json=body(data[1]["sentence"]["shown"]["token"])).status_code == 200
    assert stored(path)[0]["sentence"] == "We go."


def test_nothing_is_stored_without_consent(client: Make, path: Path) -> None:
    ours = client(feedback=str(path))
    for consent in (False, None, "true", 1):
        assert ours.post(PATH, json=body(shown(ours), consent=consent)).status_code == 400
    without = body(shown(ours))
    del without["consent"]
    assert ours.post(PATH, json=without).status_code == 400
    assert rows(path) == []


def test_without_the_option_there_is_no_feedback(client: Make) -> None:
    ours = client()
    assert refusal(ours.post(PATH, json=body("x"))) == (404, "no_feedback")
    asked = {"text": "a", "options": {"feedback": True}}
    for address in (CORRECT, STREAM):
        assert refusal(ours.post(address, json=asked)) == (400, "invalid_request")


def test_clients_cannot_make_up_what_was_shown(client: Make, path: Path, tmp_path: Path) -> None:
    ours = client(feedback=str(path))
    good = shown(ours)
    payload, _, signature = good.partition(".")
    forged = json.loads(urlsafe_b64decode(payload + "=="))
    forged[2][0][2] = "gone"
    data = urlsafe_b64encode(json.dumps(forged).encode()).rstrip(b"=").decode()
    foreign = shown(client(feedback=str(tmp_path / "other.sqlite")))
    for wrong in (
        "x", ".", payload, f"{payload}.", f".{signature}", f"{data}.{signature}",
        f"{good[:-4]}AAAA", f"{payload}=.{signature}", f"{payload}.{signature[:20]}", "é.é",
        "a.b.c",
        foreign,
    ):  # fmt: skip
        assert refusal(ours.post(PATH, json=body(wrong))) == (409, "not_shown"), wrong
    for place in (1, 10**30):
        assert refusal(ours.post(PATH, json=body(good, edit=place))) == (409, "not_shown")
    assert rows(path) == []
    assert ours.post(PATH, json=body(good)).status_code == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"decision": "maybe"}, {"decision": None}, {"edit": -1}, {"edit": "0"}, {"edit": True},
        {"shown": ""}, {"shown": "a" * 2**19}, {"user": "me"}, {"sentence": "He go home."},
        {"type": "R:OTHER"}, {"confidence": 1},
    ],
)  # fmt: skip
def test_bodies_are_checked(client: Make, path: Path, wrong: dict[str, Any]) -> None:
    ours = client(feedback=str(path))
    assert refusal(ours.post(PATH, json=body(shown(ours), **wrong))) == (400, "invalid_request")
    assert rows(path) == []


def test_tokens_outlive_the_server(client: Make, path: Path) -> None:
    first = shown(client(feedback=str(path)))
    assert client(feedback=str(path)).post(PATH, json=body(first)).status_code == 200


# ---------------------------------------------------------------------------------------- the store


def test_the_later_decision_counts_and_none_is_nothing(
    path: Path, store: Callable[..., Store]
) -> None:
    ours = store()
    both = token(ours, "He go home , yes", edit(3, "go", "goes"), edit(11, ",", "", "U:PUNCT"))
    assert ours.decide(both, 1, "undecided", HOME) == ours.decide(both, 0, "undecided", HOME)
    assert stored(path) == []
    for place, decision in ((0, "accepted"), (1, "ignored"), (0, "ignored"), (0, "undecided")):
        ours.decide(both, place, decision, HOME)
    assert decisions(path) == [[None, "ignored"]]
    ours.decide(both, 1, "undecided", HOME)
    assert stored(path) == []
    assert rows(path, "edit") == []


@pytest.mark.parametrize(
    ("sentence", "replacement"),
    [
        ("a dog", "it|||REQUIRED|||-NONE-|||7"), ("a dog", "b\tc"), ("a dog", "b\nc"),
        ("a dog", "b\r"), ("a dog", "b\u2028c"), ("a dog", "b\x0bc"), ("a ||| b", "b"),
        ("a\ud800", "b"), ("a dog", "\ud800"), ("a" * 10_001, "b"),
    ],
)  # fmt: skip
def test_what_m2_cannot_hold_is_not_signed(
    store: Callable[..., Store], sentence: str, replacement: str
) -> None:
    assert store().sign(sentence, [edit(0, "a", replacement)], "m") is None


def test_only_edits_within_the_sentence_are_signed(store: Callable[..., Store]) -> None:
    ours = store()
    assert ours.sign("a", [], "m") is None
    assert ours.sign("a", [Edit(0, 2, "a ", "b", "R:OTHER", 0.5, "")], "m") is None
    assert ours.sign("a", [Edit(-1, 1, "a", "b", "R:OTHER", 0.5, "")], "m") is None
    assert ours.sign("a", [edit(1, "", " b")], "m")


def test_the_file_stops_growing(path: Path, store: Callable[..., Store]) -> None:
    ours = store(max_bytes=96 * 1024)
    statuses = []
    for _ in range(30):
        try:
            ours.decide(token(ours, "a" * 9000, edit(0, "a", "b")), 0, "accepted", HOME)
            statuses.append(200)
        except Problem as problem:
            statuses.append(problem.status)
    assert statuses == sorted(statuses)
    assert {*statuses} == {200, 507}
    assert len(rows(path)) == len(rows(path, "edit")) == statuses.count(200)


def test_a_client_has_a_quota(client: Make, path: Path) -> None:
    ours = client(feedback=str(path), feedback_quota=1000, rate=0)

    def send(address: str, known: str = "") -> Any:
        sent = known or shown(ours)
        return ours.post(PATH, json=body(sent), environ_base={"REMOTE_ADDR": address})

    kept = shown(ours)
    statuses = [send("10.0.0.1", kept).status_code]
    statuses += [send("10.0.0.1").status_code for _ in range(9)]
    assert statuses == sorted(statuses)
    assert {*statuses} == {200, 429}
    refused = send("10.0.0.1")
    assert refusal(refused) == (429, "feedback_quota")
    assert 0 < int(refused.headers["Retry-After"]) <= 86_400
    assert send("10.0.0.1", kept).status_code == 200  # what is stored already costs nothing
    assert send("10.0.0.2").status_code == 200
    assert len(rows(path)) == statuses.count(200) + 1


def test_many_at_once(path: Path, store: Callable[..., Store]) -> None:
    ours = store()

    def add(number: int) -> None:
        ours.decide(token(ours, f"{number}", edit(0, f"{number}", "x")), 0, "ignored", HOME)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(200)))
    assert sorted(int(record["sentence"]) for record in stored(path)) == list(range(200))


def test_a_second_start_goes_on(path: Path) -> None:
    for _ in range(2):
        ours = Store(str(path))
        ours.decide(token(ours, "a", edit(0, "a", "b")), 0, "accepted", HOME)
        ours.close()
    assert len(stored(path)) == 2


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12 and later
def test_a_child_process_has_a_connection_of_its_own(
    path: Path, store: Callable[..., Store]
) -> None:
    ours = store()
    first = token(ours, "a", edit(0, "a", "b"))
    ours.decide(first, 0, "accepted", HOME)
    parents = ours._connection()
    child = os.fork()
    if not child:
        status = 1
        try:
            signal.alarm(20)
            ours.decide(token(ours, "b", edit(0, "b", "c")), 0, "ignored", HOME)
            status = 0 if ours._connection() is not parents else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    ours.decide(first, 0, "ignored", HOME)
    assert [record["sentence"] for record in stored(path)] == ["a", "b"]


def age(path: Path, sentence: str, days: int) -> None:
    with closing(sqlite3.connect(path)) as base, base:
        base.execute(
            "UPDATE shown SET day = date('now', ?) WHERE sentence = ?", (f"-{days} days", sentence)
        )


def test_what_is_old_is_forgotten(path: Path, store: Callable[..., Store]) -> None:
    ours = store(days=30)
    for sentence in ("old", "new"):
        ours.decide(token(ours, sentence, edit(0, sentence, "x")), 0, "accepted", HOME)
    age(path, "old", 31)
    age(path, "new", 30)
    store(days=0)
    assert len(stored(path)) == 2
    store(days=30)  # at the start
    assert [record["sentence"] for record in stored(path)] == ["new"]
    age(path, "new", 31)
    ours._today = "2001-01-01"  # and when a day has passed
    ours.decide(token(ours, "next", edit(0, "next", "x")), 0, "accepted", HOME)
    assert [record["sentence"] for record in stored(path)] == ["next"]


def test_a_file_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="feedback cannot be stored"):
        Store(str(tmp_path / "no" / "feedback.sqlite"))
    other = tmp_path / "other"
    other.write_text("this is no database, whatever its name may be" * 100)
    with pytest.raises(InputError, match="feedback cannot be stored"):
        Store(str(other))


def test_a_file_of_an_earlier_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(old)) as base, base:
        base.execute("CREATE TABLE feedback (id INTEGER PRIMARY KEY, sentence TEXT)")
    with pytest.raises(InputError, match="an earlier version wrote this file"):
        Store(str(old))
    assert main(["feedback", "export", str(old)]) == 2
    assert "an earlier version wrote this file" in capsys.readouterr().err


# ------------------------------------------------------------------------------------ the commands


@pytest.fixture
def filled(path: Path) -> Path:
    store = Store(str(path))
    for sentence, edits, decided in (
        ("He go home, yesterday.", [edit(3, "go", "went"), edit(10, ",", "", "U:PUNCT")], "ai"),
        ("I has a dog.", [edit(2, "has", "have")], "i"),
        ("They was here , but go.", [edit(5, "was", "were"), edit(20, "go", "went")], "a-"),
        ("We\tsee\ndog.", [edit(7, "", "a ", "M:DET")], "a"),
        ("He go home, yesterday.", [edit(3, "go", "goes"), edit(10, ",", "", "U:PUNCT")], "aa"),
        ("He go home, yesterday.", [edit(3, "go", "gone"), edit(10, ",", "", "U:PUNCT")], "a-"),
    ):
        sent = token(store, sentence, *edits)
        for place, letter in enumerate(decided):
            if letter != "-":
                store.decide(sent, place, {"a": "accepted", "i": "ignored"}[letter], HOME)
    store.close()
    return path


PARALLEL = (
    "I has a dog .\tI has a dog .\n"
    "We see dog .\tWe see a dog .\n"
    "He go home , yesterday .\tHe goes home yesterday .\n"
)
M2 = """\
S I has a dog .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0

S We see dog .
A 2 2|||M:DET|||a|||REQUIRED|||-NONE-|||0

S He go home , yesterday .
A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0
A 3 4|||U:PUNCT||||||REQUIRED|||-NONE-|||0

"""


def test_only_what_is_fully_decided_is_exported(filled: Path) -> None:
    assert "".join(export(str(filled), "parallel")) == PARALLEL
    assert "".join(export(str(filled), "m2")) == M2


def test_acceptances_in_a_row_are_one_sentence(client: Make, path: Path) -> None:
    """The first of them must not say that the rest of the sentence was right."""
    ours = client(feedback=str(path))
    sent = shown(ours, "We go, have dog and much very big book.")
    assert len(stored(path)) == 0
    for place in range(4):
        assert "".join(export(str(path), "m2")) == ""
        assert ours.post(PATH, json=body(sent, edit=place)).status_code == 200
    assert "".join(export(str(path), "parallel")) == (
        "We go , have dog and much very big book .\tWe goes , have a dog and very big books .\n"
    )


def test_the_command(
    filled: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["feedback", "export", str(filled)]) == 0
    assert capfdbinary.readouterr().out.decode() == M2
    out = tmp_path / "out.tsv"
    command = ["feedback", "export", str(filled), "--format", "parallel", "--output", str(out)]
    assert main(command) == 0
    assert out.read_text("utf-8") == PARALLEL
    assert capfdbinary.readouterr().out == b""


def test_the_list_has_everything(filled: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["feedback", "list", str(filled)]) == 0
    found = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert found == stored(filled)
    assert len(found) == 6
    assert [edit["decision"] for edit in found[2]["edits"]] == ["accepted", None]


def in_files(path: Path, text: str) -> bool:
    files = path.parent.glob(f"{path.name}*")  # the journal, too
    return any(text.encode() in file.read_bytes() for file in files)


@pytest.mark.parametrize("running", [False, True], ids=["alone", "beside a server"])
def test_deleting(filled: Path, capsys: pytest.CaptureFixture[str], running: bool) -> None:
    server = Store(str(filled)) if running else None
    if server:
        server.decide(token(server, "Fresh dog", edit(6, "dog", "dogs")), 0, "accepted", HOME)
    before = len(stored(filled))
    assert in_files(filled, "I has a dog")
    one = next(record["id"] for record in stored(filled) if "I has" in record["sentence"])
    assert main(["feedback", "delete", str(filled), "--id", one]) == 0
    assert main(["feedback", "delete", str(filled), "--id", one]) == 0
    assert main(["feedback", "delete", str(filled), "--text", "yesterday"]) == 0
    assert main(["feedback", "delete", str(filled), "--text", "YESTERDAY"]) == 0
    age(filled, "They was here , but go.", 8)
    assert main(["feedback", "delete", str(filled), "--older-than", "7"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "1 sentence deleted", "0 sentences deleted", "3 sentences deleted", "0 sentences deleted",
        "1 sentence deleted",
    ]  # fmt: skip
    assert len(stored(filled)) == before - 5
    assert len(rows(filled, "edit")) == before - 5
    for text in ("I has a dog", "yesterday", "They was here"):
        assert not in_files(filled, text)
    if server:
        server.close()


@pytest.mark.parametrize(
    "which", [[], ["--text", ""], ["--id", "a", "--text", "b"], ["--older-than", "-1"]]
)
def test_deleting_needs_to_know_what(filled: Path, which: list[str]) -> None:
    assert main(["feedback", "delete", str(filled), *which]) == 2
    assert len(stored(filled)) == 6


@pytest.mark.parametrize("step", ["export", "list", "delete"])
def test_what_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str], step: str) -> None:
    more = ["--text", "a"] if step == "delete" else []
    assert main(["feedback", step, str(tmp_path / "none.sqlite"), *more]) == 2
    assert "no such file" in capsys.readouterr().err
    assert not (tmp_path / "none.sqlite").exists()
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as base, base:
        base.execute("CREATE TABLE something (id INTEGER)")
    assert main(["feedback", step, str(other), *more]) == 2
    assert "not a feedback file" in capsys.readouterr().err
    other.write_text("no database" * 100)
    assert main(["feedback", step, str(other), *more]) == 2
    assert "not a feedback file" in capsys.readouterr().err
    if step != "delete":
        kept = tmp_path / "kept"
        kept.write_text("kept")
        assert main(["feedback", step, str(other), "--output", str(kept)]) == 2
        assert kept.read_text() == "kept"
