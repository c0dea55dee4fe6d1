"""Histories: rows in, the same rows out, in every form they take."""

from __future__ import annotations

import io

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from model import history
from model.history import SCHEMA, About
from model.operation import Row
from model.refusal import Refusal
from tests.strategies import histories

ABOUT = About(
    run_id="nightly/00412", run_tag=77, plan_digest="ab12", topics={"t": {"partitions": 1}}, started="2026-11-18T01:02:03Z"
)


def stored(table: pa.Table, about: About = ABOUT) -> bytes:
    sink = io.BytesIO()
    history.write_parquet(table, about, sink)
    return sink.getvalue()


def in_file_order(rows: list[Row]) -> list[Row]:
    """The order of CHECKERS 1.4, written down a second time; what has no topic or partition comes last."""
    return sorted(
        rows, key=lambda r: (r.topic is None, (r.topic or "").encode(), r.partition is None, r.partition or 0, r.start_ns, r.op)
    )


@given(histories())
def test_rows_survive_columns_and_parquet(rows: list[Row]) -> None:
    """Every column, present or absent, comes back with its value and its exact type, in the order of the file."""
    table = history.to_table(rows)
    assert table.schema == SCHEMA
    assert history.to_rows(table) == rows
    back = history.read_parquet(io.BytesIO(stored(table)), "x")
    assert back.table.schema == SCHEMA
    assert back.about == ABOUT
    assert history.to_rows(back.table) == in_file_order(rows)


def test_null_is_not_zero() -> None:
    """Absent and zero, empty and absent stay apart (CHECKERS 1.2)."""
    rows = [
        Row(op=0, process=0, client="raw-0", kind="read", type="ok", values=[], start_ns=0, took_ns=0),
        Row(op=1, process=0, client="raw-0", kind="append", type="ok", offset=0, start_ns=1, took_ns=0),
        Row(op=2, process=0, client="raw-0", kind="append", type="ok", start_ns=2, took_ns=0),
    ]
    back = history.to_rows(history.read_parquet(io.BytesIO(stored(history.to_table(rows))), "x").table)
    assert [row.values for row in back] == [[], None, None]
    assert [row.offset for row in back] == [None, 0, None]


def test_the_file_is_encoded_as_specified() -> None:
    """CHECKERS 1.4: deltas, split bytes, dictionaries; zstd."""
    rows = [
        Row(
            op=i,
            process=0,
            client="raw-0",
            kind="read",
            type="ok",
            topic="t",
            partition=0,
            values=[i],
            value=i,
            start_ns=i,
            took_ns=i,
        )
        for i in range(50)
    ]
    group = pq.ParquetFile(io.BytesIO(stored(history.to_table(rows)))).metadata.row_group(0)
    found = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    for name in ("op", "start_ns", "offset", "from_offset", "base_offset"):
        assert "DELTA_BINARY_PACKED" in found[name].encodings, name
    for name in ("took_ns", "value", "values.list.element"):
        assert "BYTE_STREAM_SPLIT" in found[name].encodings, name
    for name in ("process", "kind", "topic", "leader_epoch", "epochs.list.element"):
        assert "RLE_DICTIONARY" in found[name].encodings, name
    assert {column.compression for column in found.values()} == {"ZSTD"}


def test_metadata_says_which_run_it_was() -> None:
    """CHECKERS 1.5, readable without Tidemark."""
    said = pq.ParquetFile(io.BytesIO(stored(history.to_table([])))).metadata.metadata
    for key in (
        "tidemark.schema",
        "run_id",
        "run_tag",
        "plan_digest",
        "rows",
        "complete",
        "clock",
        "started",
        "topics",
        "workload",
    ):
        assert key.encode() in said, key
    assert said[b"rows"] == b"0"


def test_unknown_columns_are_ignored_and_later_schemas_refused() -> None:
    """A newer minor writer can be read; a newer schema cannot, and says so."""
    table = history.to_table([Row(op=0, process=0, client="raw-0", kind="read", type="ok", start_ns=0, took_ns=0)])
    whole = pq.read_table(io.BytesIO(stored(table)))
    sink = io.BytesIO()
    pq.write_table(whole.append_column("later", pa.array(["x"])), sink)
    assert history.read_parquet(io.BytesIO(sink.getvalue()), "x").table.schema == SCHEMA
    sink = io.BytesIO()
    pq.write_table(whole.replace_schema_metadata({**whole.schema.metadata, b"tidemark.schema": b"2"}), sink)
    with pytest.raises(Refusal, match="schema version '2'"):
        history.read_parquet(io.BytesIO(sink.getvalue()), "x")


def test_a_missing_column_makes_the_file_malformed() -> None:
    """Required columns are required."""
    whole = pq.read_table(io.BytesIO(stored(history.to_table([]))))
    sink = io.BytesIO()
    pq.write_table(whole.drop_columns(["took_ns"]), sink)
    with pytest.raises(Refusal, match="'took_ns' is missing"):
        history.read_parquet(io.BytesIO(sink.getvalue()), "x")


@pytest.mark.parametrize("cut", [0, 3, 40, -1, -9])
def test_a_damaged_file_is_refused_in_one_sentence(cut: int) -> None:
    """Truncated anywhere, never a traceback of pyarrow's."""
    data = stored(history.to_table([]))
    with pytest.raises(Refusal, match=r"^some/run: not a Parquet file"):
        history.read_parquet(io.BytesIO(data[:cut]), "some/run")


def test_a_table_of_other_batches_becomes_one_dictionary() -> None:
    """Batches that met their words in another order agree afterwards."""
    first = history.to_batch([Row(op=0, process=0, client="raw-0", kind="read", type="ok", topic="a", start_ns=0, took_ns=0)])
    second = history.to_batch(
        [Row(op=1, process=0, client="raw-1", kind="append", type="fail", topic="b", start_ns=0, took_ns=0)]
    )
    table = history.concatenate([first, second])
    assert table.column("topic").num_chunks == 1
    assert table.column("topic").to_pylist() == ["a", "b"]
    assert history.concatenate([]).schema == SCHEMA


def test_about_is_what_was_given() -> None:
    """Every field of it, an incomplete run among them."""
    about = msgspec.structs.replace(ABOUT, complete=False, clock="monotonic", workload="register")
    assert history.read_parquet(io.BytesIO(stored(history.to_table([]), about)), "x").about == about
