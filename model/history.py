"""model/history.py: all operations of one run: the columns, and the Parquet file they end in (CHECKERS 1.1 to 1.5).

In   rows of model/operation.py, or a table
Out  Arrow tables of one fixed schema; one compact, sorted Parquet file per run, its metadata saying which run that was
Not  rows while the run goes on (model/stream.py), many runs in one file (model/pack.py), what a history proves (checkers/)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from model.operation import KINDS, TYPES, Row
from model.refusal import Refusal

Clock = Literal["virtual", "monotonic"]
SCHEMA_VERSION = 1
ROW_GROUP = 2**20
ROWS_AT_ONCE = 4_096

_INT8, _INT16, _INT32, _INT64, _BOOL = pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.bool_()


def _words(index: pa.DataType) -> pa.DataType:
    return pa.dictionary(index, pa.string())


_COLUMNS: dict[str, tuple[pa.DataType, bool]] = {  # type, may it be null
    "op": (_INT32, False),
    "process": (_INT32, False),
    "client": (_words(_INT16), False),  # a plan may have 10,000 processes, each with a client of its own
    "node": (_INT16, True),
    "kind": (_words(_INT8), False),
    "type": (_words(_INT8), False),
    "error": (_words(_INT16), True),
    "topic": (_words(_INT16), True),
    "partition": (_INT32, True),
    "key": (_INT64, True),
    "value": (_INT64, True),
    "expected": (_INT64, True),
    "offset": (_INT64, True),
    "from_offset": (_INT64, True),
    "max_records": (_INT32, True),
    "at_end": (_BOOL, True),
    "base_offset": (_INT64, True),
    "values": (pa.list_(_INT64), True),
    "offsets": (pa.list_(_INT64), True),
    "epochs": (pa.list_(_INT32), True),
    "leader_epoch": (_INT32, True),
    "start_ns": (_INT64, False),
    "took_ns": (_INT64, False),
    "acks": (_INT8, True),
    "idempotent": (_BOOL, True),
    "producer_id": (_INT64, True),
    "producer_epoch": (_INT16, True),
    "sequence": (_INT32, True),
    "attempts": (_INT16, True),
    "batch": (_INT32, True),
    "session": (_INT32, True),
    "final": (_BOOL, False),
    "barrier": (_BOOL, True),
}
SCHEMA = pa.schema([pa.field(name, kind, nullable=nullable) for name, (kind, nullable) in _COLUMNS.items()])
WORDS = tuple(name for name, (kind, _) in _COLUMNS.items() if pa.types.is_dictionary(kind))

# What a file costs is decided here (CHECKERS 1.4): deltas for what grows, split bytes for noise, dictionaries for the rest.
_ENCODINGS = {
    **dict.fromkeys(("op", "start_ns", "offset", "from_offset", "base_offset"), "DELTA_BINARY_PACKED"),
    **dict.fromkeys(("took_ns", "value", "values.list.element"), "BYTE_STREAM_SPLIT"),
}
_LEAVES = {"values": "values.list.element", "offsets": "offsets.list.element", "epochs": "epochs.list.element"}
_DICTIONARIES = [leaf for name in _COLUMNS if (leaf := _LEAVES.get(name, name)) not in _ENCODINGS]


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What a history says about its run, in the file's metadata (CHECKERS 1.5)."""

    run_id: str
    run_tag: int
    plan_digest: str
    complete: bool = True  # False: the run did not end by itself
    clock: Clock = "virtual"
    started: str = ""  # wall time, informative
    topics: Mapping[str, Any] = {}
    workload: str = "log"


class History(msgspec.Struct, frozen=True):
    about: About
    table: pa.Table


# -- rows to columns --------------------------------------------------------------------------------------------------


