"""tests/model/some_history.py: a small history that is well formed, for tests that make something wrong with it."""

from __future__ import annotations

from typing import Any

import msgspec

from model.operation import Row

AT = {"client": "raw-0", "topic": "t", "partition": 0}


def append(op: int, start: int = 0, took: int = 1, **more: Any) -> Row:
    given = {"process": op, "type": "ok", "value": op, "acks": -1, "offset": op, **AT, **more}
    return Row(op=op, kind="append", start_ns=start, took_ns=took, **given)


def read(op: int, start: int = 0, took: int = 1, **more: Any) -> Row:
    given = {"process": op, "type": "ok", "from_offset": 0, "values": [], **AT, **more}
    return Row(op=op, kind="read", start_ns=start, took_ns=took, **given)


def poll(op: int, start: int = 0, took: int = 1, **more: Any) -> Row:
    given = {"process": op, "type": "ok", "values": [], "session": 0, **AT, **more}
    return Row(op=op, kind="poll", start_ns=start, took_ns=took, **given)


def end_offset(op: int, start: int = 0, took: int = 1, **more: Any) -> Row:
    given = {"process": op, "type": "ok", "offset": 0, **AT, **more}
    return Row(op=op, kind="end_offset", start_ns=start, took_ns=took, **given)


def but(row: Row, **changed: Any) -> Row:
    return msgspec.structs.replace(row, **changed)


def many(count: int) -> list[Row]:
    """Appends and reads of three processes, one after the other."""
    rows = []
    for op in range(count):
        kind = (append, append, read)[op % 3]
        more = {"values": [op - 1, op - 2], "epochs": [0, 0]} if kind is read else {}
        rows.append(kind(op, start=10 * op, took=5, process=op % 3, **more))
    return rows
