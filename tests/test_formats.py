"""gec.output.formats and gec.files: what is printed, read and written."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_corrector import fake_correction
from hypothesis import given
from hypothesis import strategies as st

from gec.correct.result import Correction, SentenceResult, join
from gec.edits.edits import Edit, WordEdit
from gec.errors import InputError
from gec.files import decode, read_document, write_in_place
from gec.output import formats
from gec.text.lines import Positions, split_lines
from gec.text.words import split_tokenized, split_words

File = Callable[..., str]


def corrected(text: str, *changes: tuple[int, int, str]) -> Correction:
    """A Correction with these (start, end, replacement) edits."""
    edits = tuple(
        Edit(
            start=start,
            end=end,
            original=text[start:end],
            replacement=new,
            type="OTHER",
            confidence=0.5,
            message="",
        )
        for start, end, new in changes
    )
    out, cursor = [], 0
    for edit in edits:
        out += [text[cursor : edit.start], edit.replacement]
        cursor = edit.end
    return Correction(text, "".join([*out, text[cursor:]]), edits)


@st.composite
def corrections(draw: st.DrawFn) -> Correction:
    """Texts of few letters and line ends with random edits that do not overlap."""
    text = draw(st.text("ab \n\r\u2028", max_size=40))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    spans = list(zip(cuts[::2], cuts[1::2], strict=False))
    return corrected(text, *((a, b, draw(st.text("xy\n", max_size=3))) for a, b in spans))


# ------------------------------------------------------------------------------------- positions


def test_only_three_line_ends_count() -> None:
    text = "a\r\nb\nc\rd\x0be\x0cf\x85g\u2028h"
    positions = Positions(text)
    assert [positions.line(text.index(c)) for c in "abcdefgh"] == [1, 2, 3, 4, 4, 4, 4, 4]
    assert positions.column(text.index("h")) == 9


def test_utf16_columns_count_surrogates() -> None:
    positions = Positions("x\n😀😀a😀b")
    assert positions.column(4) == 3
    assert positions.utf16_column(4) == 5
    assert positions.utf16(6) == 9


@given(st.text("ab\n\r😀"))
def test_utf16_equals_encoding(text: str) -> None:
    positions = Positions(text)
    for offset in range(len(text) + 1):
        assert positions.utf16(offset) == len(text[:offset].encode("utf-16-le")) // 2


@given(st.text("ab\n\r\x0c\u2028"))
def test_split_lines_loses_nothing(text: str) -> None:
    lines = split_lines(text)
    assert "".join(line + end for line, end in lines) == text
    assert all(end in ("\n", "\r\n", "\r") for _, end in lines[:-1])


def test_join_shifts_offsets_of_edits_sentences_words_and_warnings() -> None:
    whole = join([fake_correction("I go WARN"), "\r\n", fake_correction("We go WARN")])
    assert whole.text == "I goes WARN\r\nWe goes WARN"
    assert [whole.original[e.start : e.end] for e in whole.edits] == ["go", "go"]
    assert [whole.original[s.start : s.end] for s in whole.sentences] == ["I go WARN", "We go WARN"]
    words = [word for sentence in whole.sentences for word in sentence.words]
    assert [whole.original[w.start : w.end] for w in words] == "I go WARN We go WARN".split()
    assert [str(warning) for warning in whole.warnings] == [
        "characters 5-9: no end within the length limit, left as it was",
        "characters 17-21: no end within the length limit, left as it was",
    ]


# ------------------------------------------------------------------------------------------ diff


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies the patch")
@pytest.mark.parametrize(
    "text",
    [
        "I go.\n",
        "I go.",
        "a\n" * 20 + "I go.\n" + "b\n" * 5 + "You go.\n" + "c\n" * 20 + "We go.",
        "I go.\r\nYou go.\r\n",
        "I\rgo.\rYou go.\n",
        "\ufeffI go.\n",
        "form\x0cfeed\u2028I go.\n\n\n",
    ],
)
def test_git_applies_the_diff(text: str, file: File) -> None:
    name = file(text, "a file.txt")
    correction = fake_correction(text)
    patch = formats.to_diff(name, correction)
    _git_apply(patch)
    assert Path(name).read_bytes().decode() == correction.text


@given(corrections())
def test_diff_is_exact(correction: Correction) -> None:
    assert _patched(correction.original, formats.to_diff("x", correction)) == correction.text


@given(corrections())
def test_word_diff_holds_both_texts(correction: Correction) -> None:
    shown = formats.to_diff("x", correction, colour=True)
    for edit in correction.edits:
        if edit.original != edit.replacement:
            assert f"\x1b[31;9m{edit.original}\x1b[0m" in shown or not edit.original
            assert f"\x1b[32;1m{edit.replacement}\x1b[0m" in shown or not edit.replacement


def test_diff_reads_like_git() -> None:
    text = "one\ntwo\nthree\nfour\nI go.\nsix\n"
    assert formats.to_diff("-", fake_correction(text)) == (
        "--- a/stdin\n+++ b/stdin\n@@ -2,5 +2,5 @@\n two\n three\n four\n-I go.\n+I goes.\n six\n"
    )


def test_word_diff_shows_a_changed_line_once() -> None:
    shown = formats.to_diff("f", fake_correction("x\nI go and have dog.\n"), colour=True)
    assert shown.split("\n")[3:] == [
        "x",
        "I \x1b[31;9mgo\x1b[0m\x1b[32;1mgoes\x1b[0m and have \x1b[32;1ma \x1b[0mdog.",
        "",
    ]


def test_no_diff_without_edits() -> None:
    assert formats.to_diff("f", fake_correction("fine\n")) == ""


def _git_apply(patch: str) -> None:
    # A directory of its own: inside a repository git apply would skip files outside it.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(Path.cwd().parent)}
    subprocess.run(
        ["git", "apply", "--unidiff-zero", "--whitespace=nowarn", "-"],
        input=patch.encode(),
        check=True,
        env=environment,
    )


def _patched(text: str, patch: str) -> str:
    """What ``patch`` would make of the text, checking every context and removed line."""
    old = re.findall(r"[^\n]*\n|[^\n]+", text)
    new: list[str] = []
    at = 0
    lines = re.findall(r"[^\n]*\n", patch)[2:]
    for index, line in enumerate(lines):
        bare = index + 1 < len(lines) and lines[index + 1].startswith("\\")
        content = line[1:-1] if bare else line[1:]
        if line.startswith("@@"):
            match = re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line)
            assert match
            start = int(match[1]) - (match[2] != "0")
            new += old[at:start]
            at = start
            assert int(match[3]) - (match[4] != "0") == len(new)
        elif line[0] in " -":
            assert old[at] == content
            at += 1
        if line[0] in " +":
            new.append(content)
    return "".join([*new, *old[at:]])


# ------------------------------------------------------------------------------------------ json


def test_json_document() -> None:
    [document] = json.loads(formats.to_json([("-", fake_correction("é\r\nI go.\n"))]))
    assert document == {
        "version": 1,
        "file": "stdin",
        "line": 1,
        "text": "é\r\nI go.\n",
        "corrected": "é\r\nI goes.\n",
        "edits": [
            {
                "start": 5,
                "end": 7,
                "line": 2,
                "column": 3,
                "original": "go",
                "replacement": "goes",
                "type": "R:VERB:SVA",
                "confidence": 0.75,
                "message": "Use 'goes'",
            }
        ],
        "sentences": [
            {"start": 0, "end": 1, "passes": 1, "tokens": 2, "milliseconds": 12.5},
            {"start": 3, "end": 8, "passes": 1, "tokens": 2, "milliseconds": 12.5},
        ],
        "warnings": [],
    }


def test_jsonl_is_one_line_even_for_strange_characters() -> None:
    shown = formats.to_jsonl("f", fake_correction("a\nb\rI go 😀"), line=7)
    assert shown.count("\n") == 1
    assert json.loads(shown)["edits"][0]["line"] == 9


def test_a_file_name_that_is_not_utf8_stays_printable() -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    assert json.loads(formats.to_jsonl(name, fake_correction("x")))["file"] == "caf�.txt"
    formats.to_sarif([(name, fake_correction("I go"))]).encode()
    formats.to_github(name, fake_correction("I go")).encode()


# -------------------------------------------------------------------------------------------- m2


def test_m2_like_errant() -> None:
    assert formats.to_m2(fake_correction("He go and have dog much very big\nFine .\n")) == (
        "S He go and have dog much very big\n"
        "A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0\n"
        "A 4 4|||M:DET|||a|||REQUIRED|||-NONE-|||0\n"
        "A 5 6|||U:ADV||||||REQUIRED|||-NONE-|||0\n"
        "\n"
        "S Fine .\n"
        "A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0\n"
        "\n"
    )


def test_m2_leaves_out_what_the_correction_left_out() -> None:
    """Sentences hold the model's words; --min-confidence drops edits, and M2 must drop them too."""
    text = "He go and have dog much very big"
    full = fake_correction(text)
    kept = Correction(text, "", full.edits[1:2], full.sentences)
    assert [line for line in formats.to_m2(kept).split("\n") if line.startswith("A")] == [
        "A 4 4|||M:DET|||a|||REQUIRED|||-NONE-|||0"
    ]
    none = Correction(text, text, (), full.sentences)
    assert "A -1 -1|||noop" in formats.to_m2(none)


