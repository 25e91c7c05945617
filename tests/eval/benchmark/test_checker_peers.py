"""The checkers behind ``gec bench checkers``, in processes of their own, real and played."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

import gec
from gec.decoding.decoder import Hypothesis
from gec.errors import ConfigError, ModelError
from gec.eval.benchmark.checker_peers import Fix, load
from gec.eval.benchmark.checker_peers.languagetool import LanguageTool, fixes
from gec.eval.benchmark.checker_peers.own import EVERYTHING, Own, _remembering
from gec.eval.benchmark.checker_peers.worker import Worker

Play = Callable[[str, str], None]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Put a module of this name and this text before what is installed."""

    def put(name: str, text: str) -> None:
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        rest = os.environ.get("PYTHONPATH")
        monkeypatch.setenv(
            "PYTHONPATH", os.pathsep.join([str(tmp_path), *([rest] if rest else [])])
        )

    return put


HARPER = """
import enum, types
print("loading")

class SuggestionKind(enum.IntEnum):
    REPLACE, REMOVE, INSERT_AFTER = range(3)

class Dialect(enum.IntEnum):
    AMERICAN = 0

class Linter:
    def __init__(self, dialect):
        assert dialect is Dialect.AMERICAN

    def lint(self, text, language):
        assert language == "plaintext"
        if text == "exit":
            raise SystemExit("no more")
        def lint(start, end, *suggestions):
            made = [types.SimpleNamespace(kind=k, replacement_text=t) for k, t in suggestions]
            span = types.SimpleNamespace(start=start, end=end)
            return types.SimpleNamespace(span=span, suggestions=made)
        return [
            lint(0, 2, (SuggestionKind.REPLACE, "She"), (SuggestionKind.REPLACE, "It")),
            lint(3, 5, (SuggestionKind.INSERT_AFTER, "es")),
            lint(6, 8, (SuggestionKind.REMOVE, "")),
            lint(9, 10),
        ]
"""


@pytest.fixture
def version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let a played package have a version."""
    folder = tmp_path / "harper_py-7.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: harper-py\nVersion: 7\n")


@pytest.mark.usefixtures("version")
def test_harpers_three_kinds_of_suggestion(play: Play) -> None:
    """Also: what a checker prints is no answer."""
    play("harper", HARPER)
    with Worker("harper", {}) as worker:
        assert worker.about == "harper-py 7; American English, plain text, default rules"
        found, seconds = worker.check(["He go to x", ""])
        assert found == [[Fix(0, 2, "She"), Fix(5, 5, "es"), Fix(6, 8, "")]] * 2
        assert 0 < seconds < 60
        assert worker.peak() > 2**20


@pytest.mark.usefixtures("version")
def test_a_checker_that_ends_says_its_last_words(play: Play) -> None:
    play("harper", HARPER)
    with (
        Worker("harper", {}) as worker,
        pytest.raises(ModelError, match=r"^harper ended: no more$"),
    ):
        worker.check(["exit"])


def test_a_checker_that_is_not_installed(play: Play) -> None:
    play("harper", "raise ModuleNotFoundError('no', name='harper')")
    expected = r"^harper: the package 'harper' is missing; .* pip install '\.\[checkers\]'$"
    with pytest.raises(ModelError, match=expected):
        Worker("harper", {})


def test_a_bundle_that_is_not_there() -> None:
    with pytest.raises(ModelError, match=r"^gec: no model bundle at 'nowhere'"):
        Worker("gec", {"model": "nowhere"})


def test_an_unknown_checker() -> None:
    with pytest.raises(ConfigError, match="unknown checker 'word', expected one of gec, harper"):
        load("word", {})


# ------------------------------------------------------------------------- what can be installed


def checked(name: str, text: str) -> str:
    """Return a text as an installed checker corrects it."""
    pytest.importorskip({"codespell": "codespell_lib"}.get(name, name))
    (found,) = load(name, {}).check([text], "")
    for fix in reversed(found):
        text = text[: fix.start] + fix.replacement + text[fix.end :]
    return text


def test_harper() -> None:
    assert checked("harper", "😀 He go to scool.") == "😀 He goes to school."


def test_codespell() -> None:
    """Its dictionary has several corrections of "thru" and "ba"; case is kept."""
    assert checked("codespell", "Teh wierd, ACCOMODATE well-known.") == (
        "The weird, ACCOMMODATE well-known."
    )


def test_hunspell() -> None:
    """Not looked at: words with figures, letters outside the dictionary's encoding."""
    assert checked("hunspell", "I haev seen the 3rd mp3x, don’t Привет.") == (
        "I have seen the 3rd mp3x, don’t Привет."
    )


# ------------------------------------------------------------------------------- LanguageTool


