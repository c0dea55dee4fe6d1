"""Evidence: the four tables beside a history survive Parquet, and a file of another version is read or refused, never guessed."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from model import evidence
from model.evidence import NAMES, SCHEMAS, Name
from model.refusal import Refusal

LOST = {"node": 1, "topic": "t", "partition": 0, "how": "lossy", "dropped_from": 8, "dropped": 3}
RESTARTED = {"node": 2, "topic": "__cluster_metadata", "partition": 0, "how": "restart", "dropped_from": None, "dropped": 0}
ROWS: Mapping[Name, Sequence[Mapping[str, Any]]] = {
    "events": [
        {
            "event": 0,
            "at_ns": 5 * 10**9,
            "fault": "lossy_kill",
            "target": "leader",
            "resolved": [1, 2],
            "args": "{}",
            "fired_ns": 5 * 10**9 + 1,
            "healed_ns": None,
            "refused": None,
            "effect": True,
            "damage": [LOST, RESTARTED],
        },
        {"event": 1, "fault": "exit", "target": "", "resolved": [], "args": '{"code": -9}', "effect": None, "damage": []},
    ],
    "changes": [
        {
            "at_ns": 7,
            "topic": "ü/<b>",
            "partition": 3,
            "leader": None,
            "leader_epoch": 4,
            "partition_epoch": 9,
            "replicas": [1, 2, 3],
            "isr": [3],
            "elr": [],
            "isr_epochs": [2**40],
            "last_known": 1,
            "election": "clean",
            "epoch_start": 2**50,
        },
        {"at_ns": 8, "topic": "t", "partition": 0, "leader": 2, "election": None, "isr": None},
    ],
    "registrations": [
        {"at_ns": 1, "node": 1, "broker_epoch": 2**40, "clean": False},
        {"at_ns": 2, "node": 2, "broker_epoch": 0, "clean": None},
    ],
    "observations": [
        {
            "at_ns": 3,
            "node": 6,
            "topic": "t",
            "partition": 0,
            "role": "leader",
            "leader_epoch": 1,
            "broker_epoch": 12,
            "log_start": 0,
            "hw": 7,
            "leo": 8,
            "running": True,
        },
        {"at_ns": 3, "node": 5, "running": False},
    ],
}
"""Rows of every table; what is not named is null."""


def full(name: Name, rows: Sequence[Mapping[str, Any]] | None = None) -> list[dict[str, Any]]:
    """The rows with every column, as a reader must see them."""
    return [{column: row.get(column) for column in SCHEMAS[name].names} for row in (ROWS[name] if rows is None else rows)]


def stored(table: pa.Table) -> io.BytesIO:
    sink = io.BytesIO()
    evidence.write_parquet(table, sink)
    return io.BytesIO(sink.getvalue())


@pytest.mark.parametrize("name", NAMES)
def test_rows_survive_parquet(name: Name) -> None:
    """Every value with its type, damage structs among them; null, empty and zero stay apart."""
    back = evidence.read_parquet(name, stored(evidence.to_table(name, ROWS[name])), "x")
    assert back.schema == SCHEMAS[name]
    assert back.to_pylist() == full(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_table_without_rows_survives_parquet(name: Name) -> None:
    """A run in which nothing happened still says so in the canonical schema."""
    back = evidence.read_parquet(name, stored(evidence.to_table(name, [])), "x")
    assert (back.schema, back.num_rows) == (SCHEMAS[name], 0)


@pytest.mark.parametrize("record", ["complete", "sampled"])
def test_changes_say_whether_they_are_all_of_them(record: str) -> None:
    """`record` is metadata, and the only metadata beside the schema version (CHECKERS 1.8)."""
    back = evidence.read_parquet("changes", stored(evidence.to_table("changes", ROWS["changes"], record=record)), "x")
    assert back.schema.metadata == {b"tidemark.schema": b"1", b"record": record.encode()}


@pytest.mark.parametrize("name", NAMES)
def test_any_parquet_tool_reads_the_file(name: Name) -> None:
    """What `pq.read_table` shows is what was put."""
    assert pq.read_table(stored(evidence.to_table(name, ROWS[name]))).to_pylist() == full(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_later_schema_is_refused(name: Name) -> None:
    """A file that this Tidemark would only half understand is named and refused; so is one that names no schema."""
    table = evidence.to_table(name, ROWS[name])
    with pytest.raises(Refusal, match=r"^nightly/00412: events: schema version '2'\n  allowed here: schema version 1"):
        evidence.read_parquet(name, stored(evidence.to_table(name, [], **{"tidemark.schema": "2"})), "nightly/00412: events")
    with pytest.raises(Refusal, match="names no schema"):
        evidence.read_parquet(name, stored(table.replace_schema_metadata(None)), "x")


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_column_becomes_nulls(name: Name) -> None:
    """An older writer knew fewer columns: each of them may be absent, whatever its type."""
    table = evidence.to_table(name, ROWS[name])
    for column in table.column_names:
        back = evidence.read_parquet(name, stored(table.drop_columns([column])), "x")
        assert back.schema == SCHEMAS[name]
        assert back.to_pylist() == [{**row, column: None} for row in full(name)], column


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_column_is_ignored(name: Name) -> None:
    """A newer writer knows more columns, and may put them anywhere."""
    table = evidence.to_table(name, ROWS[name])
    later = table.add_column(0, "later", pa.array(["x"] * table.num_rows))
    back = evidence.read_parquet(name, stored(later), "x")
    assert back.schema == SCHEMAS[name]
    assert back.to_pylist() == full(name)


@pytest.mark.parametrize("cut", [0, 3, 40, -1, -9])
def test_a_damaged_file_is_refused_in_one_sentence(cut: int) -> None:
    """Truncated anywhere, never a traceback of pyarrow's."""
    data = stored(evidence.to_table("events", ROWS["events"])).getvalue()
    with pytest.raises(Refusal, match=r"^some/run: not a Parquet file"):
        evidence.read_parquet("events", io.BytesIO(data[:cut]), "some/run")