def test_m2_keeps_the_users_spelling_of_words() -> None:
    text = "I can’t go …"
    words = tuple(split_words(text))
    target = ("I", "ca", "n't", "goes", "...")
    sentence = SentenceResult(0, len(text), words, target, None, 0.0)
    edit = Edit(8, 10, "go", "goes", "R:VERB:SVA", 1.0, "", WordEdit(3, 4, 3, 4))
    m2 = formats.to_m2(Correction(text, "", (edit,), (sentence,)))
    assert m2.split("\n")[:2] == [
        "S I ca n’t go …",
        "A 3 4|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0",
    ]


def test_m2_has_no_edit_that_changes_no_word() -> None:
    sentence = SentenceResult(0, 4, tuple(split_words("A.B")), ("A", ".", "B"), None, 0.0)
    blank = Edit(1, 2, ".", ". ", "R:ORTH", 1.0, "")
    assert "noop" in formats.to_m2(Correction("A.B", "A. B", (blank,), (sentence,)))


def test_m2_of_sentences_that_touch() -> None:
    """What is put between them belongs to the sentence whose words it follows, or begins."""
    one, two = (
        SentenceResult(at, at + 2, tuple(split_tokenized(text, at)), target, None, 0.0)
        for at, text, target in [(0, "a.", ("a.", "!")), (2, "b.", ("X", "b."))]
    )
    last = Edit(2, 2, "", " !", "M:PUNCT", 1.0, "", WordEdit(1, 1, 1, 2))
    first = Edit(2, 2, "", "X ", "M:NOUN", 1.0, "", WordEdit(0, 0, 0, 1))
    for edit, place in [(last, 0), (first, 1)]:
        blocks = formats.to_m2(Correction("a.b.", "", (edit,), (one, two))).split("\n\n")
        assert edit.type in blocks[place]
        assert "noop" in blocks[1 - place]


