"""The language server as an editor sees it: a raw client through pipes, with a fake model."""

from __future__ import annotations

import json
import os
import random
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_corrector import CONFIDENCE

import gec.cli
from gec.eval.benchmark.editor import Editor
from gec.lsp.buffer import uri_of
from gec.lsp.positions import Text

TESTS = Path(__file__).resolve().parent.parent
COMMAND = (sys.executable, str(TESTS / "lsp_server.py"))
Message = dict[str, Any]
Start = Callable[..., Editor]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def start(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start servers that have begun; those that still run must end as the protocol says."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    )
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".git").mkdir()
    editors: list[Editor] = []
    errors = log.open("wb")

    def begin(
        capabilities: Message | None = None,
        answers: dict[str, Callable[[Any], Any]] | None = None,
        **given: Any,
    ) -> Editor:
        editor = Editor(COMMAND, capabilities, answers, stderr=errors, cwd=tmp_path)
        editors.append(editor)
        editor.begin(rootUri=uri_of(tmp_path / "project"), **given)
        return editor

    yield begin
    for editor in editors:
        with editor:
            if editor.process.poll() is None:
                assert editor.end() == 0
    errors.close()


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return uri_of(tmp_path / "project" / "a.md")


def corrected(log: Path) -> list[str]:
    """The sentences that the fake model was given, in order."""
    return re.findall(r"^corrected: (.*)", log.read_text(), re.M)


def spans(text: str, found: list[Message]) -> list[str]:
    """What diagnostics point at."""
    lines = Text.of(text)
    return [text[lines.offset(*place(d, "start")) : lines.offset(*place(d, "end"))] for d in found]


def place(diagnostic: Message, end: str) -> tuple[int, int]:
    position = diagnostic["range"][end]
    return position["line"], position["character"]


def ranged(text: str, words: str) -> Message:
    """The range of some words of a text."""
    lines, at = Text.of(text), text.index(words)
    (a, b), (c, d) = lines.position(at), lines.position(at + len(words))
    return {"start": {"line": a, "character": b}, "end": {"line": c, "character": d}}


def actions(editor: Editor, uri: str, where: Message, **context: Any) -> list[Message]:
    found: list[Message] = editor.request(
        "textDocument/codeAction",
        textDocument={"uri": uri}, range=where, context={"diagnostics": [], **context},
    )  # fmt: skip
    return found


def applied(text: str, edit: Message, encoding: str = "utf-16") -> str:
    """A text with a WorkspaceEdit of one document made, as an editor makes it."""
    if "changes" in edit:
        [edits] = edit["changes"].values()
    else:
        edits = edit["documentChanges"][0]["edits"]
    lines = Text.of(text, encoding)
    for one in reversed(edits):
        start, end = (
            lines.offset(one["range"][name]["line"], one["range"][name]["character"])
            for name in ("start", "end")
        )
        text = text[:start] + one["newText"] + text[end:]
    return text


TEXT = "# They go\n\nWe go home. I have dog there.\n\n`go` 😀 go, so it is much very good.\n"
FIXED = "# They goes\n\nWe goes home. I have a dog there.\n\n`go` 😀 goes, so it is very good.\n"


