"""Lines, JSON Lines, tables: what is rewritten, and that every other byte survives."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from batch.batch_fakes import Engine, unchanging
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gec.batch.blocks import Format, Result, Size
from gec.batch.tables import Table
from gec.batch.text import Columns, JsonLines, Lines
from gec.errors import ConfigError, DataError

TINY = Size(records=2, bytes=50)
BOTH = Columns("text", "corrected", "edits")
HERE = Columns("text")


def through(
    format: Format, data: bytes, *, correct: Any = None, size: Size = TINY
) -> tuple[bytes, list[Result]]:
    """Run all blocks; return what is written, and the results."""
    blocks = list(format.blocks(io.BytesIO(data), size))
    assert b"".join(block.payload for block in blocks) == data
    assert [block.index for block in blocks] == list(range(len(blocks)))
    results = [format.process(block, correct or Engine()) for block in blocks]
    return b"".join(result.data for result in results), results


def errors(results: list[Result]) -> list[tuple[int, str]]:
    return [(f.line, f.error) for result in results for f in result.failures]


# ------------------------------------------------------------------------------------------ lines


def test_lines() -> None:
    data = "\ufeffI go.\r\n\n  \nYou go\rand go\nno go".encode()
    out, results = through(Lines(), data)
    assert out == "\ufeffI goes.\r\n\n  \nYou goes\rand goes\nno goes".encode()
    assert sum(result.records for result in results) == 5
    assert sum(result.changed for result in results) == 3
    assert sum(result.edits for result in results) == 4


def test_lines_that_fail_pass_through() -> None:
    data = b"I go\nbad \xff go\nFAIL go\n\0 go\nI go\n"
    out, results = through(Lines(), data)
    assert out == b"I goes\nbad \xff go\nFAIL go\n\0 go\nI goes\n"
    assert errors(results) == [
        (2, "not UTF-8 at byte 4 of the record (0xff: invalid start byte)"),
        (3, "the fake model failed"),
        (4, "a NUL character: not text"),
    ]


def test_blocks_end_where_the_input_says() -> None:
    data = b"a\nb\nc\nd\n" + b"x" * 100 + b"\ne\n"
    blocks = list(Lines().blocks(io.BytesIO(data), TINY))
    assert [(b.line, b.records) for b in blocks] == [(1, 2), (3, 2), (5, 1), (6, 1)]


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_survive(data: bytes) -> None:
    assert through(Lines(), data, correct=unchanging)[0] == data


# ------------------------------------------------------------------------------------- JSON Lines


def test_json_in_place_touches_the_value_only() -> None:
    line = b' { "id" : 1.50e3,"text":"I go \\u00fc","z":[1, {"text": "go"}] }\r\n'
    out, _ = through(JsonLines(HERE), line)
    assert out == line.replace(b"I go", b"I goes")
    plain = '{"text":"ü go"}\n'.encode()
    assert through(JsonLines(HERE), plain)[0] == '{"text":"ü goes"}\n'.encode()


def test_json_columns() -> None:
    out, _ = through(JsonLines(BOTH), b'{"text": "I go", "id": 1}\n{"edits": 0, "text": "fine"}\n')
    first, second = out.splitlines()
    assert first.startswith(b'{"text": "I go", "id": 1, "corrected": "I goes", "edits": [{"start"')
    assert json.loads(first)["edits"] == [
        {
            "start": 2,
            "end": 4,
            "original": "go",
            "replacement": "goes",
            "type": "R:VERB:SVA",
            "confidence": 0.75,
        }
    ]
    assert second == b'{"edits": [], "text": "fine", "corrected": "fine"}'


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"nonsense", "not a JSON object: expected { at character 0"),
        (b"[1]", "not a JSON object: expected { at character 0"),
        (b'{"text": "a" "b": 1}', "not a JSON object: expected , at character 13"),
        (b'{"text": "a",}', 'not a JSON object: expected " at character 13'),
        (b'{"text": "a', "not JSON: Unterminated string starting at: line 1 column 10 (char 9)"),
        (b'{"text": "a"} {}', "more than one JSON object: text after character 12"),
        (b'{"text": 5}', "the field 'text' holds no text"),
        (b'{"other": "go"}', "no field 'text'"),
        (b'{"text": "go \xff"}', "not UTF-8 at byte 13 of the record (0xff: invalid start byte)"),
        (b"{" * 20, 'not a JSON object: expected " at character 1'),
        (b'{"text": ' + b"[" * 100_000 + b"\n", None),
    ],
)
def test_json_that_fails_passes_through(line: bytes, error: str | None) -> None:
    data = b'{"text": "go"}\n' + line.rstrip(b"\n") + b"\n"
    out, results = through(JsonLines(BOTH), data, size=Size())
    assert out.splitlines(keepends=True)[1:] == data.splitlines(keepends=True)[1:]
    assert b'"goes"' in out
    ((number, said),) = errors(results)
    assert number == 2
    assert error is None or said == error


def test_json_failure_of_the_model_keeps_the_columns() -> None:
    out, results = through(JsonLines(BOTH), b'{"text": "FAIL"}\n{"text": null}\n\n')
    assert [json.loads(line) for line in out.splitlines() if line] == [
        {"text": "FAIL", "corrected": "FAIL", "edits": []},
        {"text": None, "corrected": None, "edits": []},
    ]
    assert out.endswith(b"\n\n")
    assert errors(results) == [(1, "the fake model failed")]


def test_json_without_the_field_anywhere_is_a_wrong_option() -> None:
    with pytest.raises(ConfigError, match=r"none of the first 2 .* has id, body: choose with"):
        through(JsonLines(HERE), b'{"id": 1, "body": "go"}\n\n{"id": 2}\n', size=Size())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.dictionaries(st.text() | st.just("text"), JSON, max_size=4), max_size=5),
    st.booleans(),
    st.sampled_from([None, 1]),
)
def test_any_json_survives(objects: list[Any], ascii_only: bool, indent: int | None) -> None:
    objects = [{"text": "first"}, *objects]
    lines = [
        json.dumps(value, ensure_ascii=ascii_only, indent=indent).replace("\n", " ")
        for value in objects
    ]
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    assert through(JsonLines(HERE), data, correct=unchanging)[0] == data
    out, _ = through(JsonLines(BOTH), data, correct=unchanging)
    for before, after in zip(objects, out.split(b"\n"), strict=True):
        if isinstance(before.get("text"), str):
            new = json.loads(after)
            assert new["corrected"] == before["text"]
            assert new["edits"] == []


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=100))
@example(b'{"text": "a"}\r\n{"text": "\\ud800"}\n')
def test_any_bytes_as_json_survive(data: bytes) -> None:
    data = b'{"text": ""}\n' + data
    assert through(JsonLines(HERE), data, correct=unchanging)[0] == data


# ----------------------------------------------------------------------------------------- tables


def test_table_in_place() -> None:
    data = b'\xef\xbb\xbfid,text,note\r\n1,"I go, ""now""\n and go", x \r\n2,I go,\r\n'
    out, _ = through(Table(HERE), data)
    assert out == data.replace(b"go", b"goes")


def test_table_columns() -> None:
    out, results = through(Table(BOTH), b'text,id\nI go,1\n"fine, ",2\nFAIL,3\nshort\n')
    rows = list(csv.reader(io.StringIO(out.decode())))
    assert rows[0] == ["text", "id", "corrected", "edits"]
    assert rows[1][:3] == ["I go", "1", "I goes"]
    assert json.loads(rows[1][3])[0]["replacement"] == "goes"
    assert rows[2] == ["fine, ", "2", "fine, ", "[]"]
    assert rows[3] == ["FAIL", "3", "FAIL", "[]"]
    assert rows[4] == ["short"]
    assert errors(results) == [
        (4, "the fake model failed"),
        (5, "1 columns where the table has 2"),
    ]


def test_a_correction_is_quoted_where_it_must_be() -> None:
    def comma(texts: Any, protected: Any = None) -> Any:
        from batch.batch_fakes import Corrected

        from gec.batch.blocks import Outcome
        from gec.edits.edits import Edit

        edit = Edit(0, 0, "", "", "M:PUNCT", 1.0, "")
        return [Outcome(Corrected(t, f'"{t}", yes', (edit,))) for t in texts]  # type: ignore[arg-type]

    assert through(Table(HERE), b"text,b\nno,1\n", correct=comma)[0] == (
        b'text,b\n"""no"", yes",1\n'
    )
    tabs = Table(HERE, "\t", quotes=False)
    assert through(tabs, b"text\tb\nno\t1\n", correct=comma)[0] == b'text\tb\n"no", yes\t1\n'
    bare = Table(HERE, ",", quotes=False)
    with pytest.raises(DataError, match="broke a record"):
        through(bare, b"text,b\nno,1\n", correct=comma)