# ----------------------------------------------------------------------------------------- sarif


def test_sarif_structure() -> None:
    results = [
        ("dir/a b.txt", fake_correction("😀 I go\nWe go.")),
        ("/x/y.txt", fake_correction("go")),
    ]
    log = json.loads(formats.to_sarif(results))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    [run] = log["runs"]
    _check_run(run)
    first, second, third = run["results"]
    region = first["locations"][0]["physicalLocation"]["region"]
    assert region == {
        "startLine": 1,
        "startColumn": 6,
        "endLine": 1,
        "endColumn": 8,
        "charOffset": 5,
        "charLength": 2,
    }
    assert second["locations"][0]["physicalLocation"]["region"]["startLine"] == 2
    uris = [
        r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in (first, third)
    ]
    assert uris == ["dir/a%20b.txt", "file:///x/y.txt"]


@given(corrections())
def test_sarif_fixes_make_the_correction(correction: Correction) -> None:
    [run] = json.loads(formats.to_sarif([("x", correction)]))["runs"]
    _check_run(run)
    text = correction.original.encode("utf-16-le")
    for result in reversed(run["results"]):
        [change] = result["fixes"][0]["artifactChanges"]
        [new] = change["replacements"]
        start = 2 * new["deletedRegion"]["charOffset"]
        end = start + 2 * new["deletedRegion"]["charLength"]
        text = text[:start] + new["insertedContent"]["text"].encode("utf-16-le") + text[end:]
    assert text.decode("utf-16-le") == correction.text


def _check_run(run: dict[str, Any]) -> None:
    """What the official schema demands of the objects used here (required, closed, bounds)."""
    assert set(run) <= {"tool", "columnKind", "results"}
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    driver = run["tool"]["driver"]
    assert set(driver) <= {"name", "semanticVersion", "rules", "informationUri"}
    assert driver["name"]
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    for result in run["results"]:
        keys = {"ruleId", "ruleIndex", "level", "message", "locations", "fixes", "properties"}
        assert set(result) <= keys
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        for fix in result["fixes"]:
            assert set(fix) <= {"description", "artifactChanges"}
            assert all(c["artifactLocation"] and c["replacements"] for c in fix["artifactChanges"])
        region = result["locations"][0]["physicalLocation"]["region"]
        assert min(region[k] for k in ("startLine", "startColumn", "endLine", "endColumn")) >= 1
        assert min(region["charOffset"], region["charLength"]) >= 0
        assert (region["startLine"], region["startColumn"]) <= (
            region["endLine"],
            region["endColumn"],
        )


# ---------------------------------------------------------------------------- github, lists, time


def test_github_escapes() -> None:
    correction = corrected("50%,\r\nof: it", (2, 3, "\r\n"))
    assert formats.to_github("a,b:c%.txt", correction) == (
        '::warning file=a%2Cb%3Ac%25.txt,line=1,col=3,endColumn=4,title=OTHER::"%25" → "\\r\\n"\n'
    )