class Played(BaseHTTPRequestHandler):
    """Answers as LanguageTool does; "REFUSE" in a text is refused."""

    asked: list[dict[str, list[str]]]
    answer: bytes | None = None

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.asked.append({"path": [self.path], **form})
        text = form["text"][0]
        if "REFUSE" in text:
            self._send(413, b"Error: too long")
            return
        at = len(text[: text.find("go")].encode("utf-16-le")) // 2
        matches: list[dict[str, Any]] = [
            {"offset": at, "length": 2, "replacements": [{"value": "goes"}, {"value": "went"}]},
            {"offset": 0, "length": 1, "replacements": []},
        ]
        found = {"software": {"name": "Played", "version": "6"}, "matches": matches}
        self._send(200, json.dumps(found).encode() if self.answer is None else self.answer)

    def _send(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[tuple[str, type[Played]]]:
    """A server that plays LanguageTool: its address and its handler."""
    handler = type("Handler", (Played,), {"asked": []})
    with HTTPServer(("127.0.0.1", 0), handler) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{made.server_port}", handler
        made.shutdown()
        thread.join(30)


@pytest.mark.parametrize("end", ["", "/", "/v2", "/v2/", "/v2/check"])
def test_a_languagetool_server(end: str, server: tuple[str, type[Played]]) -> None:
    url, handler = server
    tool = LanguageTool(url + end)
    assert tool.about == "Played 6 (its server's answer); en-US, level default"
    assert tool.check(["😀 He go.", "go"], "") == [[Fix(5, 7, "goes")], [Fix(0, 2, "goes")]]
    assert handler.asked[1:] == [
        {"path": ["/v2/check"], "text": [text], "language": ["en-US"]}
        for text in ("😀 He go.", "go")
    ]


def test_offsets_are_utf_16_units() -> None:
    match = {"offset": 4, "length": 3, "replacements": [{"value": "b"}]}
    assert fixes("😀😀a😀c", [match]) == [Fix(2, 4, "b")]


def test_what_is_no_languagetool_server(server: tuple[str, type[Played]]) -> None:
    url, handler = server
    with pytest.raises(ModelError, match="refused a text: 413, Error: too long"):
        LanguageTool(url).check(["REFUSE"], "")
    for answer in (b"<html>", b"[]", b"{}", b"\xff"):
        handler.answer = answer
        with pytest.raises(ModelError, match=r"/v2/check is no LanguageTool server: \S"):
            LanguageTool(url)
    with pytest.raises(ModelError, match="is no LanguageTool server: unknown url type"):
        LanguageTool("localhost")


def test_no_server(server: tuple[str, type[Played]]) -> None:
    with HTTPServer(("127.0.0.1", 0), Played) as closed:
        port = closed.server_port
    expected = rf"^no LanguageTool server answers at http://127.0.0.1:{port}/v2/check \(.*refused\)"
    with pytest.raises(ModelError, match=expected):
        LanguageTool(f"http://127.0.0.1:{port}")


# -------------------------------------------------------------------------------------- our own


def test_our_own(folder: Path) -> None:
    corrector = gec.load(str(folder), device="cpu")
    own = Own(corrector)
    assert own.about.startswith(f"gec {gec.__version__}, bundle tiny, ")
    texts = ["she goes home", "he goes", "she goes"]
    balanced = [c.edits for c in corrector.correct_many(texts)]
    assert own.check(texts, "balanced") == [
        [Fix(e.start, e.end, e.replacement) for e in edits] for edits in balanced
    ]
    with pytest.raises(ConfigError, match="no setting 'hasty' in tiny; it has balanced, everyth"):
        own.check(texts, "hasty")


def test_everything_leaves_no_edit_out() -> None:
    own = Own(gec.load("en", device="cpu"))
    texts = ["He go to school every days .", "On the evening I usually cook the dinner ."]
    found = own.check(texts, EVERYTHING)
    assert found == [
        [Fix(e.start, e.end, e.replacement) for e in c.edits]
        for c in own.corrector.correct_many(texts, gec.Options(min_confidence=0.0))
    ]
    assert sum(map(len, found)) > sum(map(len, own.check(texts, "precise"))) > 0


def test_a_sentence_is_decoded_once_for_equal_tolerances() -> None:
    calls: list[tuple[tuple[int, ...], float]] = []

    def decode(sources: Any, tolerance: float) -> list[Hypothesis]:
        calls.extend((source, tolerance) for source in sources)
        return [Hypothesis((*source, 9), False, (), tolerance, ()) for source in sources]

    remembering = _remembering(decode)
    first = remembering([(1,), (2,), (1,)], 0.5)
    assert [found.tokens for found in first] == [(1, 9), (2, 9), (1, 9)]
    assert remembering([(2,), (3,)], 0.5)[0] is first[1]
    assert remembering([(2,)], 0.0)[0] is not first[1]
    assert calls == [((1,), 0.5), ((2,), 0.5), ((3,), 0.5), ((2,), 0.0)]