def test_diagnostics_fixes_and_hover(start: Start, uri: str) -> None:
    editor = start()
    editor.open(uri, TEXT, "markdown")
    found = editor.diagnostics(uri, 1)
    assert spans(TEXT, found) == ["go", "go", "dog", "go", "much"]
    assert found[0]["code"] == "R:VERB:SVA"
    assert found[0]["source"] == "gec"
    assert found[0]["severity"] == 3
    assert found[0]["data"] == {
        "replacement": "goes", "confidence": CONFIDENCE, "category": "grammar",
    }  # fmt: skip
    assert [d.get("tags") for d in found] == [None, None, None, None, [1]]

    here = ranged(TEXT, "have dog")
    fix, *others = actions(editor, uri, here, only=["quickfix"])
    assert fix["title"] == "Add “a” (75 %)"
    assert fix["isPreferred"] is True
    assert fix["diagnostics"] == [found[2]]
    assert applied(TEXT, fix["edit"]) == TEXT.replace("have dog", "have a dog")
    assert "Fix all 5 findings in this file" in [action["title"] for action in others]

    [same] = [
        action for action in actions(editor, uri, ranged(TEXT, "go home"))
        if "of this kind" in action["title"]
    ]  # fmt: skip
    assert applied(TEXT, same["edit"]) == re.sub(r" go\b", " goes", TEXT)
    [everything] = actions(editor, uri, here, only=["source.fixAll"])
    assert everything["kind"] == "source.fixAll.gec"
    assert applied(TEXT, everything["edit"]) == FIXED
    assert actions(editor, uri, here, only=["refactor"]) == []
    assert actions(editor, "file:///never/opened", here) == []

    hover = editor.request(
        "textDocument/hover", textDocument={"uri": uri}, position={"line": 2, "character": 4}
    )
    assert "**Subject and verb**" in hover["contents"]["value"]
    assert "Confidence 75 %" in hover["contents"]["value"]
    assert hover["range"] == ranged(TEXT, "go home") | {"end": {"line": 2, "character": 5}}
    nothing = {"line": 2, "character": 8}
    assert editor.request("textDocument/hover", textDocument={"uri": uri}, position=nothing) is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_positions_are_as_negotiated(start: Start, uri: str, encoding: str) -> None:
    editor = start({"general": {"positionEncodings": [encoding]}, "textDocument": {
        "publishDiagnostics": {}}})  # fmt: skip
    text = "😀é 中 We go home.\n"
    editor.open(uri, text)
    [found] = editor.diagnostics(uri, 1)
    units = {"utf-8": 14, "utf-16": 9, "utf-32": 8}[encoding]
    assert found["range"]["start"] == {"line": 0, "character": units}
    [fix] = actions(editor, uri, found["range"], only=["source"])
    assert applied(text, fix["edit"], encoding) == text.replace("go", "goes")
    end = {"line": 0, "character": units + 2}
    editor.change(uri, 2, {"range": {"start": found["range"]["start"], "end": end}, "text": "ran"})
    assert editor.diagnostics(uri, 2) == []


def test_only_changed_sentences_are_corrected(start: Start, uri: str, log: Path) -> None:
    editor = start()
    text = "\n\n".join(f"One {word} is here. We go there." for word in ("cat", "dog", "bird"))
    editor.open(uri, text)
    editor.diagnostics(uri, 1)
    assert corrected(log) == [
        "One cat is here.", "We go there.", "One dog is here.", "One bird is here.",
    ]  # fmt: skip
    where = ranged(text, "dog")
    editor.change(uri, 2, {"range": where, "text": "horse"})
    assert len(editor.diagnostics(uri, 2)) == 3
    assert corrected(log)[4:] == ["One horse is here."]
    editor.change(uri, 3, {"text": text})  # the whole text, and as it was
    assert len(editor.diagnostics(uri, 3)) == 3
    assert corrected(log)[5:] == []


def waits(editor: Editor, log: Path) -> None:
    """Wait until the server is in the middle of a sentence that does not end."""
    while "waiting" not in log.read_text():
        assert editor.process.poll() is None
        time.sleep(0.01)


def test_a_newer_version_ends_the_check_of_an_older_one(start: Start, uri: str, log: Path) -> None:
    """Within a sentence; nothing is published for the old version."""
    editor = start()
    text = "They WAIT here.\n\nWe go home.\n"
    editor.open(uri, text)
    waits(editor, log)
    editor.change(uri, 2, {"range": ranged(text, "WAIT"), "text": "go"})
    assert len(editor.diagnostics(uri, 2)) == 2
    versions = [told["params"]["version"] for told in editor.told if "uri" in told["params"]]
    assert versions == [2]
    assert "They WAIT here." not in corrected(log)