def test_table_columns_that_exist_are_filled() -> None:
    out, _ = through(Table(Columns("text", "new")), b"new,text\nold,I go\n")
    assert out == b"new,text\nI goes,I go\n"


def test_lines_of_records_are_counted() -> None:
    data = b'id,text\n1,"a\nb\nc"\n2,FAIL\n3,"FAIL\n"\n4,FAIL'
    for size in (TINY, Size()):
        _, results = through(Table(HERE), data, size=size)
        assert [line for line, _ in errors(results)] == [5, 6, 8]


def test_tsv_has_no_quotes() -> None:
    data = b'text\tid\n"I go\t1\n\t\ngo"\t2\n'
    out, results = through(Table(HERE, "\t", quotes=False), data)
    assert out == data.replace(b"go", b"goes")
    assert not errors(results)


def test_no_header() -> None:
    format = Table(Columns("2", "3"), header=False)
    assert through(format, b"1,I go\n2,fine\n")[0] == b"1,I go,I goes\n2,fine,fine\n"
    with pytest.raises(ConfigError, match="a number from 1 to 2, not 'text'"):
        through(Table(HERE, header=False), b"1,I go\n")


def test_unknown_column() -> None:
    with pytest.raises(ConfigError, match="no column 'text' in the header, which has a, b"):
        through(Table(HERE), b'a,"b"\n1,2\n')


