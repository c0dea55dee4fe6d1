"""bench/large_log.py: histories of one log as large as one likes, made by numpy: right by construction, one per seed.

In     how many operations, how many clients, the share of appends that end `info`
Out    the canonical table of one partition, in order of invocation
Like   sequential clients: half are appends, 40 % read ranges near the end of the log, 10 % ask for that end; 2.9 values each
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from model.history import conform
from model.operation import KINDS, TYPES
from model.value import make_value

_TOOK_NS, _THINK_NS = 3_000_000, 1_000_000
_BEHIND, _MOST = 21, 10
APPEND, READ, END = (KINDS.index(kind) for kind in ("append", "read", "end_offset"))
OK, INFO = TYPES.index("ok"), TYPES.index("info")


def large_log(operations: int, *, clients: int = 20, info: float = 0.03, seed: int = 1) -> pa.Table:
    """Half of the appends that end `info` happened."""
    chance = np.random.default_rng(seed)
    start, took, client = _intervals(chance, operations, clients)
    kind = chance.choice([APPEND, READ, END], operations, p=[0.5, 0.4, 0.1]).astype(np.int8)
    open_ended = (kind == APPEND) & (chance.random(operations) < info)
    effect = start + (chance.random(operations) * took).astype(np.int64)
    happened = (kind == APPEND) & (~open_ended | (chance.random(operations) < 0.5))
    offset, end = _order(effect, happened)
    value = make_value(1, 0, 0) + (client << 24) + _counted(client, kind == APPEND)
    by_offset = np.empty(int(happened.sum()), np.int64)
    by_offset[offset[happened]] = value[happened]
    began = np.maximum(0, end - chance.integers(0, _BEHIND + 1, operations))
    until = np.minimum(end, began + _MOST)
    reads = kind == READ
    lengths = np.where(reads, until - began, 0)
    flat = np.repeat(began - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
    lists = pa.ListArray.from_arrays(
        pa.array(np.append(0, np.cumsum(lengths)).astype(np.int32), mask=np.append(~reads, False)), pa.array(by_offset[flat])
    )
    acked = (kind == APPEND) & ~open_ended
    columns = {
        "op": np.arange(operations, dtype=np.int32),
        "process": client.astype(np.int32),
        "client": _words(np.zeros(operations, np.int16), ["raw-0"]),
        "kind": _words(kind, list(KINDS)),
        "type": _words(np.where(open_ended, INFO, OK).astype(np.int8), list(TYPES)),
        "topic": _words(np.zeros(operations, np.int16), ["log"]),
        "partition": np.zeros(operations, np.int32),
        "value": pa.array(value, mask=kind != APPEND),
        "offset": pa.array(np.where(kind == END, end, offset), mask=~(acked | (kind == END))),
        "from_offset": pa.array(began, mask=~reads),
        "at_end": pa.array(until == end, mask=~reads),
        "values": lists,
        "leader_epoch": pa.array(np.zeros(operations, np.int32), mask=kind == APPEND),
        "start_ns": start,
        "took_ns": took,
        "acks": pa.array(np.full(operations, -1, np.int8), mask=kind != APPEND),
        "attempts": pa.array(np.ones(operations, np.int16), mask=kind != APPEND),
        "final": np.zeros(operations, np.bool_),
    }
    arrays = [pa.array(each) if isinstance(each, np.ndarray) else each for each in columns.values()]
    return conform(pa.table(dict(zip(columns, arrays, strict=True))))


def _intervals(chance: np.random.Generator, operations: int, clients: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each client calls, waits for the answer, thinks; all in order of invocation."""
    each = -(-operations // clients)
    took = (chance.exponential(_TOOK_NS, (clients, each)) + 1).astype(np.int64)
    think = (chance.exponential(_THINK_NS, (clients, each)) + 1).astype(np.int64)
    start = np.cumsum(took + think, axis=1) - took
    order = np.argsort(start, axis=None, kind="stable")[:operations]
    client = np.repeat(np.arange(clients), each)[order]
    return start.ravel()[order], took.ravel()[order], client


def _order(effect: np.ndarray, happened: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The offset that each append gets, and where the log ends for everybody else, in order of effect."""
    order = np.argsort(effect, kind="stable")
    before = np.cumsum(happened[order]) - happened[order]
    end = np.empty(len(effect), np.int64)
    end[order] = before
    return np.where(happened, end, 0), end


def _counted(client: np.ndarray, appends: np.ndarray) -> np.ndarray:
    """How many appends each client has made before."""
    order = np.argsort(client, kind="stable")
    made = np.cumsum(appends[order]) - appends[order]
    _, begins, group = np.unique(client[order], return_index=True, return_inverse=True)
    counted = np.empty(len(client), np.int64)
    counted[order] = made - made[begins][group]
    return counted


def _words(codes: np.ndarray, words: list[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(words))


def with_stale_end(table: pa.Table) -> pa.Table:
    """The same history, but in the middle somebody was told that the log is half as long as it was."""
    kinds = table.column("kind").combine_chunks()
    ends = np.flatnonzero(kinds.indices.to_numpy() == kinds.dictionary.to_pylist().index("end_offset"))
    row = int(ends[len(ends) // 2])
    offset = table.column("offset")
    halved = pa.array([offset[row].as_py() // 2], offset.type)
    spoilt = pa.chunked_array([*offset.slice(0, row).chunks, halved, *offset.slice(row + 1).chunks]).combine_chunks()
    return table.set_column(table.schema.get_field_index("offset"), table.schema.field("offset"), spoilt)
