"""Parquet: rows, other columns, missing texts, resumption, and the one file in the end."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batch.batch_fakes import Engine

from gec.batch.blocks import Size
from gec.batch.parquet import Parquet
from gec.batch.pipeline import Plan, Task, run
from gec.batch.text import Columns
from gec.errors import ConfigError, InputError

PLAN = Plan(about={}, size=Size(records=2), quiet=True)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    table = pa.table(
        {
            "id": pa.array([1, 2, 3, 4, 5], pa.int8()),
            "text": ["I go", None, "fine", "FAIL go", "go"],
            "tags": [["a"], [], None, ["b", "c"], []],
        }
    ).replace_schema_metadata({"made by": "a test"})
    pq.write_table(table, tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


def correct(source: Path, columns: Columns, plan: Plan = PLAN, stop: int = -1) -> Any:
    def perform(items: Any) -> Any:
        for tag, work in items:
            if work and work.block.index == stop:
                raise KeyboardInterrupt
            yield tag, work, work.do(Engine()) if work else None

    target = source.with_name("out.parquet")
    run([Task(str(source), str(target), Parquet(columns))], perform, plan, print)
    return pq.read_table(target)


def test_in_place(source: Path) -> None:
    before, after = pq.read_table(source), correct(source, Columns("text"))
    assert after.column("text").to_pylist() == ["I goes", None, "fine", "FAIL go", "goes"]
    assert after.schema.equals(before.schema, check_metadata=True)
    assert after.drop_columns("text").equals(before.drop_columns("text"))
    listed = source.with_name("out.parquet.errors.jsonl").read_text()
    assert listed == '{"line": 4, "error": "the fake model failed"}\n'


def test_columns_and_resumption(source: Path) -> None:
    columns = Columns("text", "corrected", "edits")
    with pytest.raises(KeyboardInterrupt):
        correct(source, columns, stop=1)
    resumed = correct(source, columns, replace(PLAN, resume=True))
    resumed_bytes = source.with_name("out.parquet").read_bytes()
    undisturbed = correct(source, columns, replace(PLAN, overwrite=True))
    assert resumed.equals(undisturbed)
    assert source.with_name("out.parquet").read_bytes() == resumed_bytes
    assert resumed.column("corrected").to_pylist() == ["I goes", None, "fine", "FAIL go", "goes"]
    assert resumed.column("edits").to_pylist()[1:4] == [None, "[]", "[]"]
    assert {p.name for p in source.parent.iterdir()} == {
        "in.parquet", "out.parquet", "out.parquet.errors.jsonl"
    }  # fmt: skip


def test_empty_table(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "in.parquet")
    after = correct(tmp_path / "in.parquet", Columns("text", "corrected"))
    assert after.column_names == ["text", "corrected"]
    assert after.num_rows == 0


def test_wrong_columns_and_files(source: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="no column 'body' in the table, which has id, text, tags"
    ):
        correct(source, Columns("body"))
    with pytest.raises(ConfigError, match="the column 'id' holds int8, not text"):
        correct(source, Columns("id"), replace(PLAN, overwrite=True))
    with pytest.raises(InputError, match="not Parquet"):
        list(Parquet(Columns("text")).blocks(io.BytesIO(b"nonsense"), Size()))
