"""model/evidence.py: what happened beside the operations: events, changes, registrations, observations (CHECKERS 1.7, 1.8).

In   rows, as plain mappings, from the run loop and the metadata tail
Out  Arrow tables of fixed schemas, and one small Parquet file for each
Why  checkers need the history alone; promises need events, changes and registrations; observations are for reports
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from model.history import check_schema_version, open_parquet

Name = Literal["events", "changes", "registrations", "observations"]

_WORD = pa.dictionary(pa.int16(), pa.string())
_NODES = pa.list_(pa.int16())
_DAMAGE = pa.list_(
    pa.struct(
        {
            "node": pa.int16(),
            "topic": pa.string(),
            "partition": pa.int32(),
            "how": pa.string(),
            "dropped_from": pa.int64(),
            "dropped": pa.int64(),
        }
    )
)


def _schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema(list(columns.items()))


SCHEMAS: Mapping[Name, pa.Schema] = {
    "events": _schema(
        event=pa.int32(),
        at_ns=pa.int64(),  # planned; null for the unasked end of a node process
        fault=_WORD,
        target=pa.string(),
        resolved=_NODES,
        args=pa.string(),
        fired_ns=pa.int64(),
        healed_ns=pa.int64(),
        refused=pa.string(),
        effect=pa.bool_(),
        damage=_DAMAGE,
    ),
    "changes": _schema(
        at_ns=pa.int64(),
        topic=_WORD,
        partition=pa.int32(),
        leader=pa.int16(),
        leader_epoch=pa.int32(),
        partition_epoch=pa.int32(),
        replicas=_NODES,
        isr=_NODES,
        elr=_NODES,
        isr_epochs=pa.list_(pa.int64()),
        last_known=pa.int16(),
        election=_WORD,
        epoch_start=pa.int64(),
    ),
    "registrations": _schema(at_ns=pa.int64(), node=pa.int16(), broker_epoch=pa.int64(), clean=pa.bool_()),
    "observations": _schema(
        at_ns=pa.int64(),
        node=pa.int16(),
        topic=_WORD,
        partition=pa.int32(),
        role=_WORD,
        leader_epoch=pa.int32(),
        broker_epoch=pa.int64(),
        log_start=pa.int64(),
        hw=pa.int64(),
        leo=pa.int64(),
        running=pa.bool_(),
    ),
}
NAMES: tuple[Name, ...] = tuple(SCHEMAS)


def to_table(name: Name, rows: Sequence[Mapping[str, Any]], **metadata: str) -> pa.Table:
    """Rows as a table. `record=complete` or `record=sampled` belongs to changes (CHECKERS 1.8)."""
    said = {"tidemark.schema": "1", **metadata}
    return pa.Table.from_pylist(list(rows), schema=SCHEMAS[name]).replace_schema_metadata(said)


def write_parquet(table: pa.Table, where: Any) -> None:
    """Small files that any Parquet tool can read; the same for schedules."""
    pq.write_table(table, where, compression="zstd", compression_level=3)


def read_parquet(name: Name, where: Any, file: str) -> pa.Table:
    """A stored table, in its canonical schema."""
    opened = open_parquet(where, file)
    metadata = opened.schema_arrow.metadata or {}
    check_schema_version(metadata, file)
    kept = {key.decode(): value.decode() for key, value in metadata.items() if not key.startswith(b"ARROW")}
    return conform(name, opened.read()).replace_schema_metadata(kept)


def arguments_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a row of events, parsed. Shared by everybody who asks: nobody may change them."""
    return _parsed(event.get("args") or "{}")


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Mapping[str, Any]:
    parsed: Mapping[str, Any] = msgspec.json.decode(text)
    return parsed


def conform(name: Name, table: pa.Table) -> pa.Table:
    """The canonical schema: columns in order, unknown ones dropped, absent ones as nulls."""
    columns = [
        table.column(field.name).cast(field.type) if field.name in table.column_names else pa.nulls(table.num_rows, field.type)
        for field in SCHEMAS[name]
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMAS[name])