def test_the_sentence_at_the_cursor_is_the_first(
    start: Start, uri: str, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GATE", str(tmp_path / "gate"))
    editor = start()
    editor.open(uri, "".join(f"The number {n} go.\n\n" for n in range(100)))
    place = {"line": 100, "character": 0}
    editor.change(uri, 2, {"range": {"start": place, "end": place}, "text": "We go home. "})
    (tmp_path / "gate").touch()
    assert len(editor.diagnostics(uri, 2)) == 101
    first = corrected(log)[:4]  # in the order of the text
    assert {"We go home.", "The number 50 go."} <= {*first}
    assert len(corrected(log)) == 101


def test_other_documents_wait_for_the_newest(start: Start, tmp_path: Path, log: Path) -> None:
    editor = start()
    old, new = (uri_of(tmp_path / name) for name in ("old.txt", "new.txt"))
    editor.open(old, "They WAIT here.")
    waits(editor, log)
    editor.open(new, "We go.")
    assert len(editor.diagnostics(new, 1)) == 1
    editor.change(old, 2, {"text": "They go here."})
    assert len(editor.diagnostics(old, 2)) == 1


def test_a_document_may_be_closed_while_it_is_checked(start: Start, uri: str, log: Path) -> None:
    editor = start()
    editor.open(uri, "They WAIT here.")
    waits(editor, log)
    editor.notify("textDocument/didClose", textDocument={"uri": uri})
    other = "untitled:Untitled-1"
    editor.open(other, "We go.")
    assert len(editor.diagnostics(other, 1)) == 1
    editor.change(uri, 2, {"text": "We go."})  # it is not open
    editor.open(uri, "We go.", version=1)
    assert len(editor.diagnostics(uri, 1)) == 1
    editor.notify("textDocument/didClose", textDocument={"uri": uri})
    assert editor.diagnostics(uri, None) == []


def test_what_is_found_is_shown_before_the_end(
    start: Start, uri: str, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SHOW", "0")
    editor = start()
    editor.open(uri, "".join(f"The number {n} go.\n\n" for n in range(10)) + "They WAIT.")
    assert 4 <= len(editor.diagnostics(uri, 1)) <= 10
    waits_for = editor.ask("textDocument/hover", textDocument={"uri": uri},
                           position={"line": 0, "character": 14})  # fmt: skip
    assert "Subject and verb" in editor.reply(waits_for)["result"]["contents"]["value"]


@pytest.mark.parametrize("language", ["markdown", "plaintext", "latex", "python"])
def test_all_changes_lead_where_opening_the_document_leads(
    start: Start, tmp_path: Path, language: str
) -> None:
    """Whatever was typed: words, markup, line breaks, over and over."""
    chance = random.Random(language)
    editor = start()
    uri, other = (uri_of(tmp_path / name) for name in ("a", "b"))
    paragraph = "They go home. I have dog, and we go. It is much very good 😀 so.\n"
    text = Text.of("".join(f"# {paragraph}\n" if n % 3 else f"{paragraph}\n" for n in range(12)))
    editor.open(uri, text.value, language)
    words = ("go", " go", " we go", ".", ". We go", "\n", "\n\n", "*", "`", "# ", "$", "%", '"""',
             " <b>", "\r\n", "é😀", "- ", "  ", "x" * 30, "have ", "http://a.b/go")  # fmt: skip
    for version in range(2, 60):
        changes = []
        for _ in range(chance.randint(1, 3)):
            start_at = chance.randrange(len(text.value) + 1)
            end = min(len(text.value), start_at + chance.choice((0, 0, 0, 1, 2, 9)))
            (a, b), (c, d) = text.position(start_at), text.position(end)
            start_at, end = text.offset(a, b), text.offset(c, d)
            new = chance.choice(words) if chance.random() < 0.8 else ""
            place = {"start": {"line": a, "character": b}, "end": {"line": c, "character": d}}
            changes.append({"range": place, "text": new})
            text = text.replaced(start_at, end, new)
        editor.change(uri, version, *changes)
        if chance.random() < 0.3:
            editor.diagnostics(uri, version)
    editor.open(other, text.value, language)
    wanted = editor.diagnostics(other, 1)
    assert wanted
    # a guessed outline is parsed when nobody types
    editor.wait(lambda: editor.diagnostics(uri, version) == wanted)


# --------------------------------------------------------------------------------------- bad input


def test_wrong_messages_are_survived(start: Start, uri: str) -> None:
    editor = start()
    editor.open(uri, "We go.\n")
    assert len(editor.diagnostics(uri, 1)) == 1
    far = {"line": 4_000_000, "character": 4_000_000}
    backwards = {"start": far, "end": {"line": 0, "character": 3}}
    editor.change(uri, 2, {"range": backwards, "text": "went.\n"})  # from its end back to go
    assert editor.diagnostics(uri, 2) == []
    for broken in (
        b"Content-Length: 9\r\n\r\nnot JSON!",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 4\r\n\r\nnull",
        b'Content-Length: 17\r\n\r\n{"jsonrpc":"9.9"}',
    ):
        editor.write(broken)
    bad = {"start": {"line": -1, "character": 0}, "end": {"line": "x", "character": 0}}
    editor.change(uri, 3, {"range": bad, "text": "x"})
    with pytest.raises(RuntimeError):
        actions(editor, uri, bad)
    with pytest.raises(RuntimeError):
        editor.request("textDocument/nothing", textDocument={"uri": uri})
    with pytest.raises(RuntimeError):
        editor.request("workspace/executeCommand", command="gec.fixAll", arguments=[7])
    with pytest.raises(RuntimeError):
        editor.request("workspace/executeCommand", command="gec.addToUserDictionary", arguments=[])
    assert actions(editor, uri, {"start": far, "end": far}) == []
    editor.change(uri, 4, {"text": "We go.\n"})
    assert len(editor.diagnostics(uri, 4)) == 1


def test_huge_and_binary_documents_are_refused_once(start: Start, uri: str, log: Path) -> None:
    editor = start()
    editor.open(uri, "We go home. " * 450_000)
    assert editor.diagnostics(uri, 1) == []
    assert editor.said() == [
        "gec: a.md has 5,400,000 characters, more than 1,000,000, and is not checked "
        "(setting max_characters)"
    ]
    zero = {"line": 0, "character": 0}
    editor.change(uri, 2, {"range": {"start": zero, "end": zero}, "text": "x"})
    assert editor.diagnostics(uri, 2) == []
    editor.open(f"{uri}.bin", "We go\0\ufffd\0\n")
    assert editor.diagnostics(f"{uri}.bin", 1) == []
    assert [said[:40] for said in editor.said()[1:]] == ["gec: a.md.bin looks binary and is not ch"]
    assert corrected(log) == []
    editor.change(uri, 3, {"text": "We go."})
    assert len(editor.diagnostics(uri, 3)) == 1


def test_a_document_that_fails_is_told_without_its_text(start: Start, uri: str, log: Path) -> None:
    editor = start()
    editor.open(uri, "They FAIL secretly.")
    assert editor.diagnostics(uri, 1) == []
    assert editor.said() == ["gec: a.md cannot be checked: unexpected RuntimeError"]
    editor.change(uri, 2, {"text": "Half a pair \ud83d. We go."})
    assert len(editor.diagnostics(uri, 2)) == 1
    editor.end()
    assert "secretly" not in log.read_text()


def test_a_model_that_is_missing_is_told(
    start: Start, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_BROKEN", "1")
    editor = start()
    editor.open(uri, "We go.")
    editor.wait(editor.said)
    assert editor.said() == ["gec: no bundle 'x'"]
    assert actions(editor, uri, ranged("We go.", "go")) == []


def test_nothing_waits_for_the_model(
    start: Start, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages are answered while the model is loaded; what was open is checked then."""
    monkeypatch.setenv("FAKE_GATE", str(tmp_path / "gate"))
    editor = start()
    editor.open(uri, "We go.")
    for version in range(2, 50):
        editor.change(uri, version, {"text": f"We go {version}."})
    with pytest.raises(RuntimeError):
        editor.request("textDocument/nothing")
    assert not [m for m in editor.told if m["method"] == "textDocument/publishDiagnostics"]
    (tmp_path / "gate").touch()
    assert len(editor.diagnostics(uri, 49)) == 1


def test_an_editor_that_goes_takes_the_server_along(start: Start, uri: str) -> None:
    editor = start()
    editor.open(uri, "We go.")
    assert editor.process.stdin is not None
    editor.process.stdin.close()
    assert editor.process.wait(30) == 0


def test_an_editor_may_leave_while_the_model_is_loaded(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GATE", str(tmp_path / "gate"))
    assert start().end() == 0


def test_an_exit_without_a_shutdown_is_an_error(start: Start) -> None:
    editor = start()
    editor.notify("exit")
    assert editor.process.wait(30) == 1


# ------------------------------------------------------------------------------- settings and words


def test_the_editors_settings(start: Start, uri: str) -> None:
    settings: Message = {"minConfidence": 0.9}
    asked: list[Any] = []

    def configuration(params: Any) -> list[Any]:
        asked.append(params["items"])
        return [settings]

    editor = start(
        {"workspace": {"configuration": True}, "textDocument": {"publishDiagnostics": {}}},
        {"workspace/configuration": configuration},
        initializationOptions={"severity": "hint"},
    )
    editor.wait(lambda: asked)
    assert asked == [[{"section": "gec"}]]
    editor.open(uri, TEXT, "markdown")
    assert editor.diagnostics(uri, 1) == []
    settings = {"ignored_types": ["VERB:SVA"], "ignored_words": ["much"], "nonsense": 1,
                "severity": "loud"}  # fmt: skip
    editor.told.clear()
    editor.notify("workspace/didChangeConfiguration", settings=None)
    [found] = editor.diagnostics(uri, 1)
    assert found["severity"] == 4  # what the editor began with
    assert spans(TEXT, [found]) == ["dog"]
    [said] = editor.said()
    assert "no 'nonsense'" in said
    assert "severity must be one of error, warning, information, hint" in said
    editor.told.clear()
    editor.notify("workspace/didChangeConfiguration", settings={"gec": {"enabled": False}})
    assert editor.diagnostics(uri, 1) == []


def test_the_projects_settings(start: Start, uri: str, tmp_path: Path) -> None:
    file = tmp_path / "project" / "pyproject.toml"
    file.write_text('[tool.gec]\nmin_confidence = 0.5\ndictionary = "words"\nexclude = ["x.md"]\n')
    (tmp_path / "project" / "words").write_text("much\n")
    registered: list[Any] = []
    editor = start(
        {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}},
         "textDocument": {"publishDiagnostics": {}}},
        {"client/registerCapability": registered.append},
    )  # fmt: skip
    editor.wait(lambda: registered)
    watchers = registered[0]["registrations"][0]["registerOptions"]["watchers"]
    globs = [watcher["globPattern"] for watcher in watchers]
    assert globs == ["**/pyproject.toml", "**/gec-words.txt"]
    editor.open(uri, TEXT, "markdown")
    assert spans(TEXT, editor.diagnostics(uri, 1)) == ["go", "go", "dog", "go"]
    excluded = uri.replace("a.md", "x.md")
    editor.open(excluded, TEXT, "markdown")
    assert editor.diagnostics(excluded, 1) == []

    def rewritten(text: str, name: str = "pyproject.toml") -> list[str]:
        (tmp_path / "project" / name).write_text(text)
        editor.told.clear()
        changes = [{"uri": uri_of(tmp_path / "project" / name), "type": 2}]
        editor.notify("workspace/didChangeWatchedFiles", changes=changes)
        return spans(TEXT, editor.diagnostics(uri, 1))

    assert rewritten("# nothing\n", "words")[-1] == "much"
    # as strict as gec correct --check, which asks for more than the fake is sure of by default
    assert rewritten("[tool.gec]\nmin_confidence = 0.9\n") == []
    assert rewritten('[tool.gec]\nmin_confidence = 0.5\ntypes = ["DET"]\n') == ["dog"]
    assert rewritten('[tool.gec]\nmin_confidence = "x"\n')[-1] == "much"
    assert "min_confidence: must be a number from 0 to 1" in editor.said()[0]


def run(editor: Editor, action: Message) -> Any:
    command = action["command"]
    return editor.request(
        "workspace/executeCommand", command=command["command"], arguments=command["arguments"]
    )


def offered(editor: Editor, uri: str, where: Message, title: str) -> Message:
    [found] = [a for a in actions(editor, uri, where) if a["title"].startswith(title)]
    return found


@pytest.mark.parametrize("settings", [None, "", "[tool.gec]\r\npaths = []\r\n", "[tool.x]\na = 1"])
def test_words_for_the_dictionaries(
    start: Start, uri: str, tmp_path: Path, settings: str | None
) -> None:
    file = tmp_path / "project" / "pyproject.toml"
    if settings is not None:
        file.write_bytes(settings.encode())
    editor = start()
    text = "We mispel it. They go.\n"
    editor.open(uri, text, "markdown")
    where = ranged(text, "mispel")
    assert spans(text, editor.diagnostics(uri, 1)) == ["mispel", "go"]
    editor.told.clear()
    mine = run(editor, offered(editor, uri, where, "Add “mispel” to your dictionary"))
    assert spans(text, editor.diagnostics(uri, 1)) == ["go"]
    assert Path(mine) == tmp_path / "config" / "gec" / "dictionary.txt"
    assert Path(mine).read_text() == "mispel\n"
    Path(mine).unlink()
    editor.told.clear()
    editor.notify("textDocument/didSave", textDocument={"uri": uri_of(mine)})
    assert spans(text, editor.diagnostics(uri, 1)) == ["mispel", "go"]
    editor.told.clear()
    words = run(editor, offered(editor, uri, where, "Add “mispel” to the project's dictionary"))
    assert spans(text, editor.diagnostics(uri, 1)) == ["go"]
    assert Path(words).read_text() == "mispel\n"
    assert 'dictionary = "gec-words.txt"' in file.read_text()
    assert (settings or "").replace("\r\n", "\n").splitlines()[:1] == file.read_text().splitlines()[
        : 1 if settings else 0
    ]


def test_findings_are_ignored(start: Start, uri: str, tmp_path: Path) -> None:
    editor = start()
    text = "We go home. I have dog.\n\nThey go.\n"
    editor.open(uri, text, "markdown")
    assert len(editor.diagnostics(uri, 1)) == 3
    comment = offered(editor, uri, ranged(text, "dog"), "Ignore this line")
    ignoring = applied(text, comment["edit"])
    assert ignoring == text.replace("dog.", "dog. <!-- gec: ignore -->")
    editor.change(uri, 2, {"text": ignoring})
    assert spans(ignoring, editor.diagnostics(uri, 2)) == ["go"]
    editor.change(uri, 3, {"text": text})
    assert len(editor.diagnostics(uri, 3)) == 3
    editor.told.clear()
    run(editor, offered(editor, uri, ranged(text, "go home"), "Ignore this until"))
    assert spans(text, editor.diagnostics(uri, 3)) == ["dog", "go"]
    editor.told.clear()
    run(editor, offered(editor, uri, ranged(text, "They go"), "Ignore R:VERB:SVA"))
    assert spans(text, editor.diagnostics(uri, 3)) == ["dog"]


def test_a_type_is_ignored_in_the_projects_settings(start: Start, uri: str, tmp_path: Path) -> None:
    file = tmp_path / "project" / "pyproject.toml"
    file.write_text("[tool.gec]\nmin_confidence = 0.5")
    editor = start()
    text = "We go home. I have dog.\n"
    editor.open(uri, text, "markdown")
    assert len(editor.diagnostics(uri, 1)) == 2
    editor.told.clear()
    action = offered(editor, uri, ranged(text, "go"), "Ignore R:VERB:SVA")
    assert action["title"].endswith("in this file (pyproject.toml)")
    run(editor, action)
    assert spans(text, editor.diagnostics(uri, 1)) == ["dog"]
    assert file.read_text().endswith('files = ["/a.md"]\nignored_types = ["R:VERB:SVA"]\n')


def test_fixes_by_an_editors_key(start: Start, uri: str) -> None:
    asked: list[Message] = []

    def apply(params: Message) -> Message:
        asked.append(params["edit"])
        return {"applied": True}

    editor = start(
        {"workspace": {"workspaceEdit": {"documentChanges": True}}, "textDocument": {
            "publishDiagnostics": {}}},
        {"workspace/applyEdit": apply},
    )  # fmt: skip
    editor.open(uri, TEXT, "markdown", version=7)

    def fix(**wanted: Any) -> int:
        done: int = editor.request(
            "workspace/executeCommand", command="gec.fixAll", arguments=[uri, wanted]
        )
        return done

    editor.diagnostics(uri, 7)
    assert fix(confidence=0.8) == 0
    assert fix(confidence=0.7, type="M:DET") == 1
    assert fix() == 5
    assert asked[0]["documentChanges"][0]["textDocument"] == {"uri": uri, "version": 7}
    assert applied(TEXT, asked[0]) == TEXT.replace("have dog", "have a dog")
    assert applied(TEXT, asked[1]) == FIXED


def test_diagnostics_are_pulled(start: Start, uri: str) -> None:
    editor = start({"textDocument": {"diagnostic": {}}})
    editor.open(uri, TEXT, "markdown")

    def pull(**more: Any) -> Message:
        answer: Message = editor.request(
            "textDocument/diagnostic", textDocument={"uri": uri}, **more
        )
        return answer

    first = pull()
    assert first["kind"] == "full"
    assert spans(TEXT, first["items"]) == ["go", "go", "dog", "go", "much"]
    again = pull(previousResultId=first["resultId"])
    assert again == {"kind": "unchanged", "resultId": first["resultId"]}
    editor.change(uri, 2, {"text": "They WAIT."})
    number = editor.ask("textDocument/diagnostic", textDocument={"uri": uri})
    editor.notify("$/cancelRequest", id=number)
    assert "error" in editor.reply(number)
    editor.change(uri, 3, {"text": "We go."})
    assert spans("We go.", pull()["items"]) == ["go"]
    assert not [m for m in editor.told if m["method"] == "textDocument/publishDiagnostics"]


# -------------------------------------------------------------------------------------- the command


def test_a_missing_package_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("gec.lsp.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.setitem(sys.modules, "pygls.exceptions", None)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    assert gec.cli.main(["lsp"]) == 2
    assert capsys.readouterr().err == (
        "gec: error: the package 'lsprotocol' is missing; in the folder of gec's source code: "
        "pip install '.[lsp]'\n"
    )


@pytest.mark.parametrize("address", ["x", "localhost:", "a:99999", ":1"])
def test_addresses_are_checked(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert gec.cli.main(["lsp", "--tcp", address]) == 2
    assert "an address as HOST:PORT" in capsys.readouterr().err


def test_one_editor_may_come_through_a_socket(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import lsp_server; "
        "from gec.lsp.server import serve; serve(lsp_server.load, ('127.0.0.1', int(sys.argv[2])))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(TESTS), str(port)], stderr=subprocess.DEVNULL
    ) as server:
        try:
            connection = _connect(port)
            with connection, connection.makefile("rwb") as pipe:
                _say(pipe, id=1, method="initialize", params={"capabilities": {}})
                assert _hear(pipe)["result"]["serverInfo"]["name"] == "gec"
                _say(pipe, id=2, method="shutdown")
                assert _hear(pipe)["id"] == 2
                _say(pipe, method="exit")
            server.wait(30)
        finally:
            server.kill()


def _connect(port: int) -> socket.socket:
    deadline = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 30)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def _say(pipe: Any, **message: Any) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    pipe.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    pipe.flush()


def _hear(pipe: Any) -> Message:
    length = 0
    while (line := pipe.readline()).strip():
        if line.lower().startswith(b"content-length"):
            length = int(line.split(b":")[1])
    answer: Message = json.loads(pipe.read(length))
    return answer
