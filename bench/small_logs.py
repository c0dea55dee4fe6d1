"""bench/small_logs.py: small random histories of one log, about a third of them wrong: what two judges are compared on.

In     a source of chance, how many operations
Out    rows of one partition: made by running a log, then spoilt in up to three places
Like   ties in time, appends whose outcome nobody knows, failed ones, acknowledgements without an offset or by the leader alone,
       reads that stop early, reach the end or begin behind it, polls that leave something out
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from model.operation import Row
from model.value import make_value

_KINDS: Final = ("append", "append", "append", "append", "read", "read", "read", "end_offset", "poll")
_LONGEST_TICKS: Final = 3
_SPOILT_TIMES: Final = (0, 1, 2, 3, 3)
_PROCESSES: Final = 4
_TRIES: Final = 8


def small_log(chance: random.Random, operations: int) -> list[Row]:
    """In order of invocation."""
    ticks = operations * chance.choice((1, 2, 4))
    rows = [_asked(chance, number, chance.randrange(ticks)) for number in range(operations)]
    _run(chance, rows)
    for _ in range(chance.choice(_SPOILT_TIMES)):
        any(chance.choice(_SPOIL)(chance, chance.choice(rows), rows) for _ in range(_TRIES))
    rows.sort(key=lambda row: row.start_ns)
    for op, row in enumerate(rows):
        row.op = op
    return rows


def _asked(chance: random.Random, number: int, start: int) -> Row:
    """One operation, before anything has answered."""
    row = Row(
        op=number,
        process=chance.randrange(_PROCESSES),
        client="raw-0",
        kind=chance.choice(_KINDS),
        type="ok",
        topic="log",
        partition=0,
        start_ns=start,
        took_ns=chance.randint(0, _LONGEST_TICKS),
    )
    if row.kind == "append":
        row.value, row.attempts = make_value(1, number, 0), 1
        row.acks = chance.choices((-1, 1, 0), (90, 7, 3))[0]
        row.type = chance.choices(("ok", "info", "fail"), (68, 25, 7))[0]
        if row.acks == 0:
            row.type = "info"
    return row


# -- a log runs -----------------------------------------------------------------------------------------------------------


def _run(chance: random.Random, rows: list[Row]) -> None:
    """Each takes effect at a moment of its own interval, one after the other."""
    log: list[int] = []
    moments = [(_moment(chance, row, 2 * len(rows)), chance.random(), row.op) for row in rows]
    for _, _, number in sorted(moments):
        _answer(chance, rows[number], log)


def _moment(chance: random.Random, row: Row, long: int) -> int:
    open_ended = row.type == "info" or row.acks == 1
    return row.start_ns + chance.randint(0, long if open_ended else row.took_ns)


def _answer(chance: random.Random, row: Row, log: list[int]) -> None:
    if row.kind == "append":
        _append(chance, row, log)
    elif row.kind == "end_offset":
        row.offset = len(log)
    else:
        _look(chance, row, log)


def _append(chance: random.Random, row: Row, log: list[int]) -> None:
    if row.type == "fail":
        row.error = "NOT_ENOUGH_REPLICAS"
        return
    if row.type == "ok" and chance.random() < 0.8:
        row.offset = len(log)
    if (row.type == "ok" and row.acks == -1) or chance.random() < 0.6:
        assert row.value is not None
        log.append(row.value)


def _look(chance: random.Random, row: Row, log: list[int]) -> None:
    begin = max(0, len(log) - chance.randint(-1, 4)) if chance.random() < 0.5 else 0
    until = begin + chance.randint(1, 4) if chance.random() < 0.4 else max(begin, len(log))
    row.from_offset, row.values = begin, log[begin:until]
    if row.kind == "read":
        row.at_end = until >= len(log) if chance.random() < 0.9 else None
    elif len(row.values) > 2 and chance.random() < 0.3:
        row.offsets = [at for at in range(begin, begin + len(row.values)) if at != begin + 1]
        row.values = [log[at] for at in row.offsets]


# -- and something goes wrong ----------------------------------------------------------------------------------------------
# Each says whether it could: not every operation has what it spoils.


def _shift(chance: random.Random, row: Row, _: list[Row]) -> bool:
    row.start_ns = max(0, row.start_ns + chance.choice((-3, -2, -1, 1, 2, 3)))
    return True


def _answer_at_once(_chance: random.Random, row: Row, _: list[Row]) -> bool:
    row.took_ns = 0
    return True


def _another_offset(chance: random.Random, row: Row, _: list[Row]) -> bool:
    if row.offset is None:
        return False
    row.offset = max(0, row.offset + chance.choice((-2, -1, 1, 2)))
    return True


def _swap_offsets(chance: random.Random, row: Row, rows: list[Row]) -> bool:
    other = chance.choice(rows)
    if row.offset is None or other.offset is None or row.offset == other.offset:
        return False
    row.offset, other.offset = other.offset, row.offset
    return True


def _drop_a_value(chance: random.Random, row: Row, _: list[Row]) -> bool:
    """What follows it moves up or, if the answer names its offsets, stays where it is."""
    if not row.values:
        return False
    at = chance.randrange(len(row.values))
    if row.offsets is None and row.from_offset is not None and chance.random() < 0.5:
        row.offsets = [*range(row.from_offset, row.from_offset + len(row.values))]
    row.values = [*row.values[:at], *row.values[at + 1 :]]
    if row.offsets is not None:
        row.offsets = [*row.offsets[:at], *row.offsets[at + 1 :]] or None
    return True


def _another_value(chance: random.Random, row: Row, rows: list[Row]) -> bool:
    if not row.values:
        return False
    values, number = list(row.values), chance.randrange(len(rows) + 1)  # the last number is nobody's
    values[chance.randrange(len(values))] = make_value(1, number, 0)
    row.values = values
    return True


def _another_position(chance: random.Random, row: Row, _: list[Row]) -> bool:
    if row.from_offset is None or row.offsets is not None:
        return False
    row.from_offset = max(0, row.from_offset + chance.choice((-1, 1)))
    return True


def _the_end_or_not(_chance: random.Random, row: Row, _: list[Row]) -> bool:
    if row.kind != "read":
        return False
    row.at_end = not row.at_end
    return True


def _failed_after_all(_chance: random.Random, row: Row, _: list[Row]) -> bool:
    if row.kind != "append" or row.type == "fail":
        return False
    row.type, row.error, row.offset = "fail", "NOT_ENOUGH_REPLICAS", None
    return True


def _acknowledged_after_all(_chance: random.Random, row: Row, _: list[Row]) -> bool:
    if row.kind != "append" or row.type == "ok" or row.acks == 0:
        return False
    row.type, row.error = "ok", None
    return True


_SPOIL: Final[tuple[Callable[[random.Random, Row, list[Row]], bool], ...]] = (
    _shift,
    _shift,
    _answer_at_once,
    _another_offset,
    _another_offset,
    _swap_offsets,
    _drop_a_value,
    _drop_a_value,
    _another_value,
    _another_position,
    _the_end_or_not,
    _failed_after_all,
    _acknowledged_after_all,
)