def to_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Rows as columns. A column that nobody used costs nothing, which is most of them most of the time."""
    return batch_of([msgspec.structs.astuple(row) for row in rows])


def batch_of(rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    """The same of rows that are tuples, in the order of the columns."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(_COLUMNS)
    arrays = [_array(values, kind) for values, (kind, _) in zip(columns, _COLUMNS.values(), strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _array(values: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    if values.count(None) == len(values):
        return _absent(len(values), kind)
    if isinstance(kind, pa.DictionaryType):
        return _words_array(values, kind)
    return pa.array(values, kind)


def _absent(length: int, kind: pa.DataType) -> pa.Array:
    """Nothing but nulls; all absent columns of one length share their zeros."""
    if isinstance(kind, pa.DictionaryType):
        return pa.DictionaryArray.from_arrays(_absent(length, kind.index_type), pa.array([], pa.string()))
    zeros = _zeros(length)
    children = [pa.array([], kind.value_type)] if pa.types.is_list(kind) else None
    return pa.Array.from_buffers(kind, length, [zeros, zeros], length, children=children)


@lru_cache(maxsize=4)
def _zeros(length: int) -> pa.Buffer:
    """Enough for the widest column; a long one is memory that nobody has touched, which is none."""
    return pa.py_buffer(np.zeros(8 * length + 8, np.uint8))


def _words_array(values: tuple[Any, ...], kind: pa.DictionaryType) -> pa.Array:
    words = [word for word in dict.fromkeys(values) if word is not None]
    if len(words) == 1 and None not in values:
        indices = pa.repeat(pa.scalar(0, kind.index_type), len(values))
    else:
        codes: dict[str | None, int | None] = {None: None, **{word: code for code, word in enumerate(words)}}
        indices = pa.array(list(map(codes.__getitem__, values)), kind.index_type)
    return pa.DictionaryArray.from_arrays(indices, pa.array(words, pa.string()))


def to_table(rows: Sequence[Row]) -> pa.Table:
    """The rows as a table of the canonical schema, converted piece by piece: one huge transposition would stall the collector."""
    return concatenate(to_batch(rows[at : at + ROWS_AT_ONCE]) for at in range(0, len(rows), ROWS_AT_ONCE))


def to_rows(table: pa.Table) -> list[Row]:
    """The rows of a table; for tests and for looking at a few of them, never for checking."""
    return [Row(**row) for row in table.to_pylist()]


def concatenate(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Batches whose dictionaries grew independently, as one table with one dictionary per column."""
    table = pa.Table.from_batches(list(batches), schema=SCHEMA)
    return conform(table)


def sorted_table(table: pa.Table) -> pa.Table:
    """The order of the file: by topic, partition, start, operation (CHECKERS 1.4)."""
    by_word = table.set_column(table.schema.get_field_index("topic"), "topic", table.column("topic").cast(pa.string()))
    keys = [("topic", "ascending"), ("partition", "ascending"), ("start_ns", "ascending"), ("op", "ascending")]
    return table.take(pc.sort_indices(by_word.select([name for name, _ in keys]), sort_keys=keys))


# -- Parquet ----------------------------------------------------------------------------------------------------------


def write_parquet(table: pa.Table, about: About, where: Any) -> None:
    """The final form of one run, to anything that pyarrow can write to."""
    described = sorted_table(conform(table)).replace_schema_metadata(_to_metadata(about, table.num_rows))
    write_columns(described, where)


def write_columns(table: pa.Table, where: Any) -> None:
    """A history's columns in their encodings; also for packs, which have one column more in front."""
    more = [name for name in table.column_names if name not in _COLUMNS]
    with pq.ParquetWriter(
        where,
        table.schema,
        compression="zstd",
        compression_level=3,
        use_dictionary=[*more, *_DICTIONARIES],
        column_encoding=_ENCODINGS,
        store_schema=False,  # the schema is fixed, and a thousand small files need not all repeat it
        write_page_checksum=True,  # a flipped bit must not become another history
        write_statistics=["op", "start_ns"],
    ) as writer:
        writer.write_table(table, row_group_size=ROW_GROUP)
        writer.add_key_value_metadata(table.schema.metadata)


def read_parquet(where: Any, name: str) -> History:
    """A stored history. `name` is what a refusal calls it."""
    file = open_parquet(where, name)
    about = _from_metadata(file.metadata.metadata or {}, name)
    table = conform(file.read(columns=_known_columns(file.schema_arrow, name)))
    return History(about, table)


def open_parquet(where: Any, name: str, *, distrust: bool = False) -> pq.ParquetFile:
    """A Parquet file, its words still encoded; whatever is wrong with it is said in one sentence.

    `distrust`: every page is held against its checksum, and a row group is not read ahead as a whole.
    """
    try:
        names = pq.read_schema(where).names
        words = [name for name in ("run", *WORDS) if name in names]
        return pq.ParquetFile(where, read_dictionary=words, page_checksum_verification=distrust, pre_buffer=not distrust)
    except (pa.ArrowException, OSError) as error:
        raise Refusal(f"not a Parquet file that can be read: {_first_line(error)}", where=name) from None


def _known_columns(schema: pa.Schema, name: str) -> list[str]:
    """Columns that a later version added are ignored; one that must be there and is not makes the file malformed."""
    for column, (_, nullable) in _COLUMNS.items():
        if not nullable and column not in schema.names:
            raise Refusal(f"the column {column!r} is missing", where=name, allowed=", ".join(_COLUMNS))
    return [column for column in _COLUMNS if column in schema.names]


def conform(table: pa.Table) -> pa.Table:
    """The canonical schema: columns in order, absent ones as nulls, each dictionary in one piece with its small index."""
    columns = []
    for field in SCHEMA:
        if field.name not in table.column_names:
            columns.append(pa.chunked_array([_absent(table.num_rows, field.type)]))
        elif isinstance(field.type, pa.DictionaryType):
            columns.append(_one_dictionary(table.column(field.name), field.type))
        else:
            columns.append(table.column(field.name).cast(field.type))
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _one_dictionary(column: pa.ChunkedArray, kind: pa.DictionaryType) -> pa.ChunkedArray:
    if not isinstance(column.type, pa.DictionaryType):
        column = column.dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    if not isinstance(whole, pa.DictionaryArray):
        return pa.chunked_array([], kind)
    words = whole.dictionary.cast(pa.string())
    return pa.chunked_array([pa.DictionaryArray.from_arrays(whole.indices.cast(kind.index_type), words)])


def _to_metadata(about: About, rows: int) -> dict[str, str]:
    return {
        "tidemark.schema": str(SCHEMA_VERSION),
        "run_id": about.run_id,
        "run_tag": str(about.run_tag),
        "plan_digest": about.plan_digest,
        "rows": str(rows),
        "complete": "true" if about.complete else "false",
        "clock": about.clock,
        "started": about.started,
        "topics": json.dumps(about.topics, separators=(",", ":")),
        "workload": about.workload,
    }


def check_schema_version(metadata: Mapping[bytes, bytes], name: str) -> None:
    """A file from a later Tidemark is refused, not half understood."""
    found = metadata.get(b"tidemark.schema", b"").decode(errors="replace")
    if found != str(SCHEMA_VERSION):
        problem = f"schema version {found!r}" if found else "no Tidemark history: its metadata names no schema"
        raise Refusal(problem, where=name, allowed=f"schema version {SCHEMA_VERSION}")


def _from_metadata(metadata: Mapping[bytes, bytes], name: str) -> About:
    check_schema_version(metadata, name)
    try:
        said = {key.decode(): value.decode() for key, value in metadata.items()}
        return About(
            run_id=said["run_id"],
            run_tag=int(said["run_tag"]),
            plan_digest=said["plan_digest"],
            complete={"true": True, "false": False}[said["complete"]],
            clock=msgspec.convert(said["clock"], Clock),
            started=said["started"],
            topics=json.loads(said["topics"]),
            workload=said["workload"],
        )
    except (KeyError, ValueError, msgspec.ValidationError) as error:
        raise Refusal(f"its metadata is malformed: {_first_line(error)}", where=name) from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


assert tuple(_COLUMNS) == Row.__struct_fields__, "a row and the columns are the same thing twice"
assert len(KINDS) < 128 and len(TYPES) < 128, "kinds and types fit an int8 dictionary"