def test_quote_that_nothing_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gec.batch.tables.LONGEST_RECORD", 1 << 20)
    data = b'text\n1\n"open\n' + b"line\n" * 300_000
    with pytest.raises(DataError, match=r"a quoted field near line \d+ does not end within 1 MiB"):
        list(Table(HERE).blocks(io.BytesIO(data), Size()))


CELL = st.text(alphabet='ab",\n\r \t', max_size=6) | st.text(max_size=6)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.lists(CELL, min_size=2, max_size=2), max_size=8),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([",", ";", "\t"]),
)
def test_any_table_survives_and_means_the_same(
    cells: list[list[str]], quoting: Any, end: str, separator: str
) -> None:
    cells = [[c.replace("\0", "").encode("utf-8", "ignore").decode() for c in row] for row in cells]
    if any("\r" in cell for row in cells for cell in row):
        quoting = csv.QUOTE_ALL  # Python 3.11 writes a carriage return without quotes
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, quoting=quoting, lineterminator=end, delimiter=separator)
    writer.writerows([["text", "b"], *cells])
    data = stream.getvalue().encode()
    assert through(Table(HERE, separator), data, correct=unchanging)[0] == data
    # the same fields as Python's csv module reads, with the new ones at the end
    out, results = through(Table(BOTH, separator), data, correct=unchanging)
    rows = list(csv.reader(io.StringIO(out.decode(), newline=""), delimiter=separator))
    assert rows == [["text", "b", "corrected", "edits"], *([*r, r[0], "[]"] for r in cells)]
    assert not errors(results)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=80) | st.text(alphabet='ab",\n\r', max_size=40).map(str.encode))
def test_any_bytes_as_a_table_survive(data: bytes) -> None:
    data = b"text,b\n" + data
    assert through(Table(HERE), data, correct=unchanging)[0] == data
