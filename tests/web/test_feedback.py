"""gec.web.feedback: stored with consent only, and exported for training."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from gec import __version__
from gec.cli import main
from gec.errors import InputError
from gec.web.feedback import Store, export
from gec.web.problems import Problem

Make = Callable[..., FlaskClient]
PATH = "/api/v1/feedback"


def edit(start: int, original: str, replacement: str, kind: str = "R:VERB:SVA") -> dict[str, Any]:
    return {
        "start": start,
        "end": start + len(original),
        "original": original,
        "replacement": replacement,
        "type": kind,
        "confidence": 0.5,
    }


def body(**more: Any) -> dict[str, Any]:
    return {
        "sentence": "He go home.",
        "edit": edit(3, "go", "goes"),
        "decision": "accepted",
        "consent": True,
    } | more


def rows(path: Path) -> list[tuple[Any, ...]]:
    base = sqlite3.connect(path)
    try:
        return base.execute("SELECT * FROM feedback ORDER BY id").fetchall()
    finally:
        base.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "feedback.sqlite"


def test_a_decision_is_stored(client: Make, path: Path) -> None:
    ours = client(feedback=str(path))
    assert ours.get("/api/v1/settings").json["feedback"] is True
    answer = ours.post(PATH, json=body())
    assert (answer.status_code, answer.data) == (204, b"")
    ((_, day, *values),) = rows(path)
    assert len(day) == 10
    assert values == [
        "He go home.", 3, 5, "go", "goes", "R:VERB:SVA", 0.5, "accepted", "fake", __version__
    ]  # fmt: skip
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_offsets_in_utf16(client: Make, path: Path) -> None:
    ours = client(feedback=str(path))
    sentence = "😀 He go home."
    given = body(sentence=sentence, edit=edit(6, "go", "goes"), offsets="utf16")
    assert ours.post(PATH, json=given).status_code == 204
    assert rows(path)[0][3:5] == (5, 7)
    given.pop("offsets")
    assert ours.post(PATH, json=given).status_code == 409


def test_nothing_is_stored_without_consent(client: Make, path: Path) -> None:
    ours = client(feedback=str(path))
    for consent in (False, None, "true", 1):
        assert ours.post(PATH, json=body(consent=consent)).status_code == 400
    without = body()
    del without["consent"]
    assert ours.post(PATH, json=without).status_code == 400
    assert rows(path) == []


def test_without_the_option_there_is_no_feedback(client: Make) -> None:
    answer = client().post(PATH, json=body())
    assert (answer.status_code, answer.json["error"]["code"]) == (404, "no_feedback")


@pytest.mark.parametrize(
    "wrong",
    [
        edit(2, "go", "goes"),
        edit(3, "goes", "go"),
        edit(30, "", "x"),
        {**edit(3, "go", "goes"), "end": 2},
    ],
)
def test_an_edit_must_fit(client: Make, path: Path, wrong: dict[str, Any]) -> None:
    answer = client(feedback=str(path)).post(PATH, json=body(edit=wrong))
    assert (answer.status_code, answer.json["error"]["code"]) == (409, "edit_does_not_fit")


@pytest.mark.parametrize(
    "wrong", [{"decision": "maybe"}, {"sentence": ""}, {"sentence": "a" * 10_001}, {"user": "me"}]
)
def test_bodies_are_checked(client: Make, path: Path, wrong: dict[str, Any]) -> None:
    assert client(feedback=str(path)).post(PATH, json=body(**wrong)).status_code == 400


def test_a_lone_surrogate_is_refused(path: Path) -> None:
    with pytest.raises(Problem, match="surrogate"):
        Store(str(path)).add("a\ud800", edit(0, "a", "b"), "accepted", "m")


def test_the_file_stops_growing(path: Path) -> None:
    store = Store(str(path), max_bytes=64 * 1024)
    statuses = []
    for _ in range(20):
        try:
            store.add("a" * 9000, edit(0, "a", "b"), "accepted", "m")
            statuses.append(204)
        except Problem as problem:
            statuses.append(problem.status)
    assert statuses == sorted(statuses)
    assert {*statuses} == {204, 507}
    store.close()
    assert len(rows(path)) == statuses.count(204)


def test_many_at_once(path: Path) -> None:
    store = Store(str(path))

    def add(number: int) -> None:
        store.add(f"{number}", edit(0, f"{number}", "x"), "ignored", "m")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(200)))
    store.close()
    assert sorted(int(row[2]) for row in rows(path)) == list(range(200))


def test_a_second_start_goes_on(path: Path) -> None:
    for _ in range(2):
        store = Store(str(path))
        store.add("a", edit(0, "a", "b"), "accepted", "m")
        store.close()
    assert len(rows(path)) == 2


def test_a_file_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="feedback cannot be stored"):
        Store(str(tmp_path / "no" / "feedback.sqlite"))
    other = tmp_path / "other"
    other.write_text("this is no database, whatever its name may be" * 100)
    with pytest.raises(InputError, match="feedback cannot be stored"):
        Store(str(other))


# ---------------------------------------------------------------------------------------- export


@pytest.fixture
def stored(path: Path) -> Path:
    store = Store(str(path))
    for sentence, change, decision in [
        ("He go home, yesterday.", edit(3, "go", "goes"), "accepted"),
        ("I has a dog.", edit(2, "has", "have"), "ignored"),
        ("He go home, yesterday.", edit(10, ",", "", "U:PUNCT"), "accepted"),
        ("He go home, yesterday.", edit(3, "go", "went", "R:VERB:TENSE"), "accepted"),
        ("We\tsee\ndog.", edit(7, "", "a ", "M:DET"), "accepted"),
        ("They was.", edit(5, "was", "were"), "accepted"),
        ("They was.", edit(5, "was", "were"), "ignored"),
    ]:
        store.add(sentence, change, decision, "m")
    store.close()
    return path


PARALLEL = (
    "He go home , yesterday .\tHe went home yesterday .\n"
    "I has a dog .\tI has a dog .\n"
    "We see dog .\tWe see a dog .\n"
    "They was .\tThey was .\n"
)
M2 = """\
S He go home , yesterday .
A 1 2|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||0
A 3 4|||U:PUNCT||||||REQUIRED|||-NONE-|||0

S I has a dog .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0

S We see dog .
A 2 2|||M:DET|||a|||REQUIRED|||-NONE-|||0

S They was .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0

"""


def test_parallel_text_and_m2(stored: Path) -> None:
    assert "".join(export(str(stored), "parallel")) == PARALLEL
    assert "".join(export(str(stored), "m2")) == M2


def test_the_command(
    stored: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["feedback", "export", str(stored)]) == 0
    assert capfdbinary.readouterr().out.decode() == M2
    out = tmp_path / "out.tsv"
    command = ["feedback", "export", str(stored), "--format", "parallel", "--output", str(out)]
    assert main(command) == 0
    assert out.read_text("utf-8") == PARALLEL
    assert capfdbinary.readouterr().out == b""


def test_what_cannot_be_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["feedback", "export", str(tmp_path / "none.sqlite")]) == 2
    assert "no such file" in capsys.readouterr().err
    other = tmp_path / "other.sqlite"
    other.write_text("no database" * 100)
    assert main(["feedback", "export", str(other)]) == 2
    assert "not a feedback file" in capsys.readouterr().err
    assert not (tmp_path / "none.sqlite").exists()
    kept = tmp_path / "kept"
    kept.write_text("kept")
    assert main(["feedback", "export", str(other), "--output", str(kept)]) == 2
    assert kept.read_text() == "kept"