def test_github_message_and_several_lines() -> None:
    edit = Edit(0, 3, "a\nb", "c", "R:X", 1.0, "50%\r\nsure: yes, it is")
    assert formats.to_github("f", Correction("a\nb", "c", (edit,))) == (
        "::warning file=f,line=1,endLine=2,title=R%3AX::50%25%0D%0Asure: yes, it is\n"
    )


def test_findings_and_summary() -> None:
    correction = fake_correction("I go.\nI have dog, much very big.\n")
    assert formats.to_findings("f.txt", correction) == (
        'f.txt:1:3: "go" → "goes" [R:VERB:SVA]\n'
        'f.txt:2:8: insert "a " [M:DET]\n'
        'f.txt:2:13: delete "much " [U:ADV]\n'
    )
    assert formats.to_summary("f.txt", correction).split("\n")[:3] == [
        "f.txt: 3 edits",
        "  line:col  type        confidence  change",
        '  1:3       R:VERB:SVA  0.75        "go" → "goes"',
    ]
    assert formats.to_summary("f.txt", fake_correction("")) == "f.txt: 0 edits\n"


def test_escape_sequences_of_the_text_do_not_reach_the_terminal() -> None:
    correction = corrected("\x1b[31mx", (0, 6, "y"))
    assert "\x1b" not in formats.to_findings("f", correction)
    assert "\x1b" not in formats.to_summary("f", correction)


def test_timing() -> None:
    shown = formats.to_timing("f", fake_correction("I go.\n" + "word " * 30 + "\n"))
    lines = shown.split("\n")
    assert lines[0] == "     12.5 ms  I go."
    assert lines[1].endswith("…")
    assert lines[2] == "f: 2 sentences, 25.0 ms, 12.5 ms each"
    assert formats.to_timing("f", fake_correction("")) == "f: 0 sentences, 0.0 ms\n"


# ----------------------------------------------------------------------------------------- files


def test_what_is_read_is_what_is_there(file: File) -> None:
    document = read_document(file(b"\xef\xbb\xbfa\r\nb\rc\nd\xc2\x85"))
    assert (document.bom, document.text) == ("\ufeff", "a\r\nb\rc\nd\x85")
    assert read_document(file(b"")).text == ""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\r\nb\rc\n\xff", r"x: not UTF-8 at byte 7, line 4 \(0xff: invalid start byte\)"),
        (b"caf\xe9 ok", "x: not UTF-8 at byte 3, line 1"),
        (b"\xed\xa0\x80", "not UTF-8 at byte 0"),  # a lone surrogate
        (b"ab\0c", r"x: looks binary \(NUL byte at offset 2\)"),
        ("hi".encode("utf-16"), "UTF-16"),
    ],
)
def test_what_is_not_text_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        decode(data, "x")


def test_a_five_megabyte_line() -> None:
    text = "I go. " * 900_000
    assert decode(text.encode(), "x").text == text
    correction = corrected(text, *((at, at + 2, "went") for at in range(2, 600_000, 600)))
    assert len(formats.to_diff("x", correction)) > 2 * len(text)
    assert formats.to_sarif([("x", correction)])


def test_unreadable_files(file: File, tmp_path: Path) -> None:
    file("")
    with pytest.raises(InputError, match=r"^missing.txt: no such file$"):
        read_document("missing.txt")
    with pytest.raises(InputError, match="is a directory"):
        read_document(str(tmp_path))


def test_files_without_permission(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said by hand, since root, who runs many tests, may do everything."""

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    name = file("x")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", refuse)
        with pytest.raises(InputError, match="permission denied"):
            read_document(name)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="read-only"):
        write_in_place(name, "y")
    assert Path(name).read_text() == "x"


def test_in_place_keeps_mode_and_link(file: File) -> None:
    target, link = Path(file("old\r\n")), Path("link")
    target.chmod(0o640)
    link.symlink_to(target)
    assert write_in_place(link, "new\r\n")
    assert link.is_symlink()
    assert target.read_bytes() == b"new\r\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(p.name for p in Path().iterdir()) == ["link", "text0.txt"]


def test_in_place_does_not_write_what_is_there(file: File) -> None:
    name = file("same")
    before = Path(name).stat()
    assert not write_in_place(name, "same")
    assert Path(name).stat().st_ino == before.st_ino
    assert Path(name).stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("failing", ["os.replace", "os.fsync"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_original(
    failing: str, error: BaseException, file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = file("old")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(failing, fail)
    expected = InputError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        write_in_place(name, "new")
    assert Path(name).read_text() == "old"
    assert [p.name for p in Path().iterdir()] == [name]


def test_in_place_refuses_what_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a regular file"):
        write_in_place(tmp_path, "x")
    with pytest.raises(InputError, match="cannot be written"):
        write_in_place(tmp_path / "missing", "x")
