"""Parquet: rows in, rows out; all other columns and the schema's metadata stay.

A Parquet file can be neither cut nor continued. So blocks travel, and are journalled, as Arrow IPC
streams, and the last step of a run writes them as one Parquet file with a row group for each block.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from gec.batch.blocks import Block, Correct, Failure, Result, Size
from gec.batch.text import Columns, edits_json
from gec.errors import ConfigError, InputError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Parquet:
    """A table in Parquet whose text column holds strings; missing strings stay missing."""

    columns: Columns

    def blocks(self, stream: BinaryIO, size: Size) -> Iterator[Block]:
        """Yield the rows as blocks of ``size.records``; an empty table gives one empty block.

        Raises:
            InputError: the stream is a pipe or compressed, or not Parquet.
            ConfigError: the table has no such column, or the column holds no text.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not stream.seekable():
            raise InputError("Parquet cannot be read from a pipe or compressed; name a file")
        try:
            file = pq.ParquetFile(stream)
            self._check(file.schema_arrow)
            row = 1
            for index, batch in enumerate(file.iter_batches(size.records) if file.metadata.num_rows
                                          else [_empty(file.schema_arrow)]):  # fmt: skip
                # iter_batches drops the schema's metadata
                batch = pa.RecordBatch.from_arrays(batch.columns, schema=file.schema_arrow)
                yield Block(index, row, batch.num_rows, _to_ipc(batch))
                row += batch.num_rows
        except pa.ArrowInvalid as error:
            raise InputError(f"not Parquet: {error}") from error

    def _check(self, schema: pa.Schema) -> None:
        import pyarrow as pa

        name = self.columns.column
        if name not in schema.names:
            raise ConfigError(
                f"no column {name!r} in the table, which has {', '.join(schema.names)}: "
                "choose with --column"
            )
        kind = schema.field(name).type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise ConfigError(f"the column {name!r} holds {kind}, not text: choose with --column")

    def process(self, block: Block, correct: Correct) -> Result:
        """Return the block's rows as an Arrow IPC stream, with the corrected text and edits."""
        import pyarrow as pa

        batch = _from_ipc(block.payload)
        texts = batch.column(self.columns.column).to_pylist()
        outcomes = iter(correct([text for text in texts if text is not None]))
        new: list[str | None] = []
        found: list[str | None] = []
        failures: list[Failure] = []
        changed = edits = 0
        for row, text in enumerate(texts, block.line):
            if text is None:
                new.append(None)
                found.append(None)
                continue
            outcome = next(outcomes)
            new.append(outcome.correction.text if outcome.correction else text)
            found.append(edits_json(outcome.correction))
            if outcome.correction and outcome.correction.edits:
                changed += 1
                edits += len(outcome.correction.edits)
            if outcome.error is not None:
                failures.append(Failure(row, outcome.error))
        kind = batch.schema.field(self.columns.column).type
        batch = _with(batch, self.columns.output or self.columns.column, pa.array(new, kind))
        if self.columns.edits is not None:
            batch = _with(batch, self.columns.edits, pa.array(found, pa.string()))
        return Result(_to_ipc(batch), tuple(failures), batch.num_rows, changed, edits)

    def finish(self, part: Path) -> Path:
        """Return a new Parquet file beside ``part``, made of its Arrow IPC streams."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        whole = part.with_name(part.name + ".parquet")
        writer: Any = None
        with part.open("rb") as stream, whole.open("wb") as file:
            end = stream.seek(0, io.SEEK_END)
            stream.seek(0)
            while stream.tell() < end:
                with pa.ipc.open_stream(stream) as reader:
                    for batch in reader:
                        writer = writer or pq.ParquetWriter(file, batch.schema)
                        writer.write_batch(batch, row_group_size=max(1, batch.num_rows))
            if writer is not None:
                writer.close()
        return whole


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pylist([], schema=schema)


def _with(batch: pa.RecordBatch, name: str, values: pa.Array) -> pa.RecordBatch:
    """Return the batch with a column replaced or added."""
    place = batch.schema.get_field_index(name)
    if place < 0:
        return batch.append_column(name, values)
    field = batch.schema.field(name).with_type(values.type)
    return batch.set_column(place, field, values)


def _to_ipc(batch: pa.RecordBatch) -> bytes:
    import pyarrow as pa

    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def _from_ipc(data: bytes) -> pa.RecordBatch:
    import pyarrow as pa

    with pa.ipc.open_stream(data) as reader:
        return reader.read_next_batch()
